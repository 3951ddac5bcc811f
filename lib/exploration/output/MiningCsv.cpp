// What a mining found, as tables for scripts.
#include "lib/exploration/output/MiningOutput.h"
#include "lib/support/documents/Csv.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

using calibrate::csvCell;

std::string finiteCell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

} // namespace

std::string convergenceCsv(const MiningPlan &plan) {
  bool timed = plan.comparedByTime;
  std::string text = "search,strategy,evaluations,bounds,incumbent,bound";
  text += timed ? ",processor_s\n" : "\n";
  auto add = [&](const std::string &search, const MiningResult &result) {
    for (const ConvergencePoint &moment : result.convergence)
      text += fmt::format("{},{},{},{},{},{}{}\n", search, result.strategy, moment.evaluations, moment.bounds,
                          finiteCell(moment.incumbent), moment.bound, timed ? fmt::format(",{}", moment.seconds) : "");
  };
  add(plan.own.empty() ? "best" : "common", plan.best.result);
  for (const MinedAnswer &answer : plan.own)
    add(answer.design ? answer.design->name : "individual", answer.result);
  for (const MinedAnswer &answer : plan.compared)
    add("compared", answer.result);
  return text;
}

std::string comparisonCsv(const MiningPlan &plan) {
  ComparisonReference with(plan);
  bool timed = plan.comparedByTime;
  std::string text = "strategy,evaluations,bounds,value,best,proven,above_bound,evaluations_to_1_percent";
  text += timed ? ",processor_s,processor_s_to_1_percent\n" : "\n";
  for (const MiningResult *result : with.results) {
    const ConvergencePoint *near = with.converged(*result);
    bool found = std::isfinite(result->value);
    text += fmt::format("{},{},{},{},{},{},{},{}", result->strategy, result->evaluations, result->bounds,
                        finiteCell(result->value), with.best, with.proven() ? "yes" : "no",
                        found && with.bound > 0 ? fmt::format("{:.6g}", result->value / with.bound - 1) : "",
                        near ? fmt::format("{}", near->evaluations) : "");
    if (timed)
      text += fmt::format(",{:.3f},{}", result->seconds, near ? fmt::format("{:.3f}", near->seconds) : "");
    text += "\n";
  }
  return text;
}

std::string paretoFrontCsv(const MiningPlan &plan) {
  if (!plan.front)
    return "";
  const auto &[front, designs] = *plan.front;
  std::string text = "design,value";
  if (!designs.empty())
    for (const MinedStep &step : designs[0].steps)
      text += "," + csvCell("throughput " + step.job);
  for (const std::string &cost : front.costs)
    text += cost == "area" ? ",area_mm2" : ",tdp_W";
  for (const DesignParameter &parameter : plan.parameters)
    text += "," + csvCell(parameter.name);
  text += "\n";
  for (size_t i = 0; i < designs.size(); ++i) {
    const ParetoPoint &point = front.points[i];
    text += fmt::format("{},{}", designs[i].name, point.value);
    for (const MinedStep &step : designs[i].steps)
      text += fmt::format(",{}", step.batch / step.step);
    for (size_t c = 0; c < point.costs.size(); ++c)
      text += fmt::format(",{}", front.costs[c] == "area" ? point.costs[c] * 1e6 : point.costs[c]);
    for (const std::string &chosen : designs[i].chosen)
      text += "," + csvCell(chosen);
    text += "\n";
  }
  return text;
}

} // namespace accord
