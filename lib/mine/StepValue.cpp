#include "lib/analysis/Liveness.h"
#include "lib/cost/Energy.h"
#include "lib/cost/Estimate.h"
#include "lib/cost/PriceCache.h"
#include "lib/mine/StepWork.h"
#include "lib/solve/ScheduleStep.h"
#include <limits>

namespace accord {

/// Costs and schedule of the step.
static std::variant<std::pair<Costs, Schedule>, std::vector<Issue>>
scheduled(const WorkGraph &graph, const Machine &machine, PriceCache *prices) {
  EstimateOptions options;
  options.prices = prices;
  auto priced = estimate(graph, machine, options);
  if (auto *why = std::get_if<std::vector<Issue>>(&priced))
    return std::move(*why);
  Costs &costs = std::get<Costs>(priced);
  ScheduleOptions quick;
  quick.effort = 0;
  auto schedule = scheduleStep(graph, machine, costs, quick);
  if (auto *why = std::get_if<std::vector<Issue>>(&schedule))
    return std::move(*why);
  return std::pair(std::move(costs), std::move(std::get<Schedule>(schedule)));
}

StepValue StepWork::value(const Machine &machine, std::vector<Issue> *issues) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  auto found = scheduled(graph(), machine, prices_.get());
  if (auto *why = std::get_if<std::vector<Issue>>(&found)) {
    if (issues)
      *issues = std::move(*why);
    return {kNever, kNever, kNever, kNever, false};
  }
  const auto &[costs, schedule] = std::get<std::pair<Costs, Schedule>>(found);
  Seconds step = schedule.step.seconds();
  LivenessOptions peak;
  peak.points = 2;
  StepValue value;
  value.step = step.value;
  value.least = schedule.bound.seconds().value;
  value.joules = stepEnergyParts(graph(), costs, machine, step).total().value;
  value.bytes = static_cast<double>(liveness(graph(), schedule, peak).peak);
  value.fits = machine.memories.empty() || value.bytes <= machine.memories[0].capacity.value;
  return value;
}

std::optional<Costs> StepWork::costs(const Machine &machine) const {
  EstimateOptions options;
  options.prices = prices_.get();
  auto priced = estimate(graph(), machine, options);
  auto *costs = std::get_if<Costs>(&priced);
  return costs ? std::optional(std::move(*costs)) : std::nullopt;
}

std::optional<Plan> StepWork::planned(const Machine &machine) const {
  auto found = scheduled(graph(), machine, nullptr);
  auto *both = std::get_if<std::pair<Costs, Schedule>>(&found);
  if (!both)
    return std::nullopt;
  Plan plan;
  plan.graph = graph();
  plan.machine = machine;
  plan.costs = std::move(both->first);
  plan.schedule = std::move(both->second);
  return plan;
}

} // namespace accord
