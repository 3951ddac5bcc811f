// Checks the servers of the runs of a schedule of jobs; it includes nothing of what finds them.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/support/Result.h"

namespace accord::jobs {

/// Whether `JobAnswer::placements` holds: each run has the devices of its configuration, on servers of their type, each
/// server once; no server has more than its devices in any slot; two runs of a job that touch and are in one
/// configuration are on the same servers. A run without servers is an error unless `partial`. The message names the
/// job, the server and the slot. Errors: A1106.
Result<void> checkPlacements(const JobAnswer &answer, bool partial = false);

} // namespace accord::jobs
