// Orders of the nodes, and graphs with fewer down-sets that follow one. Internal to lib/place.
#pragma once
#include "lib/partitioning/solve/LoadSets.h"

namespace accord::place {

/// At most `count` orders in which each node is after its `before`: depth first, by number, and
/// such in which little crosses, with more and more chance. Always the same ones.
std::vector<std::vector<LoadGraph::Id>> someOrders(const LoadGraph &graph, size_t count);

/// The nodes, stage after stage.
std::vector<LoadGraph::Id> orderOf(const LoadGraph &graph, const Cuts &cuts);

/// The graph in which a node is also after the one `width` places before it in `order`: its
/// down-sets are some of the graph's, those of all orders that differ by less than `width` places.
LoadGraph windowed(const LoadGraph &graph, const std::vector<LoadGraph::Id> &order, size_t width);

} // namespace accord::place
