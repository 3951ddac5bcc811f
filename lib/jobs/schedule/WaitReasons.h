// Why each job of a schedule does not run between its arrival and its completion, in one sentence for each time.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"

namespace accord::jobs {

/// For each job, each time from its arrival to its first run, between two runs, or of a job that is left out until the
/// end of the slots, with all other jobs as they are in the schedule:
/// - as long as a job that it comes after is not complete: which;
/// - then as long as none of its configurations has room: what its smallest one needs, how much is free, who has it;
/// - then, if something would be free: it is free for too short a time; or an earlier start would complete later, or
///   make an objective worse (the first in which it differs), or break a requirement; or none of these.
///
/// An earlier start is one run to the end of the work in one configuration, or for malleable jobs one more run up to
/// the next in the schedule. Waits for the begin of the next slot are not listed. Times of a run without progress are
/// as `ScheduledJob::restart` says.
std::vector<JobWait> waitReasons(const JobAnswer &answer);

} // namespace accord::jobs
