// Judges stages of a profiled graph again, without the code that made them.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"

namespace accord {

/// Of a feasible answer: each node in one stage (A0909), no edge of `stageOrder` back and what is
/// together in one stage (A0944), devices and memory (A0904), each stage's parts and load, the
/// largest load and a bound that is not above it (A0905). At most 20 issues; A0943 where the
/// problem is malformed. O(edges + stages * transfers).
Errors verify(const PartitioningProblem &problem, const PartitioningResult &result);

} // namespace accord
