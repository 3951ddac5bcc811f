// What must be together is one node: the graph that the search for stages runs on. Internal to
// lib/partitioning.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"

namespace accord::partitioning {

/// For `Overlap`, stages are built from the last one, so arcs point from what is later to what is
/// earlier.
struct PartitioningGraph {
  using Id = uint32_t;
  struct Node {
    int64_t time = 0, processorTime = 0, memory = 0, gradients = 0;
    bool onAccelerator = true;
    std::vector<Id> before, after; ///< direct, each once
    std::vector<Id> nets;
    std::vector<PartitioningProblem::Id> members;
  };
  /// A transfer between different nodes. Of equal ends: one, with the times together.
  struct Net {
    Id from = 0;
    std::vector<Id> ends; ///< `from` too
    int64_t time = 0;
  };
  bool incoming = false;   ///< a net is paid where it comes in only, not where it leaves
  std::vector<Node> nodes; ///< in an order in which each is after its `before`
  std::vector<Net> nets;
  size_t words = 0;                         ///< of a set of nodes
  std::vector<std::vector<uint64_t>> below; ///< of each: all nodes after it, itself too
};

PartitioningGraph partitioningGraph(const PartitioningProblem &problem);

} // namespace accord::partitioning
