// Trajectories of one job by themselves: whether one is right, what it measures, and all of them in order.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

inline bool isRejected(const JobTrajectory &trajectory) { return trajectory.completion < 0; }

/// What one job adds to a measure that is a sum, in its unit. Of the others: `Makespan` its completion, `Slowdown` its
/// own, `Tail` completion - arrival, `Group` weight * (completion - arrival). 0 of a rejected job, but for `Rejected`
/// and `Unfinished`.
/// For `Nash`, 0 also of a job without work, which is complete at its arrival.
int64_t termOf(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &trajectory,
               JobMeasure measure);

/// Why a trajectory is none of the job (A1106): begins before the arrival, misses the deadline or the horizon, has runs
/// without work, or another completion than its runs give. A run makes no progress in its first `restart` seconds,
/// unless it begins in slot 0 in the configuration `running`; the job completes in the last slot of its last run, or
/// continues with work that it may leave.
Result<void> checkTrajectory(const JobScheduleProblem &problem, const ScheduledJob &job,
                             const JobTrajectory &trajectory);

/// Whether a run goes on in what runs before slot 0, without a restart.
bool goesOn(const ScheduledJob &job, int64_t begin, unsigned configuration);
/// What a job with so much work left adds to `Unfinished`.
int64_t unfinishedOf(const ScheduledJob &job, int64_t left);
/// The most work with which a job may continue, if all is complete or counts so at `latest` or before; 0: it may not.
int64_t largestLeft(const JobScheduleProblem &problem, const ScheduledJob &job, int64_t latest);

/// The last time at which the job may complete, or counts so, by its deadline, the horizon, and limits of `Makespan`
/// and `Slowdown`. Below 0: never.
int64_t latestCompletion(const JobScheduleProblem &problem, const ScheduledJob &job,
                         const std::vector<JobLimit> &limits);

/// All trajectories of a job that complete, or count so, at `latest` or before, ascending, and behind them the
/// rejection if it may be rejected; or nothing if they are more than `max`, or the search for them is too long.
std::optional<std::vector<JobTrajectory>> listTrajectories(const JobScheduleProblem &problem, const ScheduledJob &job,
                                                           int64_t latest, size_t max);

} // namespace accord::jobs
