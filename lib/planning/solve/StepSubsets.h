// What the operations of a whole step can do at once, and what follows for its length however iterations overlap.
#pragma once
#include "lib/machine/model/Dependences.h"
#include "lib/planning/solve/OperationVariants.h"
#include "lib/scheduling/problem/SchedulingResult.h"

namespace accord {

/// Of one iteration of a top region, by feasible subsets (lib/scheduling/problem/ConcurrentWork.h): each operation as
/// often as its repeats run it, in any of its forms. Two operations are apart if some chain of dependences leads
/// through all of their executions, so that the bound holds even where iterations overlap as far as their values allow.
/// `tasks` are OperationIds, of bodies as well. A bound of `goal` is enough. Value 0: there are too many operations or
/// executions (see below).
SchedulingBound stepSubsets(const WorkGraph &graph, const Dependences &dependences, const OperationVariants &variants,
                            RegionId top, int64_t goal);

/// Operations that take any time, and executions of all operations of the region.
constexpr size_t kMaxSubsetOperations = 240, kMaxSubsetExecutions = 30'000;

} // namespace accord
