#include "lib/placement/output/PlacementSummary.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/planning/output/Summary.h"
#include "lib/run/output/RunJson.h"
#include "lib/sparsity/output/AccuracyOutput.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/SummaryLines.h"
#include "lib/support/documents/TextTable.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }
std::string words(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string scheduleText(const Placement &placement) {
  const ScheduleModel &model = modelOf(placement.schedule);
  return placement.virtualStages > 1
             ? fmt::format("{}, {} virtual stages a device", model.label, placement.virtualStages)
             : model.label;
}

std::string valueText(const PlacementProblem &problem, double value) {
  const ObjectiveFormula &formula = formulaOf(problem.objective);
  if (formula.unit == std::string_view("B"))
    return formatBytes(value);
  if (!*formula.unit)
    return fmt::format("{:.6g} USD", value);
  return formatSi(value * formula.scale, formula.unit);
}

/// "weights 6.1 GiB, gradients …". What inference keeps of earlier tokens is where a training keeps its states.
std::string memoryParts(const GroupFigures &group, bool infers) {
  std::string text;
  for (size_t i = 0; i < kStageMemories; ++i) {
    auto part = static_cast<StageMemory>(i);
    bool cache = infers && part == StageMemory::States;
    if (group.memory[i] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cache ? "keys and values" : words(name(part)),
                          formatBytes(group.memory[i]));
  }
  return text;
}

/// "none 3, full 9 of 12 layers" over all stages; nothing where nothing is computed again.
std::string recomputeText(const PlacementPlan &plan) {
  std::vector<std::pair<std::string, size_t>> policies;
  for (const PlacedStage &stage : plan.result.plan->stages)
    for (const RecomputeRun &run : recomputeRuns(plan.problem, stage)) {
      auto at =
          std::find_if(policies.begin(), policies.end(), [&](const auto &one) { return one.first == run.policy; });
      if (at == policies.end())
        at = policies.insert(policies.end(), {run.policy, 0});
      at->second += run.layers.size();
    }
  std::string text;
  for (const auto &[policy, count] : policies)
    if (policy != "none")
      text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", policy, count);
  return text.empty() ? text : fmt::format("{} of {} layers", text, plan.problem.layers.size());
}

/// "300 G tokens: 95 368 steps, 33.4 days, 3.1 TJ, 4.7 M".
std::string trainingText(const PlacementPlan &plan, const TrainingFigures &training) {
  std::string text = plan.sequence > 0 ? formatSi(plan.samples * plan.sequence, "") + " tokens"
                                       : formatSi(plan.samples, "") + " samples";
  text += fmt::format(": {:.0f} steps, {}", training.steps, formatDuration(training.seconds));
  if (training.joules > 0)
    text += fmt::format(", {:.4g} kWh", training.joules / 3.6e6);
  if (double max = powerOf(plan).atTdp * training.seconds; training.joules > 0 && max > 0)
    text += fmt::format(" ({:.4g} at TDP)", max / 3.6e6);
  if (training.price > 0)
    text += fmt::format(", {:.6g} USD", training.price);
  return text;
}

/// The relaxations that gain most, and which gain nothing.
void whatIfLines(const PlacementPlan &plan, SummaryLines &lines) {
  std::vector<const Relaxation *> gains;
  for (const Relaxation &one : plan.whatIf)
    if (one.value < plan.result.value * (1 - 5e-4))
      gains.push_back(&one);
  std::sort(gains.begin(), gains.end(), [](const Relaxation *a, const Relaxation *b) {
    return a->value != b->value ? a->value < b->value : a->what < b->what;
  });
  if (gains.size() > 3)
    gains.resize(3);
  for (const Relaxation *one : gains)
    lines.add("what if", fmt::format("{}: {}, {} less", one->what, valueText(plan.problem, one->value),
                                     percent(1 - one->value / plan.result.value)));
  if (gains.empty() && !plan.whatIf.empty())
    lines.add("what if", "a tenth more of no limit alone gains 0.05 %");
}

/// "16 of 32 a100, 8 of 8 h100".
std::string devicesText(const PlacementProblem &problem, const PlacementFigures &figures) {
  std::string deviceTypes;
  for (size_t k = 0; k < problem.deviceTypes.size(); ++k) {
    int64_t used = 0;
    for (const GroupFigures &group : figures.groups)
      used += problem.parallelConfigs[group.parallelConfig].deviceType == k ? group.devices : 0;
    if (used > 0)
      deviceTypes += fmt::format("{}{} of {} {}", deviceTypes.empty() ? "" : ", ", used, problem.deviceTypes[k].devices,
                                 problem.deviceTypes[k].name);
  }
  return deviceTypes;
}

/// Degrees, batch, schedule and what they reach.
void planLines(const PlacementPlan &plan, const PlacementFigures &figures, const SummaryOptions &options,
               const TextStyle &style, SummaryLines &lines) {
  const PlacementProblem &problem = plan.problem;
  const Placement &placement = *plan.result.plan;
  const char *times = style.unicode ? "×" : "x";
  lines.add("degrees", inked(style, Ink::Bold, degreesText(problem, placement)));
  if (figures.hasUniformConfig)
    lines.add("batch", fmt::format("{} = {} {} {} micro-batches {} {} replicas", problem.batch, figures.microbatch,
                                   times, placement.microbatches, times, figures.data));
  else
    lines.add("batch", fmt::format("{} in {} micro-batches", problem.batch, placement.microbatches));
  lines.add("schedule",
            fmt::format("{}, {} of the devices' time is bubble", scheduleText(placement), percent(figures.bubble)));
  if (std::string recompute = recomputeText(plan); !recompute.empty())
    lines.add("recompute", recompute);
  lines.add(plan.optimizer == "none" ? "latency" : "step time",
            inked(style, Ink::Bold, formatSi(figures.seconds, "s")) + stepTimeNote(plan.estimate));
  std::string rate = formatSi(figures.throughput, "samples/s");
  if (options.sequence)
    rate += ", " + formatSi(figures.throughput * (*options.sequence), "tokens/s");
  lines.add("throughput", rate);
  if (figures.mfu > 0)
    lines.add("MFU", fmt::format("{} {} of the peak in {}{}", shareBar(style, figures.mfu, 20), percent(figures.mfu),
                                 productTypeOf(plan.precision), plan.zeros ? ", zeros counted as computed" : ""));
}

/// "allocated 61 GiB, reserved 64 GiB, on device 66 GiB of 80 GiB; fits with 5 % to spare for error at 90 %
/// confidence".
std::string deviceMemoryText(const PlacementPlan &plan, const GroupFigures &group) {
  const DeviceMemory &with = *plan.deviceMemory;
  int64_t capacity = with.types[plan.problem.parallelConfigs[group.parallelConfig].deviceType].capacity;
  return fmt::format("allocated {}, reserved {}, on device {} of {} with {}; a margin of {} at {} confidence is kept",
                     formatBytes(with.allocated(group.peak())), formatBytes(with.reserved(group.peak())),
                     formatBytes(with.onDevice(group.peak())), formatBytes(capacity), with.framework,
                     percent(with.margin), percent(with.confidence));
}

/// Of the fullest device group, and of hosts.
void memoryLines(const PlacementPlan &plan, const PlacementFigures &figures, const TextStyle &style,
                 SummaryLines &lines) {
  const PlacementProblem &problem = plan.problem;
  const PlanMetrics &metrics = plan.result.metrics;
  const GroupFigures &maxMemoryGroup = figures.groups[figures.maxMemoryGroup];
  double full = maxMemoryGroup.capacity > 0 ? 1.0 * maxMemoryGroup.peak() / maxMemoryGroup.capacity : 0;
  std::string bar = shareBar(style, full, 20);
  lines.add("memory", fmt::format("{} {} of {} ({}) in stage {}", full > 1 ? inked(style, Ink::Red, bar) : bar,
                                  formatBytes(maxMemoryGroup.peak()), formatBytes(maxMemoryGroup.capacity),
                                  percent(full), figures.maxMemoryGroup));
  lines.add("", memoryParts(maxMemoryGroup, plan.optimizer == "none"));
  if (plan.deviceMemory)
    lines.add("on device", deviceMemoryText(plan, maxMemoryGroup));
  if (auto max = std::max_element(metrics.host.begin(), metrics.host.end()); max != metrics.host.end() && *max > 0)
    lines.add("host memory", fmt::format("{} of {} for each device", formatBytes(*max),
                                         formatBytes(problem.deviceTypeOf(maxMemoryGroup.parallelConfig).hostMemory)));
}

/// Input, energy and price of a step, and of the whole training.
void costLines(const PlacementPlan &plan, SummaryLines &lines) {
  const PlacementProblem &problem = plan.problem;
  const PlanMetrics &metrics = plan.result.metrics;
  if (problem.minStep > 0)
    lines.add("data loading",
              fmt::format("{} per step{}", formatSi(problem.minStep * 1e-12, "s"),
                          metrics.step <= problem.minStep ? ": devices wait for their input" : ", hidden"));
  if (metrics.joules > 0) {
    PlanPower power = powerOf(plan);
    double atTdp = power.atTdp * static_cast<double>(metrics.step) * 1e-12;
    lines.add("energy", formatSi(metrics.joules, "J") + " per step" +
                            (atTdp > 0 ? fmt::format(", {} at TDP", formatSi(atTdp, "J")) : ""));
    lines.add("power", formatSi(power.average, "W") + " on average, " +
                           (power.hosts > 0 ? fmt::format("{} of them hosts; switches", formatSi(power.hosts, "W"))
                                            : "hosts and switches") +
                           " are not counted");
  }
  if (metrics.price > 0)
    lines.add("price", fmt::format("{:.4g} USD per step", metrics.price));
  if (TrainingFigures training = trainingOf(plan); training.steps > 0)
    lines.add("to train", trainingText(plan, training));
  addRunLines(plan.run, plan.assumptions, lines);
}

/// What is zero, what it gains, and what is claimed of accuracy.
void sparsityLines(const PlacementPlan &plan, SummaryLines &lines) {
  if (!plan.zeros)
    return;
  const SparsityFigures figures = sparsityFiguresOf(plan);
  std::string gain;
  if (figures.gain)
    gain = *figures.gain < 1e-9 ? "; no better than dense"
                                : fmt::format("; {} without: {} more", valueText(plan.problem, *plan.zeros->denseValue),
                                              percent(*figures.gain));
  else
    gain = "; no dense plan was found";
  lines.add("sparsity", sparsityText(figures) + gain);
  for (const SparsityFigures::Row &row : figures.rows)
    lines.add("", fmt::format("{}: {}", fmt::join(row.layers, ", "), row.option));
  if (plan.zeros->accuracy)
    addAccuracy(lines, *plan.zeros->accuracy);
}

/// How good the plan is, and what comes next.
void gapLines(const PlacementPlan &plan, const SummaryOptions &options, const TextStyle &style, SummaryLines &lines) {
  const PlacementProblem &problem = plan.problem;
  const PlanMetrics &metrics = plan.result.metrics;
  double gap = gapOf(plan);
  std::string value = fmt::format("{} {}", formulaOf(problem.objective).label, valueText(problem, plan.result.value));
  lines.add("gap", fmt::format("{}: {}", inked(style, gap < 0.05 ? Ink::Green : Ink::Yellow, percent(gap)),
                               gap <= 0 ? value + ", proven optimal in the search space"
                                        : value + ", no plan below " + valueText(problem, plan.result.bound)));
  if (options.proof)
    lines.add("proof", plan.result.proof);
  if (!plan.runnersUp.empty()) {
    const RunnerUp &next = plan.runnersUp.front();
    double loses = metrics.value > 0 ? next.metrics.value / metrics.value - 1 : 0;
    std::string worse = loses < 1e-6 ? "as good" : percent(loses) + " worse";
    std::string open =
        next.gap() < 1e-6 ? "" : fmt::format(", no plan of these degrees below {}", valueText(problem, next.bound));
    lines.add("runner-up", fmt::format("{}: {}, {}{}", degreesText(problem, next.plan),
                                       valueText(problem, next.metrics.value), worse, open));
  }
}

} // namespace

std::string formatDuration(double seconds) {
  return seconds < 120      ? formatSi(seconds, "s")
         : seconds < 7200   ? fmt::format("{:.3g} min", seconds / 60)
         : seconds < 172800 ? fmt::format("{:.3g} h", seconds / 3600)
                            : fmt::format("{:.4g} days", seconds / 86400);
}

std::string placementSummary(const PlacementPlan &plan, const SummaryOptions &options, const TextStyle &style) {
  SummaryLines lines(style);
  std::string state = plan.result.plan ? "" : "  " + inked(style, Ink::Red, name(statusOf(plan)));
  lines.text = inked(style, Ink::Bold, plan.model + " on " + plan.cluster) + state + "\n";
  bool infers = plan.optimizer == "none";
  std::string updates = infers ? "" : ", " + plan.optimizer;
  lines.add(infers ? "inference" : "training",
            fmt::format("{}{}, {} parameters", plan.precision, updates, formatSi(plan.parameters, "")));
  if (plan.result.plan) {
    const PlacementFigures figures = figuresOf(plan);
    lines.add("devices", devicesText(plan.problem, figures));
    planLines(plan, figures, options, style, lines);
    memoryLines(plan, figures, style, lines);
    costLines(plan, lines);
    sparsityLines(plan, lines);
    gapLines(plan, options, style, lines);
    whatIfLines(plan, lines);
  } else if (statusOf(plan) == SearchStatus::Unknown) {
    lines.add("unknown", plan.result.proof);
  }
  for (const Conflict &c : plan.conflicts) {
    std::string where = c.file.empty() ? "" : fmt::format(" ({}:{})", c.file, c.line);
    lines.add("conflict", inked(style, Ink::Red, c.constraint) + where + (c.detail.empty() ? "" : ": " + c.detail));
  }
  for (const std::string &help : plan.relaxations)
    lines.add("would help", help);
  if (!options.report.empty())
    lines.add("report", options.report);
  return lines.text;
}

std::string stageTable(const PlacementPlan &plan, const TextStyle &style) {
  if (!plan.result.plan)
    return "";
  const Placement &placement = *plan.result.plan;
  PlacementFigures figures = figuresOf(plan);
  TextTable table("lrlrrrrr", {"layers", "stage", "devices", "forward", "backward", "in flight", "memory", "bubble"});
  for (size_t s = 0; s < placement.stages.size(); ++s) {
    size_t g = placement.groupOf(s);
    const GroupFigures &group = figures.groups[g];
    const StageTimes &times = plan.result.metrics.times[s];
    std::string layers = fmt::format("{}", fmt::join(layerRuns(plan.problem, placement.stages[s].layers), ", "));
    bool first = s == g;
    table.row({layers, std::to_string(s),
               first ? fmt::format(
                           "{} {}",
                           plan.problem.deviceTypes[plan.problem.parallelConfigs[group.parallelConfig].deviceType].name,
                           group.ranks())
                     : fmt::format("as stage {}", g),
               formatSi(times.forward * 1e-12, "s"), formatSi((times.backward + times.weight) * 1e-12, "s"),
               std::to_string(plan.result.metrics.inFlight[s]), first ? formatBytes(group.peak()) : "",
               first && plan.result.metrics.step > 0
                   ? percent(1.0 * group.of(StepComponent::Bubble) / plan.result.metrics.step)
                   : ""});
  }
  return table.text(style);
}

Expected<std::string> explainLayer(const PlacementPlan &plan, StringRef layer, const TextStyle &style) {
  const PlacementProblem &problem = plan.problem;
  if (!plan.result.plan)
    return createStringError(inconvertibleErrorCode(), "there is no plan: the status is %s", name(statusOf(plan)));
  const Placement &placement = *plan.result.plan;
  PlacementFigures figures = figuresOf(plan);
  std::vector<std::string> known;
  for (size_t s = 0; s < placement.stages.size(); ++s)
    for (size_t i = 0; i < placement.stages[s].layers.size(); ++i) {
      PlacementProblem::Id id = placement.stages[s].layers[i];
      const PlacementProblem::Layer &found = problem.layers[id];
      known.push_back(found.name);
      if (found.name != layer)
        continue;
      const PlacementProblem::Cost &cost = *problem.cost(id, placement.stages[s].parallelConfig);
      const RecomputeChoice &recomputeChoice = problem.choiceOf(placement.stages[s], i);
      const GroupFigures &group = figures.groups[s % figures.groups.size()];
      auto time = [](int64_t ps) { return formatSi(ps * 1e-12, "s"); };
      auto bytes = [](int64_t count) { return formatBytes(count); };
      SummaryLines lines(style);
      lines.text = inked(style, Ink::Bold, found.name) + ", " + problem.classOf(id).name + "\n";
      lines.add("stage", fmt::format("{} of {}, {} {}", s, placement.stages.size(),
                                     problem.deviceTypeOf(group.parallelConfig).name, group.ranks()));
      lines.add("micro-batch", fmt::format("forward {}, backward {} + {} of weights", time(cost.forward),
                                           time(cost.backward), time(cost.weight)));
      lines.add("recompute", recomputeChoice.policy +
                                 (recomputeChoice.recomputeTime > 0 ? ", " + time(recomputeChoice.recomputeTime) : ""));
      lines.add("update", time(cost.update) + " per step");
      lines.add("memory", fmt::format("static memory {}, activations {} of each of {} micro-batches, workspace {}",
                                      bytes(cost.staticMemory), bytes(recomputeChoice.activations),
                                      plan.result.metrics.inFlight[s], bytes(recomputeChoice.workspace)));
      if (cost.hostStaticMemory > 0 || recomputeChoice.hostActivations > 0)
        lines.add("host memory", fmt::format("static memory {}, activations {} of each micro-batch",
                                             bytes(cost.hostStaticMemory), bytes(recomputeChoice.hostActivations)));
      lines.add("gradients", bytes(cost.gradients + cost.expertGradients) + " exchanged");
      for (size_t u = 0; plan.zeros && u < plan.zeros->units.size(); ++u)
        if (llvm::is_contained(plan.zeros->units[u].classes, found.of))
          for (size_t d = 0; d < plan.zeros->units[u].decisions.size(); ++d)
            lines.add("sparsity", fmt::format("{}: {}", fmt::join(plan.zeros->units[u].decisions[d].layers, ", "),
                                              plan.zeros->chosen(u, d).label));
      if (!found.location.file.empty())
        lines.add("written in", fmt::format("{}:{}", found.location.file, found.location.line));
      return lines.text;
    }
  std::string near = nearest(layer, known);
  return createStringError(inconvertibleErrorCode(), "no layer is named '%s'%s", layer.str().c_str(),
                           near.empty() ? "" : ("; did you mean '" + near + "'?").c_str());
}

} // namespace accord
