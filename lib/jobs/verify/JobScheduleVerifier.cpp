#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "lib/jobs/verify/ScheduleBound.h"
#include "lib/jobs/verify/Trajectories.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace accord::jobs {
namespace {

using Wide = __int128;

Error wrong(std::string message) { return {Code::WrongJobSchedule, std::move(message)}; }
Error in(const std::string &where, Error error) {
  error.message = where + ": " + error.message;
  return error;
}

/// Capacities of every slot, with what all runs use of them.
Result<void> checkCapacities(const JobScheduleProblem &problem, const std::vector<JobTrajectory> &jobs) {
  std::vector<std::vector<Wide>> used(problem.resources.size(), std::vector<Wide>(size_t(problem.slots), 0));
  for (size_t j = 0; j < jobs.size(); ++j)
    for (const JobRun &run : jobs[j].runs)
      for (const ResourceUse &use : problem.jobs[j].configurations[run.configuration].uses)
        for (int64_t t = run.begin; t < run.end; ++t)
          used[use.resource][size_t(t)] += use.amount;
  for (size_t r = 0; r < used.size(); ++r)
    for (size_t t = 0; t < used[r].size(); ++t)
      if (used[r][t] > problem.resources[r].capacity[t])
        return wrong(fmt::format("jobs use {} of '{}' in slot {}, which has {}", int64_t(used[r][t]),
                                 problem.resources[r].name, t, problem.resources[r].capacity[t]));
  return {};
}

Result<void> checkDependences(const JobScheduleProblem &problem, const std::vector<JobTrajectory> &jobs) {
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].runs.empty())
      continue;
    const int64_t begin = jobs[j].runs[0].begin * problem.slot;
    for (unsigned earlier : problem.jobs[j].after) {
      if (isRejected(jobs[earlier]))
        return wrong(fmt::format("job '{}' runs after job '{}', which is rejected", problem.jobs[j].name,
                                 problem.jobs[earlier].name));
      if (jobs[earlier].completion > begin)
        return wrong(fmt::format("job '{}' begins at {}, but job '{}' before it completes at {}", problem.jobs[j].name,
                                 begin, problem.jobs[earlier].name, jobs[earlier].completion));
    }
  }
  return {};
}

Wide groupValue(const JobScheduleProblem &problem, const std::vector<JobTrajectory> &jobs) {
  std::vector<Wide> sums(problem.groups.size(), 0);
  for (size_t j = 0; j < jobs.size(); ++j)
    for (unsigned group : problem.jobs[j].groups)
      sums[group] += termOf(problem, problem.jobs[j], jobs[j], JobMeasure::Group);
  Wide value = 0;
  for (size_t g = 0; g < sums.size(); ++g)
    value = std::max(value, (sums[g] + problem.groups[g].share - 1) / problem.groups[g].share);
  return value;
}

Wide valueOf(const JobScheduleProblem &problem, const std::vector<JobTrajectory> &jobs, JobMeasure measure) {
  if (measure == JobMeasure::Group)
    return groupValue(problem, jobs);
  Wide sum = 0, largest = 0;
  std::vector<int64_t> times;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const int64_t term = termOf(problem, problem.jobs[j], jobs[j], measure);
    sum += term;
    largest = std::max<Wide>(largest, term);
    if (!isRejected(jobs[j]))
      times.push_back(term);
  }
  if (measure != JobMeasure::Tail)
    return isSum(measure) ? sum : largest;
  std::sort(times.begin(), times.end(), std::greater<>());
  return size_t(problem.tail) < times.size() ? times[size_t(problem.tail)] : 0;
}

Result<void> checkJobs(const JobScheduleProblem &problem, const JobSchedule &schedule) {
  if (schedule.jobs.size() != problem.jobs.size())
    return wrong(fmt::format("the schedule has {} jobs of {}", schedule.jobs.size(), problem.jobs.size()));
  for (size_t j = 0; j < problem.jobs.size(); ++j)
    if (auto checked = checkTrajectory(problem, problem.jobs[j], schedule.jobs[j]); !checked)
      return in(fmt::format("job '{}'", problem.jobs[j].name), checked.takeError());
  if (auto checked = checkCapacities(problem, schedule.jobs); !checked)
    return checked;
  if (auto checked = checkDependences(problem, schedule.jobs); !checked)
    return checked;
  for (const JobLimit &limit : problem.limits)
    if (const Wide value = valueOf(problem, schedule.jobs, limit.measure); value > limit.max)
      return wrong(fmt::format("'{}' is {}, above its limit {}", nameOf(limit.measure), int64_t(value), limit.max));
  return {};
}

Result<void> checkObjectives(const JobScheduleProblem &problem, const JobSchedule &schedule) {
  const size_t count = problem.objectives.size();
  if (schedule.values.size() != count || schedule.proofs.size() != count)
    return wrong(fmt::format("the schedule has {} values and {} proofs of {} objectives", schedule.values.size(),
                             schedule.proofs.size(), count));
  bool optimal = true;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = nameOf(problem.objectives[i]);
    const int64_t said = schedule.values[i], bound = schedule.proofs[i].bound;
    if (const Wide value = valueOf(problem, schedule.jobs, problem.objectives[i]); value != said)
      return wrong(fmt::format("'{}' is {}, but {} is said", name, int64_t(value), said));
    if (bound > said)
      return wrong(fmt::format("'{}' is {}, below its bound {}", name, said, bound));
    optimal &= bound == said;
  }
  if (schedule.status != (optimal ? AllocationStatus::Optimal : AllocationStatus::Feasible))
    return wrong(optimal ? "all objectives are at their bounds, but the status is not optimal"
                         : "an objective is above its bound, but the status is optimal");
  BoundQuestion question{problem, problem.limits};
  for (size_t i = 0; i < count; ++i) {
    if (auto proved = proveScheduleBound(question, problem.objectives[i], schedule.proofs[i]); !proved)
      return in(fmt::format("bound of '{}'", nameOf(problem.objectives[i])), proved.takeError());
    question.limits.push_back({problem.objectives[i], schedule.values[i]});
  }
  return {};
}

} // namespace

Result<void> verifyJobSchedule(const JobScheduleProblem &problem, const JobSchedule &schedule) {
  if (auto checked = checkJobScheduleProblem(problem); !checked)
    return checked;
  const bool isSolved = schedule.status == AllocationStatus::Optimal || schedule.status == AllocationStatus::Feasible;
  if (isSolved) {
    if (auto checked = checkJobs(problem, schedule); !checked)
      return checked;
    return checkObjectives(problem, schedule);
  }
  const size_t proofs = schedule.status == AllocationStatus::Infeasible;
  if (!schedule.jobs.empty() || !schedule.values.empty() || schedule.proofs.size() != proofs)
    return wrong(fmt::format("there is no schedule, but it has {} jobs, {} values and {} proofs", schedule.jobs.size(),
                             schedule.values.size(), schedule.proofs.size()));
  if (schedule.status == AllocationStatus::Infeasible)
    return proveNoSchedule({problem, problem.limits}, schedule.proofs[0]);
  return {};
}

} // namespace accord::jobs
