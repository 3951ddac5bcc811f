// An order of jobs that follows from what they are, so that the order in which a block names them changes no value.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

/// A problem with its jobs in another order.
class JobOrder {
public:
  /// By all that a job is, its name last. Jobs that are alike in all of it stay in their order.
  explicit JobOrder(const JobScheduleProblem &given);

  const JobScheduleProblem &problem() const { return ordered; }
  /// Trajectories of the given jobs, in the new order; none stay none.
  std::vector<JobTrajectory> toOrder(const std::vector<JobTrajectory> &jobs) const;
  /// A schedule of `problem`, whose proofs are by prices, as one of the given problem.
  JobSchedule fromOrder(JobSchedule schedule) const;

private:
  /// The first row of each dependence of the given problem in proofs of `problem`.
  std::vector<size_t> dependenceRows() const;

  const JobScheduleProblem &given;
  JobScheduleProblem ordered;
  std::vector<unsigned> jobAt;   ///< the given job at each place
  std::vector<unsigned> placeOf; ///< of each given job
};

} // namespace accord::jobs
