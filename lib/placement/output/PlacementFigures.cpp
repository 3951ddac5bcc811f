#include "lib/placement/output/PlacementFigures.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace accord {

using Id = PlacementProblem::Id;

const char *name(StepComponent share) {
  static constexpr const char *kNames[] = {"forward",       "backward", "recompute", "transfer",
                                           "gradient_sync", "update",   "host",      "bubble"};
  return kNames[llvm::to_underlying(share)];
}

const char *name(StageMemory part) {
  static constexpr const char *kNames[] = {"weights", "gradients", "optimizer_states", "activations", "workspace"};
  return kNames[llvm::to_underlying(part)];
}

std::string GroupFigures::ranks() const {
  if (last == first + devices - 1)
    return fmt::format("{}..{}", first, last);
  return fmt::format("{}..{}, every {} to {}", first, first + devices / ((last - first) / stride + 1) - 1, stride,
                     last);
}

int64_t GroupFigures::peak() const { return std::accumulate(memory.begin(), memory.end(), int64_t(0)); }

namespace {

/// Of one stage in a whole step; `worth` has its times of a micro-batch.
void addStage(GroupFigures &group, const PlacementProblem &problem, const Placement &plan, size_t index,
              const PlanMetrics &metrics) {
  const PlacedStage &stage = plan.stages[index];
  int64_t recomputeTime = 0, forward = 0, backward = 0;
  int64_t &workspace = group.of(StageMemory::Workspace);
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    const PlacementProblem::Cost &cost = *problem.cost(stage.layers[i], stage.parallelConfig);
    const RecomputeChoice &choice = problem.choiceOf(stage, i);
    forward += cost.forward;
    backward += cost.backward + cost.weight;
    recomputeTime += choice.recomputeTime;
    group.of(StageMemory::Weights) += cost.weightMemory;
    group.of(StageMemory::Gradients) += cost.gradientMemory;
    group.of(StageMemory::States) += cost.staticMemory - cost.weightMemory - cost.gradientMemory;
    group.of(StageMemory::Activations) += choice.activations * metrics.inFlight[index];
    workspace = std::max(workspace, choice.workspace);
    group.of(StepComponent::Update) += cost.update;
    group.gradientBytes += cost.gradients;
    group.expertGradientBytes += cost.expertGradients;
  }
  const StageTimes &times = metrics.times[index];
  int64_t transfer = times.forward + times.backward + times.weight - forward - backward - recomputeTime -
                     problem.hostOverheadPerMicrobatch;
  auto step = [&](StepComponent share, int64_t each) { group.of(share) += each * plan.microbatches; };
  step(StepComponent::Forward, forward);
  step(StepComponent::Backward, backward);
  step(StepComponent::Recompute, recomputeTime);
  step(StepComponent::Transfer, std::max<int64_t>(0, transfer));
  step(StepComponent::Host, problem.hostOverheadPerMicrobatch);
}

/// Splits "block[12]" into "block[", 12, "]" at its last number; -1 if there is none or it is long.
struct Numbered {
  std::string before, after;
  int64_t number = -1;
  explicit Numbered(const std::string &text) {
    size_t end = text.size();
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    while (end > 0 && !digit(text[end - 1]))
      --end;
    size_t begin = end;
    while (begin > 0 && digit(text[begin - 1]))
      --begin;
    bool padded = end - begin > 1 && text[begin] == '0';
    if (begin == end || end - begin > 9 || padded)
      return;
    before = text.substr(0, begin);
    after = text.substr(end);
    number = std::stoll(text.substr(begin, end - begin));
  }
};

} // namespace

PlacementFigures figuresOf(const PlacementProblem &problem, const Placement &placement, const PlanMetrics &metrics) {
  PlacementFigures all;
  size_t groups = placement.groups();
  std::vector<int64_t> used(problem.deviceTypes.size());
  double busy = 0, time = 0, maxMemoryGroup = -1;
  for (size_t g = 0; g < groups; ++g) {
    GroupFigures group;
    group.parallelConfig = placement.stages[g].parallelConfig;
    all.hasUniformConfig &= group.parallelConfig == placement.stages[0].parallelConfig;
    const ParallelConfig &parallelConfig = problem.parallelConfigs[group.parallelConfig];
    group.first = used[parallelConfig.deviceType];
    group.devices = parallelConfig.devices();
    group.stride = parallelConfig.tensor;
    if (parallelConfig.order == RankOrder::TensorPipelineData) {
      group.first = g * parallelConfig.tensor;
      group.stride = groups * parallelConfig.tensor;
    }
    group.last = group.first + (parallelConfig.data - 1) * group.stride + parallelConfig.tensor - 1;
    group.host = metrics.host[g];
    used[parallelConfig.deviceType] += group.devices;
    group.capacity = problem.deviceTypes[parallelConfig.deviceType].memory;
    group.replicasPerNode = countReplicasPerNode(problem, group.parallelConfig, groups);
    for (size_t s : placement.stagesOf(g))
      addStage(group, problem, placement, s, metrics);
    StageWork work;
    work.gradients = group.gradientBytes, work.expertGradients = group.expertGradientBytes;
    group.exchange = gradientSyncTime(problem, group.parallelConfig, work, group.replicasPerNode);
    group.of(StepComponent::GradientSync) =
        std::max<int64_t>(0, metrics.times[g].stepTail - group.of(StepComponent::Update));
    group.of(StepComponent::Host) += problem.hostOverheadPerStep;
    int64_t sum = std::accumulate(group.step.begin(), group.step.end(), int64_t(0));
    group.of(StepComponent::Bubble) = std::max<int64_t>(0, metrics.step - sum);
    double devices = group.devices;
    busy += devices * group.of(StepComponent::Bubble);
    time += devices * metrics.step;
    double peak = group.peak(), full = peak / std::max<int64_t>(1, group.capacity);
    if (full > maxMemoryGroup)
      maxMemoryGroup = full, all.maxMemoryGroup = g;
    all.groups.push_back(group);
  }
  const ParallelConfig &first = problem.parallelConfigs[placement.stages[0].parallelConfig];
  all.tensor = first.tensor;
  all.data = first.data / first.context;
  all.context = first.context;
  all.zero = first.zero;
  all.sequence = first.sequence;
  all.microbatch = first.microbatch;
  all.pipeline = groups;
  all.seconds = metrics.step * 1e-12;
  all.throughput = all.seconds > 0 ? problem.batch / all.seconds : 0;
  all.bubble = time > 0 ? busy / time : 0;
  all.transfers = transfersOf(problem, placement);
  return all;
}

std::vector<RankPlace> rankPlaces(const PlacementProblem &problem, const PlacementFigures &figures) {
  std::map<std::pair<Id, int64_t>, RankPlace> ordered; // by device type and rank within it
  for (size_t g = 0; g < figures.groups.size(); ++g) {
    const GroupFigures &group = figures.groups[g];
    const ParallelConfig &config = problem.parallelConfigs[group.parallelConfig];
    for (int64_t replica = 0; replica < config.data; ++replica)
      for (int64_t tensor = 0; tensor < config.tensor; ++tensor)
        ordered[{config.deviceType, group.first + replica * group.stride + tensor}] = {g, replica, tensor};
  }
  std::vector<RankPlace> places;
  for (const auto &[key, place] : ordered)
    places.push_back(place);
  return places;
}

std::vector<std::vector<int64_t>> ranksByGroup(const PlacementProblem &problem, const PlacementFigures &figures) {
  std::vector<std::vector<int64_t>> ranks;
  for (const GroupFigures &group : figures.groups)
    ranks.emplace_back(problem.parallelConfigs[group.parallelConfig].devices());
  const std::vector<RankPlace> places = rankPlaces(problem, figures);
  for (size_t rank = 0; rank < places.size(); ++rank) {
    const auto &[group, replica, tensor] = places[rank];
    ranks[group][replica * problem.parallelConfigs[figures.groups[group].parallelConfig].tensor + tensor] =
        static_cast<int64_t>(rank);
  }
  return ranks;
}

int64_t peerOf(int64_t index, int64_t count, const std::vector<int64_t> &ranksOfOther) {
  const auto others = static_cast<int64_t>(ranksOfOther.size());
  return ranksOfOther[count == others ? index : index * others / count];
}

std::string productTypeOf(const std::string &precision) {
  constexpr std::string_view kMixed = "mixed(";
  if (!precision.starts_with(kMixed))
    return precision;
  std::string inside = precision.substr(kMixed.size());
  return inside.substr(0, inside.find_first_of(",)"));
}

PlacementFigures figuresOf(const PlacementPlan &plan) {
  PlacementFigures all = figuresOf(plan.problem, *plan.result.plan, plan.result.metrics);
  double peak = 0;
  for (const GroupFigures &group : all.groups)
    if (size_t deviceType = plan.problem.parallelConfigs[group.parallelConfig].deviceType;
        deviceType < plan.peakFlops.size())
      peak += group.devices * plan.peakFlops[deviceType];
  if (peak > 0 && all.seconds > 0)
    all.mfu = plan.modelFlops / (all.seconds * peak);
  return all;
}

std::vector<std::string> layerRuns(const PlacementProblem &problem, const std::vector<Id> &layers) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < layers.size();) {
    Numbered first(problem.layers[layers[i]].name);
    size_t end = i + 1;
    for (; first.number >= 0 && end < layers.size(); ++end) {
      Numbered next(problem.layers[layers[end]].name);
      if (next.number != first.number + int64_t(end - i) || next.before != first.before || next.after != first.after)
        break;
    }
    runs.push_back(end == i + 1 ? problem.layers[layers[i]].name
                                : fmt::format("{}{}..{}{}", first.before, first.number,
                                              first.number + int64_t(end - i) - 1, first.after));
    i = end;
  }
  return runs;
}

std::vector<RecomputeRun> recomputeRuns(const PlacementProblem &problem, const PlacedStage &stage) {
  std::vector<RecomputeRun> runs;
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    const std::string &policy = problem.choiceOf(stage, i).policy;
    auto at = std::find_if(runs.begin(), runs.end(), [&](const RecomputeRun &run) { return run.policy == policy; });
    if (at == runs.end())
      at = runs.insert(runs.end(), {policy, {}});
    at->layers.push_back(stage.layers[i]);
  }
  return runs;
}

std::vector<StageTransfer> sentTransfers(const PlacementFigures &figures) {
  std::vector<StageTransfer> sent = figures.transfers;
  std::erase_if(sent, [](const StageTransfer &transfer) { return transfer.bytes <= 0; });
  return sent;
}

TrainingFigures trainingOf(const PlacementPlan &plan) {
  if (!plan.result.plan || plan.samples <= 0)
    return {};
  const PlanMetrics &metrics = plan.result.metrics;
  double steps = std::ceil(plan.samples / plan.problem.batch);
  return {steps, steps * metrics.step * 1e-12, steps * metrics.joules, steps * metrics.price};
}

PlanPower powerOf(const PlacementPlan &plan) {
  PlanPower power;
  if (!plan.result.plan)
    return power;
  const Placement &placement = *plan.result.plan;
  double seconds = plan.result.metrics.step * 1e-12;
  bool stated = true;
  for (size_t g = 0; g < placement.groups(); ++g) {
    const ParallelConfig &parallelConfig = plan.problem.parallelConfigs[placement.stages[g].parallelConfig];
    const PlacementProblem::DeviceType &type = plan.problem.deviceTypes[parallelConfig.deviceType];
    stated &= type.tdpWatts > 0;
    power.atTdp += (type.tdpWatts + type.hostWatts) * parallelConfig.devices();
    power.hosts += type.hostWatts * parallelConfig.devices();
  }
  if (!stated)
    power.atTdp = 0;
  power.average = seconds > 0 ? plan.result.metrics.joules / seconds : 0;
  return power;
}

std::string featuresText(const ParallelConfig &parallelConfig) {
  std::string text;
  auto add = [&](bool is, std::string_view what) {
    if (is)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", what);
  };
  add(parallelConfig.context > 1,
      fmt::format("context {} ({})", parallelConfig.context, name(parallelConfig.contextExchange)));
  add(parallelConfig.expert > 1, fmt::format("experts divided by {}", parallelConfig.expertDegree()));
  add(parallelConfig.tables != Tables::Whole,
      fmt::format("{} of tables divided by {}", name(parallelConfig.tables), parallelConfig.data));
  add(parallelConfig.ringOverlap, "ring overlap");
  add(parallelConfig.hostStates, "optimizer on the host");
  add(parallelConfig.hostWeights, "weights on the host");
  add(parallelConfig.order == RankOrder::TensorPipelineData, "replica after replica");
  return text;
}

std::string degreesText(const PlacementProblem &problem, const Placement &placement) {
  size_t groups = placement.groups();
  const ParallelConfig &parallelConfig = problem.parallelConfigs[placement.stages[0].parallelConfig];
  bool same = true;
  for (const PlacedStage &stage : placement.stages)
    same &= stage.parallelConfig == placement.stages[0].parallelConfig;
  std::string text =
      same ? fmt::format("tensor {}{}, ", parallelConfig.tensor, parallelConfig.sequence ? " (sequence)" : "") : "";
  text += fmt::format("pipeline {}", groups);
  if (placement.virtualStages > 1)
    text += fmt::format(" x {} virtual stages", placement.virtualStages);
  std::string others = same ? featuresText(parallelConfig) : "";
  return text +
         (same ? fmt::format(", data {}{}", parallelConfig.data / parallelConfig.context,
                             parallelConfig.zero > 0 ? fmt::format(" (ZeRO {})", parallelConfig.zero) : "")
               : ", each stage in its own parallel configuration") +
         (others.empty() ? "" : "; " + others);
}

SparsityFigures sparsityFiguresOf(const PlacementPlan &plan) {
  SparsityFigures figures;
  const PlacementSparsity &zeros = *plan.zeros;
  for (const SparsityBudget &budget : zeros.budgets)
    figures.budgets.push_back({budget.what, 0, budget.max});
  for (size_t u = 0; u < zeros.units.size(); ++u)
    for (size_t d = 0; d < zeros.units[u].decisions.size(); ++d) {
      const SparsityDecision &decision = zeros.units[u].decisions[d];
      const SparsityDecision::Option &chosen = zeros.chosen(u, d);
      figures.rows.push_back(
          {decision.layers, chosen.label, &chosen == &decision.options.front(), decision.options.size(), chosen.takes});
      for (size_t b = 0; b < chosen.takes.size(); ++b)
        figures.budgets[b].used += chosen.takes[b];
    }
  std::erase_if(figures.budgets,
                [](const SparsityFigures::Budget &budget) { return budget.max >= SparsityBudget::kUnlimited; });
  if (zeros.denseValue && plan.result.plan && plan.result.value > 0)
    figures.gain = *zeros.denseValue / plan.result.value - 1;
  return figures;
}

std::string sparsityText(const SparsityFigures &figures) {
  std::vector<std::pair<std::string, size_t>> counts; // in the order of layers
  size_t layers = 0;
  for (const SparsityFigures::Row &row : figures.rows) {
    layers += row.layers.size();
    if (row.isDense)
      continue;
    auto known = llvm::find_if(counts, [&](const auto &one) { return one.first == row.option; });
    if (known == counts.end())
      known = counts.insert(counts.end(), {row.option, 0});
    known->second += row.layers.size();
  }
  std::vector<std::string> parts;
  for (const auto &[option, count] : counts)
    parts.push_back(fmt::format("{} in {} of {} layers", option, count, layers));
  return parts.empty() ? "dense" : fmt::format("{}", fmt::join(parts, ", "));
}

} // namespace accord
