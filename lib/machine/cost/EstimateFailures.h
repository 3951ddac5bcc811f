// Why operations have no cost, as a reader is told.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Result.h"
#include <string>
#include <vector>

namespace accord {

/// Why an operation has no cost.
struct Failure {
  std::string cause; ///< the same for all operations that the same change would help
  Error error;
  double excess = 0; ///< of several for one cause, the one with the most is shown
  OperationId operation = kNone;
};

/// One issue per cause, in the order in which they came up.
Errors errorsOf(std::vector<Failure> failures, const WorkGraph &graph);

} // namespace accord
