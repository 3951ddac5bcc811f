// Trajectories that are generated as prices ask for them, where there are too many to list.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

/// See `solveJobSchedule`: objectives that are sums have bounds by prices. A max is found by bisection among the
/// generated trajectories, with the bound of the job that takes longest by itself.
JobSchedule generateJobSchedule(const JobScheduleProblem &problem, const SearchLimits &limits,
                                const std::vector<JobTrajectory> &known = {});

} // namespace accord::jobs
