// What a placement problem has besides forms and layers: devices, links, input.
#include "lib/placement/builder/OfferCosts.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

int64_t picoseconds(Seconds time) { return static_cast<int64_t>(std::ceil(time.value * 1e12)); }

} // namespace

void addDevices(const OfferRequest &request, const std::vector<std::optional<FittedPrices>> &prices,
                PlacementProblem &p) {
  p.name = request.job;
  p.objective = request.objective;
  p.limits = request.limits;
  p.batch = request.batch;
  p.schedules = request.space.schedules;
  p.chunks = request.space.chunks;
  p.groups = request.space.groups;
  p.hidden = request.hidden;
  p.blockingTransfers = request.space.blockingTransfers;
  p.location = request.location;
  for (const Cluster &group : request.groups) {
    const Memory &memory = group.machine.memories.front();
    PlacementProblem::Kind kind;
    kind.name = group.machine.name;
    kind.devices = group.devicesPerServer * group.servers;
    kind.perServer = group.devicesPerServer;
    kind.memory = static_cast<int64_t>(std::min(memory.capacity.value, 0x1p61));
    if (request.memory > 0)
      kind.memory = std::min(kind.memory, request.memory);
    kind.idleWatts = group.machine.idle.value;
    kind.tdpWatts = group.machine.tdp.value;
    kind.pricePerHour = group.pricePerHour;
    kind.hostMemory = static_cast<int64_t>(
        std::min(group.host.memory.value / static_cast<double>(group.devicesPerServer), 0x1p61));
    auto origin = memory.origins.find("capacity");
    kind.location =
        origin != memory.origins.end() ? origin->second.location : group.machine.location;
    kind.counted = group.location;
    p.kinds.push_back(std::move(kind));
    const std::optional<FittedPrices> &fitted = prices[p.kinds.size() - 1];
    const Machine::HostCost &host = group.machine.host;
    p.perMicrobatch =
        std::max(p.perMicrobatch, picoseconds(fitted ? fitted->perMicrobatch() : host.microbatch));
    p.perStep = std::max(p.perStep, picoseconds(fitted ? fitted->perStep() : host.step));
    if (fitted) { // of several calibrations, what hides less
      calibrate::Hiding one = fitted->hiding();
      bool isFirst = p.kinds.size() == 1;
      p.hides = isFirst ? one.hides : std::min(p.hides, one.hides);
      p.hidden = isFirst ? one.hidden : std::min(p.hidden, one.hidden);
    }
  }
  auto line = [](const Network &network, double sharers) {
    double rate = endpointBandwidth(network, 2).value / network.oversubscription;
    return LinearTime{network.latency.value * 1e12, rate > 0 ? sharers / rate * 1e12 : 0};
  };
  for (size_t from = 0; from < request.groups.size(); ++from)
    for (size_t to = 0; to < request.groups.size(); ++to) {
      const Cluster &a = request.groups[from], &b = request.groups[to];
      PlacementProblem::Link link;
      double sharers = static_cast<double>(std::max(a.devicesPerServer, b.devicesPerServer));
      if (from == to && prices[from]) {
        link = prices[from]->link();
      } else if (from == to && !a.fabric.levels.empty()) {
        link.inside = line(a.fabric.levels.front(), 1);
        link.across = a.servers > 1 ? line(a.fabric.levels.back(), sharers) : link.inside;
      }
      if (from != to && request.between)
        link.across = link.inside = line(*request.between, sharers);
      p.links.push_back(link);
    }
}

std::string addLoading(const OfferRequest &request, const WorkGraph &work,
                       PlacementProblem &problem) {
  if (!request.loader || !(request.loader->rate.value > 0))
    return "";
  double sample = 0;
  for (const Value &value : work.values)
    if (value.category == Category::Inputs && value.region == kMicrobatchRegion &&
        value.alias == kNone)
      sample += static_cast<double>(value.bytes);
  Bytes batch(sample / static_cast<double>(work.microbatch) * static_cast<double>(request.batch));
  int64_t takes = std::min<int64_t>(picoseconds(batch / request.loader->rate), int64_t{1} << 60);
  int64_t ahead = request.loader->prefetch;
  (ahead > 0 ? problem.leastStep : problem.perStep) += takes;
  return fmt::format("loading a step's {:.0f} B of input takes {:.4g} s, {}; copying it to the "
                     "devices takes no time",
                     batch.value, static_cast<double>(takes) * 1e-12,
                     ahead > 0 ? "beside the step before it" : "before the step begins");
}

} // namespace accord
