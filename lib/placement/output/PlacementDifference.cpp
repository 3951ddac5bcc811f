#include "lib/placement/output/PlacementDifference.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/output/PlacementJson.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

DifferenceSide sideOf(const PlacementPlan &plan) {
  return {"", plan.model, plan.cluster, name(statusOf(plan)), plan.result.plan.has_value()};
}

/// Seconds of a component of the step, as the mean over all devices: all of them add up to the step.
double meanOf(const PlacementFigures &figures, size_t component) {
  double sum = 0, devices = 0;
  for (const GroupFigures &group : figures.groups) {
    sum += static_cast<double>(group.step[component]) * static_cast<double>(group.devices);
    devices += static_cast<double>(group.devices);
  }
  return devices > 0 ? sum / devices * 1e-12 : 0;
}

StageSide stageOf(const PlacementPlan &plan, const PlacementFigures &figures, size_t s) {
  const Placement &placement = *plan.result.plan;
  const GroupFigures &group = figures.groups[placement.groupOf(s)];
  const StageTimes &times = plan.result.metrics.times[s];
  double step = static_cast<double>(plan.result.metrics.step);
  return {fmt::format("{}", fmt::join(layerRuns(plan.problem, placement.stages[s].layers), ", ")),
          fmt::format("{} {}", plan.problem.deviceTypeOf(group.parallelConfig).name, group.ranks()),
          static_cast<double>(times.forward) * 1e-12,
          static_cast<double>(times.backward + times.weight) * 1e-12,
          static_cast<double>(group.peak()),
          step > 0 ? std::max(0.0, static_cast<double>(group.of(StepComponent::Bubble)) / step) : 0};
}

void addFigures(PlanDifference &d, const PlacementPlan &a, const PlacementPlan &b, const PlacementFigures &x,
                const PlacementFigures &y) {
  const PlanMetrics &before = a.result.metrics, &after = b.result.metrics;
  auto number = [](auto value) { return static_cast<double>(value); };
  d.figure("step_time_s", "step time", "s", Preference::Lower, x.seconds, y.seconds);
  d.figure("throughput", "throughput", "samples/s", Preference::Higher, x.throughput, y.throughput);
  if (x.mfu > 0 && y.mfu > 0)
    d.figure("mfu", "MFU", "1", Preference::Higher, x.mfu, y.mfu);
  auto count = [&](const char *key, const char *label, int64_t before, int64_t after) {
    d.figure(key, label, "", Preference::None, number(before), number(after));
  };
  count("batch", "batch", a.problem.batch, b.problem.batch);
  count("devices", "devices", before.devices, after.devices);
  count("tensor_parallel", "tensor parallel", x.tensor, y.tensor);
  count("pipeline_parallel", "pipeline parallel", x.pipeline, y.pipeline);
  count("data_parallel", "data parallel", x.data, y.data);
  if (x.context > 1 || y.context > 1)
    count("context_parallel", "context parallel", x.context, y.context);
  count("zero", "ZeRO", x.zero, y.zero);
  count("virtual_stages", "virtual stages", a.result.plan->virtualStages, b.result.plan->virtualStages);
  count("microbatch", "micro-batch", x.microbatch, y.microbatch);
  count("microbatches", "micro-batches", a.result.plan->microbatches, b.result.plan->microbatches);
  d.figure("memory_bytes", "peak memory", "B", Preference::Lower, number(x.groups[x.maxMemoryGroup].peak()),
           number(y.groups[y.maxMemoryGroup].peak()));
  d.figure("bubble", "bubble", "1", Preference::Lower, x.bubble, y.bubble);
  d.figure("energy_J", "energy", "J", Preference::Lower, before.joules, after.joules);
  if (before.price > 0 || after.price > 0)
    d.figure("price", "price", "USD", Preference::Lower, before.price, after.price);
  d.figure("gap", "gap", "1", Preference::None, gapOf(a), gapOf(b));
}

} // namespace

PlanDifference differenceOf(const PlacementPlan &a, const PlacementPlan &b) {
  PlanDifference d;
  d.cluster = true;
  d.before = sideOf(a), d.after = sideOf(b);
  if (!a.result.plan || !b.result.plan)
    return d;
  PlacementFigures x = figuresOf(a), y = figuresOf(b);
  const Placement &before = *a.result.plan, &after = *b.result.plan;
  d.word("status", "status", name(statusOf(a)), name(statusOf(b)));
  d.word("degrees", "degrees", degreesText(a.problem, before), degreesText(b.problem, after));
  d.word("schedule", "schedule", name(before.schedule), name(after.schedule));
  addFigures(d, a, b, x, y);
  for (size_t i = 0; i < kStepComponents; ++i) {
    PartDifference part{name(static_cast<StepComponent>(i)), meanOf(x, i), meanOf(y, i)};
    if (part.before != 0 || part.after != 0)
      d.step.push_back(std::move(part));
  }
  for (size_t s = 0; s < std::max(before.stages.size(), after.stages.size()); ++s) {
    StageDifference &stage = d.stages.emplace_back();
    stage.stage = static_cast<int64_t>(s);
    if (s < before.stages.size())
      stage.before = stageOf(a, x, s);
    if (s < after.stages.size())
      stage.after = stageOf(b, y, s);
  }
  for (const WordDifference &word : d.words)
    if (word.key != "status" && word.before != word.after)
      d.causes.push_back(fmt::format("{} {} instead of {}", word.label, word.after, word.before));
  if (double p = a.result.metrics.price, q = b.result.metrics.price; p > 0 && q > 0 && p != q)
    d.causes.push_back(fmt::format("price {}: that of a second {}, step time {}", changeText(p, q),
                                   changeText(p / x.seconds, q / y.seconds), changeText(x.seconds, y.seconds)));
  d.explainStepAndEnergy();
  return d;
}

} // namespace accord
