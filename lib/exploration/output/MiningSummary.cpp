#include "lib/exploration/output/MiningOutput.h"
#include "lib/report/ReportPage.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/SummaryLines.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

namespace accord {
namespace {

/// What all searches of a problem together know.
struct ComparisonReference {
  double best = std::numeric_limits<double>::infinity(); ///< least value that was found
  double bound = 0;                                      ///< no design of the space is worth less
  bool proven() const { return bound >= best; }
};

std::vector<const MiningResult *> all(const MiningPlan &plan) {
  std::vector<const MiningResult *> results = {&plan.best.result};
  for (const MinedAnswer &answer : plan.compared)
    results.push_back(&answer.result);
  return results;
}

ComparisonReference comparisonReference(const MiningPlan &plan) {
  ComparisonReference with;
  for (const MiningResult *result : all(plan)) {
    with.best = std::min(with.best, result->value);
    with.bound = std::max(with.bound, result->bound);
  }
  with.bound = std::min(with.bound, with.best);
  return with;
}

/// A search has converged where its incumbent is so near the best.
constexpr double kNearBest = 0.01;
/// When it had; nothing: never.
std::optional<ConvergencePoint> converged(const MiningResult &result, double best) {
  for (const ConvergencePoint &moment : result.convergence)
    if (std::isfinite(moment.incumbent) && moment.incumbent <= best * (1 + kNearBest))
      return moment;
  return std::nullopt;
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
    table.row({design.name, miningValue(plan, found.front.points[at].value, ratio),
               design.machine.area.value > 0 ? fmt::format("{:.4g} mm2", design.machine.area.squareMillimetres()) : "",
               design.machine.tdp.value > 0 ? fmt::format("{:.4g} W", design.machine.tdp.value) : "",
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
  auto near = converged(result, with.best);
  if (!near)
    return text + ", never within 1 %";
  text += fmt::format(", within 1 % after {}", near->evaluations);
  return result.seconds > 0 ? text + fmt::format(" and {:.3g} s", near->seconds) : text;
}

} // namespace

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

std::string miningSummary(const MiningPlan &plan, const std::string &folder, const TextStyle &style) {
  SummaryLines lines(style);
  lines.text = inked(style, Ink::Bold, plan.space) +
               fmt::format(": {} designs of {} parameters\n", plan.size, plan.parameters.size());
  const MiningResult &result = plan.best.result;
  if (!plan.best.design) {
    lines.text += "  " + inked(style, Ink::Red, "no design may be");
    lines.text += plan.conflict.empty() ? "\n" : ": none keeps " + plan.conflict + "\n";
    lines.add("searched", effortText(result));
    return lines.text;
  }
  bool ratio = plan.aggregation == "minimax_regret";
  const MinedDesign &design = *plan.best.design;
  lines.add("design", chosenText(plan, design));
  if (design.machine.area.value > 0)
    lines.add("area", fmt::format("{:.4g} mm2", design.machine.area.squareMillimetres()));
  if (design.machine.tdp.value > 0)
    lines.add("power", fmt::format("{:.4g} W TDP", design.machine.tdp.value));
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
  for (const MinedAnswer &own : plan.own)
    if (own.design)
      lines.add("individual", fmt::format("{}: {} ({})", own.design->name, miningValue(plan, own.result.value, false),
                                          chosenText(plan, *own.design)));
  if (!plan.compared.empty()) {
    ComparisonReference with = comparisonReference(plan);
    lines.add("compared", fmt::format("by equal {}", plan.comparedByTime ? "processor time: depends on the machine"
                                                                         : "numbers of designs evaluated"));
    lines.add("", comparisonText(plan, with, plan.best, ratio));
    for (const MinedAnswer &other : plan.compared)
      lines.add("", comparisonText(plan, with, other, ratio));
  }
  const char *label = "bottleneck";
  for (size_t j = 0; j < plan.findings.limits.size(); ++j)
    if (std::string text = limitsText(plan.findings.limits[j]); !text.empty())
      lines.add(std::exchange(label, ""), design.steps.at(j).job + ": " + text);
  label = "delays";
  for (size_t j = 0; j < plan.findings.delays.size(); ++j)
    for (const CoreDelay &one : plan.findings.delays[j])
      lines.add(std::exchange(label, ""),
                fmt::format("{}: {} critical operation{} wait{} for '{}', {} a step", design.steps.at(j).job,
                            one.operations, one.operations == 1 ? "" : "s", one.operations == 1 ? "s" : "", one.core,
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

std::string comparisonCsv(const MiningPlan &plan) {
  ComparisonReference with = comparisonReference(plan);
  bool timed = plan.comparedByTime;
  std::string text = "strategy,evaluations,bounds,value,best,proven,above_bound,"
                     "evaluations_to_1_percent";
  text += timed ? ",processor_s,processor_s_to_1_percent\n" : "\n";
  for (const MiningResult *result : all(plan)) {
    auto near = converged(*result, with.best);
    bool found = std::isfinite(result->value);
    text += fmt::format("{},{},{},{},{},{},{},{}", result->strategy, result->evaluations, result->bounds,
                        found ? fmt::format("{}", result->value) : "", with.best, with.proven() ? "yes" : "no",
                        found && with.bound > 0 ? fmt::format("{:.6g}", result->value / with.bound - 1) : "",
                        near ? fmt::format("{}", near->evaluations) : "");
    if (timed)
      text += fmt::format(",{:.3f},{}", result->seconds, near ? fmt::format("{:.3f}", near->seconds) : "");
    text += "\n";
  }
  return text;
}

std::string toReport(const MiningPlan &plan) {
  std::string title = plan.space;
  if (plan.best.design)
    for (const MinedStep &step : plan.best.design->steps)
      title += (&step == plan.best.design->steps.data() ? " for " : ", ") + step.job;
  return pageOf(Page::Mining, title, toJson(plan));
}

} // namespace accord
