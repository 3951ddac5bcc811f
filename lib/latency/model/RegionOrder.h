// The order of a plan's schedule as precedences between operations of one region.
#pragma once
#include "lib/machine/model/Dependences.h"
#include "lib/machine/model/Plan.h"

namespace accord {

struct RegionOrder {
  std::vector<OperationId> operations;         ///< by start; each after all that it waits for
  std::vector<std::vector<OperationId>> after; ///< of each of `operations`: transitively reduced
  /// Where iterations overlap: those that run so many periods after their iteration has started, and later than all
  /// others; else nothing.
  std::vector<OperationId> lastStage;
  int64_t stages = 0; ///< the stage of these
  bool exact = true;  ///< starting each as soon as its `after` have ended gives the plan's own starts
};
/// Waits of an operation: for the producers of its operands, and for every operation that ended before it started and
/// that needs the same core lane, or more of a memory's bandwidth than is left beside it. A repeat needs all its body
/// needs. Where iterations overlap, in one period: starts and waits are those of all stages in it.
RegionOrder orderOf(const Plan &plan, const Dependences &dependences, RegionId region);

} // namespace accord
