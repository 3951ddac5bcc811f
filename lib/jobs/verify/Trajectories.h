// Trajectories of one job by themselves: whether one is right, what it measures, and all of them in order.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

inline bool isRejected(const JobTrajectory &trajectory) { return trajectory.completion < 0; }

/// What one job adds to a measure that is a sum, in its unit. Of the others: `Makespan` its completion, `Slowdown` its
/// own, `Tail` completion - arrival, `Group` weight * (completion - arrival). 0 of a rejected job, but for `Rejected`.
/// For `Nash`, 0 also of a job without work, which is complete at its arrival.
int64_t termOf(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &trajectory,
               JobMeasure measure);

/// Why a trajectory is none of the job (A1106): begins before the arrival, misses the deadline or the horizon, has runs
/// without work, or another completion than its runs give. A run makes no progress in its first `restart` seconds,
/// unless it begins in slot 0 in the configuration `running`; the job completes in the last slot of its last run.
Result<void> checkTrajectory(const JobScheduleProblem &problem, const ScheduledJob &job,
                             const JobTrajectory &trajectory);

/// The last time at which the job may complete by its deadline, the horizon, and limits of `Makespan` and `Slowdown`.
/// Below 0: never.
int64_t latestCompletion(const JobScheduleProblem &problem, const ScheduledJob &job,
                         const std::vector<JobLimit> &limits);

/// All trajectories of a job that complete at `latest` or before, ascending, and behind them the rejection if it may be
/// rejected; or nothing if they are more than `max`, or the search for them is too long.
std::optional<std::vector<JobTrajectory>> listTrajectories(const JobScheduleProblem &problem, const ScheduledJob &job,
                                                           int64_t latest, size_t max);

} // namespace accord::jobs
