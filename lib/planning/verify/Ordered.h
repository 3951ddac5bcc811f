// Proves again what no step is shorter than whose repeats are units of their iterations.
#pragma once
#include "lib/machine/model/Plan.h"
#include <string>
#include <vector>

namespace accord {

/// What bounds of the regions, by RegionId, prove of a plan's work with its machine and costs; its
/// schedule does not count.
struct OrderedProof {
  Picoseconds step; ///< 0: nothing
  std::string why;  ///< nothing: of which region a bound is not proved, or rests on a solver
};

/// Of one iteration of each region, bodies first, as a problem of its operations: a repeat is a
/// task of count times what is proved of its body, which holds all the while the cores, memories
/// and networks that its body uses in whatever forms its operations run; others as in
/// `provenProblem`. Each bound is proved by `verify` (lib/scheduling/verify/Scheduling.h).
OrderedProof proveOrdered(const Plan &plan, const std::vector<SchedulingBound> &regions);

/// The problem of one region whose repeats take `lengths` of an iteration, by RegionId.
SchedulingProblem orderedProblem(const Plan &plan, RegionId region, const std::vector<int64_t> &lengths);

} // namespace accord
