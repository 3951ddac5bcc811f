// What nodes on any devices take at least. Internal to lib/partitioning.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"
#include "llvm/ADT/IntEqClasses.h"

namespace accord::partitioning {

/// Nodes that are on one device whatever is chosen, and what they send each other.
struct Items {
  struct Item {
    int64_t time = 0, processorTime = 0, memory = 0;
    bool onAccelerator = true;
    std::vector<uint32_t> nets;
  };
  struct Net {
    std::vector<uint32_t> ends;
    int64_t time = 0;
  };
  std::vector<Item> items;
  std::vector<Net> nets;
  std::vector<uint32_t> itemOf; ///< by node

  Items(const PartitioningProblem &p, llvm::IntEqClasses classes);
};

/// Picoseconds that the fullest device takes at least:
/// - all items on all devices, divided among accelerators and processors as is best, in parts too;
/// - for each of the longest items: it, and with it the nodes for which that is cheapest, in time and in transfers
///   between them and the rest. That is a minimum cut of a hypergraph (Lawler 1973), by Dinitz's maximum flow.
int64_t assignmentLowerBound(const Items &items, size_t accelerators, size_t processors);

} // namespace accord::partitioning
