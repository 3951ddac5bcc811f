// All trajectories of a job, and what each of them counts in measures.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

/// Whether a run starts anew: it does not go on in what runs already.
bool isStart(const ScheduledJob &job, int64_t begin, unsigned configuration);
int64_t startsOf(const ScheduledJob &job, const std::vector<JobRun> &runs);
/// Seconds of the run's first slots without progress: those of a restart, but for what runs already.
int64_t restartOf(const ScheduledJob &job, int64_t begin, unsigned configuration);

/// The slot in which a run from `begin` completes so much work, exclusive, and the second of that; nothing where that
/// is after the deadline or the horizon.
struct RunEnd {
  int64_t end = 0, completion = 0;
};
std::optional<RunEnd> completeIn(const JobScheduleProblem &problem, const ScheduledJob &job, int64_t begin,
                                 unsigned configuration, int64_t work);

/// The work that runs leave, each of which makes progress: 0 or less if they complete the job.
int64_t workLeft(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs);

/// The most work that may be left of a job that continues, by its deadline; below 0: none. It may continue only if it
/// counts as complete at `last` or before.
int64_t maxWorkLeft(const JobScheduleProblem &problem, const ScheduledJob &job, int64_t last);

/// The first slot in which a job may begin.
int64_t firstSlot(const JobScheduleProblem &problem, const ScheduledJob &job);

/// All trajectories of a job that keep its deadline and the horizon, or continue, ascending by their runs, and of one
/// that may be rejected the rejection as the last. Nothing where they are more than `max`, or
/// ten times as many beginnings of trajectories.
std::optional<std::vector<JobTrajectory>> listTrajectories(const JobScheduleProblem &problem, const ScheduledJob &job,
                                                           size_t max);
/// How many `listTrajectories` lists, without keeping them; nothing where it lists nothing.
std::optional<size_t> countTrajectories(const JobScheduleProblem &problem, const ScheduledJob &job, size_t max);

/// What a job with so much work left counts in `Unfinished`; its work is 1 or more.
int64_t unfinishedTerm(const ScheduledJob &job, int64_t left);

/// What a trajectory counts in a measure: of a sum its term, of `Makespan` its completion, of `Slowdown` its ratio, of
/// `Tail` completion - arrival, of `Group` weight * (completion - arrival). 0 of a rejected job, but for `Rejected` and
/// `Unfinished`.
int64_t termOf(const JobScheduleProblem &problem, JobMeasure measure, const ScheduledJob &job,
               const JobTrajectory &trajectory);
/// The value of a measure of a whole schedule.
int64_t valueOf(const JobScheduleProblem &problem, JobMeasure measure, const std::vector<JobTrajectory> &jobs);

} // namespace accord::jobs
