// The rows of a proof of a schedule: what trajectories use of slots, dependences and limits together.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

/// Rows are numbered as `JobScheduleProof` says: resources in slots, dependences in slots, measures with their limits.
class ScheduleRows {
public:
  /// A limit of a measure; of `Group`, for one group.
  struct Limit {
    JobMeasure measure = JobMeasure::Price;
    int64_t max = 0;
    unsigned group = 0;
  };
  /// Job `later` waits for `earlier`; its rows begin at `first`.
  struct Dependence {
    size_t earlier = 0, later = 0, first = 0;
  };

  /// `limits`: of the problem, of the objectives before, and of the one to be bounded, in this order.
  ScheduleRows(const JobScheduleProblem &problem, const std::vector<JobLimit> &limits);

  size_t size() const { return firstLimit + limits.size(); }
  size_t resource(unsigned resource, int64_t slot) const { return resource * size_t(problem.slots) + size_t(slot); }
  /// What a trajectory adds to a limit, before anything is added so that it is 0 or more. A rejected job: only to
  /// `Rejected`.
  int64_t termOf(const ScheduledJob &job, const JobTrajectory &trajectory, const Limit &limit) const;
  /// What the terms of all jobs together may be.
  __int128 capacityOf(const Limit &limit) const;

  const JobScheduleProblem &problem;
  std::vector<Dependence> dependences;
  std::vector<std::vector<size_t>> asEarlier, asLater; ///< of each job, indices into `dependences`, ascending
  std::vector<Limit> limits;                           ///< those that have rows
  size_t firstLimit = 0;
};

} // namespace accord::jobs
