// What would make operations faster, and until what binds next.
#pragma once
#include "lib/machine/model/Costs.h"
#include <string>
#include <vector>

namespace accord {

/// Of one operation: the resource that binds, and how much faster the operation becomes at most
/// when that alone improves.
struct OperationBottleneck {
  std::string resource; ///< "core tc", "bandwidth hbm", "kernel floor"; empty when it takes no time
  double gain = 1;      ///< time / time with this resource infinitely fast
  std::string next;     ///< what binds then; empty when nothing is left
};
OperationBottleneck findBottlenecks(const OperationCost &cost, const Machine &machine);

/// Of all operations of a step, one after the other: how much faster with one resource improved.
struct StepBottleneck {
  std::string resource;
  double share = 0;              ///< of the time: where this resource binds
  double speedupIfTwice = 1;     ///< speed-up when it is twice as fast
  double speedupIfUnlimited = 1; ///< speed-up when it is infinitely fast: no change of it alone gives more
};
/// Resources that bind somewhere, the one with the most to gain first (ties by name).
std::vector<StepBottleneck> findBottlenecks(const WorkGraph &graph, const Costs &costs, const Machine &machine);

} // namespace accord
