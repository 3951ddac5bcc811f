#include "lib/partitioning/solve/TopologicalOrders.h"
#include <algorithm>
#include <numeric>

namespace accord::place {
namespace {

using Id = PartitioningGraph::Id;

struct Chance {
  uint64_t state;
  double next() { // xorshift64*, from 0 to below 1
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * 0x2545F4914F6CDD1D) >> 11) * 0x1p-53;
  }
};

/// The least of `rank(node)` among those that are ready.
template <typename Rank> std::vector<Id> ordered(const PartitioningGraph &graph, Rank rank) {
  std::vector<size_t> waiting(graph.nodes.size());
  std::vector<Id> ready, order;
  for (Id v = 0; v < graph.nodes.size(); ++v)
    if ((waiting[v] = graph.nodes[v].before.size()) == 0)
      ready.push_back(v);
  while (!ready.empty()) {
    size_t best = 0;
    auto min = rank(ready[0]);
    for (size_t i = 1; i < ready.size(); ++i)
      if (auto now = rank(ready[i]); now < min) {
        min = now;
        best = i;
      }
    Id v = ready[best];
    ready.erase(ready.begin() + static_cast<ptrdiff_t>(best));
    order.push_back(v);
    rank.done(v);
    for (Id to : graph.nodes[v].after)
      if (--waiting[to] == 0)
        ready.push_back(to);
  }
  return order;
}

/// Breadth first.
struct ByDepth {
  std::vector<size_t> depth;
  explicit ByDepth(const PartitioningGraph &graph) : depth(graph.nodes.size(), 0) {
    for (Id v = 0; v < graph.nodes.size(); ++v)
      for (Id from : graph.nodes[v].before)
        depth[v] = std::max(depth[v], depth[from] + 1);
  }
  size_t operator()(Id v) const { return depth[v]; }
  void done(Id) const {}
};

/// What crosses after the node is done; with chance.
struct ByCut {
  const PartitioningGraph &graph;
  StageSums sums;
  Chance chance;
  double share;
  ByCut(const PartitioningGraph &graph, uint64_t seed, double share)
      : graph(graph), sums(graph), chance{seed}, share(share) {}
  double operator()(Id v) {
    sums.add(v);
    auto now = static_cast<double>(sums.transfers);
    sums.remove(v);
    return (now + 1) * (1 + share * chance.next());
  }
  void done(Id v) { sums.add(v); }
};

} // namespace

std::vector<std::vector<Id>> sampleOrders(const PartitioningGraph &graph, size_t count) {
  std::vector<Id> numbers(graph.nodes.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<std::vector<Id>> orders{numbers, ordered(graph, ByCut(graph, 1, 0)), ordered(graph, ByDepth(graph))};
  for (size_t i = 3; i < count; ++i)
    orders.push_back(ordered(graph, ByCut(graph, 977 * i, 0.1 * (i - 2))));
  orders.resize(std::min(orders.size(), count));
  return orders;
}

std::vector<Id> orderOf(const PartitioningGraph &graph, const Partition &cuts) {
  std::vector<Id> order;
  order.reserve(graph.nodes.size());
  for (const PartitionStage &cut : cuts.stages) // of each: ascending, an order of its own
    order.insert(order.end(), cut.nodes.begin(), cut.nodes.end());
  return order;
}

PartitioningGraph restrictToWindow(const PartitioningGraph &graph, const std::vector<Id> &order, size_t width) {
  PartitioningGraph made = graph;
  auto arc = [&](Id a, Id b) {
    auto &after = made.nodes[a].after;
    if (std::find(after.begin(), after.end(), b) == after.end()) {
      after.push_back(b);
      made.nodes[b].before.push_back(a);
    }
  };
  for (size_t i = width; i < order.size(); ++i)
    arc(order[i - width], order[i]);
  if (width == 1)
    for (size_t i = 0; i < order.size(); ++i) { // a chain needs no other arcs
      made.nodes[order[i]].before.clear();
      made.nodes[order[i]].after.clear();
      if (i > 0)
        made.nodes[order[i]].before.push_back(order[i - 1]);
      if (i + 1 < order.size())
        made.nodes[order[i]].after.push_back(order[i + 1]);
    }
  for (size_t i = order.size(); i-- > 0;) {
    Id v = order[i];
    for (Id to : made.nodes[v].after)
      for (size_t w = 0; w < made.words; ++w)
        made.below[v][w] |= made.below[to][w];
  }
  return made;
}

} // namespace accord::place
