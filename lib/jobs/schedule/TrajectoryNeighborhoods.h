// Better allocations near one that is known, by solving for a few jobs at a time.
#pragma once
#include "lib/jobs/problem/Allocation.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

/// Starts with a choice that keeps the capacities, of a problem in which no job may wait, and returns one whose value
/// is the same or more. In each round, some jobs that use the same resources are taken out and allocated anew in what
/// the others leave (large neighbourhood search; Shaw, CP 1998). The rounds end where the value is `bound`, or within
/// `limits.gap` of it.
std::vector<int64_t> improveChoice(const AllocationProblem &problem, std::vector<int64_t> choice, int64_t bound,
                                   const SearchLimits &limits);

} // namespace accord::jobs
