#include "lib/planning/analysis/TimingGraph.h"
#include "lib/planning/analysis/CriticalPath.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

namespace accord {
namespace {

using Edge = TimingGraph::Edge;
constexpr uint32_t kNoTask = ~0u;

Error error(std::string message) { return {Code::MalformedGraph, std::move(message), {}, {}}; }

std::string nameOf(const std::vector<std::string> &names, uint32_t op) {
  return op < names.size() && !names[op].empty() ? "'" + names[op] + "'" : "operation " + std::to_string(op);
}

/// Successors as one array: those of `op` are next[first[op]] .. next[first[op + 1]].
struct Successors {
  struct Next {
    uint32_t to;
    int64_t delay;
  };
  std::vector<uint32_t> first;
  std::vector<Next> next;
  Successors(size_t operations, const std::vector<Edge> &edges) : first(operations + 1), next(edges.size()) {
    for (const Edge &e : edges)
      ++first[e.before + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<uint32_t> at(first.begin(), first.end() - 1);
    for (const Edge &e : edges)
      next[at[e.before]++] = {e.after, e.delay};
  }
};

/// Operations that wait for nothing first, then always what became ready last: a chain stays together. Of what became
/// ready at once the deepest comes first. Shorter than the number of operations where there is a cycle.
std::vector<uint32_t> depthFirstOrder(size_t operations, const std::vector<Edge> &edges, const Successors &after,
                                      const std::vector<uint32_t> &depth, std::vector<uint32_t> &waits) {
  waits.assign(operations, 0);
  for (const Edge &e : edges)
    ++waits[e.after];
  std::vector<uint32_t> order, ready;
  order.reserve(operations);
  auto release = [&](uint32_t op) {
    size_t first = ready.size();
    for (uint32_t i = after.first[op + 1]; i-- > after.first[op];)
      if (uint32_t to = after.next[i].to; --waits[to] == 0)
        ready.push_back(to);
    if (!depth.empty() && ready.size() > first + 1)
      std::sort(std::next(ready.begin(), first), ready.end(),
                [&](uint32_t a, uint32_t b) { return std::pair(depth[a], b) < std::pair(depth[b], a); });
  };
  for (uint32_t op = 0; op < operations; ++op)
    if (waits[op] == 0)
      order.push_back(op);
  size_t sources = order.size();
  for (size_t i = sources; i-- > 0;)
    release(order[i]);
  while (!ready.empty()) {
    uint32_t op = ready.back();
    ready.pop_back();
    order.push_back(op);
    release(op);
  }
  return order;
}

/// Edges of the longest path that starts at each operation.
std::vector<uint32_t> depths(const std::vector<uint32_t> &order, const Successors &after) {
  std::vector<uint32_t> depth(order.size());
  for (size_t i = order.size(); i-- > 0;)
    for (uint32_t op = order[i], k = after.first[op]; k < after.first[op + 1]; ++k)
      depth[op] = std::max(depth[op], depth[after.next[k].to] + 1);
  return depth;
}

/// Some cycle among operations that still wait: each of them waits for another one of them.
std::string cycleText(const std::vector<Edge> &edges, const std::vector<uint32_t> &waits,
                      const std::vector<std::string> &names) {
  std::vector<uint32_t> before(waits.size(), kNoTask), seen(waits.size(), 0), path;
  for (const Edge &e : edges)
    if (waits[e.before] && waits[e.after])
      before[e.after] = e.before;
  uint32_t op = 0;
  while (before[op] == kNoTask)
    ++op;
  for (; !seen[op]; op = before[op]) {
    seen[op] = 1;
    path.push_back(op);
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), op));
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  std::string text;
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < path.size() && i < kShown; ++i)
    text += nameOf(names, path[i]) + " -> ";
  if (path.size() > kShown)
    text += std::to_string(path.size() - kShown) + " more -> ";
  return text + nameOf(names, path[0]);
}

/// into += amount; false where that reaches the longest step.
bool add(int64_t &into, int64_t amount) {
  if (amount >= kLongestStep - into)
    return false;
  into += amount;
  return true;
}

} // namespace

Result<TimingGraph> TimingGraph::of(const std::vector<int64_t> &durations, const std::vector<Edge> &edges,
                                    const std::vector<std::string> &names) {
  size_t n = durations.size();
  if (n >= kNoTask || edges.size() >= kNoTask)
    return error("a timing graph has less than 2^32 operations and edges");
  TimingGraph graph;
  int64_t total = 0;
  for (uint32_t op = 0; op < n; ++op) {
    if (durations[op] < 0)
      return error(nameOf(names, op) + " has a negative duration");
    if (!add(total, durations[op]))
      return error("durations and delays together are 2^61 or more, at " + nameOf(names, op));
  }
  for (const Edge &e : edges) {
    if (e.before >= n || e.after >= n)
      return error("an edge names operation " + std::to_string(std::max(e.before, e.after)) + ", there are " +
                   std::to_string(n));
    if (e.delay < 0)
      return error("a negative delay between " + nameOf(names, e.before) + " and " + nameOf(names, e.after));
    if (!add(total, e.delay))
      return error("durations and delays together are 2^61 or more, between " + nameOf(names, e.before) + " and " +
                   nameOf(names, e.after));
  }
  Successors after(n, edges);
  std::vector<uint32_t> waits;
  graph.at_ = depthFirstOrder(n, edges, after, {}, waits);
  if (graph.at_.size() != n)
    return error("operations wait for each other: " + cycleText(edges, waits, names));
  graph.at_ = depthFirstOrder(n, edges, after, depths(graph.at_, after), waits);
  graph.rank_.resize(n);
  for (uint32_t r = 0; r < n; ++r)
    graph.rank_[graph.at_[r]] = r;

  graph.first_.resize(n + 1);
  for (const Edge &e : edges)
    ++graph.first_[graph.rank_[e.after] + 1];
  std::partial_sum(graph.first_.begin(), graph.first_.end(), graph.first_.begin());
  graph.before_.resize(edges.size());
  graph.duration_.resize(n), graph.head_.resize(n), graph.tail_.resize(n);
  std::vector<uint32_t> next(graph.first_.begin(), graph.first_.end() - 1);
  for (uint32_t r = 0; r < n; ++r) {
    uint32_t op = graph.at_[r];
    graph.duration_[r] = durations[op];
    int64_t end = graph.end(r);
    graph.length_ = std::max(graph.length_, end);
    for (uint32_t i = after.first[op]; i < after.first[op + 1]; ++i) {
      auto [to, delay] = after.next[i];
      uint32_t rank = graph.rank_[to];
      graph.before_[next[rank]++] = {r, delay};
      graph.head_[rank] = std::max(graph.head_[rank], end + delay);
    }
  }
  for (uint32_t r = n; r-- > 0;)
    for (const Before &e : graph.before(r))
      graph.tail_[e.rank] = std::max(graph.tail_[e.rank], e.delay + graph.duration_[r] + graph.tail_[r]);
  return graph;
}

std::vector<uint32_t> TimingGraph::criticalPath() const {
  std::vector<uint32_t> path;
  if (size() == 0)
    return path;
  uint32_t at = 0;
  while (end(at) != length_)
    ++at;
  for (uint32_t next = at; next != kNoTask;) {
    at = next;
    path.push_back(at_[at]);
    llvm::ArrayRef<Before> all = before(at);
    const auto *binding = llvm::find_if(all, [&](const Before &e) { return end(e.rank) + e.delay == head_[at]; });
    next = binding == all.end() ? kNoTask : binding->rank;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<int64_t> TimingGraph::avoiding() const {
  uint32_t n = size();
  std::vector<int64_t> result(n, length_); // what has slack is avoided by all longest paths
  // Only critical operations are painted: spans are over their places in topological order.
  std::vector<uint32_t> place(n + 1), critical; // place[r]: critical ones of lower rank
  for (uint32_t r = 0; r < n; ++r) {
    place[r] = critical.size();
    if (end(r) + tail_[r] == length_)
      critical.push_back(r);
  }
  place[n] = critical.size();
  struct Span {
    int64_t length;
    uint32_t from, to; ///< critical places it jumps over
  };
  std::vector<Span> spans;
  auto jump = [&](uint32_t from, uint32_t to, int64_t path) { // ranks [from, to)
    if (place[from] < place[to])
      spans.push_back({path, place[from], place[to]});
  };
  std::vector<char> waitedFor(n);
  for (uint32_t r = n; r-- > 0;) {
    int64_t rest = duration_[r] + tail_[r];
    if (before(r).empty())
      jump(0, r, rest);
    for (const Before &e : before(r)) {
      jump(e.rank + 1, r, end(e.rank) + e.delay + rest);
      waitedFor[e.rank] = 1;
    }
    if (!waitedFor[r])
      jump(r + 1, n, end(r));
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.length != b.length ? a.length > b.length : a.from < b.from; });
  std::vector<uint32_t> next(critical.size() + 1); // first place at or behind that is not painted
  std::iota(next.begin(), next.end(), 0);
  auto free = [&](uint32_t p) {
    while (next[p] != p)
      p = next[p] = next[next[p]];
    return p;
  };
  for (uint32_t r : critical)
    result[at_[r]] = 0; // where each path passes it
  for (const Span &span : spans)
    for (uint32_t p = free(span.from); p < span.to; p = free(p)) {
      result[at_[critical[p]]] = span.length;
      next[p] = p + 1;
    }
  return result;
}

} // namespace accord
