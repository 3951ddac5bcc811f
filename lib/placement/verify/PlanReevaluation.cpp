#include "lib/placement/verify/PlanReevaluation.h"
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/PipelineReplay.h"
#include "lib/placement/verify/ScheduleRules.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>

namespace accord {

int64_t minReplayTime(const std::vector<AlphaBetaModel> &alternatives, double bytes) {
  double min = 0;
  if (bytes > 0)
    for (size_t i = 0; i < alternatives.size(); ++i) {
      double takes = alternatives[i].latency + alternatives[i].perByte * bytes;
      min = i == 0 ? takes : std::min(min, takes);
    }
  return std::ceil(min);
}

namespace {

using Id = PlacementProblem::Id;
constexpr size_t kNowhere = SIZE_MAX;

class PlanConstraintChecker {
public:
  PlanConstraintChecker(const PlacementProblem &problem, const Placement &plan) : p(problem), plan(plan) {}

  Errors run() {
    size_t stages = plan.stages.size();
    if (stages == 0 || plan.virtualStages < 1 || stages % plan.virtualStages != 0) {
      report(Code::PlacementNotInSearchSpace,
             fmt::format("{} stages in {} virtual stages", stages, plan.virtualStages));
      return std::move(errors);
    }
    groups = stages / plan.virtualStages;
    pipeline();
    where.assign(p.layers.size(), kNowhere);
    bool readable = true;
    for (size_t s = 0; s < stages; ++s)
      readable &= stage(s);
    for (Id l = 0; l < p.layers.size(); ++l)
      if (where[l] == kNowhere)
        report(Code::OperationMissing, fmt::format("layer '{}' is in no stage", p.layers[l].name),
               p.layers[l].location);
    for (const auto &edge : p.edges)
      if (where[edge.from] != kNowhere && where[edge.to] != kNowhere && where[edge.from] > where[edge.to])
        report(Code::DependenceViolated,
               fmt::format("layer '{}' is in stage {}, but feeds '{}' in stage {}", p.layers[edge.from].name,
                           where[edge.from], p.layers[edge.to].name, where[edge.to]),
               p.layers[edge.from].location);
    if (readable)
      devices(), placementConstraints();
    return std::move(errors);
  }

private:
  void report(Code code, std::string text, const SourceLocation &at = {}) {
    if (errors.size() < 20)
      errors.push_back({code, std::move(text), at, {}});
  }

  void pipeline() {
    if (!p.groups.empty() &&
        std::none_of(p.groups.begin(), p.groups.end(), [number = int64_t(groups)](const auto &range) {
          return range.min <= number && number <= range.max;
        }))
      report(Code::PlacementNotInSearchSpace,
             fmt::format("{} groups of devices in a row are not in the search space", groups));
    std::vector<size_t> shared;
    for (const PlacedStage &stage : plan.stages) {
      shared.push_back(0);
      for (Id l : stage.layers)
        shared.back() += p.uniformClass && l < p.layers.size() && p.layers[l].of == *p.uniformClass;
      if (shared.back() != shared.front())
        report(Code::PlacementNotInSearchSpace,
               fmt::format("stages of {} and of {} layers '{}' are not even", shared.front(), shared.back(),
                           p.classes[*p.uniformClass].name));
    }
    if (std::ranges::find(p.schedules, plan.schedule) == p.schedules.end())
      report(Code::PlacementNotInSearchSpace, "the schedule of the passes is not in the search space");
    std::vector<int64_t> known = stagesOfGroups(p, plan.schedule);
    bool several = ruleOf(plan.schedule).stages != ScheduleRule::Stages::One;
    if (std::find(known.begin(), known.end(), plan.virtualStages) == known.end())
      report(Code::PlacementNotInSearchSpace,
             several ? fmt::format("{} virtual stages are not in the search space", plan.virtualStages)
                     : fmt::format("{} virtual stages without an interleaved schedule", plan.virtualStages));
    if (!several)
      return;
    if (!runsOn(plan.schedule, groups, plan.microbatches))
      report(Code::PlacementNotInSearchSpace,
             fmt::format("{} micro-batches do not interleave on {} groups of devices", plan.microbatches, groups));
    if (p.uniformClass)
      return;
    auto [min, max] = std::minmax_element(plan.stages.begin(), plan.stages.end(), [](const auto &a, const auto &b) {
      return a.layers.size() < b.layers.size();
    });
    if (max->layers.size() > min->layers.size() + 1)
      report(Code::PlacementNotInSearchSpace, fmt::format("interleaved stages of {} and of {} layers are not even",
                                                          min->layers.size(), max->layers.size()));
  }

  /// False: parallel configurations or layers cannot be looked up.
  bool stage(size_t s) {
    const PlacedStage &stage = plan.stages[s];
    if (stage.parallelConfig >= p.parallelConfigs.size() || stage.layers.empty() ||
        stage.recomputeChoices.size() != stage.layers.size()) {
      report(Code::PlacementNotInSearchSpace,
             fmt::format("stage {} has parallel configuration {} of {}, {} layers and {} choices of what "
                         "they keep",
                         s, stage.parallelConfig, p.parallelConfigs.size(), stage.layers.size(),
                         stage.recomputeChoices.size()));
      return false;
    }
    const auto &parallelConfig = p.parallelConfigs[stage.parallelConfig];
    // Devices of one context share their samples.
    __int128 samples = static_cast<__int128>(parallelConfig.data) * parallelConfig.microbatch * plan.microbatches;
    if (samples != static_cast<__int128>(p.batch) * parallelConfig.context)
      report(Code::WrongBatch, fmt::format("stage {}: {} replicas, {} samples and {} micro-batches do not "
                                           "make the batch, {}",
                                           s, parallelConfig.data / parallelConfig.context, parallelConfig.microbatch,
                                           plan.microbatches, p.batch));
    if (size_t first = ruleOf(plan.schedule).groupOf(s, groups);
        stage.parallelConfig != plan.stages[first].parallelConfig)
      report(Code::PlacementNotInSearchSpace,
             fmt::format("stages {} and {} share devices, but not their parallel configuration", first, s));
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      Id l = stage.layers[i];
      if (l >= p.layers.size() || (i > 0 && l <= stage.layers[i - 1])) {
        report(l < p.layers.size() && l == stage.layers[i - 1] ? Code::OperationMissing
                                                               : Code::PlacementNotInSearchSpace,
               fmt::format("stage {} lists layer {} of {} after {}", s, l, p.layers.size(),
                           i > 0 ? fmt::format("{}", stage.layers[i - 1]) : "nothing"));
        continue;
      }
      if (where[l] != kNowhere)
        report(Code::OperationMissing, fmt::format("layer '{}' is in stages {} and {}", p.layers[l].name, where[l], s),
               p.layers[l].location);
      where[l] = s;
      const auto &cost = p.cost(l, stage.parallelConfig);
      if (!cost)
        report(
            Code::PlacementNotInSearchSpace,
            fmt::format("layer '{}' cannot run in parallel configuration {}", p.layers[l].name, stage.parallelConfig),
            p.layers[l].location);
      else if (stage.recomputeChoices[i] >= cost->recomputeChoices.size())
        report(Code::PlacementNotInSearchSpace,
               fmt::format("layer '{}' keeps choice {} of {}", p.layers[l].name, stage.recomputeChoices[i],
                           cost->recomputeChoices.size()),
               p.layers[l].location);
    }
    return true;
  }

  void placementConstraints() {
    for (Id id = 0; id < p.placementConstraints.size(); ++id) {
      const auto &constraint = p.placementConstraints[id];
      std::set<size_t> stages;
      std::set<Id> deviceTypes(constraint.deviceTypes.begin(), constraint.deviceTypes.end());
      auto against = [&](Id l, const std::string &what) {
        report(Code::PlacementNotInSearchSpace,
               fmt::format("layer '{}' {}, against '{}'", p.layers[l].name, what, constraint.text),
               constraint.location);
      };
      for (Id l = 0; l < p.layers.size(); ++l) {
        const auto &of = p.layers[l].placementConstraints;
        if (where[l] == kNowhere || !std::binary_search(of.begin(), of.end(), id))
          continue;
        const auto &parallelConfig = p.parallelConfigs[plan.stages[where[l]].parallelConfig];
        if (!deviceTypes.empty() && !deviceTypes.count(parallelConfig.deviceType))
          against(l, fmt::format("is on '{}'", p.deviceTypes[parallelConfig.deviceType].name));
        if (constraint.stage && *constraint.stage != static_cast<int64_t>(where[l]))
          against(l, fmt::format("is in stage {}", where[l]));
        stages.insert(where[l]);
        if (constraint.sameStage && stages.size() == 2)
          against(l, fmt::format("is in stage {}, others of it in {}", where[l], *stages.begin()));
      }
    }
  }

  void devices() {
    std::map<Id, std::set<Id>> parallelConfigs;
    std::map<Id, __int128> used;
    for (size_t g = 0; g < groups; ++g) {
      const auto &parallelConfig = p.parallelConfigs[plan.stages[g].parallelConfig];
      parallelConfigs[parallelConfig.deviceType].insert(plan.stages[g].parallelConfig);
      used[parallelConfig.deviceType] += static_cast<__int128>(parallelConfig.tensor) * parallelConfig.data;
    }
    for (const auto &[deviceType, count] : used) {
      if (count > p.deviceTypes[deviceType].devices)
        report(Code::PlacementNotInSearchSpace,
               fmt::format("the stages need {} of '{}', there are {}",
                           count > INT64_MAX ? std::string("more than 2^63") : fmt::format("{}", int64_t(count)),
                           p.deviceTypes[deviceType].name, p.deviceTypes[deviceType].devices),
               p.deviceTypes[deviceType].location);
      for (Id f : parallelConfigs[deviceType])
        if (p.parallelConfigs[f].oneGroup && groups > 1)
          report(Code::PlacementNotInSearchSpace,
                 fmt::format("a parallel configuration of one group of devices is that of {} groups", groups),
                 p.deviceTypes[deviceType].location);
      bool replicaByReplica = false;
      for (Id f : parallelConfigs[deviceType])
        replicaByReplica |= p.parallelConfigs[f].order == RankOrder::TensorPipelineData;
      if (replicaByReplica && (parallelConfigs.size() > 1 || parallelConfigs[deviceType].size() > 1))
        report(Code::PlacementNotInSearchSpace,
               "ranks run replica after replica, but stages have several parallel configurations",
               p.deviceTypes[deviceType].location);
      if (p.uniformConfigPerDeviceType && parallelConfigs[deviceType].size() > 1)
        report(Code::PlacementNotInSearchSpace,
               fmt::format("stages on '{}' have {} parallel configurations, but must have one",
                           p.deviceTypes[deviceType].name, parallelConfigs[deviceType].size()),
               p.deviceTypes[deviceType].location);
    }
  }

  const PlacementProblem &p;
  const Placement &plan;
  size_t groups = 0;
  std::vector<size_t> where; ///< by layer: its stage
  Errors errors;
};

/// What a stage sends to another for one sample.
using Traffic = std::map<std::pair<uint32_t, uint32_t>, int64_t>;

Traffic trafficOf(const PlacementProblem &p, const Placement &plan) {
  std::vector<uint32_t> where(p.layers.size());
  for (uint32_t s = 0; s < plan.stages.size(); ++s)
    for (Id l : plan.stages[s].layers)
      where[l] = s;
  // A layer's output goes to a stage once: the largest of its edges there.
  std::map<std::pair<Id, uint32_t>, int64_t> outputs;
  for (const auto &edge : p.edges)
    if (where[edge.from] != where[edge.to]) {
      int64_t &bytes = outputs[{edge.from, where[edge.to]}];
      bytes = std::max(bytes, edge.bytes);
    }
  Traffic traffic;
  for (const auto &[output, bytes] : outputs)
    traffic[{where[output.first], output.second}] += bytes;
  return traffic;
}

/// A plan's metrics, one stage, group, transfer and tie after the other.
class PlanReevaluator {
public:
  PlanReevaluator(const PlacementProblem &problem, const Placement &plan)
      : p(problem), plan(plan), stages(plan.stages.size()), groups(stages / plan.virtualStages),
        traffic(trafficOf(p, plan)), ofGroup(groups), taken(p.deviceTypes.size()) {
    pipeline = {plan.schedule,     static_cast<int64_t>(groups),    plan.virtualStages,
                plan.microbatches, std::vector<StageTimes>(stages), std::vector<std::vector<uint32_t>>(stages)};
    metrics.inFlight.resize(stages), metrics.memory.resize(groups), metrics.host.resize(groups);
  }

  std::optional<PlanMetrics> run(double passes) {
    if (1.0 * plan.microbatches * (stages + traffic.size()) > passes)
      return std::nullopt;
    for (size_t s = 0; s < stages; ++s)
      addStage(s);
    for (size_t g = 0; g < groups; ++g)
      addGroup(g);
    for (const auto &[ends, bytes] : traffic)
      addTransfer(ends.first, ends.second, bytes);
    for (const auto &tie : p.ties)
      addTie(tie);
    PipelineReplay run = replay(pipeline);
    if (!run.ends)
      return std::nullopt;
    metrics.step = std::max(run.step + p.hostOverheadPerStep, p.minStep);
    metrics.times = std::move(pipeline.stages);
    double seconds = metrics.step * 1e-12;
    metrics.joules += idle * seconds;
    metrics.price = price * seconds;
    double memory = 0;
    for (int64_t bytes : metrics.memory)
      memory = std::max<double>(memory, bytes);
    RecountedStep recounted{1.0 * metrics.step, metrics.joules, metrics.price, tdp * seconds, memory};
    metrics.value = ruleOf(p.objective).value(p, recounted);
    return std::move(metrics);
  }

private:
  /// Sums over the layers of a group, and where its devices are.
  struct Group {
    int64_t gradients = 0, expertGradients = 0, update = 0, overlapTime = 0, workspace = 0;
    std::vector<int64_t> activations, hostActivations; ///< by virtual stage
    int64_t first = 0, last = 0;                       ///< ranks of its device type
  };

  size_t groupOf(size_t stage) const { return ruleOf(plan.schedule).groupOf(stage, groups); }
  const ParallelConfig &configOf(size_t group) const { return p.parallelConfigs[plan.stages[group].parallelConfig]; }

  void addStage(size_t s) {
    const PlacedStage &stage = plan.stages[s];
    StageTimes &times = pipeline.stages[s];
    size_t g = groupOf(s);
    Group &group = ofGroup[g];
    int64_t activations = 0, weights = 0, hostActivations = 0;
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      const auto &cost = *p.cost(stage.layers[i], stage.parallelConfig);
      const auto &recomputeChoice = cost.recomputeChoices[stage.recomputeChoices[i]];
      times.forward += cost.forward;
      times.backward += cost.backward + recomputeChoice.recomputeTime;
      times.weight += cost.weight;
      activations += recomputeChoice.activations;
      hostActivations += recomputeChoice.hostActivations;
      metrics.host[g] += cost.hostStaticMemory;
      weights += cost.weights;
      group.gradients += cost.gradients;
      group.expertGradients += cost.expertGradients;
      group.update += cost.update;
      metrics.memory[g] += cost.staticMemory;
      group.workspace = std::max(group.workspace, recomputeChoice.workspace);
      metrics.joules += cost.joules + recomputeChoice.recomputeTime * cost.recomputeJoules;
    }
    group.activations.push_back(activations), group.hostActivations.push_back(hostActivations);
    group.overlapTime += times.backward + times.weight;
    int64_t gather = minReplayTime(p.parallelConfigs[stage.parallelConfig].gather, weights);
    times.forward += gather + p.hostOverheadPerMicrobatch;
    times.backward += gather;
  }

  void addGroup(size_t g) {
    const auto &parallelConfig = configOf(g);
    const auto &deviceType = p.deviceTypes[parallelConfig.deviceType];
    Group &group = ofGroup[g];
    int64_t devices = parallelConfig.tensor * parallelConfig.data;
    group.first = taken[parallelConfig.deviceType];
    group.last = (taken[parallelConfig.deviceType] += devices) - 1;
    metrics.devices += devices;
    idle += deviceType.restWatts() * devices;
    price += deviceType.pricePerHour * devices / 3600;
    tdp += deviceType.tdpWatts * devices;
    auto [bytes, held] = peakOf(pipeline, g, group.activations);
    for (size_t virtualStage = 0; virtualStage < held.size(); ++virtualStage)
      for (size_t s = virtualStage * groups; s < (virtualStage + 1) * groups; ++s)
        if (groupOf(s) == g)
          metrics.inFlight[s] = held[virtualStage];
    metrics.memory[g] += bytes + group.workspace;
    metrics.host[g] += peakOf(pipeline, g, group.hostActivations).first;
    metrics.fits &= metrics.memory[g] <= deviceType.memory && metrics.host[g] <= deviceType.hostMemory;
    int64_t exchange = exchangeOf(g);
    auto hidden = static_cast<int64_t>(p.overlapFraction * group.overlapTime);
    if (p.maxOverlap < 1)
      hidden = std::min(hidden, static_cast<int64_t>(p.maxOverlap * exchange));
    pipeline.stages[g].stepTail = (exchange > hidden ? exchange - hidden : 0) + group.update;
  }

  int64_t exchangeOf(size_t g) const {
    const auto &parallelConfig = configOf(g);
    /// The last with no more replicas in a node than there are, else the first.
    auto takes = [](const std::vector<GradientSync> &syncs, int64_t replicasPerNode, int64_t bytes) {
      int64_t time = 0;
      for (const auto &sync : syncs)
        if (sync.replicasPerNode <= replicasPerNode || &sync == &syncs.front())
          time = minReplayTime(sync.alternatives, bytes);
      return time;
    };
    int64_t replicasPerNode = recountReplicasPerNode(p, plan.stages[g].parallelConfig, groups);
    // Replicas with the same experts are `expert` apart: so many times fewer are in one node.
    int64_t same = std::max<int64_t>(1, replicasPerNode / parallelConfig.expert);
    return takes(parallelConfig.gradientSyncs, replicasPerNode, ofGroup[g].gradients) +
           takes(parallelConfig.expertGradientSyncs, same, ofGroup[g].expertGradients);
  }

  /// Whether whatever two groups send stays in nodes.
  bool onOneNode(size_t a, size_t b) const {
    const auto &f = configOf(a), &other = configOf(b);
    int64_t size = p.deviceTypes[f.deviceType].devicesPerNode;
    if (f.order == RankOrder::TensorDataPipeline)
      return f.deviceType == other.deviceType && ofGroup[a].first / size == ofGroup[b].last / size &&
             ofGroup[a].last / size == ofGroup[b].first / size && ofGroup[a].first / size == ofGroup[a].last / size;
    int64_t different = std::min(f.data, size / std::gcd<int64_t, int64_t>(size, f.tensor * groups));
    if (different > PlacementProblem::kMaxReplicas)
      return false;
    for (int64_t r = 0; r < different; ++r) { // each device's node, replica for replica
      auto begin = [&](size_t g) { return int64_t(r * groups + g) * f.tensor; };
      std::set<int64_t> nodes;
      for (size_t g : {a, b})
        nodes.insert({begin(g) / size, (begin(g) + f.tensor - 1) / size});
      if (nodes.size() > 1)
        return false;
    }
    return true;
  }

  /// `bytes` of one sample from a stage to another.
  void addTransfer(uint32_t from, uint32_t to, int64_t bytes) {
    pipeline.feeds[to].push_back(from);
    size_t a = groupOf(from), b = groupOf(to);
    if (a == b)
      return;
    const auto &sends = configOf(a), &receives = configOf(b);
    const auto &link = p.link(sends.deviceType, receives.deviceType);
    double each =
        1.0 * bytes * (sends.data / sends.context * sends.microbatch) / std::min(sends.devices(), receives.devices());
    int64_t takes = minReplayTime({onOneNode(a, b) ? link.intraNode : link.interNode}, each);
    if (p.blockingTransfers) {
      pipeline.stages[to].forward += takes;
      pipeline.stages[from].backward += takes;
    } else {
      pipeline.stages[from].send = std::max(pipeline.stages[from].send, takes);
    }
  }

  void addTie(const PlacementProblem::Tie &tie) {
    size_t a = 0, b = 0;
    for (size_t s = 0; s < stages; ++s)
      for (Id l : plan.stages[s].layers) {
        if (l == tie.a)
          a = groupOf(s);
        if (l == tie.b)
          b = groupOf(s);
      }
    if (a == b)
      return;
    Id one = plan.stages[a].parallelConfig, two = plan.stages[b].parallelConfig;
    double shared = std::max(p.classOf(tie.a).costs[one]->tied, p.classOf(tie.b).costs[two]->tied);
    Id there = p.parallelConfigs[one].deviceType, back = p.parallelConfigs[two].deviceType;
    bool intraNode = onOneNode(a, b);
    auto takesOn = [&](const PlacementProblem::Link &link) {
      return minReplayTime({intraNode ? link.intraNode : link.interNode}, shared);
    };
    int64_t takes = std::max(takesOn(p.link(there, back)), takesOn(p.link(back, there)));
    pipeline.stages[a].stepTail += takes;
    pipeline.stages[b].stepTail += takes;
  }

  const PlacementProblem &p;
  const Placement &plan;
  size_t stages, groups;
  Traffic traffic;
  std::vector<Group> ofGroup;
  std::vector<int64_t> taken; ///< devices by type
  ReplayInput pipeline;
  PlanMetrics metrics;
  double idle = 0, price = 0, tdp = 0;
};

} // namespace

Errors placementViolations(const PlacementProblem &problem, const Placement &plan) {
  return PlanConstraintChecker(problem, plan).run();
}

int64_t recountReplicasPerNode(const PlacementProblem &p, PlacementProblem::Id parallelConfig, int64_t groups) {
  const auto &f = p.parallelConfigs[parallelConfig];
  bool stagesBetween = f.order == RankOrder::TensorPipelineData;
  int64_t apart = f.tensor * (stagesBetween ? groups : 1); // from one replica to the next
  return std::clamp<int64_t>(p.deviceTypes[f.deviceType].devicesPerNode / apart, 1, f.data);
}

std::optional<PlanMetrics> reevaluate(const PlacementProblem &p, const Placement &plan, double passes) {
  return PlanReevaluator(p, plan).run(passes);
}

} // namespace accord
