#include "lib/jobs/verify/ScheduleRows.h"
#include "lib/jobs/verify/Trajectories.h"
#include <algorithm>

namespace accord::jobs {

ScheduleRows::ScheduleRows(const JobScheduleProblem &problem, const std::vector<JobLimit> &all)
    : problem(problem), asEarlier(problem.jobs.size()), asLater(problem.jobs.size()) {
  size_t row = problem.resources.size() * size_t(problem.slots);
  for (size_t later = 0; later < problem.jobs.size(); ++later)
    for (unsigned earlier : problem.jobs[later].after) {
      asEarlier[earlier].push_back(dependences.size());
      asLater[later].push_back(dependences.size());
      dependences.push_back({earlier, later, row});
      row += size_t(problem.slots);
    }
  firstLimit = row;
  for (const JobLimit &limit : all) {
    if (isSum(limit.measure) || limit.measure == JobMeasure::Tail)
      limits.push_back({limit.measure, limit.max, 0});
    for (unsigned group = 0; limit.measure == JobMeasure::Group && group < problem.groups.size(); ++group)
      limits.push_back({limit.measure, limit.max, group});
  }
}

int64_t ScheduleRows::termOf(const ScheduledJob &job, const JobTrajectory &trajectory, const Limit &limit) const {
  if (limit.measure == JobMeasure::Group && !std::binary_search(job.groups.begin(), job.groups.end(), limit.group))
    return 0;
  const int64_t term = jobs::termOf(problem, job, trajectory, limit.measure);
  return limit.measure == JobMeasure::Tail ? !isRejected(trajectory) && term > limit.max : term;
}

__int128 ScheduleRows::capacityOf(const Limit &limit) const {
  if (limit.measure == JobMeasure::Tail)
    return problem.tail;
  if (limit.measure == JobMeasure::Group)
    return static_cast<__int128>(limit.max) * problem.groups[limit.group].share;
  return limit.max;
}

} // namespace accord::jobs
