// What would shorten the step: operations and kinds of cores, in the order in which it was planned.
#pragma once
#include "lib/planning/analysis/StepTiming.h"
#include <map>

namespace accord {

/// One operation, in all its executions.
struct OperationSensitivity {
  OperationId operation = kNone;
  Picoseconds busy;         ///< all its executions, one after the other
  Picoseconds gainIfHalved; ///< the step is that much shorter if it takes half its time
  Picoseconds gainIfFree;   ///< ... if it takes none: no change of it alone gains more in this order
};

/// One kind of core, or what runs on none of them.
struct CoreKindShare {
  CoreKind kind = CoreKind::None;
  Picoseconds critical; ///< of the step's longest path in the plan's order
  /// Longest chain of dependences if all other kinds took no time: no number of cores of other
  /// kinds makes the step shorter.
  Picoseconds alone;
};

struct StepSensitivity {
  /// Retimed in the plan's order; `host` and the `critical` of all kinds add up to it.
  Picoseconds step;
  Picoseconds host;
  std::vector<OperationSensitivity> operations; ///< those that gain, the most first (ties by number)
  std::vector<CoreKindShare> kinds;             ///< those that have operations with a duration
  std::map<Phase, Picoseconds> phases;          ///< of the longest path, as in `kinds`
  /// Operations on the longest path of each region, repeats followed by their bodies.
  std::vector<OperationId> critical;
  /// Of those that have slack, the one with the least; kNone where there is none.
  OperationId next = kNone;
  Picoseconds nextSlack;

  static Result<StepSensitivity> of(const Plan &plan);
};

} // namespace accord
