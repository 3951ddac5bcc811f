// Finds a fair allocation of one moment, with a proved bound for each of its objectives.
#pragma once
#include "lib/jobs/problem/FairAllocation.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

/// Maximizes the layers of a problem in their order, each by allocation problems: a sum by one, levels by a bisection
/// over their finite values and one problem that counts who can be above. Among the best, many running jobs keep their
/// configurations (which is not proved). `limits` are those of each allocation problem. Error A1104 if the problem is
/// not well formed, or if its terms are too large to be added. Infeasible if pinned jobs and guarantees exclude each
/// other; Unknown if no allocation was found.
Result<FairSolution> allocateFairly(const FairProblem &problem, const SearchLimits &limits);

} // namespace accord::jobs
