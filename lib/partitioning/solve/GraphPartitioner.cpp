#include "lib/partitioning/solve/GraphPartitioner.h"
#include "lib/partitioning/solve/DownSetSearch.h"
#include "lib/partitioning/solve/NodeAssignment.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace accord {
namespace {

using namespace partitioning;

using Id = PartitioningGraph::Id;

constexpr int64_t kMax = int64_t(1) << 61; // above every load

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
template <typename Rank> std::vector<Id> ordered(const PartitioningGraph &graph, Rank &&rank) {
  std::vector<size_t> waiting(graph.nodes.size());
  std::vector<Id> ready, order;
  for (Id v = 0; v < graph.nodes.size(); ++v)
    if ((waiting[v] = graph.nodes[v].before.size()) == 0)
      ready.push_back(v);
  while (!ready.empty()) {
    auto best = ready.begin();
    auto min = rank(*best);
    for (auto one = std::next(best); one != ready.end(); ++one)
      if (auto now = rank(*one); now < min) {
        min = now;
        best = one;
      }
    Id v = *best;
    ready.erase(best);
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
    double now = sums.transfers;
    sums.remove(v);
    return (now + 1) * (1 + share * chance.next());
  }
  void done(Id v) { sums.add(v); }
};

/// At most `count` orders in which each node is after its `before`: depth first, by number, and
/// such in which little crosses, with more and more chance. Always the same ones.
std::vector<std::vector<Id>> sampleOrders(const PartitioningGraph &graph, size_t count) {
  std::vector<Id> numbers(graph.nodes.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<std::vector<Id>> orders{numbers, ordered(graph, ByCut(graph, 1, 0)), ordered(graph, ByDepth(graph))};
  for (size_t i = 3; i < count; ++i)
    orders.push_back(ordered(graph, ByCut(graph, 977 * i, 0.1 * (i - 2))));
  orders.resize(std::min(orders.size(), count));
  return orders;
}

/// The nodes, stage after stage.
std::vector<Id> orderOf(const PartitioningGraph &graph, const Partition &cuts) {
  std::vector<Id> order;
  order.reserve(graph.nodes.size());
  for (const PartitionStage &cut : cuts.stages) // of each: ascending, an order of its own
    order.insert(order.end(), cut.nodes.begin(), cut.nodes.end());
  return order;
}

/// The graph in which a node is also after the one `width` places before it in `order`: its
/// down-sets are some of the graph's, those of all orders that differ by less than `width` places.
PartitioningGraph restrictToWindow(const PartitioningGraph &graph, const std::vector<Id> &order, size_t width) {
  PartitioningGraph made = graph;
  auto arc = [&](Id a, Id b) {
    auto &after = made.nodes[a].after;
    if (!llvm::is_contained(after, b)) {
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

class Solver {
public:
  Solver(const PartitioningGraph &graph, const StageCostRules &rules, const PartitioningOptions &options)
      : graph(graph), rules(rules), options(options), budget(uint64_t(1) << (14 + std::min(options.effort, 38u))) {
    bound = loadLowerBound(graph, rules);
  }

  void run() {
    tell("orders");
    guess();
    prove();
    if (!closed() && !options.stopped())
      widen(budget / 8);
  }

  std::optional<Partition> best;
  int64_t bound = 0;
  bool complete = false; ///< `best` is the best, or there is none
  uint64_t work = 0;
  std::string proof = "all work on all devices";
  std::string why() const { return complete ? "" : options.stopped() ? "interrupted" : closed() ? "" : "work limit"; }

private:
  int64_t value() const { return best ? best->value : kMax; }
  bool closed() const { return complete || (best && (value() - bound) <= options.gap * value()); }
  void tell(const char *phase) const {
    if (options.progress)
      options.progress({phase, best ? double(best->value) : 0, double(bound)});
  }
  void settle() {
    if (best && value() <= bound)
      complete = true;
  }

  DownSetSearch search(const PartitioningGraph &in, int64_t limit, uint64_t max, const char *phase) {
    DownSetLimits limits;
    limits.work = max;
    limits.memory = options.memory;
    limits.stop = options.stop;
    limits.tick = [&] { tell(phase); };
    DownSetSearch found = searchDownSets(in, rules, limit, limits);
    work += found.work;
    if (found.best && found.best->value < value())
      best = found.best;
    settle();
    return found;
  }

  /// Orders of all nodes, cut into intervals; limits from low to high, for low ones are quick.
  void guess() {
    auto orders = sampleOrders(graph, options.effort < kQuickEffort ? 2 : 16);
    uint64_t max = budget / 8;
    for (int64_t limit = bound + std::max<int64_t>(1, bound / 8); !best && !options.stopped();) {
      bool last = limit >= kMax / 4;
      for (const auto &order : orders)
        search(restrictToWindow(graph, order, 1), std::min(last ? kMax : limit, value()), max, "orders");
      if (last)
        break;
      limit = limit > kMax / 8 ? kMax : limit * 2;
    }
    tell("orders");
    widen(budget / 64);
  }

  /// Wider and wider windows on the order of the best answer.
  void widen(uint64_t max) {
    uint64_t end = work + max;
    for (size_t width = 2; best && !complete && width < graph.nodes.size() && work < end;) {
      if (options.stopped())
        return;
      int64_t before = value();
      search(restrictToWindow(graph, orderOf(graph, *best), width), before, end - work, "windows");
      if (value() == before)
        width *= 2;
      tell("windows");
    }
  }

  /// Limits from below: each without an answer is a bound, the first answer is the best.
  void prove() {
    int64_t step = std::max<int64_t>(1, bound / 128);
    uint64_t end = budget / 4 * 3;
    while (!closed() && !options.stopped() && work < end) {
      int64_t limit = bound + step >= kMax / 4 ? kMax : bound + step;
      limit = step > (value() - bound) / 2 ? value() : limit;
      DownSetSearch found = search(graph, limit, end - work, "sets");
      if (found.complete) {
        proof = "no answer below it among all down-sets";
        if (found.best || limit >= value() || limit == kMax) {
          complete = true;
          bound = best ? value() : bound;
        } else
          bound = limit;
        step = step > kMax / 8 ? kMax : step * 4;
      } else if (step <= 1 || options.stopped())
        break;
      else { // less, and not so far above
        step = std::max<int64_t>(1, step / 8);
        end = std::max(end, std::min(budget, work + budget / 16));
        if (++failures > 2)
          break;
      }
      tell("sets");
    }
  }

  const PartitioningGraph &graph;
  const StageCostRules &rules;
  const PartitioningOptions &options;
  uint64_t budget;
  int failures = 0;
};

PartitioningStage stageOf(const PartitioningProblem &problem, const PartitioningGraph &graph,
                          const StageCostRules &rules, const PartitionStage &cut, int64_t later) {
  PartitioningStage stage;
  StageSums sums(graph);
  for (PartitioningGraph::Id id : cut.nodes) {
    sums.add(id);
    for (PartitioningProblem::Id member : graph.nodes[id].members)
      stage.nodes.push_back(member);
  }
  std::sort(stage.nodes.begin(), stage.nodes.end());
  stage.processor = cut.processor;
  stage.replicas = cut.replicas;
  stage.memory = sums.memory;
  if (cut.processor) {
    stage.compute = stage.load = sums.processorTime;
    return stage;
  }
  stage.compute = (sums.time + cut.replicas - 1) / cut.replicas;
  stage.load = rules.accelerator(sums, cut.replicas, later).value_or(0);
  stage.communication = std::max(sums.transfers, rules.exchange(sums, cut.replicas));
  if (problem.rule == PartitioningProblem::Rule::Overlap)
    stage.memory *= (later + 2 * cut.replicas - 1) / cut.replicas;
  return stage;
}

/// Why no cut fits, and the least memory that would do.
void explain(const PartitioningProblem &problem, const PartitioningGraph &graph, const PartitioningOptions &options,
             PartitioningResult &result) {
  StageCostRules rules(problem);
  rules.minimizeMemory = true;
  Solver solver(graph, rules, options);
  solver.run();
  if (!solver.best) {
    result.conflict = solver.complete
                          ? fmt::format("nodes that no accelerator runs need more than {} stages on processors, "
                                        "with {} accelerators between",
                                        problem.processors, problem.accelerators)
                          : "the work limit ended the search for how much memory would suffice";
    return;
  }
  result.minMemory = solver.best->value;
  const PartitioningGraph::Node *largest = nullptr;
  int64_t all = 0;
  for (const PartitioningGraph::Node &node : graph.nodes) {
    all += node.memory;
    if (node.onAccelerator && (!largest || node.memory > largest->memory))
      largest = &node;
  }
  if (problem.processors == 0 && largest && largest->memory > problem.memory)
    result.conflict =
        fmt::format("'{}'{} needs {} B of an accelerator that has {} B", problem.nodes[largest->members[0]].name,
                    largest->members.size() > 1
                        ? fmt::format(" with {} nodes that are together with it", largest->members.size() - 1)
                        : "",
                    largest->memory, problem.memory);
  else
    result.conflict = fmt::format("no cut into {} stages keeps every accelerator within {} B; all nodes take {} B",
                                  problem.accelerators + problem.processors, problem.memory, all);
}

} // namespace

PartitioningResult partitionGraph(const PartitioningProblem &problem, const PartitioningOptions &options) {
  if (!problem.contiguous)
    return assignNodes(problem, options);
  PartitioningResult result;
  PartitioningGraph graph = partitioningGraph(problem);
  StageCostRules rules(problem);
  Solver solver(graph, rules, options);
  solver.run();
  result.stagesTried = solver.work;
  if (!solver.best) {
    result.status = solver.complete ? PartitioningResult::Status::Infeasible : PartitioningResult::Status::Unknown;
    if (solver.complete)
      explain(problem, graph, options, result);
    result.stopped = solver.why();
    return result;
  }
  result.status = PartitioningResult::Status::Feasible;
  result.load = solver.best->value;
  result.bound = std::min(solver.bound, result.load);
  result.proof = solver.proof;
  result.stopped = solver.why();
  int64_t later = 0;
  for (const PartitionStage &cut : solver.best->stages) {
    result.stages.push_back(stageOf(problem, graph, rules, cut, later));
    later += cut.processor ? 0 : cut.replicas;
  }
  if (problem.rule == PartitioningProblem::Rule::Overlap) // built from the last one
    std::reverse(result.stages.begin(), result.stages.end());
  return result;
}

} // namespace accord
