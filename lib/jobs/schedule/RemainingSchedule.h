// What is left of a block of jobs at a moment, as a problem of its own.
#pragma once
#include "lib/jobs/problem/RunningState.h"
#include "lib/jobs/schedule/ScheduleBuilder.h"

namespace accord::jobs {

struct RemainingSchedule {
  JobsRequest request;                  ///< of what is left, with times from the moment on
  std::vector<JobTable> tables;         ///< as `JobsRequest::jobs`, at the speeds of the state
  BuiltSchedule built;                  ///< its parts are of `request`
  std::vector<JobPlacement> current;    ///< where each job of the problem is; empty: it does not run
  std::vector<int64_t> spent;           ///< of each limit: what the time before the moment counts in it
  int64_t completedWeight = 0;          ///< of jobs that are complete and not there, in weights of the problem
  std::vector<std::string> assumptions; ///< in words
};

/// What a run of a plan has.
struct RunConfiguration {
  std::string deviceType;
  int64_t devices = 0;
  std::string choice, name, plan; ///< as in `TableRow` and `JobConfiguration`
};
/// The configuration of a job, by its number, with the devices and the choice of a run; of several that with its name,
/// then that with its plan, then the first. `rows`: those of the table that are the job's configurations.
std::optional<unsigned> alikeConfiguration(const JobScheduleProblem &problem, const ScheduledJob &job,
                                           const std::vector<TableRow> &table, const std::vector<unsigned> &rows,
                                           const RunConfiguration &was);

/// The problem of all that is left at `state.at`, where times are seconds from then on. Periods begin at that moment
/// and are as long as the block says, else as those of the plan that runs; the horizon of the block is rounded up to
/// whole ones.
///
/// - Jobs that are complete are not there, and no job is after them. Where tenants are treated alike
///   (`JobMeasure::Group`), they stay as jobs without work, so that what they waited counts.
/// - Others have the work that is left, rounded up. Elapsed times count from their arrivals in the block, and the time
///   in their share (`ScheduledJob::isolated`) is that of their whole work. What is left of a restart in which a job is
///   counts as work in the configuration that it starts.
/// - A job that runs goes on in the configuration with its device type, devices and plan, if it still has that.
/// - What a job trains stays the same. It may start as often as the block allows, less what it did, or as often as an
///   event says; one that does not run may start once in any case.
/// - Limits are without what completed jobs and the time before count in them, but at least 0; a tail leaves out as
///   many jobs less as took longer than its limit.
/// - Servers that are out of service are in maintenance.
///
/// `tables`: as the jobs of the block, with their whole work, at planned speeds. Errors are those of `buildJobSchedule`
/// and A1107 where the horizon is over.
Result<RemainingSchedule, Errors> remainingSchedule(const JobsRequest &block, const Cluster &cluster,
                                                    const std::vector<JobTable> &tables, const RunningState &state);

} // namespace accord::jobs
