#include "lib/latency/forms/SymbolicCycles.h"
#include <algorithm>

namespace accord {
namespace {

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
  ProductNodes x = productOf(op, e);
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
        if (cuts <= used && e[of.steps].range.min >= cuts)
          alternatives.push_back(cyclesOf(of, x.batch, core, used, cuts, e));
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

} // namespace

ProductNodes productOf(const SymbolicOperation &op, Expressions &e) {
  ProductNodes x{e.integer(1), e.integer(1), e.integer(1), e.integer(1)};
  std::vector<unsigned> roles = rolesOf(op);
  for (size_t i = 0; i < op.extents.size(); ++i) {
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

} // namespace accord
