#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/evaluate/Pipeline.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>

namespace accord {

using Id = PlacementProblem::Id;

const char *name(RankOrder order) {
  return order == RankOrder::TensorPipelineData ? "tensor_pipeline_data" : "tensor_data_pipeline";
}

const char *name(Tables tables) {
  return tables == Tables::Rows ? "rows" : tables == Tables::Columns ? "columns" : "whole";
}

const char *name(ContextExchange exchange) {
  return exchange == ContextExchange::Ring        ? "ring"
         : exchange == ContextExchange::AllGather ? "all_gather"
                                                  : "all_to_all";
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
    const RecomputeChoice &recomputeChoice = problem.choiceOf(stage, i);
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
  const ParallelConfig &f = problem.parallelConfigs[parallelConfig];
  int64_t places = problem.deviceTypes[f.deviceType].devicesPerNode / f.tensor; // of whole tensor groups
  if (f.order == RankOrder::TensorPipelineData)
    places /= groups;
  return std::max<int64_t>(1, std::min(f.data, places));
}

bool replicasShareNode(const PlacementProblem &problem, Id parallelConfig, int64_t a, int64_t b, int64_t groups) {
  const ParallelConfig &f = problem.parallelConfigs[parallelConfig];
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
  const ParallelConfig &f = problem.parallelConfigs[parallelConfig];
  auto takes = [](const std::vector<GradientSync> &gradientSyncs, int64_t bytes, int64_t here) {
    const GradientSync *sync = nullptr;
    for (const GradientSync &one : gradientSyncs)
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
    const ParallelConfig &parallelConfig = problem.parallelConfigs[plan.stages[g].parallelConfig];
    tdp += problem.deviceTypes[parallelConfig.deviceType].tdpWatts * parallelConfig.devices();
  }
  return tdp * metrics.step * 1e-12;
}

int64_t maxDeviceMemory(const PlanMetrics &metrics) {
  return metrics.memory.empty() ? 0 : *std::max_element(metrics.memory.begin(), metrics.memory.end());
}

namespace {

/// Where the devices of each group are: the first rank within its device type.
std::vector<int64_t> offsetsOf(const PlacementProblem &problem, const Placement &plan) {
  std::vector<int64_t> used(problem.deviceTypes.size()), offsets;
  for (size_t g = 0; g < plan.groups(); ++g) {
    const ParallelConfig &parallelConfig = problem.parallelConfigs[plan.stages[g].parallelConfig];
    offsets.push_back(used[parallelConfig.deviceType]);
    used[parallelConfig.deviceType] += parallelConfig.devices();
  }
  return offsets;
}

class PlanEvaluator {
public:
  PlanEvaluator(const PlacementProblem &problem, const Placement &plan)
      : problem_(problem), plan_(plan), groups_(plan.groups()), offsets_(offsetsOf(problem, plan)) {}

  PlanMetrics stages(StageEdges &edges) {
    PlanMetrics metrics;
    metrics.inFlight.resize(plan_.stages.size());
    edges.assign(plan_.stages.size(), {});
    std::vector<StageWork> works;
    for (const PlacedStage &stage : plan_.stages)
      works.push_back(*workOf(problem_, stage));
    for (size_t s = 0; s < works.size(); ++s) {
      const ParallelConfig &parallelConfig = problem_.parallelConfigs[plan_.stages[s].parallelConfig];
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
      std::vector<size_t> mine = plan_.stagesOf(g);
      for (size_t s : mine)
        activations.push_back(works[s].activations), outside.push_back(works[s].hostActivations);
      auto moments = inFlightStatesOf(plan_.shape(), g);
      std::vector<int64_t> held = peakOf(moments, activations), heldOutside = peakOf(moments, outside);
      for (size_t c = 0; c < mine.size(); ++c) {
        size_t s = mine[c];
        metrics.inFlight[s] = held[c];
        metrics.memory[g] += works[s].staticMemory + metrics.inFlight[s] * works[s].activations;
        metrics.host[g] += works[s].hostStaticMemory + heldOutside[c] * works[s].hostActivations;
        workspace = std::max(workspace, works[s].workspace);
      }
      metrics.memory[g] += workspace;
      stepTail(metrics, works, g);
      metrics.fits &= metrics.memory[g] <= kindOf(g).memory && metrics.host[g] <= kindOf(g).hostMemory;
    }
    ties(metrics);
    return metrics;
  }

  PlanMetrics run() {
    StageEdges edges;
    PlanMetrics metrics = stages(edges);
    metrics.step =
        std::max(simulate(plan_.shape(), metrics.times, edges).step + problem_.hostOverheadPerStep, problem_.minStep);
    double seconds = metrics.step * 1e-12;
    for (size_t g = 0; g < groups_; ++g) {
      int64_t devices = problem_.parallelConfigs[plan_.stages[g].parallelConfig].devices();
      metrics.devices += devices;
      metrics.joules += kindOf(g).restWatts() * seconds * devices;
      metrics.price += kindOf(g).pricePerHour / 3600 * seconds * devices;
    }
    StepCosts costs{1.0 * metrics.step, metrics.joules, metrics.price, tdpTimeOf(problem_, plan_, metrics),
                    1.0 * maxDeviceMemory(metrics)};
    metrics.value = formulaOf(problem_.objective).value(costs, problem_.costPerJoule);
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
  const DeviceType &kindOf(size_t group) const { return problem_.deviceTypeOf(plan_.stages[group].parallelConfig); }

  /// Bytes of one sample that go between all pairs of stages with an edge, by {to, from}: each layer's output once. One
  /// of no bytes is a dependence, too.
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
    const ParallelConfig &a = problem_.parallelConfigs[plan_.stages[from].parallelConfig],
                         &b = problem_.parallelConfigs[plan_.stages[to].parallelConfig];
    if (plan_.groupOf(from) == plan_.groupOf(to)) // virtual stages of one group
      return {from, to, 0, true, 0};
    const PlacementProblem::Link &link = problem_.link(a.deviceType, b.deviceType);
    bool intraNode = onOneNode(plan_.groupOf(from), plan_.groupOf(to));
    double whole = bytes, share = whole * a.samples() / std::min(a.devices(), b.devices());
    return {from, to, share, intraNode, minTime({intraNode ? link.intraNode : link.interNode}, share)};
  }

  bool onOneNode(size_t g, size_t h) const {
    Id parallelConfig = plan_.stages[g].parallelConfig;
    const ParallelConfig &a = problem_.parallelConfigs[parallelConfig],
                         &b = problem_.parallelConfigs[plan_.stages[h].parallelConfig];
    if (a.order == RankOrder::TensorPipelineData)
      return replicasShareNode(problem_, parallelConfig, g, h, groups_);
    int64_t devicesPerNode = problem_.deviceTypes[a.deviceType].devicesPerNode;
    int64_t first = std::min(offsets_[g], offsets_[h]);
    int64_t last = std::max(offsets_[g] + a.devices(), offsets_[h] + b.devices()) - 1;
    return a.deviceType == b.deviceType && first / devicesPerNode == last / devicesPerNode;
  }

public:
  /// Copies of one parameter in two groups.
  std::vector<TieTransfer> tieTransfers() const {
    std::vector<TieTransfer> all;
    if (problem_.ties.empty())
      return all;
    std::vector<size_t> groupOf(problem_.layers.size());
    for (size_t s = 0; s < plan_.stages.size(); ++s)
      for (Id layer : plan_.stages[s].layers)
        groupOf[layer] = plan_.groupOf(s);
    for (const PlacementProblem::Tie &tie : problem_.ties) {
      size_t g = groupOf[tie.a], h = groupOf[tie.b];
      if (g == h)
        continue;
      Id a = plan_.stages[g].parallelConfig, b = plan_.stages[h].parallelConfig;
      double bytes = std::max(problem_.cost(tie.a, a)->tied, problem_.cost(tie.b, b)->tied);
      all.push_back({static_cast<uint32_t>(g), static_cast<uint32_t>(h), bytes, onOneNode(g, h)});
    }
    return all;
  }

private:
  void ties(PlanMetrics &metrics) const {
    for (const TieTransfer &tie : tieTransfers()) {
      int64_t takes = 0;
      Id a = plan_.stages[tie.a].parallelConfig, b = plan_.stages[tie.b].parallelConfig;
      for (auto [from, to] : {std::pair{a, b}, {b, a}}) {
        const PlacementProblem::Link &link =
            problem_.link(problem_.parallelConfigs[from].deviceType, problem_.parallelConfigs[to].deviceType);
        takes = std::max(takes, minTime({tie.intraNode ? link.intraNode : link.interNode}, tie.bytes));
      }
      metrics.times[tie.a].stepTail += takes, metrics.times[tie.b].stepTail += takes;
    }
  }

  /// Gradients of a group's stages are exchanged together.
  void stepTail(PlanMetrics &metrics, const std::vector<StageWork> &works, size_t group) const {
    StageWork all;
    for (size_t s : plan_.stagesOf(group))
      for (auto field : {&StageWork::backward, &StageWork::weight, &StageWork::update, &StageWork::gradients,
                         &StageWork::expertGradients})
        all.*field += works[s].*field;
    Id parallelConfig = plan_.stages[group].parallelConfig;
    metrics.times[group].stepTail =
        exposedStepTail(problem_, parallelConfig, all, countReplicasPerNode(problem_, parallelConfig, groups_));
  }

  const PlacementProblem &problem_;
  const Placement &plan_;
  size_t groups_;
  std::vector<int64_t> offsets_;
};

/// One method for each constraint; each says what it found, with the numbers of both sides.
class ViolationFinder {
public:
  ViolationFinder(const PlacementProblem &problem, const Placement &plan) : problem_(problem), plan_(plan) {}

  std::vector<std::string> run() {
    if (!verifyShape())
      return std::move(found_);
    verifyPipeline();
    verifyUniformStages();
    verifyBalancedStages();
    for (size_t s = 0; s < plan_.stages.size(); ++s)
      if (!verifyStage(s))
        return std::move(found_);
    verifyLayers();
    verifyPlacementConstraints();
    verifyEdges();
    verifyDevices();
    return std::move(found_);
  }

private:
  void violation(std::string text) { found_.push_back(std::move(text)); }

  bool verifyShape() {
    if (plan_.virtualStages >= 1 && plan_.microbatches >= 1 && !plan_.stages.empty() &&
        plan_.stages.size() % plan_.virtualStages == 0)
      return true;
    violation("it has no stages, virtual stages or micro-batches, or virtual stages do not divide the stages");
    return false;
  }

  void verifyPipeline() {
    const ScheduleModel &model = modelOf(plan_.schedule);
    if (!llvm::is_contained(problem_.schedules, plan_.schedule))
      violation(fmt::format("schedule {} is not in the search space", model.name));
    if (!llvm::is_contained(virtualStagesOf(problem_, model), plan_.virtualStages) ||
        !model.allows(plan_.groups(), plan_.microbatches))
      violation(fmt::format("{} virtual stages and {} micro-batches do not suit schedule {} on {} groups",
                            plan_.virtualStages, plan_.microbatches, model.name, plan_.groups()));
    if (!problem_.mayHaveGroups(plan_.groups()))
      violation(fmt::format("{} groups in a row are not in the search space", plan_.groups()));
  }

  void verifyUniformStages() {
    if (!problem_.uniformClass)
      return;
    auto isOfClass = [&](const PlacementProblem::Layer &layer) { return layer.of == *problem_.uniformClass; };
    size_t all = std::count_if(problem_.layers.begin(), problem_.layers.end(), isOfClass);
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      const auto &mine = plan_.stages[s].layers;
      size_t has = std::count_if(mine.begin(), mine.end(), [&](Id layer) {
        return layer < problem_.layers.size() && isOfClass(problem_.layers[layer]);
      });
      if (has * plan_.stages.size() != all)
        violation(fmt::format("stage {} has {} of {} layers '{}' that {} uniform stages divide", s, has, all,
                              problem_.classes[*problem_.uniformClass].name, plan_.stages.size()));
    }
  }

  void verifyBalancedStages() {
    const ScheduleModel &model = modelOf(plan_.schedule);
    if (model.virtualStages == ScheduleModel::VirtualStages::One || problem_.uniformClass)
      return;
    size_t min = problem_.layers.size() / plan_.stages.size(),
           max = min + (problem_.layers.size() % plan_.stages.size() ? 1 : 0);
    for (size_t s = 0; s < plan_.stages.size(); ++s)
      if (size_t size = plan_.stages[s].layers.size(); size < min || size > max)
        violation(fmt::format("{} stage {} has {} layers, even stages have {} or {}", model.name, s, size, min, max));
  }

  /// False: what follows cannot be looked at.
  bool verifyStage(size_t s) {
    const PlacedStage &stage = plan_.stages[s];
    if (stage.parallelConfig >= problem_.parallelConfigs.size() || stage.layers.empty() ||
        stage.recomputeChoices.size() != stage.layers.size() ||
        !std::is_sorted(stage.layers.begin(), stage.layers.end())) {
      violation(fmt::format("stage {} has no parallel configuration, no layers, or layers out of order", s));
      return false;
    }
    size_t group = plan_.groupOf(s);
    if (stage.parallelConfig != plan_.stages[group].parallelConfig)
      violation(fmt::format("stages {} and {} are on the same devices in two parallel configurations", group, s));
    verifyBatch(s);
    if (s == group)
      verifyGroupConfig(s);
    return verifyLayersOf(s);
  }

  void verifyBatch(size_t s) {
    const ParallelConfig &config = problem_.parallelConfigs[plan_.stages[s].parallelConfig];
    int64_t samples = config.samples();
    if (problem_.batch % samples != 0 || problem_.batch / samples != plan_.microbatches)
      violation(fmt::format("stage {} takes {} times {} samples a step, the batch has {}", s, plan_.microbatches,
                            samples, problem_.batch));
  }

  void verifyGroupConfig(size_t s) {
    constexpr auto kByReplica = RankOrder::TensorPipelineData;
    Id mine = plan_.stages[s].parallelConfig, first = plan_.stages[0].parallelConfig;
    const ParallelConfig &config = problem_.parallelConfigs[mine];
    used_[config.deviceType] += config.devices();
    if (config.order == kByReplica && mine != first)
      violation(fmt::format("stage {} runs replica after replica, unlike stage 0", s));
    if (config.oneGroup && plan_.groups() > 1)
      violation(fmt::format("stage {} has a parallel configuration of one group of devices, there are {}", s,
                            plan_.groups()));
    if (mine != first && problem_.parallelConfigs[first].order == kByReplica)
      violation(fmt::format("stage 0 runs replica after replica, unlike stage {}", s));
    Id &before = configOf_[config.deviceType];
    if (problem_.uniformConfigPerDeviceType && before != kNone && before != mine)
      violation(fmt::format("stage {} has another parallel configuration than those before it on '{}'", s,
                            problem_.deviceTypes[config.deviceType].name));
    before = mine;
  }

  bool verifyLayersOf(size_t s) {
    const PlacedStage &stage = plan_.stages[s];
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      Id layer = stage.layers[i];
      if (layer >= problem_.layers.size() || stageOf_[layer] < plan_.stages.size()) {
        violation(fmt::format("stage {} has a layer that is not there or is in two stages", s));
        return false;
      }
      stageOf_[layer] = s;
      const auto &cost = problem_.cost(layer, stage.parallelConfig);
      if (!cost || stage.recomputeChoices[i] >= cost->recomputeChoices.size())
        violation(fmt::format("layer '{}' cannot run as stage {} has it", problem_.layers[layer].name, s));
    }
    return true;
  }

  void verifyLayers() {
    for (Id layer = 0; layer < problem_.layers.size(); ++layer)
      if (stageOf_[layer] == plan_.stages.size())
        violation(fmt::format("layer '{}' is in no stage", problem_.layers[layer].name));
  }

  void verifyPlacementConstraints() {
    std::vector<size_t> first(problem_.placementConstraints.size(), plan_.stages.size());
    for (Id layer = 0; layer < problem_.layers.size(); ++layer)
      for (Id id : problem_.layers[layer].placementConstraints) {
        size_t stage = stageOf_[layer];
        if (stage == plan_.stages.size())
          continue;
        const PlacementProblem::PlacementConstraint &constraint = problem_.placementConstraints[id];
        const std::vector<Id> &types = constraint.deviceTypes;
        Id deviceType = problem_.parallelConfigs[plan_.stages[stage].parallelConfig].deviceType;
        if (first[id] == plan_.stages.size())
          first[id] = stage;
        bool onOtherType = !types.empty() && !llvm::is_contained(types, deviceType);
        if (onOtherType || (constraint.stage && static_cast<size_t>(*constraint.stage) != stage) ||
            (constraint.sameStage && stage != first[id]))
          violation(fmt::format("layer '{}' is in stage {} on '{}', against '{}'", problem_.layers[layer].name, stage,
                                problem_.deviceTypes[deviceType].name, constraint.text));
      }
  }

  void verifyEdges() {
    for (const PlacementProblem::Edge &edge : problem_.edges)
      if (stageOf_[edge.from] > stageOf_[edge.to])
        violation(fmt::format("'{}' feeds '{}' in an earlier stage", problem_.layers[edge.from].name,
                              problem_.layers[edge.to].name));
  }

  void verifyDevices() {
    for (size_t k = 0; k < used_.size(); ++k)
      if (used_[k] > problem_.deviceTypes[k].devices)
        violation(fmt::format("{} devices of '{}', there are {}", used_[k], problem_.deviceTypes[k].name,
                              problem_.deviceTypes[k].devices));
  }

  static constexpr Id kNone = ~Id(0);
  const PlacementProblem &problem_;
  const Placement &plan_;
  std::vector<std::string> found_;
  std::vector<size_t> stageOf_ = std::vector<size_t>(problem_.layers.size(), plan_.stages.size()); ///< by layer
  std::vector<int64_t> used_ = std::vector<int64_t>(problem_.deviceTypes.size());
  std::vector<Id> configOf_ = std::vector<Id>(problem_.deviceTypes.size(), kNone); ///< by device type: the last one
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

std::vector<TieTransfer> tieTransfersOf(const PlacementProblem &problem, const Placement &plan) {
  return PlanEvaluator(problem, plan).tieTransfers();
}

std::vector<std::string> findViolations(const PlacementProblem &problem, const Placement &plan) {
  return ViolationFinder(problem, plan).run();
}

} // namespace accord
