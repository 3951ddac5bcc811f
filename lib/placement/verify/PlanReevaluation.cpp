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
  return static_cast<int64_t>(std::ceil(min));
}

namespace {

using Id = PlacementProblem::Id;
constexpr size_t kNowhere = SIZE_MAX;

class PlanConstraintChecker {
public:
  PlanConstraintChecker(const PlacementProblem &problem, const Placement &plan) : p(problem), plan(plan) {}

  Errors run() {
    size_t stages = plan.stages.size();
    if (stages == 0 || plan.virtualStages < 1 || stages % static_cast<uint64_t>(plan.virtualStages) != 0) {
      report(Code::PlacementNotInSearchSpace,
             fmt::format("{} stages in {} virtual stages", stages, plan.virtualStages));
      return std::move(errors);
    }
    groups = stages / static_cast<size_t>(plan.virtualStages);
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
    bool isInSearchSpace = false;
    if (!std::any_of(p.groups.begin(), p.groups.end(),
                     [&](const PlacementProblem::GroupRange &r) {
                       return groups >= static_cast<uint64_t>(r.min) && groups <= static_cast<uint64_t>(r.max);
                     }) &&
        !p.groups.empty())
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
    for (PipelineSchedule schedule : p.schedules)
      isInSearchSpace |= schedule == plan.schedule;
    if (!isInSearchSpace)
      report(Code::PlacementNotInSearchSpace, "the schedule of the passes is not in the search space");
    std::vector<int64_t> known = stagesOfGroups(p, plan.schedule);
    bool several = ruleOf(plan.schedule).stages != ScheduleRule::Stages::One;
    if (std::find(known.begin(), known.end(), plan.virtualStages) == known.end())
      report(Code::PlacementNotInSearchSpace,
             several ? fmt::format("{} virtual stages are not in the search space", plan.virtualStages)
                     : fmt::format("{} virtual stages without an interleaved schedule", plan.virtualStages));
    if (!several)
      return;
    if (!runsOn(plan.schedule, static_cast<int64_t>(groups), plan.microbatches))
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

  /// False: forms or layers cannot be looked up.
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
    __int128 samples = static_cast<__int128>(parallelConfig.data) * parallelConfig.microbatch * plan.microbatches;
    if (samples != p.batch)
      report(Code::WrongBatch,
             fmt::format("stage {}: {} replicas, {} samples and {} micro-batches do not "
                         "make the batch, {}",
                         s, parallelConfig.data, parallelConfig.microbatch, plan.microbatches, p.batch));
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
                           count > INT64_MAX ? std::string("more than 2^63")
                                             : fmt::format("{}", static_cast<int64_t>(count)),
                           p.deviceTypes[deviceType].name, p.deviceTypes[deviceType].devices),
               p.deviceTypes[deviceType].location);
      bool replicaByReplica = false;
      for (Id f : parallelConfigs[deviceType])
        replicaByReplica |= p.parallelConfigs[f].order == PlacementProblem::RankOrder::TensorPipelineData;
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

} // namespace

Errors placementViolations(const PlacementProblem &problem, const Placement &plan) {
  return PlanConstraintChecker(problem, plan).run();
}

int64_t recountReplicasPerNode(const PlacementProblem &p, PlacementProblem::Id parallelConfig, int64_t groups) {
  const auto &f = p.parallelConfigs[parallelConfig];
  bool stagesBetween = f.order == PlacementProblem::RankOrder::TensorPipelineData;
  int64_t apart = f.tensor * (stagesBetween ? groups : 1); // from one replica to the next
  return std::clamp<int64_t>(p.deviceTypes[f.deviceType].devicesPerNode / apart, 1, f.data);
}

std::optional<PlanMetrics> reevaluate(const PlacementProblem &p, const Placement &plan, double passes) {
  size_t stages = plan.stages.size(), groups = stages / static_cast<size_t>(plan.virtualStages);
  auto groupOf = [&](size_t stage) { return ruleOf(plan.schedule).groupOf(stage, groups); };
  Traffic traffic = trafficOf(p, plan);
  if (static_cast<double>(plan.microbatches) * (stages + traffic.size()) > passes)
    return std::nullopt;
  ReplayInput pipeline{plan.schedule,     static_cast<int64_t>(groups),    plan.virtualStages,
                       plan.microbatches, std::vector<StageTimes>(stages), std::vector<std::vector<uint32_t>>(stages)};
  PlanMetrics metrics;
  metrics.inFlight.resize(stages);

  std::vector<int64_t> gradients(groups), expertGradients(groups), updates(groups), overlapTime(groups),
      workspace(groups);
  metrics.memory.resize(groups), metrics.host.resize(groups);
  std::vector<std::vector<int64_t>> recomputeChoices(groups), outside(groups); // by group, chunk
  for (size_t s = 0; s < stages; ++s) {
    const PlacedStage &stage = plan.stages[s];
    StageTimes &times = pipeline.stages[s];
    size_t g = groupOf(s);
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
      gradients[g] += cost.gradients;
      expertGradients[g] += cost.expertGradients;
      updates[g] += cost.update;
      metrics.memory[g] += cost.staticMemory;
      workspace[g] = std::max(workspace[g], recomputeChoice.workspace);
      metrics.joules += cost.joules + recomputeChoice.recomputeTime * cost.recomputeJoules;
    }
    recomputeChoices[g].push_back(activations), outside[g].push_back(hostActivations);
    overlapTime[g] += times.backward + times.weight;
    int64_t gather = minReplayTime(p.parallelConfigs[stage.parallelConfig].gather, weights);
    times.forward += gather + p.hostOverheadPerMicrobatch;
    times.backward += gather;
  }

  std::vector<int64_t> first(groups), last(groups), taken(p.deviceTypes.size());
  double idle = 0, price = 0, tdp = 0;
  for (size_t g = 0; g < groups; ++g) {
    const auto &parallelConfig = p.parallelConfigs[plan.stages[g].parallelConfig];
    const auto &deviceType = p.deviceTypes[parallelConfig.deviceType];
    int64_t devices = parallelConfig.tensor * parallelConfig.data;
    first[g] = taken[parallelConfig.deviceType];
    last[g] = (taken[parallelConfig.deviceType] += devices) - 1;
    metrics.devices += devices;
    idle += deviceType.idleWatts * devices;
    price += deviceType.pricePerHour * devices / 3600;
    tdp += deviceType.tdpWatts * devices;
    auto [bytes, held] = peakOf(pipeline, g, recomputeChoices[g]);
    for (size_t virtualStage = 0; virtualStage < held.size(); ++virtualStage)
      for (size_t s = virtualStage * groups; s < (virtualStage + 1) * groups; ++s)
        if (groupOf(s) == g)
          metrics.inFlight[s] = held[virtualStage];
    metrics.memory[g] += bytes + workspace[g];
    metrics.host[g] += peakOf(pipeline, g, outside[g]).first;
    metrics.fits &= metrics.memory[g] <= deviceType.memory && metrics.host[g] <= deviceType.hostMemory;

    int64_t replicasPerNode = recountReplicasPerNode(p, plan.stages[g].parallelConfig, groups);
    int64_t exchange = 0;
    for (size_t i = 0; i < parallelConfig.gradientSyncs.size(); ++i) // the last with no more together than there are
      if (i == 0 || parallelConfig.gradientSyncs[i].replicasPerNode <= replicasPerNode)
        exchange = minReplayTime(parallelConfig.gradientSyncs[i].alternatives, gradients[g]);
    // Replicas with the same experts are `expert` apart: so many times fewer are together.
    int64_t experts = 0, same = std::max<int64_t>(1, replicasPerNode / parallelConfig.expert);
    for (const auto &sync : parallelConfig.expertGradientSyncs)
      if (sync.replicasPerNode <= same || &sync == &parallelConfig.expertGradientSyncs.front())
        experts = minReplayTime(sync.alternatives, expertGradients[g]);
    exchange += experts;
    auto overlapFraction = static_cast<int64_t>(p.overlapFraction * overlapTime[g]);
    if (p.maxOverlap < 1)
      overlapFraction = std::min(overlapFraction, static_cast<int64_t>(p.maxOverlap * exchange));
    pipeline.stages[g].stepTail = (exchange > overlapFraction ? exchange - overlapFraction : 0) + updates[g];
  }

  /// Whether whatever two groups send stays in servers.
  auto onOneNode = [&](size_t a, size_t b) {
    const auto &f = p.parallelConfigs[plan.stages[a].parallelConfig],
               &other = p.parallelConfigs[plan.stages[b].parallelConfig];
    int64_t size = p.deviceTypes[f.deviceType].devicesPerNode;
    if (f.order == PlacementProblem::RankOrder::TensorDataPipeline)
      return f.deviceType == other.deviceType && first[a] / size == last[b] / size &&
             last[a] / size == first[b] / size && first[a] / size == last[a] / size;
    int64_t different = std::min(f.data, size / std::gcd(size, f.tensor * static_cast<int64_t>(groups)));
    if (different > PlacementProblem::kMaxReplicas)
      return false;
    for (int64_t r = 0; r < different; ++r) { // each device's server, replica for replica
      auto begin = [&](size_t g) { return (r * static_cast<int64_t>(groups) + static_cast<int64_t>(g)) * f.tensor; };
      std::set<int64_t> servers;
      for (size_t g : {a, b})
        servers.insert({begin(g) / size, (begin(g) + f.tensor - 1) / size});
      if (servers.size() > 1)
        return false;
    }
    return true;
  };
  for (const auto &[ends, bytes] : traffic) {
    auto [from, to] = ends;
    pipeline.feeds[to].push_back(from);
    size_t a = groupOf(from), b = groupOf(to);
    if (a == b)
      continue;
    const auto &sends = p.parallelConfigs[plan.stages[a].parallelConfig],
               &receives = p.parallelConfigs[plan.stages[b].parallelConfig];
    const auto &link = p.link(sends.deviceType, receives.deviceType);
    bool intraNode = onOneNode(a, b);
    double each =
        static_cast<double>(bytes) * (sends.data * sends.microbatch) / std::min(sends.devices(), receives.devices());
    int64_t takes = minReplayTime({intraNode ? link.intraNode : link.interNode}, each);
    if (p.blockingTransfers) {
      pipeline.stages[to].forward += takes;
      pipeline.stages[from].backward += takes;
    } else {
      pipeline.stages[from].send = std::max(pipeline.stages[from].send, takes);
    }
  }

  for (const auto &tie : p.ties) {
    size_t at[2] = {0, 0};
    for (size_t s = 0; s < stages; ++s)
      for (Id l : plan.stages[s].layers) {
        if (l == tie.a)
          at[0] = groupOf(s);
        if (l == tie.b)
          at[1] = groupOf(s);
      }
    if (at[0] == at[1])
      continue;
    Id one = plan.stages[at[0]].parallelConfig, two = plan.stages[at[1]].parallelConfig;
    auto shared = static_cast<double>(std::max(p.classOf(tie.a).costs[one]->tied, p.classOf(tie.b).costs[two]->tied));
    size_t n = p.deviceTypes.size(), there = p.parallelConfigs[one].deviceType,
           back = p.parallelConfigs[two].deviceType;
    bool intraNode = onOneNode(at[0], at[1]);
    auto takesOn = [&](const PlacementProblem::Link &link) {
      return minReplayTime({intraNode ? link.intraNode : link.interNode}, shared);
    };
    int64_t takes = std::max(takesOn(p.links[there * n + back]), takesOn(p.links[back * n + there]));
    for (size_t g : at)
      pipeline.stages[g].stepTail += takes;
  }

  PipelineReplay run = replay(pipeline);
  if (!run.ends)
    return std::nullopt;
  metrics.step = run.step + p.hostOverheadPerStep;
  if (metrics.step < p.minStep)
    metrics.step = p.minStep;
  metrics.times = std::move(pipeline.stages);
  double seconds = metrics.step * 1e-12;
  metrics.joules += idle * seconds;
  metrics.price = price * seconds;
  double memory = 0;
  for (int64_t bytes : metrics.memory)
    memory = std::max(memory, static_cast<double>(bytes));
  metrics.value =
      ruleOf(p.objective)
          .value(p, {static_cast<double>(metrics.step), metrics.joules, metrics.price, tdp * seconds, memory});
  return metrics;
}

} // namespace accord
