// A lower bound by what can run at once: the covering program over feasible subsets.
#pragma once
#include "lib/scheduling/problem/ConcurrentWork.h"
#include "lib/scheduling/problem/SchedulingResult.h"

namespace accord {

struct SubsetLimits {
  int64_t goal = INT64_MAX;    ///< a bound of so much is enough
  int64_t subsets = 2'000'000; ///< that are looked at, in all
};

/// The least total time of subsets of executions, each of which may run at once, that together do all work: what a
/// schedule would take that could interrupt everything at any time and had no order but "never at once". Columns are
/// generated where their reduced cost is best, by branch and bound; the weights are the program's dual values. Where a
/// limit ends it, the best weights so far, whose value may be 0. Deterministic.
SubsetWeights subsetBound(const ConcurrentWork &work, const SubsetLimits &limits = {});

/// As a bound whose tasks are those that have a weight.
SchedulingBound boundOf(const SubsetWeights &weights);

/// A project as such work: each task once, unordered pairs may run at once. Tasks that need not happen have no weight.
ConcurrentWork concurrentWorkOf(const SchedulingProblem &problem);

} // namespace accord
