// What a placement problem has besides parallel configurations and layers: devices, links, input.
#include "lib/placement/builder/ParallelConfigCosts.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

int64_t picoseconds(Seconds time) { return static_cast<int64_t>(std::ceil(time.value * 1e12)); }

} // namespace

void addDevices(const PlacementProblemRequest &request, const std::vector<std::optional<CalibratedPrices>> &prices,
                PlacementProblem &p) {
  p.name = request.job;
  p.objective = request.objective;
  p.costPerJoule = request.costPerJoule;
  p.limits = request.limits;
  p.batch = request.batch;
  p.numExperts = request.space.numExperts;
  p.schedules = request.space.schedules;
  p.virtualStages = request.space.virtualStages;
  p.groups = request.space.groups;
  p.overlapFraction = request.overlapFraction;
  p.blockingTransfers = request.space.blockingTransfers;
  p.location = request.location;
  for (const Cluster &group : request.groups) {
    const Memory &memory = group.machine.memories.front();
    DeviceType deviceType;
    deviceType.name = group.machine.name;
    deviceType.devices = group.devicesPerNode * group.servers;
    deviceType.devicesPerNode = group.devicesPerNode;
    deviceType.memory = static_cast<int64_t>(std::min(memory.capacity.value, 0x1p61));
    if (request.memory > 0)
      deviceType.memory = std::min(deviceType.memory, request.memory);
    deviceType.idleWatts = group.machine.idle.value;
    deviceType.hostWatts = group.host.power.value / static_cast<double>(group.devicesPerNode);
    deviceType.tdpWatts = group.machine.tdp.value;
    deviceType.pricePerHour = group.pricePerHour;
    deviceType.hostMemory = static_cast<int64_t>(std::min(group.host.memory.value / group.devicesPerNode, 0x1p61));
    auto origin = memory.origins.find("capacity");
    deviceType.location = origin != memory.origins.end() ? origin->second.location : group.machine.location;
    deviceType.counted = group.location;
    p.deviceTypes.push_back(std::move(deviceType));
    const std::optional<CalibratedPrices> &fitted = prices[p.deviceTypes.size() - 1];
    if (fitted) { // of several calibrations, what hides less
      calibrate::GradientOverlap one = fitted->hiding();
      bool isFirst = p.deviceTypes.size() == 1;
      p.maxOverlap = isFirst ? one.maxOverlap : std::min(p.maxOverlap, one.maxOverlap);
      p.overlapFraction = isFirst ? one.overlapFraction : std::min(p.overlapFraction, one.overlapFraction);
    }
  }
  auto line = [](const Network &network, double sharers) {
    double rate = endpointBandwidth(network, 2).value / network.oversubscription;
    return AlphaBetaModel{network.latency.value * 1e12, rate > 0 ? sharers / rate * 1e12 : 0};
  };
  for (size_t from = 0; from < request.groups.size(); ++from)
    for (size_t to = 0; to < request.groups.size(); ++to) {
      const Cluster &a = request.groups[from], &b = request.groups[to];
      PlacementProblem::Link link;
      double sharers = std::max(a.devicesPerNode, b.devicesPerNode);
      if (from == to && prices[from]) {
        link = prices[from]->link();
      } else if (from == to && !a.fabric.levels.empty()) {
        // Of several dimensions a message takes the slowest.
        int64_t inside = 1;
        for (const Network &level : a.fabric.levels) {
          bool isInner = inside < a.devicesPerNode;
          AlphaBetaModel one = line(level, isInner ? 1 : sharers);
          AlphaBetaModel &of = isInner ? link.intraNode : link.interNode;
          of = {std::max(of.latency, one.latency), std::max(of.perByte, one.perByte)};
          inside *= level.endpoints;
        }
        if (a.servers == 1)
          link.interNode = link.intraNode;
        else if (a.devicesPerNode == 1)
          link.intraNode = link.interNode;
      }
      if (from != to && request.between)
        link.interNode = link.intraNode = line(*request.between, sharers);
      p.links.push_back(link);
    }
}

void addHostOverheads(const PlacementProblemRequest &request,
                      const std::vector<std::optional<CalibratedPrices>> &prices, const WorkGraph &work,
                      PlacementProblem &p) {
  int64_t microbatch = 0, step = 0;
  for (size_t i = 0; i < request.groups.size(); ++i) {
    Machine::HostOverhead host = prices[i] ? prices[i]->hostOverhead(work) : request.groups[i].machine.host;
    microbatch = std::max(microbatch, picoseconds(host.microbatch));
    step = std::max(step, picoseconds(host.step));
  }
  if (microbatch > 0) // else what the framework says
    p.hostOverheadPerMicrobatch = microbatch;
  if (step > 0)
    p.hostOverheadPerStep = step;
}

DeviceMemory applyDeviceMemory(const Framework &framework, const PlacementProblemRequest &request,
                               PlacementProblem &problem) {
  DeviceMemory memory = DeviceMemory::of(framework);
  for (size_t i = 0; i < problem.deviceTypes.size(); ++i) {
    double capacity = std::min(request.groups[i].machine.memories.front().capacity.value, 0x1p61);
    memory.types.push_back({static_cast<int64_t>(capacity), request.memory});
    problem.deviceTypes[i].memory = std::max<int64_t>(0, memory.budget(memory.types.back()));
  }
  if (problem.hostOverheadPerMicrobatch == 0)
    problem.hostOverheadPerMicrobatch = picoseconds(Seconds(framework.hostPerMicrobatch));
  if (problem.hostOverheadPerStep == 0)
    problem.hostOverheadPerStep = picoseconds(Seconds(framework.hostPerStep));
  if (framework.hidesGradients && !*framework.hidesGradients)
    problem.overlapFraction = 0;
  return memory;
}

Result<std::string> addDataLoading(const PlacementProblemRequest &request, const WorkGraph &work,
                                   PlacementProblem &problem) {
  if (!request.dataLoader || !(request.dataLoader->rate.value > 0))
    return std::string();
  double sample = 0;
  for (const Value &value : work.values)
    if (value.category == Category::Inputs && value.region == kMicrobatchRegion && value.alias == kNone)
      sample += value.bytes;
  Bytes batch(sample / work.microbatch * request.batch);
  // The step is not known yet: `loaderReasons` chooses behind the plan what is open.
  DataLoader constant = *request.dataLoader;
  constant.variation = 0;
  ACCORD_TRY(choice, chooseLoader(constant, batch, Seconds(), Seconds()));
  int64_t takes = std::min<int64_t>(picoseconds(choice.load), int64_t{1} << 60);
  bool ahead = request.dataLoader->prefetch != 0;
  (ahead ? problem.minStep : problem.hostOverheadPerStep) += takes;
  return fmt::format("loading a step's {:.0f} B of input takes {:.4g} s, {}; copying it to the "
                     "devices takes no time",
                     batch.value, takes * 1e-12, ahead ? "beside the step before it" : "before the step begins");
}

} // namespace accord
