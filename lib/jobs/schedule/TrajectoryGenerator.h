// Trajectories that are generated as prices ask for them, where there are too many to list.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

/// See `solveJobSchedule`: objectives that are sums have bounds by prices. A max is found by bisection among the
/// generated trajectories; its bound is that of the job that takes longest by itself, or the largest that prices prove.
/// Schedules are varied, a few jobs at a time.
JobSchedule generateJobSchedule(const JobScheduleProblem &problem, const SearchLimits &limits,
                                const std::vector<JobTrajectory> &known = {});

} // namespace accord::jobs
