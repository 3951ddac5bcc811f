#include "lib/exploration/output/MiningOutput.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/SummaryLines.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace accord {
namespace {

/// A value in the unit of the metric; ratios have none.
std::string miningValue(const MiningPlan &plan, double value, bool ratio) {
  if (ratio)
    return fmt::format("minimax regret {:.4g}", value);
  if (plan.metric == "tdp_time")
    return fmt::format("{:.4g} W s", value);
  if (plan.metric == "energy")
    return formatSi(value, "J");
  if (plan.metric == "area_time")
    return fmt::format("{:.4g} mm2 s", value * 1e6);
  if (plan.metric != "step_time")
    return fmt::format("{:.4g}{}{} ({})", value, plan.unit.empty() ? "" : " ", plan.unit, plan.metric);
  return formatSi(value, "s");
}

std::string areaText(const MinedDesign &design) {
  double area = design.machine.area.squareMillimetres();
  return area > 0 ? fmt::format("{:.4g} mm2", area) : "";
}
std::string powerText(const MinedDesign &design) {
  return design.machine.tdp.value > 0 ? fmt::format("{:.4g} W", design.machine.tdp.value) : "";
}

std::string chosenText(const MiningPlan &plan, const MinedDesign &design) {
  std::string text;
  for (size_t i = 0; i < design.chosen.size(); ++i)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", plan.parameters[i].name, design.chosen[i]);
  return text;
}

/// "core mxu 71 %, bandwidth hbm 28 %": what makes up most of a step.
std::string limitsText(const std::vector<LimitShare> &shares) {
  std::string text;
  for (const LimitShare &one : shares)
    if (one.share >= 0.01)
      text += fmt::format("{}{} {:.3g} %", text.empty() ? "" : ", ", one.resource, 100 * one.share);
  return text;
}

/// The limits of which a tenth or less is left, or what relaxing all of them is worth.
void addRequirements(SummaryLines &lines, const MiningPlan &plan) {
  for (const RequirementSensitivity &one : plan.findings.requirements) {
    double gain = one.relaxed && plan.best.result.value > 0 ? 1 - one.relaxed->value / plan.best.result.value : 0;
    if (one.used < 0.9 && !one.relaxed)
      continue;
    std::string relaxedText = !one.relaxed ? ""
                              : gain > 0   ? fmt::format("; 10 % more: {:.3g} % better", 100 * gain)
                                           : "; 10 % more: no better design found";
    lines.add("limit", one.text + ": " + one.figures + relaxedText);
  }
}

/// Points of the front, evenly along the list by value, the first and the last among them.
void addParetoFront(std::string &text, const MiningPlan &plan, bool ratio, const TextStyle &style) {
  const MinedParetoFront &found = *plan.front;
  size_t count = found.designs.size(), shown = std::min<size_t>(count, 8);
  double within = found.front.within;
  std::string near = within > 0 && std::isfinite(within)
                         ? fmt::format("every design is within {:.3g} % of one of them", 100 * within)
                     : within > 0 ? std::string("how near others are is not known")
                                  : std::string("exact Pareto front");
  text += "\n" + inked(style, Ink::Bold, "Front") +
          fmt::format(" of {} designs: {} ({} evaluated, {} bounds)\n", count, near, found.front.evaluations,
                      found.front.bounds);
  TextTable table("lrrrl", {"design", "value", "area", "TDP", "chosen"});
  for (size_t i = 0; i < shown; ++i) {
    size_t at = shown > 1 ? i * (count - 1) / (shown - 1) : 0;
    const MinedDesign &design = found.designs[at];
    table.row({design.name, miningValue(plan, found.front.points[at].value, ratio), areaText(design), powerText(design),
               fmt::format("{}", fmt::join(design.chosen, ", "))});
  }
  text += table.text(style);
}

std::string effortText(const MiningResult &result) {
  return fmt::format("{}: {} design{} evaluated, {} bound{}", result.strategy, result.evaluations,
                     result.evaluations == 1 ? "" : "s", result.bounds, result.bounds == 1 ? "" : "s");
}

/// One strategy beside the others.
std::string comparisonText(const MiningPlan &plan, const ComparisonReference &with, const MinedAnswer &answer,
                           bool ratio) {
  const MiningResult &result = answer.result;
  std::string text = effortText(result);
  if (result.seconds > 0)
    text += fmt::format(" in {:.3g} s", result.seconds);
  if (!answer.design)
    return text + ", no design found";
  text += fmt::format(", {}, {:.3g} % above the {}", miningValue(plan, result.value, ratio),
                      100 * (result.value / with.best - 1), with.proven() ? "proven optimal" : "best found");
  if (!with.proven() && with.bound > 0)
    text += fmt::format(" ({:.3g} % above the bound)", 100 * (result.value / with.bound - 1));
  const ConvergencePoint *near = with.converged(result);
  if (!near)
    return text + ", never within 1 %";
  text += fmt::format(", within 1 % after {}", near->evaluations);
  return result.seconds > 0 ? text + fmt::format(" and {:.3g} s", near->seconds) : text;
}

std::string stagesSummary(const MiningPlan &plan, const TextStyle &style) {
  const MinedStages &found = *plan.stages;
  double less = found.common > 0 ? 1 - found.value / found.common : 0;
  std::string text = "\n" + inked(style, Ink::Bold, "Stages") +
                     fmt::format(": {}, {}; {}\n", miningValue(plan, found.value, false),
                                 less > 0 ? fmt::format("{:.3g} % less than on the best common design ({})", 100 * less,
                                                        miningValue(plan, found.common, false))
                                          : "as on the best common design",
                                 found.step.alternative);
  text += found.bound >= found.value ? "  no stages on any designs of the space are better\n"
          : found.bound > 0 ? fmt::format("  gap {:.3g} %: no stages on any designs of the space are below {}\n",
                                          100 * found.gap(), miningValue(plan, found.bound, false))
                            : "  gap not known\n";
  if (less <= 0)
    return text;
  TextTable table("rlrrrrrl", {"stage", "layers", "", "devices", "forward", "backward", "TDP", "design"});
  for (size_t s = 0; s < found.stages.size(); ++s) {
    const MinedStage &stage = found.stages[s];
    const MinedDesign &design = found.designs[stage.design];
    table.row({std::to_string(s), stage.first + (stage.layers > 1 ? " to " + stage.last : ""),
               std::to_string(stage.layers), std::to_string(stage.devices), formatSi(stage.forward, "s"),
               formatSi(stage.backward, "s"), powerText(design), design.name});
  }
  text += table.text(style);
  for (const MinedDesign &design : found.designs)
    text += fmt::format("  {}: {}\n", design.name, chosenText(plan, design));
  return found.left.empty() ? text : text + "  best.accel is the common design: " + found.left + "\n";
}

} // namespace

ComparisonReference::ComparisonReference(const MiningPlan &plan) : results{&plan.best.result} {
  for (const MinedAnswer &answer : plan.compared)
    results.push_back(&answer.result);
  for (const MiningResult *result : results) {
    best = std::min(best, result->value);
    bound = std::max(bound, result->bound);
  }
  bound = std::min(bound, best);
}

const ConvergencePoint *ComparisonReference::converged(const MiningResult &result) const {
  auto near = llvm::find_if(result.convergence, [&](const ConvergencePoint &moment) {
    return std::isfinite(moment.incumbent) && moment.incumbent <= best * 1.01;
  });
  return near == result.convergence.end() ? nullptr : &*near;
}

std::string miningSummary(const MiningPlan &plan, const std::string &folder, const TextStyle &style) {
  SummaryLines lines(style);
  lines.text = inked(style, Ink::Bold, plan.space) +
               fmt::format(": {} designs of {} parameters\n", plan.size, plan.parameters.size());
  const MiningResult &result = plan.best.result;
  if (!plan.best.design) {
    bool unknown = statusOf(plan) == SearchStatus::Unknown;
    lines.text +=
        "  " + inked(style, Ink::Red,
                     unknown ? "unknown: the search ended before it found a design or proved that there is none"
                             : "no design may be");
    lines.text += plan.conflicts.empty() ? "\n" : ": none keeps " + plan.conflicts[0].constraint + "\n";
    lines.add("searched", effortText(result));
    return lines.text;
  }
  bool ratio = plan.aggregation == "minimax_regret";
  const MinedDesign &design = *plan.best.design;
  lines.add("design", chosenText(plan, design));
  if (std::string area = areaText(design); !area.empty())
    lines.add("area", area);
  if (std::string power = powerText(design); !power.empty())
    lines.add("power", power + " TDP");
  for (const MinedStep &step : design.steps) {
    std::string own =
        step.ownBest > 0 ? fmt::format(", {:.3g} times its individual best", step.value / step.ownBest) : "";
    if (step.weight != 1)
      own += fmt::format(", weight {:.4g}", step.weight);
    lines.add(step.job, fmt::format("{} a step of {} ({:.4g} samples/s), {}{}", formatSi(step.step, "s"), step.batch,
                                    step.batch / step.step, step.alternative, own));
  }
  std::string value = miningValue(plan, result.value, ratio);
  if (result.bound >= result.value)
    lines.add("gap", fmt::format("0 %: {}, proven optimal in the space", value));
  else if (result.isOptimal && result.bound > 0)
    lines.add("gap", fmt::format("{:.3g} %: {}, optimal in the space as scheduled; no design, however "
                                 "scheduled or placed, is below {}",
                                 100 * result.gap(), value, miningValue(plan, result.bound, ratio)));
  else if (result.bound > 0)
    lines.add("gap", fmt::format("{:.3g} %: {}, no design below {}", 100 * result.gap(), value,
                                 miningValue(plan, result.bound, ratio)));
  else
    lines.add("gap", fmt::format("not known: {}; --strategy exact proves one", value));
  lines.add("searched", effortText(result));
  if (plan.dense && plan.dense->design)
    lines.add("dense", fmt::format("{} without zeros ({})", miningValue(plan, plan.dense->result.value, ratio),
                                   chosenText(plan, *plan.dense->design)));
  for (const MinedAnswer &own : plan.own)
    if (own.design)
      lines.add("individual", fmt::format("{}: {} ({})", own.design->name, miningValue(plan, own.result.value, false),
                                          chosenText(plan, *own.design)));
  if (!plan.compared.empty()) {
    ComparisonReference with(plan);
    lines.add("compared", fmt::format("by equal {}", plan.comparedByTime ? "processor time: depends on the machine"
                                                                         : "numbers of designs evaluated"));
    lines.add("", comparisonText(plan, with, plan.best, ratio));
    for (const MinedAnswer &other : plan.compared)
      lines.add("", comparisonText(plan, with, other, ratio));
  }
  const char *label = "bottleneck";
  for (const JobLimits &limits : plan.findings.limits)
    if (std::string text = limitsText(limits.shares); !text.empty())
      lines.add(std::exchange(label, ""), limits.job + ": " + text);
  label = "delays";
  for (const JobLimits &limits : plan.findings.limits)
    for (const CoreDelay &one : limits.delays)
      lines.add(std::exchange(label, ""),
                fmt::format("{}: {} critical operation{} wait{} for '{}', {} a step", limits.job, one.operations,
                            one.operations == 1 ? "" : "s", one.operations == 1 ? "s" : "", one.core,
                            formatSi(one.seconds, "s")));
  addRequirements(lines, plan);
  if (!plan.findings.left.empty())
    lines.add("left out", plan.findings.left);
  lines.add("written", folder + "/best.accel, " + folder + "/report.html");
  if (plan.stages)
    lines.text += stagesSummary(plan, style);
  if (plan.front)
    addParetoFront(lines.text, plan, ratio, style);
  return lines.text;
}

std::string toReport(const MiningPlan &plan) {
  std::string title = plan.space;
  if (plan.best.design)
    for (const MinedStep &step : plan.best.design->steps)
      title += (&step == &plan.best.design->steps.front() ? " for " : ", ") + step.job;
  llvm::json::Value data = toJson(plan);
  return pageOf(Page::Mining, title, jsonText(data) + "\n", data);
}

} // namespace accord
