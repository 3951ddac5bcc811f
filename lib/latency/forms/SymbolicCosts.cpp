#include "lib/latency/forms/SymbolicCosts.h"
#include <algorithm>
#include <map>
#include <mutex>

namespace accord {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::pair<SymbolicCost, SymbolicTotal>> forms;
};
Registry &registry() {
  static auto *all = new Registry;
  return *all;
}

/// Which of lhs, rhs, result (bits 1, 2, 4) each loop indexes; empty unless there are two operands and a result.
std::vector<unsigned> rolesOf(const SymbolicOperation &op) {
  std::vector<unsigned> roles(op.extents.size());
  unsigned operands = 0, results = 0;
  if (!op.tensors)
    return {};
  for (const LoopTensor &tensor : *op.tensors) {
    unsigned bit = tensor.written ? 4 : 1u << operands;
    ++(tensor.written ? results : operands);
    if (operands > 2)
      return {};
    for (const auto &dimension : tensor.dimensions)
      for (const LoopTensor::Term &term : dimension)
        if (term.loop < roles.size())
          roles[term.loop] |= bit;
  }
  return operands == 2 && results > 0 ? roles : std::vector<unsigned>();
}

/// Extents of the product that a domain is: by the tensors that each loop indexes (both operands and the result: batch;
/// one operand and the result: m or n; else k), or by their kinds, where `roles` is empty: the last parallel loop is n,
/// the others m, reductions k.
struct ProductNodes {
  NodeId batch, m, n, k, elements;
};
ProductNodes productOf(const SymbolicOperation &op, const std::vector<unsigned> &roles, Expressions &e) {
  ProductNodes x{e.integer(1), e.integer(1), e.integer(1), e.integer(1), e.integer(1)};
  for (size_t i = 0; i < op.extents.size(); ++i) {
    x.elements = e.multiply(x.elements, op.extents[i]);
    if (roles.empty() && op.kinds[i] == IteratorKind::Parallel) {
      x.m = e.multiply(x.m, x.n);
      x.n = op.extents[i];
      continue;
    }
    NodeId &extent = roles.empty() ? x.k : roles[i] == 7 ? x.batch : roles[i] == 5 ? x.m : roles[i] == 6 ? x.n : x.k;
    extent = e.multiply(extent, op.extents[i]);
  }
  return x;
}

/// extent / (ceil(extent / tile) * tile) of each, as one fraction.
NodeId share(Expressions &e, const std::vector<std::pair<NodeId, int64_t>> &tilings) {
  NodeId extents = e.real(1), padded = e.real(1);
  for (auto [extent, tile] : tilings) {
    extents = e.multiply(extents, e.toReal(extent));
    NodeId tiles = e.toReal(e.ceilDivide(extent, e.integer(tile)));
    padded = e.multiply(e.multiply(padded, tiles), e.real(tile));
  }
  return e.divide(extents, padded);
}

std::vector<NodeId> rateForms(const SymbolicOperation &op, Expressions &e) {
  std::vector<NodeId> found;
  const Core &core = op.machine->cores[op.core];
  NodeId flops = e.toReal(op.flops);
  ProductNodes x = productOf(op, {}, e);
  using Mapping = std::pair<NodeId, NodeId>;
  // Weight, output, input stationary.
  const Mapping mappings[] = {{x.k, x.n}, {x.m, x.n}, {x.k, x.m}};
  bool array = core.rows > 0 && core.cols > 0 && !op.extents.empty();
  if (op.rate != kNoNode) {
    // Factors in the order in which the cost models multiply, so that the bits agree.
    NodeId rate = e.multiply(e.multiply(op.rate, e.real(core.efficiency)), op.clock);
    found.push_back(e.divide(flops, rate));
    if (core.perInstanceMapping && core.count > 1)
      found.push_back(e.divide(flops, e.divide(rate, e.real(core.count))));
    if (array)
      for (auto [onRows, onCols] : mappings)
        found.push_back(e.divide(flops, e.multiply(rate, share(e, {{onRows, core.rows}, {onCols, core.cols}}))));
    int64_t lanes = 0;
    if (core.lanes > 0 && !op.extents.empty() && !__builtin_mul_overflow(core.lanes, core.count, &lanes))
      found.push_back(e.divide(flops, e.multiply(rate, share(e, {{x.elements, lanes}}))));
    if (core.halfPerformanceWork.value > 0) {
      NodeId reached = e.divide(flops, e.add(flops, e.real(core.halfPerformanceWork.value)));
      found.push_back(e.divide(flops, e.multiply(rate, reached)));
    }
  }
  return found;
}

struct Folds {
  NodeId rows, cols; ///< extents on rows and columns of the array
  NodeId steps;      ///< of the stream
  int64_t load, min; ///< cycles; what an interval with overlapped drain cannot go below
};

/// Cycles with streams in `cuts` pieces.
NodeId cyclesOf(const Folds &of, NodeId batch, const Core &core, int64_t used, int64_t cuts, Expressions &e) {
  NodeId stream = e.ceilDivide(of.steps, e.integer(cuts));
  NodeId folds = e.multiply(
      e.multiply(e.ceilDivide(of.rows, e.integer(core.rows)), e.ceilDivide(of.cols, e.integer(core.cols))), batch);
  if (cuts > 1)
    folds = e.multiply(folds, e.ceilDivide(of.steps, stream));
  NodeId max = e.ceilDivide(folds, e.integer(used)); // of one array
  NodeId tail = e.add(stream, e.integer(core.rows + core.cols - 2)), load = e.integer(of.load);
  NodeId whole = e.add(load, tail), interval = whole;
  if (core.overlapDrain)
    interval = e.maximum({core.overlapFill ? e.maximum({load, stream}) : e.add(load, stream), e.integer(of.min)});
  else if (core.overlapFill)
    interval = e.maximum({load, tail});
  return e.add(whole, e.multiply(e.add(max, e.integer(-1)), interval));
}

/// Cycles of the whole operation as reals.
std::vector<NodeId> arrayCycles(const SymbolicOperation &op, const Core &core, Expressions &e) {
  ProductNodes x = productOf(op, rolesOf(op), e);
  NodeId points = e.multiply(e.multiply(e.multiply(x.batch, x.m), x.n), x.k);
  // An operation may compute several products of these extents.
  NodeId products = e.divide(e.toReal(op.flops), e.multiply(e.real(2), e.toReal(points)));
  int64_t used = core.perInstanceMapping ? 1 : std::max<int64_t>(core.count, 1);
  const Folds flows[] = {{x.m, x.n, x.k, 0, core.rows},  // output stationary
                         {x.k, x.n, x.m, core.rows, 0},  // weight stationary
                         {x.k, x.m, x.n, core.rows, 0}}; // input stationary
  std::vector<NodeId> found;
  for (const Folds &of : flows) {
    std::vector<NodeId> alternatives = {cyclesOf(of, x.batch, core, used, 1, e)};
    NodeId uncut = alternatives.front();
    for (int64_t power = 2; power <= used && power < int64_t{1} << 20; power *= 2)
      for (int64_t cuts : {power, power / 2 * 3})
        if (cuts <= used && e[of.steps].range.max >= cuts) { // a stream is cut between steps
          NodeId cut = cyclesOf(of, x.batch, core, used, cuts, e);
          alternatives.push_back(e[of.steps].range.min >= cuts ? cut
                                                               : e.select(of.steps, {{cuts - 1, uncut}, {cuts, cut}}));
        }
    found.push_back(e.multiply(products, e.toReal(e.minimum(alternatives))));
    found.push_back(e.multiply(products, e.toReal(uncut)));
  }
  return found;
}

std::vector<NodeId> laneCycles(const SymbolicOperation &op, const Core &core, Expressions &e) {
  NodeId rows = e.integer(1), length = rows;
  for (size_t i = 0; i < op.extents.size(); ++i) {
    NodeId &extent = op.kinds[i] == IteratorKind::Reduction ? length : rows;
    extent = e.multiply(extent, op.extents[i]);
  }
  int64_t cores = core.perInstanceMapping ? 1 : std::max<int64_t>(core.count, 1), lanes = 0;
  if (__builtin_mul_overflow(core.lanes, cores, &lanes))
    return {};
  NodeId each = e.divide(e.toReal(op.flops), e.multiply(e.toReal(rows), e.toReal(length)));
  if (auto stated = core.cyclesOf.find(op.kind); stated != core.cyclesOf.end())
    each = e.real(stated->second);
  std::vector<NodeId> found = {e.multiply(e.toReal(e.ceilDivide(rows, e.integer(lanes))), each)};
  for (int reductions : {1, 2}) { // values that a row is reduced to
    std::vector<NodeId> alternatives;
    auto addAlternative = [&](int step, int64_t group, int64_t atOnce) {
      NodeId row =
          e.add(e.multiply(e.toReal(e.ceilDivide(length, e.integer(group))), each), e.real(double(reductions) * step));
      alternatives.push_back(e.multiply(e.toReal(e.ceilDivide(rows, e.integer(atOnce))), row));
    };
    int step = 0;
    int64_t group = 1;
    for (;; ++step, group *= 2) {
      addAlternative(step, group, core.lanes / group * cores);
      if (core.lanes / group < 2)
        break;
    }
    for (int64_t share = 2; cores / share >= 1 && step < 40; share *= 2)
      addAlternative(++step, group * share, cores / share);
    found.push_back(e.minimum(alternatives));
  }
  return found;
}

/// Seconds of an array: load + stream + skew + (folds - 1) * interval cycles for output, weight and input stationary
/// (SCALE-Sim v3, arXiv 2504.15377), whose folds all instances share unless `Core::perInstanceMapping`, long streams
/// cut for idle ones; and of lanes: rounds of elements, or of rows with 1, 2, 4, … lanes each and their results
/// combined pairwise. At the clock that the peak implies, or the machine's.
std::vector<NodeId> symbolicCycles(const SymbolicOperation &op, Expressions &e) {
  const Core &core = op.machine->cores[op.core];
  std::vector<NodeId> cycles, found;
  if (op.extents.empty())
    return found;
  if (core.rows > 0 && core.cols > 0)
    cycles = arrayCycles(op, core, e);
  if (core.lanes > 0)
    for (NodeId id : laneCycles(op, core, e))
      cycles.push_back(id);
  std::vector<NodeId> clocks;
  if (op.rate != kNoNode && flopsPerCycle(core) > 0)
    clocks.push_back(e.divide(op.rate, e.real(flopsPerCycle(core) * std::max<int64_t>(core.count, 1))));
  if (op.machine->clock.value > 0)
    clocks.push_back(e.real(op.machine->clock.value));
  NodeId flops = e.toReal(op.flops);
  for (NodeId clock : clocks)
    for (NodeId of : cycles) {
      NodeId slower = of;
      if (core.halfPerformanceWork.value > 0)
        slower = e.multiply(e.divide(e.add(flops, e.real(core.halfPerformanceWork.value)), flops), of);
      found.push_back(e.divide(slower, e.multiply(e.multiply(clock, e.real(core.efficiency)), op.clock)));
    }
  return found;
}

/// A copy, as plugins may be loaded meanwhile.
std::pair<SymbolicCost, SymbolicTotal> registered(const std::string &costModel) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().forms.find(costModel);
  return found == registry().forms.end() ? std::pair<SymbolicCost, SymbolicTotal>() : found->second;
}

} // namespace

bool registerSymbolicCost(const std::string &costModel, SymbolicCost arithmetic, SymbolicTotal total) {
  std::lock_guard lock(registry().mutex);
  return registry().forms.emplace(costModel, std::pair(std::move(arithmetic), std::move(total))).second;
}

std::vector<NodeId> symbolicTotals(const std::string &costModel, NodeId roofline, double kernel, Expressions &nodes) {
  std::vector<NodeId> all;
  if (SymbolicTotal form = registered(costModel).second)
    all = form(roofline, nodes);
  all.push_back(roofline);
  if (kernel > 0) { // starting a kernel adds to what it takes, or hides behind it
    all.push_back(nodes.add(roofline, nodes.real(kernel)));
    all.push_back(nodes.maximum({roofline, nodes.real(kernel)}));
  }
  return all;
}

std::vector<NodeId> symbolicCosts(const std::string &costModel, const SymbolicOperation &operation, Expressions &nodes,
                                  unsigned stage) {
  if (stage == 0) {
    SymbolicCost form = registered(costModel).first;
    return form ? form(operation, nodes) : std::vector<NodeId>();
  }
  if (operation.core < 0)
    return {};
  return stage == 1 ? rateForms(operation, nodes) : symbolicCycles(operation, nodes);
}

} // namespace accord
