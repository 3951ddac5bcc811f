// A lower bound of the load of the fullest device where a stage may be any set of nodes. Internal to lib/partitioning.
#pragma once
#include "lib/partitioning/verify/PartitioningBoundProof.h"

namespace accord::partitioning {

/// Whether no division of the nodes among the devices has a load below `bound` (INT64_MAX: that there is none at all).
/// 1. Work: prices of the two kinds of devices, at which all nodes together are dear.
/// 2. One of the longest nodes: a flow through it and the transfers around it.
/// 3. Groups of nodes that share a device, by falling time, on each device in turn, until one of them is at the bound:
///    its nodes, and the transfers that are known to leave it.
/// At most `effort` groups are placed.
BoundVerdict proveAssignmentBound(const PartitioningProblem &problem, int64_t bound, uint64_t effort);

} // namespace accord::partitioning
