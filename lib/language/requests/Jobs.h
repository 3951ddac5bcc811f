// `jobs NAME on CLUSTER { … }` -> tenants, capacities over time, jobs and what is asked of their schedule.
#pragma once
#include "lib/jobs/problem/JobsRequest.h"
#include "lib/language/syntax/Evaluate.h"

namespace accord {

/// Arrays have at most so many members, a block so many jobs, and its jobs so many configurations, device types, phases
/// and dependences together: more is a slip of the hand, and would not fit into memory.
constexpr int64_t kMaxArray = 10'000, kMaxJobs = 100'000, kMaxJobParts = 1'000'000;

/// The block as plain data; nothing after errors. Trainings are those of `file`, in which the block stands. Arrays are
/// written out: `job sweep[2] = t` is sweep[0] and sweep[1], and whoever is after `sweep` is after both. That the
/// cluster and device types exist is not looked at: see `Program::jobs`.
std::optional<jobs::JobsRequest> jobsRequest(const ast::Declaration &block, const ast::File &file, Diagnostics &diags,
                                             const Lookup &lookup);

} // namespace accord
