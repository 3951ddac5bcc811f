#include "lib/exploration/verify/PlacementLowerBound.h"
#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/PlacementConfigurations.h"
#include "lib/placement/verify/ScheduleRules.h"
#include "lib/placement/verify/StageMinCosts.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

using Problem = PlacementProblem;
using Id = Problem::Id;

/// Of a bound of one design: beyond that its configurations count as open.
constexpr uint64_t kEffort = 40'000'000;

bool divides(const Problem::ParallelConfig &config) {
  return config.expert > 1 || config.tables != Problem::Tables::Whole;
}
bool isOf(const CertificateStep &step, const Problem::ParallelConfig &config) {
  int64_t data = config.expert > 1 ? config.expert : divides(config) ? config.data : 1;
  return step.tensor == config.tensor && step.sequence == config.sequence && step.microbatch == config.microbatch &&
         step.experts == config.expert && step.tables == config.tables && step.data == data;
}
int64_t part(int64_t whole, int64_t devices) { return whole / std::max<int64_t>(devices, 1); }

} // namespace

PlacementLowerBound::PlacementLowerBound(const CertificateCluster &cluster)
    : cluster_(cluster), chain_(PlacementCuts(cluster.problem).chain()) {
  const Problem &p = cluster.problem;
  layers_.reserve(cluster.steps.size());
  for (const CertificateStep &step : cluster.steps)
    layers_.emplace_back(step.graph, p, cluster.classOf);
  for (const Problem::ParallelConfig &config : p.parallelConfigs) {
    std::vector<size_t> &of = steps_.emplace_back();
    for (size_t s = 0; s < cluster.steps.size(); ++s)
      if (isOf(cluster.steps[s], config))
        of.push_back(s);
  }
  delays_ = maySplitWeights(p);
}

int64_t PlacementLowerBound::memoryBudget(const Machine &machine) const {
  if (machine.memories.empty())
    return 0;
  double capacity = machine.memories.front().capacity.value;
  auto bytes = static_cast<int64_t>(std::min(capacity, 0x1p61));
  for (const CertificateCluster::MemoryBudget &memoryBudget : cluster_.memoryBudgets)
    if (std::abs(memoryBudget.capacity - capacity) <= 1e-9 * capacity)
      return std::min(bytes, memoryBudget.bytes);
  return bytes;
}

void PlacementLowerBound::cost(Id config, const std::vector<const std::vector<LayerLowerBound> *> &policies,
                               Problem &into, size_t at) const {
  const Problem::ParallelConfig &f = cluster_.problem.parallelConfigs[config];
  for (size_t c = 0; c < into.classes.size(); ++c) {
    Problem::Cost &cost = into.classes[c].costs[at].emplace();
    if (policies.empty() || f.ringOverlap) { // nothing is known of it
      cost.recomputeChoices.push_back({"none", 0, 0, 0, 0});
      continue;
    }
    const LayerLowerBound &first = (*policies.front())[c];
    cost.forward = first.forward;
    // The first policy may be one that computes again.
    int64_t behind = first.backward;
    for (const auto *policy : policies)
      behind = std::min(behind, (*policy)[c].backward);
    (delays_ ? cost.weight : cost.backward) = behind;
    cost.update = f.zero >= 1 ? part(first.update, f.data) : first.update;
    if (!divides(f)) {
      cost.weightMemory = f.hostWeights ? 0 : part(first.weights, f.zero >= 3 ? f.data : 1);
      cost.gradientMemory = part(first.gradients, f.zero >= 2 ? f.data : 1);
      cost.staticMemory =
          cost.weightMemory + cost.gradientMemory + (f.hostStates ? 0 : part(first.states, f.zero >= 1 ? f.data : 1));
      cost.gradients = first.gradients - first.rows + first.rows / 2;
      cost.weights = first.weights;
    }
    for (size_t q = 0; q < policies.size(); ++q) {
      const LayerLowerBound &layer = (*policies[q])[c];
      cost.recomputeChoices.push_back(
          {cluster_.steps[steps_[config][q]].recompute, layer.backward - behind, layer.activations, 0, 0});
    }
    if (cluster_.offloads)
      cost.recomputeChoices.push_back({"offload", 0, 0, 0, 0});
  }
}

/// `uses`: by step, of those that count.
Problem PlacementLowerBound::lowerBound(const Machine &machine, const std::vector<Id> &among,
                                        const LayerUses &uses) const {
  const Problem &whole = cluster_.problem;
  Problem p;
  p.objective = whole.objective, p.batch = whole.batch;
  p.limits.step = whole.limits.step, p.limits.devices = whole.limits.devices;
  p.deviceTypes = whole.deviceTypes, p.links = whole.links, p.layers = whole.layers;
  p.schedules = whole.schedules, p.virtualStages = whole.virtualStages, p.groups = whole.groups;
  p.uniformClass = whole.uniformClass, p.uniformConfigPerDeviceType = whole.uniformConfigPerDeviceType;
  p.blockingTransfers = whole.blockingTransfers;
  p.overlapFraction = whole.overlapFraction, p.maxOverlap = whole.maxOverlap, p.minStep = whole.minStep;
  for (Problem::Layer &layer : p.layers)
    layer.placementConstraints.clear();
  for (Problem::DeviceType &deviceType : p.deviceTypes) {
    deviceType.memory = memoryBudget(machine);
    deviceType.idleWatts = deviceType.hostWatts = 0, deviceType.pricePerHour = 0;
    deviceType.tdpWatts = 1; // its own is a factor
  }
  p.hostOverheadPerMicrobatch = static_cast<int64_t>(std::ceil(machine.host.microbatch.value * 1e12));
  p.hostOverheadPerStep = static_cast<int64_t>(std::ceil(machine.host.step.value * 1e12)) + whole.hostOverheadPerStep;
  // Of what comes in between two layers of a chain one tensor counts: of merged layers it is more.
  // Where layers branch, what comes from several may come from one.
  for (Problem::Edge edge : whole.edges)
    if (!chain_ || edge.to == edge.from + 1) {
      edge.bytes = chain_ ? edge.bytes : 0;
      p.edges.push_back(edge);
    }
  for (const Problem::LayerClass &one : whole.classes)
    p.classes.push_back({one.name, std::vector<std::optional<Problem::Cost>>(among.size())});
  for (size_t at = 0; at < among.size(); ++at) {
    p.parallelConfigs.push_back(whole.parallelConfigs[among[at]]);
    std::vector<const std::vector<LayerLowerBound> *> policies;
    for (size_t step : steps_[among[at]])
      if (uses[step])
        policies.push_back(&*uses[step]);
    cost(among[at], policies, p, at);
  }
  return p;
}

double PlacementLowerBound::value(const Machine &machine) {
  auto [known, isNew] = known_.try_emplace(timesKey(machine), 0);
  if (!isNew)
    return known->second;
  std::vector<Id> all = allConfigs();
  LayerUses uses(layers_.size());
  for (Id config : all)
    for (size_t step : steps_[config]) {
      if (!uses[step])
        uses[step] = layers_[step].lowerBound(machine);
      if (!layers_[step].again()) // no other takes less
        break;
    }
  return known->second = reprovedLowerBound(lowerBound(machine, all, uses));
}

PlacementLowerBound::LayerUses PlacementLowerBound::usesOf(const Machine &machine, const Prices &prices,
                                                           const std::vector<Id> &among) {
  LayerUses uses(layers_.size());
  for (Id config : among)
    for (size_t step : steps_[config])
      if (!uses[step]) {
        auto costs = prices ? prices(step) : std::nullopt;
        uses[step] = layers_[step].lowerBound(machine, costs ? &*costs : nullptr);
      }
  return uses;
}

PlacementLowerBound::Open PlacementLowerBound::open(const Machine &machine, double below) {
  std::string key = fmt::format("{:a} {} ", below, memoryBudget(machine)) + timesKey(machine);
  if (auto known = opened_.find(key); known != opened_.end())
    return known->second;
  return opened_[key] = open(machine, below, {}, allConfigs());
}

PlacementLowerBound::Open PlacementLowerBound::open(const Machine &machine, double below, const Prices &prices,
                                                    const std::vector<Id> &among) {
  UnprovenPlacements left =
      unprovenPlacements(lowerBound(machine, among, usesOf(machine, prices, among)), below, kEffort);
  Open open{{}, left.lowerBound};
  for (Id at : left.parallelConfigs)
    open.parallelConfigs.push_back(among[at]);
  return open;
}

std::vector<Id> PlacementLowerBound::formsOf(const Problem &stated) const {
  std::vector<Id> configs;
  const std::vector<Problem::ParallelConfig> &mine = cluster_.problem.parallelConfigs;
  for (Id config = 0; config < mine.size(); ++config) {
    auto alike = [&](const std::vector<Problem::ParallelConfig> &all) {
      return std::count_if(all.begin(), all.end(), [&](const Problem::ParallelConfig &other) {
        return identityOf(other) == identityOf(mine[config]);
      });
    };
    if (alike(stated.parallelConfigs) >= alike(mine))
      configs.push_back(config);
  }
  return configs;
}

namespace {

bool close(double a, double b, double part = 1e-9) {
  return a == b || std::abs(a - b) <= part * std::max(std::abs(a), std::abs(b));
}
bool same(const AlphaBetaModel &a, const AlphaBetaModel &b, double part = 1e-9) {
  return close(a.latency, b.latency) && close(a.perByte, b.perByte, part);
}
/// Where replicas divide weights, lines follow from the share of gradients and weights of a step,
/// whose layers are rounded.
constexpr double kShares = 1e-3;
bool same(const std::vector<AlphaBetaModel> &a, const std::vector<AlphaBetaModel> &b, double part) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [part](const auto &x, const auto &y) { return same(x, y, part); });
}
bool same(const std::vector<Problem::GradientSync> &a, const std::vector<Problem::GradientSync> &b, double part) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [part](const auto &x, const auto &y) {
           return x.replicasPerNode == y.replicasPerNode && same(x.alternatives, y.alternatives, part);
         });
}

/// First of what is not of the design.
std::string differsInSpace(const Problem &a, const Problem &b) {
  if (a.objective != b.objective || a.batch != b.batch ||
      a.uniformConfigPerDeviceType != b.uniformConfigPerDeviceType ||
      a.uniformClass.has_value() != b.uniformClass.has_value())
    return "objective, batch or what stages have in common";
  if (a.schedules != b.schedules || a.virtualStages != b.virtualStages)
    return "schedules";
  if (!std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                  [](const auto &x, const auto &y) { return x.min == y.min && x.max == y.max; }))
    return "numbers of stages";
  if (a.limits.step != b.limits.step || !close(a.limits.watts, b.limits.watts) ||
      a.limits.devices != b.limits.devices || !close(a.limits.joules, b.limits.joules) ||
      !close(a.limits.price, b.limits.price))
    return "limits";
  if (!close(a.overlapFraction, b.overlapFraction) || !close(a.maxOverlap, b.maxOverlap) || a.minStep != b.minStep ||
      a.blockingTransfers != b.blockingTransfers)
    return "what hides, or is given";
  bool links = a.links.size() == b.links.size();
  for (size_t i = 0; links && i < a.links.size(); ++i)
    links = same(a.links[i].intraNode, b.links[i].intraNode) && same(a.links[i].interNode, b.links[i].interNode);
  return links ? "" : "links";
}

} // namespace

std::string PlacementLowerBound::differs(const Problem &stated, const Machine &machine, const Prices &prices) {
  const Problem &whole = cluster_.problem;
  if (Errors malformed = check(stated); !malformed.empty())
    return malformed.front().message;
  if (std::string other = differsInSpace(stated, whole); !other.empty())
    return other + " are others than the cluster's";
  bool pinned = !stated.placementConstraints.empty();
  for (const Problem::Layer &layer : stated.layers)
    pinned |= !layer.placementConstraints.empty();
  if (pinned)
    return "layers have placement constraints, which are not supported for the cluster";
  bool deviceTypes = stated.deviceTypes.size() == 1 && whole.deviceTypes.size() == 1;
  if (deviceTypes) {
    const Problem::DeviceType &a = stated.deviceTypes.front(), &b = whole.deviceTypes.front();
    deviceTypes = a.devices == b.devices && a.devicesPerNode == b.devicesPerNode && a.hostMemory == b.hostMemory &&
                  close(a.pricePerHour, b.pricePerHour) && close(a.hostWatts, b.hostWatts);
    if (deviceTypes && (a.memory != memoryBudget(machine) || !close(a.tdpWatts, machine.tdp.value) ||
                        !close(a.idleWatts, machine.idle.value)))
      return fmt::format("{} bytes of memory and {:.9g} W, the design's devices have {} and {:.9g}", a.memory,
                         a.tdpWatts, memoryBudget(machine), machine.tdp.value);
  }
  if (!deviceTypes)
    return "devices are others than the cluster's";
  std::vector<Id> configs; // of the cluster, by stated form
  for (const Problem::ParallelConfig &config : stated.parallelConfigs) {
    double part = config.zero == 0 ? 1e-9 : kShares;
    auto of = std::find_if(whole.parallelConfigs.begin(), whole.parallelConfigs.end(), [&](const auto &other) {
      return identityOf(other) == identityOf(config) && same(other.gradientSyncs, config.gradientSyncs, part) &&
             same(other.expertGradientSyncs, config.expertGradientSyncs, part) &&
             same(other.gather, config.gather, part);
    });
    if (of == whole.parallelConfigs.end())
      return fmt::format("tensor {}, data {}, micro-batch {} is no parallel configuration of the cluster, or has "
                         "another network",
                         config.tensor, config.data, config.microbatch);
    configs.push_back(static_cast<Id>(of - whole.parallelConfigs.begin()));
  }
  Problem floor = lowerBound(machine, configs, usesOf(machine, prices, configs));
  if (stated.hostOverheadPerMicrobatch != floor.hostOverheadPerMicrobatch ||
      stated.hostOverheadPerStep != floor.hostOverheadPerStep)
    return "its host takes another time than the design's";
  return differsInLayers(stated, floor);
}

/// Classes are runs of the cluster's, named by their first one.
std::string PlacementLowerBound::differsInLayers(const Problem &stated, const Problem &floor) const {
  auto countsOf = [](const Problem &p) {
    std::vector<int64_t> counts(p.classes.size());
    for (const Problem::Layer &layer : p.layers)
      ++counts[layer.of];
    return counts;
  };
  std::vector<int64_t> mine = countsOf(floor), theirs = countsOf(stated);
  size_t at = 0;
  for (size_t c = 0; c < stated.classes.size(); ++c) {
    size_t from = at;
    do
      ++at;
    while (at < floor.classes.size() &&
           (c + 1 == stated.classes.size() || floor.classes[at].name != stated.classes[c + 1].name));
    bool run =
        from < floor.classes.size() && floor.classes[from].name == stated.classes[c].name && theirs[c] == mine[from];
    for (size_t i = from; run && i < at; ++i)
      run = mine[i] == (at - from == 1 ? theirs[c] : 1);
    if (!run)
      return fmt::format("'{}' is no layer of the cluster's job, or not as often", stated.classes[c].name);
    for (size_t f = 0; f < stated.parallelConfigs.size(); ++f) {
      const auto &cost = stated.classes[c].costs[f];
      if (!cost)
        return fmt::format("'{}' cannot run in every parallel configuration", stated.classes[c].name);
      Problem::Cost sum;
      std::map<std::string, int64_t> recomputeTime;
      for (size_t i = from; i < at; ++i) {
        const Problem::Cost &one = *floor.classes[i].costs[f];
        sum.forward += one.forward, sum.backward += one.backward + one.weight;
        sum.update += one.update, sum.staticMemory += one.staticMemory;
        sum.gradients += one.gradients, sum.weights += one.weights;
        for (const Problem::RecomputeChoice &choice : one.recomputeChoices)
          recomputeTime[choice.policy] += choice.recomputeTime + one.backward + one.weight;
      }
      int64_t behind = cost->backward + cost->weight;
      bool cheap = cost->forward < sum.forward || cost->update < sum.update || cost->staticMemory < sum.staticMemory ||
                   cost->gradients < sum.gradients || cost->weights < sum.weights;
      for (const Problem::RecomputeChoice &choice : cost->recomputeChoices)
        if (auto lowerBound = recomputeTime.find(choice.policy); lowerBound != recomputeTime.end())
          cheap |= behind + choice.recomputeTime < lowerBound->second;
      if (cheap)
        return fmt::format("'{}' takes less than its operations do: {} ps forward and {} ps "
                           "backward, at least {} and {}",
                           stated.classes[c].name, cost->forward, behind, sum.forward, sum.backward);
    }
  }
  if (at < floor.classes.size())
    return fmt::format("'{}' is left out", floor.classes[at].name);
  return "";
}

} // namespace accord
