#include "lib/jobs/output/ConflictWords.h"
#include "lib/jobs/problem/JobWords.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

using Of = JobConstraint::Of;

std::string hoursText(int64_t seconds) { return timeText(static_cast<double>(seconds)); }

std::string capacityText(const SlotResource &resource) {
  const auto [min, max] = std::minmax_element(resource.capacity.begin(), resource.capacity.end());
  if (resource.capacity.empty())
    return "0";
  return *min == *max ? std::to_string(*max) : fmt::format("{} to {}", *min, *max);
}

} // namespace

std::string wordsOf(const JobConstraint &constraint, const JobScheduleProblem &problem,
                    const std::vector<std::string> &requirements) {
  switch (constraint.of) {
  case Of::Deadline: {
    const ScheduledJob &job = problem.jobs[constraint.index];
    return fmt::format("the deadline of job '{}': {}", job.name, hoursText(job.deadline));
  }
  case Of::Capacity: {
    const SlotResource &resource = problem.resources[constraint.index];
    return fmt::format("the capacity of '{}': {}", resource.name, capacityText(resource));
  }
  case Of::Limit:
    return "the requirement " + (constraint.index < requirements.size()
                                     ? requirements[constraint.index]
                                     : limitText(problem, problem.limits[constraint.index]));
  case Of::Dependence: {
    const ScheduledJob &job = problem.jobs[constraint.index];
    return fmt::format("job '{}' is after '{}'", job.name, problem.jobs[job.after[constraint.other]].name);
  }
  case Of::MustRun:
    if (const ScheduledJob &job = problem.jobs[constraint.index]; job.mayContinue)
      return fmt::format("job '{}' may not be left out", job.name);
    return fmt::format("job '{}' has to run within {}", problem.jobs[constraint.index].name,
                       hoursText(problem.slot * problem.slots));
  }
  return "";
}

std::string wordsOf(const JobRepair &repair, const JobScheduleProblem &problem,
                    const std::vector<std::string> &requirements) {
  const JobConstraint &constraint = repair.constraint;
  switch (constraint.of) {
  case Of::Deadline:
    return fmt::format("a deadline of {} for job '{}'", hoursText(repair.value), problem.jobs[constraint.index].name);
  case Of::Capacity:
    return fmt::format("{} more of '{}' at all times", repair.value, problem.resources[constraint.index].name);
  case Of::Limit:
    return limitText(problem, {problem.limits[constraint.index].measure, repair.value});
  case Of::Dependence:
  case Of::MustRun:
    return "without it: " + wordsOf(constraint, problem, requirements);
  }
  return "";
}

} // namespace accord::jobs
