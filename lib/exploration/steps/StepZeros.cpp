#include "lib/exploration/steps/StepZeros.h"
#include "lib/sparsity/cost/Format.h"
#include "lib/sparsity/cost/SparseCost.h"
#include "lib/sparsity/cost/SparseLayerUse.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord {
namespace {

/// Nothing of N:M is random, so that it does not matter.
constexpr double kConfidence = 0.95;

/// Calls `f` for each layer with zeros that the graph has.
template <typename F> void eachLayer(const WorkGraph &graph, const StepZeros &zeros, F f) {
  const std::vector<PrunedLayer> layers = prunedLayers(graph);
  for (const MinedZeros &one : zeros.layers)
    if (auto layer = std::ranges::find(layers, one.layer, &PrunedLayer::name); layer != layers.end())
      f(*layer, linearSparsityOf(one));
}

bool isStoredWithout(const std::optional<SparseCore> &core, const SparsityPattern &weights) {
  return core && core->stationary.compress &&
         (supportsPattern(core->stationary, weights) || supportsPattern(core->stationary, transposed(weights)));
}

/// Of an operation of a layer.
ZeroShares sharesOf(const WorkGraph &graph, const Operation &op, const LinearSparsity &zeros,
                    const std::optional<SparseCore> &core) {
  const SparsityPattern &weights = zeros.weights.pattern;
  ZeroShares shares;
  if (op.phase == Phase::Update) {
    shares.compute = shares.active = shares.bytes = number(weights.kept) / weights.of;
    return shares;
  }
  const auto product = productOf(graph, op);
  if (!product || !core || operandsIn(op.phase).stationary != GemmOperand::Weights)
    return shares;
  const SparsityPattern seen = patternIn(op.phase, GemmOperand::Weights, zeros);
  if (core->stationary.mode == SparseAcceleration::Mode::Skip && supportsPattern(core->stationary, seen)) {
    const int64_t step = core->tile > 1 ? core->tile : core->stationary.of;
    const double padded = std::ceil(number(product->depth) / step) * step;
    // What is not skipped: all that the core keeps of whole groups. Zeros among it are gated.
    shares.compute = number(core->stationary.kept) / core->stationary.of * padded / number(product->depth);
    const double notZero = std::min(shares.compute, number(weights.kept) / weights.of);
    shares.active = notZero + (shares.compute - notZero) * core->gatedEnergy;
  }
  if (isStoredWithout(core, weights)) {
    OperandShape shape{product->columns, product->depth};
    if (isTransposedIn(op.phase, GemmOperand::Weights))
      std::swap(shape.outputs, shape.reduction);
    auto bits = storedBits(weights, zeros.weights.format, shape, product->stationaryBits, kConfidence);
    if (auto *stored = bits.get())
      shares.tensor = product->stationary, shares.stored = stored->mean / stored->dense;
  }
  return shares;
}

} // namespace

LinearSparsity linearSparsityOf(const MinedZeros &zeros) {
  LinearSparsity linear;
  SparsityPattern &pattern = linear.weights.pattern;
  pattern.kind = SparsityPattern::Kind::Structured;
  pattern.kept = zeros.kept, pattern.of = zeros.of, pattern.transposable = zeros.transposable;
  linear.weights.format.kind = SparseFormat::Kind::Structured;
  linear.weights.format.kept = zeros.kept, linear.weights.format.of = zeros.of;
  return linear;
}

std::vector<ZeroOperation> zeroOperations(const WorkGraph &graph, const StepZeros &zeros) {
  std::vector<ZeroOperation> all;
  eachLayer(graph, zeros, [&](const PrunedLayer &layer, const LinearSparsity &linear) {
    for (OperationId id : layer.operations)
      if (const Operation &op = graph.operations[id]; op.phase != Phase::Update || updatesWeights(op, layer))
        all.push_back({id, linear});
  });
  return all;
}

Result<void> priceZeros(const WorkGraph &graph, const Machine &machine, const std::vector<ZeroOperation> &operations,
                        Costs &costs) {
  for (const auto &[id, zeros] : operations) {
    auto price = [&](OperationCost &cost) -> Result<void> {
      ACCORD_TRY(sparse, sparseCost(graph, graph.operations[id], machine, cost, zeros, kConfidence));
      cost = std::move(sparse.mean);
      return {};
    };
    if (auto done = price(costs.operations[id]); !done)
      return done;
    auto others = costs.alternatives.find(id);
    if (others == costs.alternatives.end())
      continue;
    for (OperationCost &other : others->second) {
      if (auto done = price(other); !done)
        return done;
      if (other.time < costs.operations[id].time) // as `estimate` has them: the shorter one first
        std::swap(other, costs.operations[id]);
    }
  }
  return {};
}

Result<WorkGraph> withZeros(WorkGraph dense, const StepZeros &zeros) {
  std::optional<Error> error;
  std::set<std::string> known; // of several layers that share a parameter all have the same zeros
  std::vector<std::pair<size_t, double>> shares;
  eachLayer(dense, zeros, [&](const PrunedLayer &layer, const LinearSparsity &linear) {
    const Operation &op = dense.operations[layer.forward];
    const auto product = productOf(dense, op);
    const std::string parameter = parameterOf(dense, layer, op.operands[product->stationary]);
    if (error || !known.insert(parameter).second)
      return;
    double weights = 1;
    if (isStoredWithout(zeros.core, linear.weights.pattern)) {
      auto bits =
          storedBits(linear.weights.pattern, linear.weights.format, layer.weights, layer.weightBits, kConfidence);
      if (!bits) {
        error = bits.takeError();
        return;
      }
      weights = bits->quantile / bits->dense;
    }
    auto states = updateShare(linear.weights.pattern, layer.weights);
    if (!states) {
      error = states.takeError();
      return;
    }
    for (size_t t = 0; t < dense.staticTensors.size(); ++t)
      if (const StaticTensor &tensor = dense.staticTensors[t]; tensor.name == parameter)
        shares.emplace_back(t, tensor.category == Category::Weights ? weights : *states);
  });
  if (error)
    return std::move(*error);
  for (const auto &[tensor, share] : shares) {
    int64_t &bytes = dense.staticTensors[tensor].bytes;
    bytes = static_cast<int64_t>(std::ceil(double(bytes) * share));
  }
  return dense;
}

StepZeroShares minZeroShares(const WorkGraph &graph, const StepZeros &zeros) {
  if (zeros.empty())
    return {};
  StepZeroShares all(graph.operations.size());
  for (const auto &[id, linear] : zeroOperations(graph, zeros))
    all[id] = sharesOf(graph, graph.operations[id], linear, zeros.core);
  return all;
}

} // namespace accord
