#include "lib/planning/analysis/TimingGraph.h"
#include "lib/planning/analysis/CriticalPath.h"
#include <algorithm>
#include <numeric>

namespace accord {
namespace {

using Edge = TimingGraph::Edge;
constexpr uint32_t kNoTask = ArrivalTimes::kNone;

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

/// Operations that wait for nothing first, then always what became ready last: a chain stays
/// together, and so in few blocks. Of what became ready at once the deepest comes first, so that
/// short branches (updates of weights) stand behind the chain and not in its blocks, which then
/// move as a whole. Shorter than the number of operations where there is a cycle.
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
      std::sort(ready.begin() + static_cast<ptrdiff_t>(first), ready.end(),
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

Result<TimingGraph> TimingGraph::of(std::vector<int64_t> durations, const std::vector<Edge> &edges,
                                    const std::vector<std::string> &names) {
  size_t n = durations.size();
  if (n >= kNoTask - ArrivalTimes::kBlock || edges.size() >= kNoTask)
    return error("a timing graph has less than 2^32 operations and edges");
  TimingGraph graph;
  for (uint32_t op = 0; op < n; ++op) {
    if (durations[op] < 0)
      return error(nameOf(names, op) + " has a negative duration");
    if (!add(graph.total_, durations[op]))
      return error("durations and delays together are 2^61 or more, at " + nameOf(names, op));
  }
  for (const Edge &e : edges) {
    if (e.before >= n || e.after >= n)
      return error("an edge names operation " + std::to_string(std::max(e.before, e.after)) + ", there are " +
                   std::to_string(n));
    if (e.delay < 0)
      return error("a negative delay between " + nameOf(names, e.before) + " and " + nameOf(names, e.after));
    if (!add(graph.total_, e.delay))
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

  // Edges by the rank of their end; seen from the end, by the mirrored rank of their start.
  std::vector<uint32_t> first(n + 1), mirrored(n + 1);
  for (const Edge &e : edges) {
    ++first[graph.rank_[e.after] + 1];
    ++mirrored[n - graph.rank_[e.before]];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::partial_sum(mirrored.begin(), mirrored.end(), mirrored.begin());
  std::vector<ArrivalTimes::Edge> in(edges.size()), out(edges.size());
  std::vector<uint32_t> nextIn(first.begin(), first.end() - 1), nextOut(mirrored.begin(), mirrored.end() - 1);
  std::vector<int64_t> weights(n), reversed(n);
  for (uint32_t r = 0; r < n; ++r) {
    uint32_t op = graph.at_[r], m = static_cast<uint32_t>(n) - 1 - r;
    weights[r] = reversed[m] = durations[op];
    for (uint32_t i = after.first[op]; i < after.first[op + 1]; ++i) {
      const Successors::Next &e = after.next[i];
      uint32_t to = graph.rank_[e.to];
      in[nextIn[to]++] = {r, e.delay};
      out[nextOut[m]++] = {static_cast<uint32_t>(n) - 1 - to, e.delay};
    }
  }
  graph.heads_ = ArrivalTimes(std::move(first), std::move(in), std::move(weights));
  graph.tails_ = ArrivalTimes(std::move(mirrored), std::move(out), std::move(reversed));
  return graph;
}

std::vector<uint32_t> TimingGraph::criticalPath() const {
  std::vector<uint32_t> path;
  if (size() == 0)
    return path;
  int64_t length = this->length();
  uint32_t at = 0;
  while (heads_.end(at) != length)
    ++at;
  for (uint32_t next = at; next != kNoTask;) {
    at = next;
    path.push_back(at_[at]);
    next = kNoTask;
    for (const ArrivalTimes::Edge *e = heads_.begin(at); e != heads_.finish(at); ++e)
      if (next == kNoTask && heads_.end(e->from) + e->delay == heads_.start(at))
        next = e->from;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Result<std::vector<std::pair<uint32_t, int64_t>>> TimingGraph::accept(const std::vector<Change> &changes,
                                                                      int64_t &total) const {
  std::vector<std::pair<uint32_t, size_t>> order; // by rank; of equal ones the last one counts
  for (const Change &c : changes) {
    if (c.operation >= size())
      return error("there is no operation " + std::to_string(c.operation) + ", there are " + std::to_string(size()));
    if (c.duration < 0)
      return error("operation " + std::to_string(c.operation) + " would have a negative duration");
    order.push_back({rank_[c.operation], order.size()});
  }
  std::sort(order.begin(), order.end());
  std::vector<std::pair<uint32_t, int64_t>> ranked;
  for (size_t i = 0; i < order.size(); ++i)
    if (i + 1 == order.size() || order[i + 1].first != order[i].first)
      ranked.push_back({order[i].first, changes[order[i].second].duration});
  for (auto [rank, duration] : ranked)
    total -= heads_.weight(rank);
  for (auto [rank, duration] : ranked)
    if (!add(total, duration))
      return error("durations and delays together would be 2^61 or more");
  return ranked;
}

std::optional<Error> TimingGraph::setDurations(const std::vector<Change> &changes) {
  int64_t total = total_;
  auto accepted = accept(changes, total);
  if (!accepted)
    return accepted.error();
  auto &ranked = *accepted;
  total_ = total;
  heads_.setWeights(ranked);
  for (auto &[rank, duration] : ranked)
    rank = mirror(rank);
  tails_.setWeights(ranked);
  return std::nullopt;
}

Result<int64_t> TimingGraph::lengthWith(const std::vector<Change> &changes) {
  int64_t total = total_;
  auto accepted = accept(changes, total);
  if (!accepted)
    return accepted.error();
  auto &ranked = *accepted, before = ranked;
  for (auto &[rank, duration] : before)
    duration = heads_.weight(rank);
  heads_.setWeights(ranked);
  int64_t length = heads_.length();
  heads_.setWeights(before);
  return length;
}

std::vector<int64_t> TimingGraph::avoiding() const {
  uint32_t n = size();
  int64_t length = this->length();
  std::vector<int64_t> result(n, length); // what has slack is avoided by all longest paths
  // Only critical operations are painted: spans are over their places in topological order.
  std::vector<uint32_t> place(n + 1), critical; // place[r]: critical ones of lower rank
  for (uint32_t r = 0; r < n; ++r) {
    place[r] = static_cast<uint32_t>(critical.size());
    if (heads_.end(r) + tails_.start(mirror(r)) == length)
      critical.push_back(r);
  }
  place[n] = static_cast<uint32_t>(critical.size());
  struct Span {
    int64_t length;
    uint32_t from, to; ///< critical places it jumps over
  };
  std::vector<Span> spans;
  auto jump = [&](uint32_t from, uint32_t to, int64_t path) { // ranks [from, to)
    if (place[from] < place[to])
      spans.push_back({path, place[from], place[to]});
  };
  for (uint32_t r = 0; r < n; ++r) {
    int64_t rest = heads_.weight(r) + tails_.start(mirror(r));
    if (heads_.begin(r) == heads_.finish(r))
      jump(0, r, rest);
    for (const ArrivalTimes::Edge *e = heads_.begin(r); e != heads_.finish(r); ++e)
      jump(e->from + 1, r, heads_.end(e->from) + e->delay + rest);
    if (tails_.begin(mirror(r)) == tails_.finish(mirror(r)))
      jump(r + 1, n, heads_.end(r));
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

ArrivalTimes::Work TimingGraph::work() const {
  ArrivalTimes::Work a = heads_.work(), b = tails_.work();
  return {a.nodes + b.nodes, a.blocks + b.blocks};
}

} // namespace accord
