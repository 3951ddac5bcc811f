// A lower bound of the load of the fullest device, by a search of its own.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"

namespace accord {

enum class BoundVerdict : uint8_t {
  Holds,  ///< no answer has a smaller load
  Broken, ///< one has
  Open    ///< not known within the effort
};

/// Whether no stages have a load below `bound` (INT64_MAX: that there are none at all). Needs a
/// problem that `check` passes.
/// 1. Work: without processors the fullest of d accelerators runs 1/d of all time or more.
/// 2. Sets: all sets of nodes that stages below the bound can have done so far, smallest first,
///    each with the fewest devices that do it; nodes that share a stage are one. A stage is left
///    out once its time or memory alone is too much, and a set whose rest is more than the devices
///    left can do. Where stages have replicas they are built from the last one, as their memory
///    depends on the accelerators behind them.
/// At most `effort` stages are looked at, 64 MiB of sets kept, and 20,000 nodes read.
BoundVerdict provePartitioningBound(const PartitioningProblem &problem, int64_t bound, uint64_t effort = 20'000'000);

} // namespace accord
