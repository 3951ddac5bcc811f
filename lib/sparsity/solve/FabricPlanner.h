// Foldings, zeros and places of weights on a device that states its memories, and what of it is full.
#pragma once
#include "lib/sparsity/problem/Dataflow.h"

namespace accord {

struct FabricLayout {
  std::string error; ///< a layer that nothing fits
  bool feasible = false, proven = false;
  double minInterval = 0;
  std::vector<DataflowStage> stages; ///< by layer; cycles, multipliers, memory and use of each
  FabricUse use;                     ///< with the image and its result
  int64_t loss = 0;
  /// One sentence or two: what is full, so that no interval is shorter; or why nothing fits.
  std::string limits;
};

/// Of each layer every folding with every zeros and all of `memoryChoices`, under the budgets of the device
/// (`allocate`). The problem passes `check` and states its resources; all layers choose for themselves.
FabricLayout layOut(const DataflowProblem &problem);

} // namespace accord
