#include "lib/latency/forms/SymbolicCosts.h"
#include "lib/latency/forms/SymbolicCycles.h"
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

/// Rows, columns and depth of the product that a domain is, as the array model reads them: the last parallel loop is N,
/// the others M, reductions K.
struct Extents {
  NodeId m, n, k, elements;
};
Extents extentsOf(const SymbolicOperation &op, Expressions &e) {
  Extents x{e.integer(1), e.integer(1), e.integer(1), e.integer(1)};
  for (size_t i = 0; i < op.extents.size(); ++i) {
    x.elements = e.multiply(x.elements, op.extents[i]);
    if (op.kinds[i] == IteratorKind::Reduction) {
      x.k = e.multiply(x.k, op.extents[i]);
    } else {
      x.m = e.multiply(x.m, x.n);
      x.n = op.extents[i];
    }
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
  Extents x = extentsOf(op, e);
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

} // namespace

/// A copy, as plugins may be loaded meanwhile.
static std::pair<SymbolicCost, SymbolicTotal> registered(const std::string &costModel) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().forms.find(costModel);
  return found == registry().forms.end() ? std::pair<SymbolicCost, SymbolicTotal>() : found->second;
}

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
