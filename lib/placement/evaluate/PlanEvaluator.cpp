#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/evaluate/Pipeline.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>

namespace accord {

using Id = PlacementProblem::Id;

const char *name(PlacementObjective objective) {
  switch (objective) {
  case PlacementObjective::StepTime:
    return "step_time";
  case PlacementObjective::Energy:
    return "energy";
  case PlacementObjective::Price:
    return "price";
  case PlacementObjective::TdpTime:
    return "tdp_time";
  case PlacementObjective::Memory:
    return "memory";
  }
  return "step_time";
}

const char *name(PlacementProblem::RankOrder order) {
  return order == PlacementProblem::RankOrder::TensorPipelineData ? "tensor_pipeline_data" : "tensor_data_pipeline";
}

const char *name(PlacementProblem::Tables tables) {
  switch (tables) {
  case PlacementProblem::Tables::Whole:
    return "whole";
  case PlacementProblem::Tables::Rows:
    return "rows";
  case PlacementProblem::Tables::Columns:
    return "columns";
  }
  return "whole";
}

int64_t minTime(const std::vector<AlphaBetaModel> &alternatives, double bytes) {
  if (alternatives.empty() || !(bytes > 0))
    return 0;
  double min = INFINITY;
  for (const AlphaBetaModel &way : alternatives)
    min = std::min(min, way.latency + way.perByte * bytes);
  return static_cast<int64_t>(std::ceil(min));
}

std::optional<StageWork> workOf(const PlacementProblem &problem, const PlacedStage &stage) {
  StageWork work;
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    const auto &cost = problem.cost(stage.layers[i], stage.parallelConfig);
    if (!cost)
      return std::nullopt;
    const PlacementProblem::RecomputeChoice &recomputeChoice = cost->recomputeChoices[stage.recomputeChoices[i]];
    work.forward += cost->forward;
    work.backward += cost->backward + recomputeChoice.recomputeTime;
    work.weight += cost->weight;
    work.update += cost->update;
    work.staticMemory += cost->staticMemory;
    work.hostStaticMemory += cost->hostStaticMemory;
    work.hostActivations += recomputeChoice.hostActivations;
    work.gradients += cost->gradients;
    work.expertGradients += cost->expertGradients;
    work.weights += cost->weights;
    work.activations += recomputeChoice.activations;
    work.workspace = std::max(work.workspace, recomputeChoice.workspace);
    work.joules += cost->joules + cost->recomputeJoules * recomputeChoice.recomputeTime;
  }
  return work;
}

int64_t countReplicasPerNode(const PlacementProblem &problem, Id parallelConfig, int64_t groups) {
  const PlacementProblem::ParallelConfig &f = problem.parallelConfigs[parallelConfig];
  int64_t places = problem.deviceTypes[f.deviceType].devicesPerNode / f.tensor; // of whole tensor groups
  if (f.order == PlacementProblem::RankOrder::TensorPipelineData)
    places /= groups;
  return std::max<int64_t>(1, std::min(f.data, places));
}

bool replicasShareNode(const PlacementProblem &problem, Id parallelConfig, int64_t a, int64_t b, int64_t groups) {
  const PlacementProblem::ParallelConfig &f = problem.parallelConfigs[parallelConfig];
  int64_t devicesPerNode = problem.deviceTypes[f.deviceType].devicesPerNode, replica = f.tensor * groups;
  int64_t first = std::min(a, b) * f.tensor, last = (std::max(a, b) + 1) * f.tensor - 1;
  if (last - first >= devicesPerNode)
    return false;
  // Places of servers where replicas begin repeat themselves.
  int64_t looked = std::min(f.data, devicesPerNode / std::gcd(devicesPerNode, replica));
  if (looked > PlacementProblem::kMaxReplicas)
    return false;
  for (int64_t r = 0; r < looked; ++r)
    if ((r * replica + first) / devicesPerNode != (r * replica + last) / devicesPerNode)
      return false;
  return true;
}

int64_t gradientSyncTime(const PlacementProblem &problem, Id parallelConfig, const StageWork &work,
                         int64_t replicasPerNode) {
  const PlacementProblem::ParallelConfig &f = problem.parallelConfigs[parallelConfig];
  auto takes = [](const std::vector<PlacementProblem::GradientSync> &gradientSyncs, int64_t bytes, int64_t here) {
    const PlacementProblem::GradientSync *sync = nullptr;
    for (const PlacementProblem::GradientSync &one : gradientSyncs)
      if (!sync || one.replicasPerNode <= here)
        sync = &one;
    return sync ? minTime(sync->alternatives, bytes) : 0;
  };
  return takes(f.gradientSyncs, work.gradients, replicasPerNode) +
         takes(f.expertGradientSyncs, work.expertGradients, replicasPerNode / f.expert);
}

int64_t exposedStepTail(const PlacementProblem &problem, Id parallelConfig, const StageWork &work,
                        int64_t replicasPerNode) {
  int64_t exchange = gradientSyncTime(problem, parallelConfig, work, replicasPerNode);
  auto behind = static_cast<int64_t>(problem.overlapFraction * (work.backward + work.weight));
  int64_t can = problem.maxOverlap < 1 ? static_cast<int64_t>(problem.maxOverlap * exchange) : exchange;
  return exchange - std::min(can, behind) + work.update;
}

double tdpTimeOf(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics) {
  double tdp = 0;
  for (size_t g = 0; g < metrics.memory.size(); ++g) {
    const PlacementProblem::ParallelConfig &parallelConfig = problem.parallelConfigs[plan.stages[g].parallelConfig];
    tdp += problem.deviceTypes[parallelConfig.deviceType].tdpWatts * parallelConfig.devices();
  }
  return tdp * metrics.step * 1e-12;
}

int64_t maxDeviceMemory(const PlanMetrics &metrics) {
  return metrics.memory.empty() ? 0 : *std::max_element(metrics.memory.begin(), metrics.memory.end());
}

namespace {

/// Where the devices of each group are: the first rank within its kind.
std::vector<int64_t> offsetsOf(const PlacementProblem &problem, const Placement &plan) {
  std::vector<int64_t> used(problem.deviceTypes.size()), offsets;
  for (size_t g = 0; g < plan.stages.size() / static_cast<size_t>(plan.virtualStages); ++g) {
    const PlacementProblem::ParallelConfig &parallelConfig = problem.parallelConfigs[plan.stages[g].parallelConfig];
    offsets.push_back(used[parallelConfig.deviceType]);
    used[parallelConfig.deviceType] += parallelConfig.devices();
  }
  return offsets;
}

class PlanEvaluator {
public:
  PlanEvaluator(const PlacementProblem &problem, const Placement &plan)
      : problem_(problem), plan_(plan), groups_(plan.stages.size() / static_cast<size_t>(plan.virtualStages)),
        offsets_(offsetsOf(problem, plan)) {}

  PlanMetrics stages(StageEdges &edges) {
    PlanMetrics metrics;
    metrics.inFlight.resize(plan_.stages.size());
    edges.assign(plan_.stages.size(), {});
    std::vector<StageWork> works;
    for (const PlacedStage &stage : plan_.stages)
      works.push_back(*workOf(problem_, stage));
    for (size_t s = 0; s < works.size(); ++s) {
      const PlacementProblem::ParallelConfig &parallelConfig = problem_.parallelConfigs[plan_.stages[s].parallelConfig];
      int64_t gather = minTime(parallelConfig.gather, works[s].weights);
      metrics.times.push_back({works[s].forward + problem_.hostOverheadPerMicrobatch + gather,
                               works[s].backward + gather, works[s].weight, 0, 0});
      metrics.joules += works[s].joules;
    }
    for (const auto &[ends, bytes] : crossings()) {
      auto [to, from] = ends;
      edges[to].push_back(from);
      int64_t takes = transfer(from, to, bytes).time;
      if (problem_.blockingTransfers) {
        metrics.times[to].forward += takes;
        metrics.times[from].backward += takes;
      } else {
        metrics.times[from].send = std::max(metrics.times[from].send, takes);
      }
    }
    metrics.memory.resize(groups_), metrics.host.resize(groups_);
    for (size_t g = 0; g < groups_; ++g) {
      int64_t workspace = 0;
      std::vector<int64_t> activations, outside;
      for (size_t s = g; s < works.size(); s += groups_)
        activations.push_back(works[s].activations), outside.push_back(works[s].hostActivations);
      auto moments = inFlightStatesOf(shape(), g);
      std::vector<int64_t> held = peakOf(moments, activations), heldOutside = peakOf(moments, outside);
      for (size_t s = g; s < works.size(); s += groups_) {
        metrics.inFlight[s] = held[s / groups_];
        metrics.memory[g] += works[s].staticMemory + metrics.inFlight[s] * works[s].activations;
        metrics.host[g] += works[s].hostStaticMemory + heldOutside[s / groups_] * works[s].hostActivations;
        workspace = std::max(workspace, works[s].workspace);
      }
      metrics.memory[g] += workspace;
      stepTail(metrics, works, g);
      metrics.fits &= metrics.memory[g] <= kindOf(g).memory && metrics.host[g] <= kindOf(g).hostMemory;
    }
    ties(metrics);
    return metrics;
  }

  PipelineShape shape() const {
    return {plan_.schedule, static_cast<int64_t>(groups_), plan_.virtualStages, plan_.microbatches};
  }

  PlanMetrics run() {
    StageEdges edges;
    PlanMetrics metrics = stages(edges);
    metrics.step =
        std::max(simulate(shape(), metrics.times, edges).step + problem_.hostOverheadPerStep, problem_.minStep);
    double seconds = metrics.step * 1e-12;
    for (size_t g = 0; g < groups_; ++g) {
      int64_t devices = problem_.parallelConfigs[plan_.stages[g].parallelConfig].devices();
      metrics.devices += devices;
      metrics.joules += kindOf(g).idleWatts * seconds * devices;
      metrics.price += kindOf(g).pricePerHour / 3600 * seconds * devices;
    }
    metrics.value = problem_.objective == PlacementObjective::StepTime ? static_cast<double>(metrics.step)
                    : problem_.objective == PlacementObjective::Energy ? metrics.joules
                    : problem_.objective == PlacementObjective::Price  ? metrics.price
                    : problem_.objective == PlacementObjective::Memory ? static_cast<double>(maxDeviceMemory(metrics))
                                                                       : tdpTimeOf(problem_, plan_, metrics);
    return metrics;
  }

  std::vector<StageTransfer> transfers() const {
    std::vector<StageTransfer> all;
    for (const auto &[ends, bytes] : crossings())
      if (bytes > 0)
        all.push_back(transfer(ends.second, ends.first, bytes));
    return all;
  }

private:
  const PlacementProblem::DeviceType &kindOf(size_t group) const {
    return problem_.deviceTypes[problem_.parallelConfigs[plan_.stages[group].parallelConfig].deviceType];
  }

  /// Bytes of one sample that go between all pairs of stages with an edge, by {to, from}: each
  /// layer's output once. One of no bytes is a dependence, too.
  std::map<std::pair<uint32_t, uint32_t>, int64_t> crossings() const {
    std::vector<uint32_t> stageOf(problem_.layers.size());
    for (uint32_t s = 0; s < plan_.stages.size(); ++s)
      for (Id layer : plan_.stages[s].layers)
        stageOf[layer] = s;
    std::map<std::tuple<uint32_t, uint32_t, Id>, int64_t> outputs; // of a layer into a stage
    for (const PlacementProblem::Edge &edge : problem_.edges)
      if (stageOf[edge.from] < stageOf[edge.to]) {
        int64_t &max = outputs[{stageOf[edge.to], stageOf[edge.from], edge.from}];
        max = std::max(max, edge.bytes);
      }
    std::map<std::pair<uint32_t, uint32_t>, int64_t> crossings;
    for (const auto &[output, bytes] : outputs)
      crossings[{std::get<0>(output), std::get<1>(output)}] += bytes;
    return crossings;
  }

  StageTransfer transfer(uint32_t from, uint32_t to, int64_t bytes) const {
    const PlacementProblem::ParallelConfig &a = problem_.parallelConfigs[plan_.stages[from].parallelConfig],
                                           &b = problem_.parallelConfigs[plan_.stages[to].parallelConfig];
    if (from % groups_ == to % groups_) // chunks of one group
      return {from, to, 0, true, 0};
    const PlacementProblem::Link &link = problem_.links[a.deviceType * problem_.deviceTypes.size() + b.deviceType];
    bool intraNode = onOneNode(from % groups_, to % groups_);
    double share = static_cast<double>(bytes) * (a.data * a.microbatch) / std::min(a.devices(), b.devices());
    return {from, to, share, intraNode, minTime({intraNode ? link.intraNode : link.interNode}, share)};
  }

  bool onOneNode(size_t g, size_t h) const {
    Id parallelConfig = plan_.stages[g].parallelConfig;
    const PlacementProblem::ParallelConfig &a = problem_.parallelConfigs[parallelConfig],
                                           &b = problem_.parallelConfigs[plan_.stages[h].parallelConfig];
    if (a.order == PlacementProblem::RankOrder::TensorPipelineData)
      return replicasShareNode(problem_, parallelConfig, g, h, groups_);
    int64_t devicesPerNode = problem_.deviceTypes[a.deviceType].devicesPerNode;
    int64_t first = std::min(offsets_[g], offsets_[h]);
    int64_t last = std::max(offsets_[g] + a.devices(), offsets_[h] + b.devices()) - 1;
    return a.deviceType == b.deviceType && first / devicesPerNode == last / devicesPerNode;
  }

  /// Copies of one parameter in two groups.
  void ties(PlanMetrics &metrics) const {
    if (problem_.ties.empty())
      return;
    std::vector<size_t> groupOf(problem_.layers.size());
    for (size_t s = 0; s < plan_.stages.size(); ++s)
      for (Id layer : plan_.stages[s].layers)
        groupOf[layer] = s % groups_;
    for (const PlacementProblem::Tie &tie : problem_.ties) {
      size_t g = groupOf[tie.a], h = groupOf[tie.b];
      if (g == h)
        continue;
      Id a = plan_.stages[g].parallelConfig, b = plan_.stages[h].parallelConfig;
      auto bytes = static_cast<double>(std::max(problem_.cost(tie.a, a)->tied, problem_.cost(tie.b, b)->tied));
      bool intraNode = onOneNode(g, h);
      int64_t takes = 0;
      for (auto [from, to] : {std::pair{a, b}, {b, a}}) {
        const PlacementProblem::Link &link =
            problem_.links[problem_.parallelConfigs[from].deviceType * problem_.deviceTypes.size() +
                           problem_.parallelConfigs[to].deviceType];
        takes = std::max(takes, minTime({intraNode ? link.intraNode : link.interNode}, bytes));
      }
      metrics.times[g].stepTail += takes, metrics.times[h].stepTail += takes;
    }
  }

  /// Gradients of a group's stages are exchanged together.
  void stepTail(PlanMetrics &metrics, const std::vector<StageWork> &works, size_t group) const {
    StageWork all;
    for (size_t s = group; s < works.size(); s += groups_) {
      all.backward += works[s].backward;
      all.weight += works[s].weight;
      all.update += works[s].update;
      all.gradients += works[s].gradients;
      all.expertGradients += works[s].expertGradients;
    }
    Id parallelConfig = plan_.stages[group].parallelConfig;
    metrics.times[group].stepTail =
        exposedStepTail(problem_, parallelConfig, all, countReplicasPerNode(problem_, parallelConfig, groups_));
  }

  const PlacementProblem &problem_;
  const Placement &plan_;
  size_t groups_;
  std::vector<int64_t> offsets_;
};

} // namespace

PlanMetrics evaluateStages(const PlacementProblem &problem, const Placement &plan,
                           std::vector<std::vector<uint32_t>> &edges) {
  return PlanEvaluator(problem, plan).stages(edges);
}

PlanMetrics evaluate(const PlacementProblem &problem, const Placement &plan) {
  return PlanEvaluator(problem, plan).run();
}

std::vector<StageTransfer> transfersOf(const PlacementProblem &problem, const Placement &plan) {
  return PlanEvaluator(problem, plan).transfers();
}

std::vector<std::string> findViolations(const PlacementProblem &problem, const Placement &plan) {
  std::vector<std::string> found;
  auto violation = [&](std::string text) { found.push_back(std::move(text)); };
  if (plan.virtualStages < 1 || plan.microbatches < 1 || plan.stages.empty() ||
      plan.stages.size() % static_cast<size_t>(plan.virtualStages) != 0) {
    violation("it has no stages, virtual stages or micro-batches, or virtual stages do not divide the stages");
    return found;
  }
  size_t groups = plan.stages.size() / static_cast<size_t>(plan.virtualStages);
  bool interleaved = plan.schedule == PipelineSchedule::Interleaved;
  if (std::find(problem.schedules.begin(), problem.schedules.end(), plan.schedule) == problem.schedules.end())
    violation(fmt::format("schedule {} is not in the search space", name(plan.schedule)));
  if (interleaved ? std::find(problem.virtualStages.begin(), problem.virtualStages.end(), plan.virtualStages) ==
                            problem.virtualStages.end() ||
                        plan.virtualStages < 2 || groups < 2 || plan.microbatches % static_cast<int64_t>(groups) != 0
                  : plan.virtualStages != 1)
    violation(fmt::format("{} virtual stages and {} micro-batches do not suit schedule {} on {} groups",
                          plan.virtualStages, plan.microbatches, name(plan.schedule), groups));
  if (!problem.mayHaveGroups(static_cast<int64_t>(groups)))
    violation(fmt::format("{} groups in a row are not in the search space", groups));
  if (problem.uniformClass)
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      auto ofIt = [&](Id layer) {
        return layer < problem.layers.size() && problem.layers[layer].of == *problem.uniformClass;
      };
      const auto &mine = plan.stages[s].layers;
      auto has = static_cast<size_t>(std::count_if(mine.begin(), mine.end(), ofIt)), all = size_t{0};
      for (const auto &layer : problem.layers)
        all += layer.of == *problem.uniformClass;
      if (has * plan.stages.size() != all)
        violation(fmt::format("stage {} has {} of {} layers '{}' that {} uniform stages divide", s, has, all,
                              problem.classes[*problem.uniformClass].name, plan.stages.size()));
    }
  if (interleaved && !problem.uniformClass) {
    size_t min = problem.layers.size() / plan.stages.size(),
           max = min + (problem.layers.size() % plan.stages.size() ? 1 : 0);
    for (size_t s = 0; s < plan.stages.size(); ++s)
      if (size_t size = plan.stages[s].layers.size(); size < min || size > max)
        violation(fmt::format("interleaved stage {} has {} layers, even stages have {} or {}", s, size, min, max));
  }
  std::vector<size_t> stageOf(problem.layers.size(), plan.stages.size());
  std::vector<int64_t> used(problem.deviceTypes.size());
  std::vector<Id> parallelConfigOf(problem.deviceTypes.size(), PlacementProblem::Id(~0u));
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const PlacedStage &stage = plan.stages[s];
    if (stage.parallelConfig >= problem.parallelConfigs.size() || stage.layers.empty() ||
        stage.recomputeChoices.size() != stage.layers.size() ||
        !std::is_sorted(stage.layers.begin(), stage.layers.end())) {
      violation(fmt::format("stage {} has no parallel configuration, no layers, or layers out of order", s));
      return found;
    }
    const PlacementProblem::ParallelConfig &parallelConfig = problem.parallelConfigs[stage.parallelConfig];
    if (stage.parallelConfig != plan.stages[s % groups].parallelConfig)
      violation(fmt::format("stages {} and {} are on the same devices in two parallel configurations", s % groups, s));
    int64_t samples = parallelConfig.data * parallelConfig.microbatch;
    if (problem.batch % samples != 0 || problem.batch / samples != plan.microbatches)
      violation(fmt::format("stage {} takes {} times {} samples a step, the batch has {}", s, plan.microbatches,
                            samples, problem.batch));
    if (s < groups) {
      used[parallelConfig.deviceType] += parallelConfig.devices();
      if (parallelConfig.order == PlacementProblem::RankOrder::TensorPipelineData &&
          stage.parallelConfig != plan.stages[0].parallelConfig)
        violation(fmt::format("stage {} runs replica after replica, unlike stage 0", s));
      if (plan.stages[0].parallelConfig < problem.parallelConfigs.size() &&
          stage.parallelConfig != plan.stages[0].parallelConfig &&
          problem.parallelConfigs[plan.stages[0].parallelConfig].order ==
              PlacementProblem::RankOrder::TensorPipelineData)
        violation(fmt::format("stage 0 runs replica after replica, unlike stage {}", s));
      if (problem.uniformConfigPerDeviceType && parallelConfigOf[parallelConfig.deviceType] != ~0u &&
          parallelConfigOf[parallelConfig.deviceType] != stage.parallelConfig)
        violation(fmt::format("stage {} has another parallel configuration than those before it on '{}'", s,
                              problem.deviceTypes[parallelConfig.deviceType].name));
      parallelConfigOf[parallelConfig.deviceType] = stage.parallelConfig;
    }
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      Id layer = stage.layers[i];
      if (layer >= problem.layers.size() || stageOf[layer] < plan.stages.size()) {
        violation(fmt::format("stage {} has a layer that is not there or is in two stages", s));
        return found;
      }
      stageOf[layer] = s;
      const auto &cost = problem.cost(layer, stage.parallelConfig);
      if (!cost || stage.recomputeChoices[i] >= cost->recomputeChoices.size())
        violation(fmt::format("layer '{}' cannot run as stage {} has it", problem.layers[layer].name, s));
    }
  }
  for (Id layer = 0; layer < problem.layers.size(); ++layer)
    if (stageOf[layer] == plan.stages.size())
      violation(fmt::format("layer '{}' is in no stage", problem.layers[layer].name));
  std::vector<size_t> first(problem.placementConstraints.size(), plan.stages.size());
  for (Id layer = 0; layer < problem.layers.size(); ++layer)
    for (Id id : problem.layers[layer].placementConstraints) {
      if (stageOf[layer] == plan.stages.size())
        continue;
      const PlacementProblem::PlacementConstraint &constraint = problem.placementConstraints[id];
      Id deviceType = problem.parallelConfigs[plan.stages[stageOf[layer]].parallelConfig].deviceType;
      if (first[id] == plan.stages.size())
        first[id] = stageOf[layer];
      if ((!constraint.deviceTypes.empty() && std::find(constraint.deviceTypes.begin(), constraint.deviceTypes.end(),
                                                        deviceType) == constraint.deviceTypes.end()) ||
          (constraint.stage && static_cast<size_t>(*constraint.stage) != stageOf[layer]) ||
          (constraint.sameStage && stageOf[layer] != first[id]))
        violation(fmt::format("layer '{}' is in stage {} on '{}', against '{}'", problem.layers[layer].name,
                              stageOf[layer], problem.deviceTypes[deviceType].name, constraint.text));
    }
  for (const PlacementProblem::Edge &edge : problem.edges)
    if (stageOf[edge.from] > stageOf[edge.to])
      violation(fmt::format("'{}' feeds '{}' in an earlier stage", problem.layers[edge.from].name,
                            problem.layers[edge.to].name));
  for (size_t k = 0; k < used.size(); ++k)
    if (used[k] > problem.deviceTypes[k].devices)
      violation(fmt::format("{} devices of '{}', there are {}", used[k], problem.deviceTypes[k].name,
                            problem.deviceTypes[k].devices));
  return found;
}

} // namespace accord
