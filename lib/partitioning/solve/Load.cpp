#include "lib/partitioning/solve/Load.h"
#include "lib/partitioning/solve/LoadOrders.h"
#include "lib/partitioning/solve/LoadSets.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

using namespace place;

constexpr int64_t kMost = int64_t(1) << 61; // above every load

class Solver {
public:
  Solver(const LoadGraph &graph, const StageRules &rules, const LoadOptions &options)
      : graph(graph), rules(rules), options(options), shift(std::min(options.effort, 38u)) {
    budget = uint64_t(1) << (14 + shift);
    bound = place::leastLoad(graph, rules);
  }

  void run() {
    tell("orders");
    guess();
    prove();
    if (!closed() && !stopped())
      improve();
  }

  std::optional<Cuts> best;
  int64_t bound = 0;
  bool complete = false; ///< `best` is the best, or there is none
  uint64_t work = 0, sets = 0;
  std::string proof = "all work on all devices";
  std::string why() const {
    return complete ? "" : stopped() ? "interrupted" : closed() ? "" : "work limit";
  }

private:
  int64_t value() const { return best ? best->value : kMost; }
  bool stopped() const { return options.stop && *options.stop; }
  bool closed() const {
    return complete || (best && static_cast<double>(value() - bound) <=
                                    options.gap * static_cast<double>(value()));
  }
  void tell(const char *phase) const {
    if (options.progress)
      options.progress({phase, best ? best->value : 0, bound});
  }
  void settle() {
    if (best && value() <= bound)
      complete = true;
  }

  SetSearch search(const LoadGraph &in, int64_t limit, uint64_t most, const char *phase) {
    SetLimits limits;
    limits.work = most;
    limits.memory = options.memory;
    limits.stop = options.stop;
    limits.tick = [&] { tell(phase); };
    SetSearch found = searchSets(in, rules, limit, limits);
    work += found.work;
    sets = std::max(sets, found.sets);
    if (found.best && found.best->value < value())
      best = found.best;
    settle();
    return found;
  }

  /// Orders of all nodes, cut into intervals; limits from low to high, for low ones are quick.
  void guess() {
    auto orders = someOrders(graph, options.effort < 4 ? 2 : 16);
    uint64_t most = budget / 8;
    for (int64_t limit = bound + std::max<int64_t>(1, bound / 8); !best && !stopped();) {
      bool last = limit >= kMost / 4;
      for (const auto &order : orders)
        search(windowed(graph, order, 1), std::min(last ? kMost : limit, value()), most, "orders");
      if (last)
        break;
      limit = limit > kMost / 8 ? kMost : limit * 2;
    }
    tell("orders");
    widen(budget / 64);
  }

  /// Wider and wider windows on the order of the best answer.
  void widen(uint64_t most) {
    uint64_t end = work + most;
    for (size_t width = 2; best && !complete && width < graph.nodes.size() && work < end;) {
      if (stopped())
        return;
      int64_t before = value();
      search(windowed(graph, orderOf(graph, *best), width), before, end - work, "windows");
      if (value() == before)
        width *= 2;
      tell("windows");
    }
  }

  /// Limits from below: each without an answer is a bound, the first answer is the best.
  void prove() {
    int64_t step = std::max<int64_t>(1, bound / 128);
    uint64_t end = budget / 4 * 3;
    while (!closed() && !stopped() && work < end) {
      int64_t limit = bound + step >= kMost / 4 ? kMost : bound + step;
      limit = step > (value() - bound) / 2 ? value() : limit;
      SetSearch found = search(graph, limit, end - work, "sets");
      if (found.complete) {
        proof = "no answer below it among all down-sets";
        if (found.best || limit >= value() || limit == kMost) {
          complete = true;
          bound = best ? value() : bound;
        } else
          bound = limit;
        step = step > kMost / 8 ? kMost : step * 4;
      } else if (step <= 1 || stopped())
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

  void improve() { widen(budget / 8); }

  const LoadGraph &graph;
  const StageRules &rules;
  const LoadOptions &options;
  unsigned shift;
  uint64_t budget;
  int failures = 0;
};

LoadStage stageOf(const LoadProblem &problem, const LoadGraph &graph, const StageRules &rules,
                  const Cut &cut, int64_t later) {
  LoadStage stage;
  StageSums sums(graph);
  for (LoadGraph::Id id : cut.nodes) {
    sums.add(id);
    for (LoadProblem::Id member : graph.nodes[id].members)
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
  if (problem.rule == LoadProblem::Rule::Overlap)
    stage.memory *= (later + 2 * cut.replicas - 1) / cut.replicas;
  return stage;
}

/// Why no cut fits, and the least memory that would do.
void explain(const LoadProblem &problem, const LoadGraph &graph, const LoadOptions &options,
             LoadResult &result) {
  StageRules rules(problem);
  rules.leastMemory = true;
  Solver solver(graph, rules, options);
  solver.run();
  if (!solver.best) {
    result.conflict =
        solver.complete
            ? fmt::format("nodes that no accelerator runs need more than {} stages on processors, "
                          "with {} accelerators between",
                          problem.processors, problem.accelerators)
            : "the work limit ended the search for how much memory would do";
    return;
  }
  result.leastMemory = solver.best->value;
  const LoadGraph::Node *largest = nullptr;
  int64_t all = 0;
  for (const LoadGraph::Node &node : graph.nodes) {
    all += node.memory;
    if (node.onAccelerator && (!largest || node.memory > largest->memory))
      largest = &node;
  }
  if (problem.processors == 0 && largest && largest->memory > problem.memory)
    result.conflict = fmt::format(
        "'{}'{} needs {} B of an accelerator that has {} B",
        problem.nodes[largest->members[0]].name,
        largest->members.size() > 1
            ? fmt::format(" with {} nodes that are together with it", largest->members.size() - 1)
            : "",
        largest->memory, problem.memory);
  else
    result.conflict = fmt::format(
        "no cut into {} stages keeps every accelerator within {} B; all nodes take {} B",
        problem.accelerators + problem.processors, problem.memory, all);
}

} // namespace

LoadResult leastLoad(const LoadProblem &problem, const LoadOptions &options) {
  LoadResult result;
  LoadGraph graph = loadGraph(problem);
  StageRules rules(problem);
  Solver solver(graph, rules, options);
  solver.run();
  result.sets = solver.sets;
  result.stagesTried = solver.work;
  if (!solver.best) {
    result.status = solver.complete ? LoadResult::Status::Infeasible : LoadResult::Status::Unknown;
    if (solver.complete)
      explain(problem, graph, options, result);
    result.stopped = solver.why();
    return result;
  }
  result.status = LoadResult::Status::Feasible;
  result.load = solver.best->value;
  result.bound = std::min(solver.bound, result.load);
  result.proof = solver.proof;
  result.stopped = solver.why();
  int64_t later = 0;
  for (const Cut &cut : solver.best->stages) {
    result.stages.push_back(stageOf(problem, graph, rules, cut, later));
    later += cut.processor ? 0 : cut.replicas;
  }
  if (problem.rule == LoadProblem::Rule::Overlap) // built from the last one
    std::reverse(result.stages.begin(), result.stages.end());
  return result;
}

} // namespace accord
