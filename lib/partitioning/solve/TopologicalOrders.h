// Orders of the nodes, and graphs with fewer down-sets that follow one. Internal to lib/place.
#pragma once
#include "lib/partitioning/solve/DownSetSearch.h"

namespace accord::place {

/// At most `count` orders in which each node is after its `before`: depth first, by number, and
/// such in which little crosses, with more and more chance. Always the same ones.
std::vector<std::vector<PartitioningGraph::Id>> sampleOrders(const PartitioningGraph &graph, size_t count);

/// The nodes, stage after stage.
std::vector<PartitioningGraph::Id> orderOf(const PartitioningGraph &graph, const Partition &cuts);

/// The graph in which a node is also after the one `width` places before it in `order`: its
/// down-sets are some of the graph's, those of all orders that differ by less than `width` places.
PartitioningGraph restrictToWindow(const PartitioningGraph &graph, const std::vector<PartitioningGraph::Id> &order,
                                   size_t width);

} // namespace accord::place
