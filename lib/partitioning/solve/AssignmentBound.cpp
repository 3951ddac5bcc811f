#include "lib/partitioning/solve/AssignmentBound.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace accord::partitioning {
namespace {

using Id = PartitioningProblem::Id;

/// Items whose cut is looked at.
constexpr size_t kCuts = 16;
constexpr int64_t kInfinite = int64_t(1) << 61;

/// Dinitz's maximum flow.
class Flow {
public:
  explicit Flow(size_t nodes) : arcs(nodes) {}

  void arc(size_t from, size_t to, int64_t capacity) {
    arcs[from].push_back({to, arcs[to].size(), capacity});
    arcs[to].push_back({from, arcs[from].size() - 1, 0});
  }

  /// At most `limit`.
  int64_t run(size_t source, size_t sink, int64_t limit) {
    int64_t flow = 0;
    while (flow < limit && levels(source, sink)) {
      next.assign(arcs.size(), 0);
      while (int64_t more = augment(source, sink, limit - flow))
        flow += more;
    }
    return flow;
  }

private:
  struct Arc {
    size_t to, back;
    int64_t left;
  };

  bool levels(size_t source, size_t sink) {
    level.assign(arcs.size(), -1);
    level[source] = 0;
    std::vector<size_t> queue = {source};
    for (size_t i = 0; i < queue.size(); ++i)
      for (const Arc &arc : arcs[queue[i]])
        if (arc.left > 0 && level[arc.to] < 0) {
          level[arc.to] = level[queue[i]] + 1;
          queue.push_back(arc.to);
        }
    return level[sink] >= 0;
  }

  int64_t augment(size_t node, size_t sink, int64_t limit) {
    if (node == sink || limit == 0)
      return limit;
    for (size_t &i = next[node]; i < arcs[node].size(); ++i) {
      Arc &arc = arcs[node][i];
      if (arc.left == 0 || level[arc.to] != level[node] + 1)
        continue;
      if (int64_t more = augment(arc.to, sink, std::min(limit, arc.left))) {
        arc.left -= more;
        arcs[arc.to][arc.back].left += more;
        return more;
      }
    }
    return 0;
  }

  std::vector<std::vector<Arc>> arcs;
  std::vector<int64_t> level;
  std::vector<size_t> next;
};

/// Of the device that holds an item, if that is an accelerator; at most `limit`.
int64_t cutAround(const Items &items, size_t item, int64_t limit) {
  const size_t n = items.items.size(), sink = n + 2 * items.nets.size();
  Flow flow(sink + 1);
  for (size_t i = 0; i < n; ++i)
    flow.arc(i, sink, items.items[i].onAccelerator ? items.items[i].time : kInfinite);
  for (size_t net = 0; net < items.nets.size(); ++net) {
    size_t inside = n + 2 * net, outside = inside + 1; // an end is on the device; one is not
    flow.arc(inside, outside, items.nets[net].time);
    for (uint32_t end : items.nets[net].ends) {
      flow.arc(end, inside, kInfinite);
      flow.arc(outside, end, kInfinite);
    }
  }
  return flow.run(item, sink, limit);
}

/// All items in parts on all devices: processors take those first that spare accelerators the most for their time.
bool canShare(const Items &items, const std::vector<size_t> &byRatio, double accelerators, double processors,
              double limit) {
  double busy = 0, room = limit * processors;
  for (size_t i : byRatio) {
    const Items::Item &item = items.items[i];
    double part = item.processorTime > 0 ? std::min(1.0, room / double(item.processorTime)) : 1.0;
    part = processors > 0 ? std::max(part, 0.0) : 0;
    if (!item.onAccelerator && part < 1)
      return false;
    room -= part * double(item.processorTime);
    busy += (1 - part) * double(item.time);
  }
  return busy <= limit * accelerators;
}

} // namespace

Items::Items(const PartitioningProblem &p, llvm::IntEqClasses classes) {
  classes.compress();
  items.resize(classes.getNumClasses());
  for (Id v = 0; v < p.nodes.size(); ++v) {
    const auto &node = p.nodes[v];
    itemOf.push_back(classes[v]);
    Item &item = items[classes[v]];
    item.time += node.time;
    item.processorTime += node.processorTime;
    item.memory += node.memory;
    item.onAccelerator &= node.onAccelerator;
  }
  std::map<std::vector<uint32_t>, int64_t> byEnds;
  for (const auto &transfer : p.transfers) {
    std::vector<uint32_t> ends = {itemOf[transfer.from]};
    for (Id to : transfer.to)
      ends.push_back(itemOf[to]);
    llvm::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    if (ends.size() > 1 && transfer.time > 0)
      byEnds[ends] += transfer.time;
  }
  for (const auto &[ends, time] : byEnds) {
    for (uint32_t end : ends)
      items[end].nets.push_back(static_cast<uint32_t>(nets.size()));
    nets.push_back({ends, time});
  }
}

int64_t assignmentLowerBound(const Items &items, size_t accelerators, size_t processors) {
  std::vector<size_t> order(items.items.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) {
    const Items::Item &one = items.items[a], &other = items.items[b];
    if (one.onAccelerator != other.onAccelerator)
      return other.onAccelerator; // what only processors can run comes first
    auto left = __int128(one.time) * other.processorTime, right = __int128(other.time) * one.processorTime;
    return left != right ? left > right : a < b;
  });
  double low = 0, high = 0;
  for (const Items::Item &item : items.items)
    high += double(std::max(item.time, item.processorTime));
  for (int i = 0; i < 100 && high - low > 1e-9 * high; ++i) {
    double middle = (low + high) / 2;
    (canShare(items, order, double(accelerators), double(processors), middle) ? high : low) = middle;
  }
  auto bound = static_cast<int64_t>(low * (1 - 1e-12));
  llvm::sort(order,
             [&](size_t a, size_t b) { return std::pair(items.items[b].time, a) < std::pair(items.items[a].time, b); });
  for (size_t i = 0; i < order.size() && i < kCuts; ++i) {
    const Items::Item &item = items.items[order[i]];
    int64_t shortest = processors > 0 ? item.processorTime : kInfinite;
    if (accelerators > 0 && item.onAccelerator)
      shortest = std::min(shortest, cutAround(items, order[i], shortest));
    if (shortest < kInfinite)
      bound = std::max(bound, shortest);
  }
  return bound;
}

} // namespace accord::partitioning
