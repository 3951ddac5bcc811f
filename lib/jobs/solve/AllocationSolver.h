// Finds which configuration each job runs in, with a proved bound.
#pragma once
#include "lib/jobs/problem/Allocation.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

/// Solves a well-formed problem: prices by the linear relaxation, an allocation by rounding and by a dynamic program,
/// and branch and bound that writes the proof. The same problem and limits give the same solution, and jobs in another
/// order give the same status, value and bound. `limits.gap` is (bound - value) / value; from `limits.effort` follows
/// how much work is done and how large the proof may be: 0 proves the bound by one set of prices, and each step more
/// doubles the work.
AllocationSolution solveAllocation(const AllocationProblem &problem, const SearchLimits &limits);

} // namespace accord::jobs
