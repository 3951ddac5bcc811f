#include "lib/exploration/output/StrategyComparison.h"
#include "lib/exploration/output/MiningOutput.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

std::vector<const MiningResult *> all(const MiningPlan &plan) {
  std::vector<const MiningResult *> results = {&plan.best.result};
  for (const MinedAnswer &answer : plan.compared)
    results.push_back(&answer.result);
  return results;
}

} // namespace

ComparisonReference comparisonReference(const MiningPlan &plan) {
  ComparisonReference with;
  for (const MiningResult *result : all(plan)) {
    with.best = std::min(with.best, result->value);
    with.bound = std::max(with.bound, result->bound);
  }
  with.bound = std::min(with.bound, with.best);
  return with;
}

std::optional<ConvergencePoint> converged(const MiningResult &result, double best) {
  for (const ConvergencePoint &moment : result.convergence)
    if (std::isfinite(moment.incumbent) && moment.incumbent <= best * (1 + kNearBest))
      return moment;
  return std::nullopt;
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

} // namespace accord
