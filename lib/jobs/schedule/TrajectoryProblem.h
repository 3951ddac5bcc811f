// The allocation problem of one objective: each job takes one of its listed trajectories. `JobScheduleProof` states its
// rows, values and lists.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

/// The trajectories of all jobs.
using TrajectoryLists = std::vector<std::vector<JobTrajectory>>;

/// One question about a problem: with these limits, how small can a measure be?
struct ObjectiveStage {
  /// Limits of the problem, and of the objectives before: each keeps at most its value.
  std::vector<JobLimit> limits;
  /// The measure that is minimized. A max measure is limited to `max` instead, and only that is asked.
  JobMeasure measure = JobMeasure::Completion;
  int64_t max = 0;

  /// All limits, that of a max measure as the last.
  std::vector<JobLimit> allLimits() const;
};

/// Where the rows of an allocation of trajectories are.
struct TrajectoryRows {
  TrajectoryRows(const JobScheduleProblem &problem, const ObjectiveStage &stage);

  /// A limit that has rows (of `Group` one for each group), and its first.
  struct Limited {
    JobLimit limit;
    unsigned row = 0;
  };
  std::vector<Limited> limited;
  /// The first rows of each job's dependences: on its `after`, and of those that come after it.
  std::vector<std::vector<unsigned>> laterRows, earlierRows;
  /// Of all rows; of limits that are sums the limit itself, which may be negative.
  std::vector<int64_t> capacity;
  /// Of each job: the first slot in which it can begin, after the fastest that the jobs before it can be; and the first
  /// at whose start it can be complete.
  std::vector<int64_t> begins, ends;
  std::vector<size_t> order; ///< jobs, each behind those that it is after
  bool tailOfEach = true;    ///< paths keep the limits of a `Tail` that leaves out no job

private:
  void addTimes(const JobScheduleProblem &problem);
};

/// The last second at which a job may be complete by its deadline, the horizon, and limits of max measures.
int64_t lastCompletion(const JobScheduleProblem &problem, const ObjectiveStage &stage, const ScheduledJob &job);

class TrajectoryProblem {
public:
  TrajectoryProblem(const JobScheduleProblem &problem, const TrajectoryLists &lists, const ObjectiveStage &stage);

  /// In the form that a proof speaks of: jobs, rows and lists as stated there.
  const AllocationProblem &allocation() const { return made; }
  /// The sum of the largest terms: the objective is this - the value of the allocation.
  int64_t offset() const { return largest; }
  /// Whether limits are below the sums of smallest terms, or a job has no trajectory: nothing fits.
  bool isImpossible() const;
  /// Solves it without the rows that cannot bind; the proof has all rows.
  AllocationSolution solve(const SearchLimits &limits) const;
  /// Prices of all rows by the linear relaxation, in the unit of the measure. If `isMissing` says that
  /// nothing is known to fit and nothing does, the prices are those of what is missing of capacities; else it is false.
  std::vector<double> relaxedPrices(bool &isMissing, const SearchLimits &limits) const;
  /// The trajectories of a choice.
  std::vector<JobTrajectory> trajectories(const std::vector<int64_t> &choice) const;
  /// The choice of a schedule of listed trajectories; empty if one of them is not listed.
  std::vector<int64_t> choiceOf(const std::vector<JobTrajectory> &schedule) const;

private:
  void shiftLimits();
  void addJob(size_t job);
  void addDependences(size_t job, const JobTrajectory &trajectory, std::vector<ResourceUse> &uses) const;
  void addLimits(size_t job, const JobTrajectory &trajectory, std::vector<ResourceUse> &uses) const;

  const JobScheduleProblem &problem;
  const TrajectoryLists &lists;
  const ObjectiveStage &stage;
  const TrajectoryRows rows;
  AllocationProblem made;
  std::vector<std::vector<unsigned>> listed; ///< of each job: trajectories of its configurations
  std::vector<std::vector<int64_t>> shifts;  ///< of each limit with rows: what makes each job's smallest term 0
  std::vector<bool> isVoid;                  ///< of each row
  int64_t largest = 0;
};

} // namespace accord::jobs
