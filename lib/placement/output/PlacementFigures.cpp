#include "lib/placement/output/PlacementFigures.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord {

using Id = PlacementProblem::Id;

const char *name(StepShare share) {
  static constexpr const char *kNames[] = {"forward",  "backward", "recompute", "transfer",
                                           "exchange", "update",   "host",      "bubble"};
  return kNames[static_cast<size_t>(share)];
}

const char *name(StageMemory part) {
  static constexpr const char *kNames[] = {"weights", "gradients", "optimizer_states",
                                           "activations", "working"};
  return kNames[static_cast<size_t>(part)];
}

std::string GroupFigures::ranks() const {
  if (last == first + devices - 1)
    return fmt::format("{}..{}", first, last);
  return fmt::format("{}..{}, every {} to {}", first,
                     first + devices / ((last - first) / stride + 1) - 1, stride, last);
}

int64_t GroupFigures::peak() const {
  return std::accumulate(memory.begin(), memory.end(), int64_t(0));
}

PlacementUnit unitOf(PlacementObjective objective) {
  switch (objective) {
  case PlacementObjective::StepTime:
    return {"s", 1e-12};
  case PlacementObjective::Energy:
    return {"J", 1};
  case PlacementObjective::Price:
    return {"", 1};
  case PlacementObjective::TdpTime:
    return {"W s", 1};
  case PlacementObjective::Memory:
    return {"B", 1};
  }
  return {"", 1};
}

namespace {

/// Of one stage in a whole step; `worth` has its times of a micro-batch.
void addStage(GroupFigures &group, const PlacementProblem &problem, const Placement &plan,
              size_t index, const PlacementWorth &worth) {
  const PlacedStage &stage = plan.stages[index];
  int64_t again = 0, forward = 0, backward = 0;
  auto add = [&](StageMemory part, int64_t bytes) {
    group.memory[static_cast<size_t>(part)] += bytes;
  };
  int64_t &working = group.memory[static_cast<size_t>(StageMemory::Working)];
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    const PlacementProblem::Cost &cost = *problem.cost(stage.layers[i], stage.form);
    const PlacementProblem::Keep &keep = cost.keeps[stage.keeps[i]];
    forward += cost.forward;
    backward += cost.backward + cost.weight;
    again += keep.again;
    add(StageMemory::Weights, cost.residentWeights);
    add(StageMemory::Gradients, cost.residentGradients);
    add(StageMemory::States, cost.resident - cost.residentWeights - cost.residentGradients);
    add(StageMemory::Activations, keep.kept * worth.inFlight[index]);
    working = std::max(working, keep.working);
    group.step[static_cast<size_t>(StepShare::Update)] += cost.update;
    group.gradientBytes += cost.gradients;
    group.expertGradientBytes += cost.expertGradients;
  }
  const StageTimes &times = worth.times[index];
  int64_t transfer = times.forward + times.backward + times.weight - forward - backward - again -
                     problem.perMicrobatch;
  auto step = [&](StepShare share, int64_t each) {
    group.step[static_cast<size_t>(share)] += each * plan.microbatches;
  };
  step(StepShare::Forward, forward);
  step(StepShare::Backward, backward);
  step(StepShare::Recompute, again);
  step(StepShare::Transfer, std::max<int64_t>(0, transfer));
  step(StepShare::Host, problem.perMicrobatch);
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

PlacementFigures figuresOf(const PlacementProblem &problem, const Placement &placement,
                           const PlacementWorth &worth) {
  PlacementFigures all;
  size_t groups = placement.stages.size() / static_cast<size_t>(placement.chunks);
  std::vector<int64_t> used(problem.kinds.size());
  double busy = 0, time = 0, fullest = -1;
  for (size_t g = 0; g < groups; ++g) {
    GroupFigures group;
    group.form = placement.stages[g].form;
    all.oneForm &= group.form == placement.stages[0].form;
    const PlacementProblem::Form &form = problem.forms[group.form];
    group.first = used[form.kind];
    group.devices = form.devices();
    group.stride = form.tensor;
    if (form.order == PlacementProblem::RankOrder::TensorPipelineData) {
      group.first = static_cast<int64_t>(g) * form.tensor;
      group.stride = static_cast<int64_t>(groups) * form.tensor;
    }
    group.last = group.first + (form.data - 1) * group.stride + form.tensor - 1;
    group.host = worth.host[g];
    used[form.kind] += group.devices;
    group.capacity = problem.kinds[form.kind].memory;
    group.together = togetherOf(problem, group.form, static_cast<int64_t>(groups));
    for (size_t s = g; s < placement.stages.size(); s += groups)
      addStage(group, problem, placement, s, worth);
    StageWork work;
    work.gradients = group.gradientBytes, work.expertGradients = group.expertGradientBytes;
    group.exchange = exchangeOf(problem, group.form, work, group.together);
    group.step[static_cast<size_t>(StepShare::Exchange)] =
        std::max<int64_t>(0, worth.times[g].finish - group.of(StepShare::Update));
    group.step[static_cast<size_t>(StepShare::Host)] += problem.perStep;
    int64_t sum = std::accumulate(group.step.begin(), group.step.end(), int64_t(0));
    group.step[static_cast<size_t>(StepShare::Bubble)] = std::max<int64_t>(0, worth.step - sum);
    auto devices = static_cast<double>(group.devices);
    busy += devices * static_cast<double>(group.of(StepShare::Bubble));
    time += devices * static_cast<double>(worth.step);
    double full = static_cast<double>(group.peak()) /
                  static_cast<double>(std::max<int64_t>(1, group.capacity));
    if (full > fullest)
      fullest = full, all.fullest = g;
    all.groups.push_back(std::move(group));
  }
  const PlacementProblem::Form &first = problem.forms[placement.stages[0].form];
  all.tensor = first.tensor;
  all.data = first.data;
  all.zero = first.zero;
  all.sequence = first.sequence;
  all.microbatch = first.microbatch;
  all.pipeline = static_cast<int64_t>(groups);
  all.seconds = static_cast<double>(worth.step) * 1e-12;
  all.throughput = all.seconds > 0 ? static_cast<double>(problem.batch) / all.seconds : 0;
  all.bubble = time > 0 ? busy / time : 0;
  all.transfers = transfersOf(problem, placement);
  return all;
}

PlacementFigures figuresOf(const PlacementPlan &plan) {
  PlacementFigures all = figuresOf(plan.problem, *plan.result.plan, plan.result.worth);
  double peak = 0;
  for (const GroupFigures &group : all.groups)
    if (size_t kind = plan.problem.forms[group.form].kind; kind < plan.peakFlops.size())
      peak += static_cast<double>(group.devices) * plan.peakFlops[kind];
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
      if (next.number != first.number + static_cast<int64_t>(end - i) ||
          next.before != first.before || next.after != first.after)
        break;
    }
    runs.push_back(end == i + 1 ? problem.layers[layers[i]].name
                                : fmt::format("{}{}..{}{}", first.before, first.number,
                                              first.number + static_cast<int64_t>(end - i) - 1,
                                              first.after));
    i = end;
  }
  return runs;
}

std::vector<RecomputeRun> recomputeRuns(const PlacementProblem &problem, const PlacedStage &stage) {
  std::vector<RecomputeRun> runs;
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    const std::string &policy =
        problem.cost(stage.layers[i], stage.form)->keeps[stage.keeps[i]].policy;
    auto at = std::find_if(runs.begin(), runs.end(),
                           [&](const RecomputeRun &run) { return run.policy == policy; });
    if (at == runs.end())
      at = runs.insert(runs.end(), {policy, {}});
    at->layers.push_back(stage.layers[i]);
  }
  return runs;
}

std::vector<std::vector<uint32_t>> stageEdges(const Placement &placement,
                                              const std::vector<StageTransfer> &transfers) {
  std::vector<std::vector<uint32_t>> edges(placement.stages.size());
  for (const StageTransfer &transfer : transfers)
    edges[transfer.to].push_back(transfer.from);
  return edges;
}

TrainingFigures trainingOf(const PlacementPlan &plan) {
  if (!plan.result.plan || plan.samples <= 0)
    return {};
  const PlacementWorth &worth = plan.result.worth;
  double steps = std::ceil(plan.samples / static_cast<double>(plan.problem.batch));
  return {steps, steps * static_cast<double>(worth.step) * 1e-12, steps * worth.joules,
          steps * worth.price};
}

double joulesAtTdp(const PlacementPlan &plan) {
  const Placement &placement = *plan.result.plan;
  double watts = 0;
  for (size_t g = 0; g < placement.stages.size() / static_cast<size_t>(placement.chunks); ++g) {
    const PlacementProblem::Form &form = plan.problem.forms[placement.stages[g].form];
    double tdp = plan.problem.kinds[form.kind].tdpWatts;
    if (tdp <= 0)
      return 0;
    watts += tdp * static_cast<double>(form.devices());
  }
  return watts * static_cast<double>(plan.result.worth.step) * 1e-12;
}

std::string othersText(const PlacementProblem::Form &form) {
  std::string text;
  auto add = [&](bool is, std::string_view what) {
    if (is)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", what);
  };
  add(form.expert > 1, fmt::format("experts divided by {}", form.expert));
  add(form.tables != PlacementProblem::Tables::Whole,
      fmt::format("{} of tables divided by {}", name(form.tables), form.data));
  add(form.ringOverlap, "ring overlap");
  add(form.hostStates, "optimizer on the host");
  add(form.hostWeights, "weights on the host");
  add(form.order == PlacementProblem::RankOrder::TensorPipelineData, "replica after replica");
  return text;
}

std::string degreesText(const PlacementProblem &problem, const Placement &placement) {
  size_t groups = placement.stages.size() / static_cast<size_t>(placement.chunks);
  const PlacementProblem::Form &form = problem.forms[placement.stages[0].form];
  bool same = true;
  for (const PlacedStage &stage : placement.stages)
    same &= stage.form == placement.stages[0].form;
  std::string text =
      same ? fmt::format("tensor {}{}, ", form.tensor, form.sequence ? " (sequence)" : "") : "";
  text += fmt::format("pipeline {}", groups);
  if (placement.chunks > 1)
    text += fmt::format(" x {} chunks", placement.chunks);
  std::string others = same ? othersText(form) : "";
  return text +
         (same ? fmt::format(", data {}{}", form.data,
                             form.zero > 0 ? fmt::format(" (ZeRO {})", form.zero) : "")
               : ", each stage in a form of its own") +
         (others.empty() ? "" : "; " + others);
}

} // namespace accord
