#include "lib/sparsity/cost/SparseLayerUse.h"
#include "lib/machine/cost/OperationsModel.h"
#include "lib/sparsity/cost/ExpectedTimes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace accord {

std::optional<SparseProductTime> expectedProduct(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                                                 OperationId id, const SparseCost &part,
                                                 const std::vector<SparseKernelTable> &kernels) {
  const Operation &op = graph.operations[id];
  const OperationCost &dense = costs.operations[id];
  const std::optional<SparseCore> &core = machine.cores[dense.core].sparse;
  auto product = core && runsSparseKernels(*core) && part.cycles < 1 ? productOf(graph, op) : std::nullopt;
  if (!product)
    return std::nullopt;
  SparseProductTime time{op.name,
                         double(graph.executions(id)),
                         number(product->rows),
                         number(product->depth),
                         number(product->columns),
                         dense.type,
                         dense.time.value,
                         part.mean.time.value};
  expectKernels(time, kernels);
  return time;
}

MaskSearchTime maskSearchOf(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                            const PrunedLayer &layer, const SparsityPattern &weights, double period,
                            const std::vector<SparseKernelTable> &kernels) {
  MaskSearchTime masks;
  masks.transposable = weights.transposable;
  masks.elements = number(layer.weights.outputs) * number(layer.weights.reduction);
  masks.bits = number(layer.weightBits);
  masks.matrices = double(graph.executions(layer.forward)) / double(std::max<int64_t>(1, graph.microbatches));
  masks.period = period;
  masks.bandwidth = machine.memories.empty() ? 0 : machine.memories.front().bandwidth.value;
  masks.type = costs.operations[layer.forward].type;
  expectMaskSearch(masks, kernels);
  return masks;
}

std::string parameterOf(const WorkGraph &graph, const PrunedLayer &layer, ValueId value) {
  constexpr llvm::StringLiteral update = ".update", gradientSum = ".gradient_sum";
  // The update of weights that are another layer's too is not among this one's.
  for (OperationId id : layer.operations)
    if (const Operation &op = graph.operations[id];
        op.phase == Phase::Update && op.name.ends_with(update) && updatesWeights(op, layer))
      return op.name.substr(0, op.name.size() - update.size());
  // What several layers use has the sum of their gradients.
  auto isResult = [&](ValueId of) {
    return llvm::any_of(layer.operations, [&](OperationId id) {
      const Operation &op = graph.operations[id];
      return op.phase == Phase::WeightGradient && llvm::is_contained(op.results, of);
    });
  };
  for (const Operation &sum : graph.operations)
    if (llvm::StringRef name = sum.name; name.consume_back(gradientSum) && llvm::any_of(sum.operands, isResult))
      for (const Operation &op : graph.operations)
        if (op.phase == Phase::Update && op.name == name.str() + update.str() && updatesWeights(op, layer))
          return name.str();
  for (size_t i = 0; i < graph.values.size() && graph.values[value].alias != kNone; ++i)
    value = graph.values[value].alias;
  return graph.values[value].name.empty() ? layer.name : graph.values[value].name;
}

Machine withoutFits(Machine machine) {
  machine.fitted = {};
  if (llvm::StringRef(machine.costModel).starts_with(kOperationsModel))
    machine.costModel.clear();
  return machine;
}

SparseLayerUses::SparseLayerUses(const WorkGraph &graph, const Machine &machine, const Costs &costs, Options options)
    : graph_(graph), machine_(machine), costs_(costs), options_(std::move(options)) {
  for (PrunedLayer &layer : prunedLayers(graph))
    layers_.emplace(layer.name, std::move(layer));
}

Result<std::optional<SparseLayerUse>> SparseLayerUses::of(const std::string &layer, const LinearSparsity &zeros,
                                                          bool searchesMasks) const {
  auto found = layers_.find(layer);
  if (found == layers_.end())
    return std::optional<SparseLayerUse>();
  const PrunedLayer &pruned = found->second;
  ACCORD_TRY(with, layerCost(graph_, machine_, costs_, pruned, zeros, options_.confidence));
  ACCORD_TRY(without, layerCost(graph_, machine_, costs_, pruned, {}, options_.confidence));
  auto ofInterval = [&](const auto &time, double expected) {
    using enum Options::Kernels;
    return options_.speed == Fastest ? time.min : options_.speed == Slowest ? time.max : expected;
  };
  SparseLayerUse use;
  bool usesKernels = false;
  for (const auto &[id, part] : with.parts) {
    const OperationCost &dense = costs_.operations[id];
    double seconds = part.quantile.value;
    if (auto product = expectedProduct(graph_, machine_, costs_, id, part, options_.kernels)) {
      seconds = std::max(seconds, ofInterval(*product, product->expected));
      usesKernels = true;
    }
    SparseLayerUse::OfOperation share{id};
    if (dense.time.value > 0)
      share.time = seconds / dense.time.value;
    share.energy = dense.energy.value > 0 ? part.quantileEnergy / dense.energy : share.time;
    use.operations.push_back(share);
  }
  const bool isStored = zeros.weights.format.kind != SparseFormat::Kind::Dense;
  if (isStored) {
    ACCORD_TRY(states, updateShare(zeros.weights.pattern, pruned.weights));
    use.states = states;
    use.weights = without.weights.value > 0 ? with.weights.value / without.weights.value : 1;
  }
  if (usesKernels && searchesMasks && isStored && zeros.weights.pattern.dynamic) {
    const MaskSearchTime masks =
        maskSearchOf(graph_, machine_, costs_, pruned, zeros.weights.pattern, options_.maskPeriod, options_.kernels);
    use.maskSeconds = ofInterval(masks, masks.seconds);
  }
  return std::optional(std::move(use));
}

} // namespace accord
