#include "lib/jobs/output/ConflictWords.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

using Of = JobConstraint::Of;

std::string timeText(int64_t seconds) {
  return seconds < 3600 ? fmt::format("{:.4g} min", static_cast<double>(seconds) / 60)
                        : fmt::format("{:.4g} h", static_cast<double>(seconds) / 3600);
}

/// A value of a measure with its unit.
std::string valueText(JobMeasure measure, int64_t value) {
  const double number = static_cast<double>(value);
  switch (measure) {
  case JobMeasure::Completion:
  case JobMeasure::Makespan:
  case JobMeasure::Tail:
  case JobMeasure::Group:
    return timeText(value);
  case JobMeasure::Lateness:
  case JobMeasure::Price:
    return fmt::format("{:.6g} USD", number / 1e6);
  case JobMeasure::Energy:
    return fmt::format("{:.6g} kWh", number / 3.6e6);
  case JobMeasure::Carbon:
    return fmt::format("{:.6g} kg", number / 1e9);
  case JobMeasure::Slowdown:
    return fmt::format("{:.4g}", number / 1e3);
  case JobMeasure::Rejected:
  case JobMeasure::Nash:
    break;
  }
  return std::to_string(value);
}

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
    return fmt::format("the deadline of job '{}': {}", job.name, timeText(job.deadline));
  }
  case Of::Capacity: {
    const SlotResource &resource = problem.resources[constraint.index];
    return fmt::format("the capacity of '{}': {}", resource.name, capacityText(resource));
  }
  case Of::Limit: {
    const JobLimit &limit = problem.limits[constraint.index];
    if (constraint.index < requirements.size())
      return fmt::format("the requirement {}", requirements[constraint.index]);
    return fmt::format("the requirement {} <= {}", nameOf(limit.measure), valueText(limit.measure, limit.max));
  }
  case Of::Dependence: {
    const ScheduledJob &job = problem.jobs[constraint.index];
    return fmt::format("job '{}' is after '{}'", job.name, problem.jobs[job.after[constraint.other]].name);
  }
  case Of::MustRun:
    return fmt::format("job '{}' has to run within {}", problem.jobs[constraint.index].name,
                       timeText(problem.slot * problem.slots));
  }
  return "";
}

std::string wordsOf(const JobRepair &repair, const JobScheduleProblem &problem,
                    const std::vector<std::string> &requirements) {
  const JobConstraint &constraint = repair.constraint;
  switch (constraint.of) {
  case Of::Deadline:
    return fmt::format("a deadline of {} for job '{}'", timeText(repair.value), problem.jobs[constraint.index].name);
  case Of::Capacity:
    return fmt::format("{} more of '{}' at all times", repair.value, problem.resources[constraint.index].name);
  case Of::Limit: {
    const JobMeasure measure = problem.limits[constraint.index].measure;
    if (measure == JobMeasure::Completion) { // of the mean, as it was stated
      int64_t weights = 0;
      for (const ScheduledJob &job : problem.jobs)
        weights += job.weight;
      return fmt::format("{} <= {}", nameOf(measure), timeText(repair.value / std::max<int64_t>(1, weights) + 1));
    }
    return fmt::format("{} <= {}", nameOf(measure), valueText(measure, repair.value));
  }
  case Of::Dependence:
  case Of::MustRun:
    return "without it: " + wordsOf(constraint, problem, requirements);
  }
  return "";
}

} // namespace accord::jobs
