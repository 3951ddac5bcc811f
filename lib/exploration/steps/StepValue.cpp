#include "lib/exploration/steps/StepWork.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/energy/Energy.h"
#include "lib/planning/analysis/Liveness.h"
#include "lib/planning/solve/ScheduleStep.h"
#include <algorithm>
#include <limits>

namespace accord {

namespace {

using Scheduled = std::pair<Costs, Schedule>;

/// Costs and schedule of the step.
Result<Scheduled, Errors> scheduled(const WorkGraph &graph, const Machine &machine, PriceCache *prices,
                                    const ScheduleOptions &effort) {
  EstimateOptions options;
  options.prices = prices;
  auto priced = estimate(graph, machine, options);
  if (!priced)
    return priced.takeError();
  Costs &costs = *priced;
  auto schedule = scheduleStep(graph, machine, costs, effort);
  if (!schedule)
    return schedule.takeError();
  return Scheduled(std::move(costs), std::move(*schedule));
}

StepValue never() {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  StepValue value;
  value.step = value.joules = value.lowerBound = value.bytes = kNever;
  value.fits = false;
  return value;
}

StepValue valueOf(const WorkGraph &graph, const Machine &machine, const Scheduled &scheduled) {
  const auto &[costs, schedule] = scheduled;
  Seconds step = schedule.step.seconds();
  LivenessOptions peak;
  peak.points = 2;
  StepValue value;
  value.step = step.value;
  value.lowerBound = schedule.bound.seconds().value;
  value.joules = stepEnergyBreakdown(graph, costs, machine, step).total().value;
  value.bytes = liveness(graph, schedule, peak).peak;
  value.fits = machine.memories.empty() || value.bytes <= machine.memories[0].capacity.value;
  return value;
}

ScheduleOptions withEffort(unsigned effort) {
  ScheduleOptions options;
  options.effort = effort;
  return options;
}

} // namespace

StepValue StepWork::value(const Machine &machine, Errors *errors) const {
  auto found = scheduled(graph(), machine, prices_.get(), withEffort(0));
  if (!found) {
    if (errors)
      *errors = found.takeError();
    return never();
  }
  return valueOf(graph(), machine, *found);
}

std::optional<Costs> StepWork::costs(const Machine &machine) const {
  EstimateOptions options;
  options.prices = prices_.get();
  auto priced = estimate(graph(), machine, options);
  auto *costs = priced.get();
  return costs ? std::optional(std::move(*costs)) : std::nullopt;
}

StepValue StepWork::refined(const Machine &machine, unsigned effort, bool searches) const {
  OrderedBound ordered;
  ScheduleOptions options = withEffort(effort);
  options.searches = searches;
  options.ordered = &ordered;
  auto found = scheduled(graph(), machine, prices_.get(), options);
  auto *both = found.get();
  if (!both)
    return never();
  StepValue value = valueOf(graph(), machine, *both);
  value.lowerBound = std::max(value.lowerBound, ordered.step.seconds().value);
  value.effort = effort;
  return value;
}

std::optional<Plan> StepWork::planned(const Machine &machine, unsigned effort) const {
  auto found = scheduled(graph(), machine, nullptr, withEffort(effort));
  auto *both = found.get();
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
