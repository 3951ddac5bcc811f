// A plan that runs, kept as it is for what is left of its jobs; and what a new plan changes against it.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/jobs/schedule/RemainingSchedule.h"

namespace accord::jobs {

struct KeptPlan {
  std::vector<JobTrajectory> jobs; ///< of each job of the problem
  std::string why;                 ///< it cannot be kept: what is in the way first; empty: it can
  /// A schedule near to it that keeps capacities, dependences and limits; empty: none was found, or there is no job.
  std::vector<JobTrajectory> known;
};

/// Each job keeps its runs of the plan, from the first period on that begins at their begin or later; the last one ends
/// when its work is done. Jobs that the plan does not have, or leaves out though they must run, go where they cost
/// least beside the others. Where the plan cannot be kept, `known` keeps the runs for which there is room, job by job,
/// and places the others anew.
KeptPlan keepPlan(const RemainingSchedule &left, const JobAnswer &plan, const RunningState &state);

/// What the schedule of an answer changes for each job of the block and each that is not there any more. `planned` is
/// the state before the events, `state` behind them.
std::vector<JobChange> changesOf(const JobsRequest &block, const RemainingSchedule &left, const JobAnswer &answer,
                                 const JobAnswer &plan, const RunningState &planned, const RunningState &state,
                                 const std::vector<JobEvent> &events);

} // namespace accord::jobs
