#include "lib/analysis/Liveness.h"
#include "lib/cost/Energy.h"
#include "lib/cost/Estimate.h"
#include "lib/mine/StepWork.h"
#include "lib/solve/ScheduleStep.h"
#include <limits>

namespace accord {

StepValue StepWork::value(const Machine &machine, std::vector<Issue> *issues) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  StepValue never{kNever, kNever, kNever, kNever, false};
  auto refused = [&](std::vector<Issue> &why) {
    if (issues)
      *issues = std::move(why);
    return never;
  };
  EstimateOptions options;
  options.prices = prices_.get();
  auto priced = estimate(graph(), machine, options);
  if (auto *why = std::get_if<std::vector<Issue>>(&priced))
    return refused(*why);
  Costs &costs = std::get<Costs>(priced);
  ScheduleOptions quick;
  quick.effort = 0;
  auto scheduled = scheduleStep(graph(), machine, costs, quick);
  if (auto *why = std::get_if<std::vector<Issue>>(&scheduled))
    return refused(*why);
  const Schedule &schedule = std::get<Schedule>(scheduled);
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

} // namespace accord
