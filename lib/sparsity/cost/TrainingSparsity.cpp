#include "lib/sparsity/cost/TrainingSparsity.h"
#include "lib/machine/array/LoopRoles.h"
#include "lib/sparsity/cost/Format.h"
#include <algorithm>

namespace accord {
namespace {

/// What a tensor of the graph is, as seen by a product of this phase.
std::optional<GemmOperand> operandOf(const WorkGraph &graph, const Operation &op, size_t tensor) {
  if (tensor >= op.operands.size() || op.operands[tensor] >= graph.values.size())
    return std::nullopt;
  switch (graph.values[op.operands[tensor]].category) {
  case Category::Weights:
    return GemmOperand::Weights;
  case Category::Activations:
  case Category::Inputs:
    return GemmOperand::Activations;
  default: // what was computed again is an activation, too: the other operand tells
    return op.phase == Phase::Recompute ? GemmOperand::Activations : GemmOperand::Gradients;
  }
}

} // namespace

PhaseOperands operandsIn(Phase phase) {
  switch (phase) {
  case Phase::DataGradient:
    return {GemmOperand::Weights, GemmOperand::Gradients};
  case Phase::WeightGradient:
    return {GemmOperand::Activations, GemmOperand::Gradients};
  default:
    return {GemmOperand::Weights, GemmOperand::Activations};
  }
}

SparsityPattern transposed(const SparsityPattern &p) {
  SparsityPattern turned = p;
  using Along = SparsityPattern::Along;
  turned.along = p.along == Along::Reduction ? Along::Output : Along::Reduction;
  std::swap(turned.blockRows, turned.blockColumns);
  if (p.kind == SparsityPattern::Kind::Mask && !p.mask.empty()) {
    turned.mask.assign(p.mask.front().size(), std::vector<bool>(p.mask.size()));
    for (size_t i = 0; i < p.mask.size(); ++i)
      for (size_t j = 0; j < p.mask[i].size() && j < turned.mask.size(); ++j)
        turned.mask[j][i] = p.mask[i][j];
  }
  if (p.kind == SparsityPattern::Kind::Histogram) {
    double sparsity = 0;
    for (size_t i = 0; i < p.histogram.size(); ++i)
      sparsity += i * p.histogram[i];
    turned.kind = SparsityPattern::Kind::Unstructured;
    turned.density = p.window > 0 ? std::clamp(1 - sparsity / p.window, 0.0, 1.0) : p.density;
    turned.independent = true;
  }
  return turned;
}

bool isTransposedIn(Phase phase, GemmOperand operand) {
  return (phase == Phase::DataGradient && operand == GemmOperand::Weights) || phase == Phase::WeightGradient;
}

SparsityPattern patternIn(Phase phase, GemmOperand operand, const LinearSparsity &sparsity) {
  const SparsityPattern &pattern = sparsity.of(operand).pattern;
  return isTransposedIn(phase, operand) ? transposed(pattern) : pattern;
}

Result<double> updateShare(const SparsityPattern &weights, OperandShape shape) {
  auto left = density(weights, shape);
  if (weights.dynamic && left)
    return 1.0;
  return left;
}

Result<MaskChange> maskChange(GemmOperand operand, const OperandSparsity &sparsity, OperandShape shape,
                              int64_t elementBits, double confidence) {
  auto stored = storedBits(sparsity.pattern, sparsity.format, shape, elementBits, confidence);
  if (!stored)
    return stored.takeError();
  if (!sparsity.pattern.dynamic || sparsity.format.kind == SparseFormat::Kind::Dense)
    return MaskChange{};
  const auto &bits = *stored;
  return operand == GemmOperand::Weights ? MaskChange{bits.dense, bits.mean} : MaskChange{0, bits.metadata};
}

std::optional<OperationProduct> productOf(const WorkGraph &graph, const Operation &op) {
  const bool gradient = op.phase == Phase::WeightGradient;
  if (!op.contraction || !op.parts.empty() || op.phase == Phase::Update || op.phase == Phase::Communication)
    return std::nullopt;
  auto roles = loopRoles(op.domain, op.tensors);
  if (!roles)
    return std::nullopt;
  auto left = operandOf(graph, op, roles->lhs), right = operandOf(graph, op, roles->rhs);
  if (!left || !right)
    return std::nullopt;
  OperationProduct p;
  bool stays = *left == (gradient ? GemmOperand::Activations : GemmOperand::Weights); // the left operand
  bool other = *right == (gradient ? GemmOperand::Activations : GemmOperand::Weights);
  if (gradient ? (*left == GemmOperand::Weights || *right == GemmOperand::Weights) : stays == other)
    return std::nullopt;
  if (gradient && stays == other)
    stays = true; // an activation that was computed again stands where it stood in the forward product
  p.stationary = stays ? roles->lhs : roles->rhs;
  p.streaming = stays ? roles->rhs : roles->lhs;
  p.stationaryBits = op.tensors[p.stationary].elementBits;
  p.streamingBits = op.tensors[p.streaming].elementBits;
  for (size_t i = 0; i < op.domain.size(); ++i) {
    LoopRole role = roles->roles[i];
    int64_t &extent = role == LoopRole::Batch             ? p.batch
                      : role == LoopRole::Depth           ? p.depth
                      : (role == LoopRole::Rows) == stays ? p.columns
                                                          : p.rows;
    if (__builtin_mul_overflow(extent, std::max<int64_t>(1, op.domain[i].extent), &extent))
      return std::nullopt;
  }
  return p;
}

std::vector<std::string> namedAfter(const std::string &name) {
  std::vector<std::string> names;
  for (size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1))
    names.push_back(name.substr(0, end));
  return names;
}

ErdosRenyiLayer erdosRenyiLayer(const WorkGraph &graph, OperationId operation, size_t stationary) {
  const Operation &op = graph.operations[operation];
  const LoopTensor &tensor = op.tensors[stationary];
  ErdosRenyiLayer layer;
  layer.elements = 1;
  for (size_t d = 0; d < tensor.dimensions.size(); ++d) {
    double size = d < tensor.sizes.size() ? number(tensor.sizes[d]) : 0;
    if (size < 1) {
      size = 1;
      for (const LoopTensor::Term &term : tensor.dimensions[d])
        size += std::abs(number(term.stride)) * (number(op.domain[term.loop].extent) - 1);
    }
    layer.sum += size, layer.elements *= size;
  }
  layer.copies = double(graph.executions(operation)) / std::max(1.0, number(graph.microbatches));
  return layer;
}

std::vector<double> erdosRenyiDensities(const std::vector<ErdosRenyiLayer> &layers, double density) {
  std::vector<double> densities(layers.size(), 1.0);
  double elements = 0;
  for (const ErdosRenyiLayer &layer : layers)
    elements += layer.copies * layer.elements;
  std::vector<size_t> open(layers.size());
  for (size_t i = 0; i < open.size(); ++i)
    open[i] = i;
  // What is to be kept of layers below 1; each round takes those that reach 1 out.
  double kept = density * elements;
  while (!open.empty()) {
    double sums = 0;
    for (size_t i : open)
      sums += layers[i].copies * layers[i].sum;
    const double factor = std::max(0.0, kept) / sums;
    std::vector<size_t> below;
    for (size_t i : open) {
      densities[i] = std::min(1.0, factor * layers[i].sum / layers[i].elements);
      if (densities[i] < 1)
        below.push_back(i);
      else
        kept -= layers[i].copies * layers[i].elements;
    }
    if (below.size() == open.size())
      break;
    open = std::move(below);
  }
  return densities;
}

} // namespace accord
