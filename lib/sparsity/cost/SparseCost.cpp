#include "lib/sparsity/cost/SparseCost.h"
#include "lib/machine/model/Lookups.h"
#include "lib/machine/tiling/Mapping.h"
#include "lib/sparsity/cost/Format.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

using Mode = SparseAcceleration::Mode;

/// One operand of an operation: its bytes at each memory, and which share of them zeros leave.
struct Operand {
  GemmOperand of = GemmOperand::Weights;
  SparsityPattern pattern; ///< as this product sees it
  SparsityPattern stored;  ///< as it lies in memory
  SparseFormat format;
  OperandShape shape; ///< as stored
  int64_t bits = 16;
  std::vector<double> bytes;                   ///< dense, by memory
  double whole = 0;                            ///< each element once
  double mean = 1, quantile = 1, metadata = 0; ///< shares of dense bytes
};

double elementsOf(const tile::NestTensor &tensor, const tile::Nest &nest) {
  std::vector<int64_t> extents;
  for (const tile::NestLoop &loop : nest.loops)
    extents.push_back(loop.extent);
  return tile::elements(tensor, extents);
}

/// Bytes of each tensor at each memory: by the tiles of the dense cost, else each element once.
std::vector<std::vector<double>> trafficOf(const Operation &op, const Machine &machine, const OperationCost &dense) {
  const tile::Nest nest = tile::nestOf(op.domain, op.tensors);
  const size_t levels = levelsOf(machine, machine.cores[dense.core]);
  std::vector<std::vector<double>> bytes(op.tensors.size(), std::vector<double>(machine.memories.size(), 0.0));
  for (size_t t = 0; t < op.tensors.size(); ++t)
    for (size_t i = 0; i < levels; ++i)
      bytes[t][i] = elementsOf(nest.tensors[t], nest) * op.tensors[t].elementBits / 8;
  if (dense.tiles.size() + 1 != levels || dense.tiles.empty())
    return bytes;
  tile::GroupedNest grouped = tile::grouped(nest);
  std::vector<tile::Level> links(levels);
  std::vector<tile::Tiling> tilings;
  for (size_t i = 0; i < levels; ++i)
    links[i].capacity = Bytes(1e30); // that they fit is known
  for (const Tile &tile : dense.tiles)
    tilings.push_back({tile.extents, tile.order});
  for (const Tile &tile : dense.tiles)
    if (tile.groups != grouped.members)
      return bytes;
  auto priced = tile::price(grouped.nest, links, tilings, [](std::span<const int64_t>) { return Seconds(0); });
  if (auto *mapping = priced.get())
    for (size_t l = 0; l < mapping->levels.size(); ++l)
      for (size_t t = 0; t < op.tensors.size() && t < mapping->levels[l].tensors.size(); ++t)
        bytes[t][l] = mapping->levels[l].tensors[t].read.value;
  return bytes;
}

/// A mask of another shape than the product's matrix (windows of a convolution, groups) is as good as its density.
SparsityPattern fitting(const SparsityPattern &p, OperandShape shape) {
  if (p.kind != SparsityPattern::Kind::Mask)
    return p;
  bool fits = static_cast<int64_t>(p.mask.size()) == shape.outputs && !p.mask.empty() &&
              static_cast<int64_t>(p.mask.front().size()) == shape.reduction;
  if (fits)
    return p;
  double kept = 0, all = 0;
  for (const std::vector<bool> &row : p.mask) {
    kept += std::count(row.begin(), row.end(), true);
    all += row.size();
  }
  SparsityPattern anywhere;
  anywhere.kind = SparsityPattern::Kind::Unstructured;
  anywhere.density = all > 0 ? kept / all : 1;
  anywhere.dynamic = p.dynamic;
  return anywhere;
}

const OperandSparsity &sparsityOf(GemmOperand operand, const LinearSparsity &sparsity) {
  return operand == GemmOperand::Weights       ? sparsity.weights
         : operand == GemmOperand::Activations ? sparsity.activations
                                               : sparsity.gradients;
}

std::optional<Error> addStored(Operand &operand, const SparseAcceleration &use, double confidence) {
  auto stored = storedBits(operand.stored, operand.format, operand.shape, operand.bits, confidence);
  if (!stored)
    return stored.takeError();
  const auto &bits = *stored;
  if (use.compress) {
    operand.mean = bits.mean / bits.dense;
    operand.quantile = bits.quantile / bits.dense;
    operand.metadata = bits.metadata / bits.dense;
  } else if (use.mode == Mode::Skip && operand.format.kind != SparseFormat::Kind::Dense) {
    operand.metadata = 1 / static_cast<double>(operand.bits); // whole values, and a mask
    operand.mean = operand.quantile = 1 + operand.metadata;
  }
  return std::nullopt;
}

struct Both {
  Operand stationary, streaming;
};

/// Bytes at each memory; without zeros those of the dense cost to the bit.
std::vector<Bytes> bytesWith(const OperationCost &dense, const Both &both, bool quantile) {
  std::vector<Bytes> bytes = dense.bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (const Operand *operand : {&both.stationary, &both.streaming})
      bytes[i] += Bytes(operand->bytes[i] * ((quantile ? operand->quantile : operand->mean) - 1));
  return bytes;
}

SparseCost asDense(const OperationCost &dense) {
  SparseCost cost;
  cost.mean = dense;
  cost.quantile = dense.time;
  cost.quantileEnergy = dense.energy;
  return cost;
}

Result<OperationCost> combineCosts(const Operation &op, const Machine &machine, const OperationCost &dense,
                                   Seconds compute, const std::string &how, std::vector<Bytes> bytes) {
  Assumptions words;
  Traffic traffic{std::move(bytes), dense.tiles, dense.gap, ""};
  auto cost = roofline({op, machine, dense.core, dense.type}, {compute, how}, words, &traffic);
  if (auto *priced = cost.get()) {
    priced->instances = dense.instances;
    priced->model = dense.model;
  }
  return cost;
}

/// Arithmetic and traffic by one share: updates of parameters that the mask keeps.
Result<SparseCost> updateCost(const Operation &op, const Machine &machine, const OperationCost &dense,
                              const LinearSparsity &sparsity) {
  // A density alone is asked for, and a mask brings its own shape.
  const SparsityPattern &p = sparsity.weights.pattern;
  OperandShape shape{1 << 20, 1 << 20};
  if (p.kind == SparsityPattern::Kind::Mask && !p.mask.empty())
    shape = {static_cast<int64_t>(p.mask.size()), static_cast<int64_t>(p.mask.front().size())};
  // Zeros that are stored are updated as all others.
  if (p.kind == SparsityPattern::Kind::Banded || sparsity.weights.format.kind == SparseFormat::Kind::Dense)
    return asDense(dense);
  auto share = updateShare(p, shape);
  if (!share)
    return share.takeError();
  const double left = *share;
  std::vector<Bytes> bytes = dense.bytes;
  for (Bytes &each : bytes)
    each = each * left;
  auto cost = combineCosts(op, machine, dense, dense.compute * left,
                           fmt::format("{:.6g} s * {:.6g} of the elements", dense.compute.value, left), bytes);
  if (!cost)
    return cost.takeError();
  SparseCost result = asDense(*cost);
  const Joules arithmetic = Flops(op.flops) * energyPerFlop(machine, dense.type);
  if (left < 1)
    result.mean.energy = result.mean.energy - arithmetic * (1 - left);
  result.quantileEnergy = result.mean.energy;
  result.cycles = result.quantileCycles = result.active = left;
  result.used = left < 1;
  return result;
}

} // namespace

ProductArray productArray(const Machine &machine, const OperationCost &dense) {
  const Core &core = machine.cores[dense.core];
  const auto instances = static_cast<double>(dense.instances > 0 ? dense.instances : instancesPerOperation(core));
  const SparseCore sparse = core.sparse.value_or(SparseCore{});
  ProductArray array;
  const double peak = peakOfOne(machine, core, dense.type).value;
  if (machine.clock.value > 0 && peak > 0)
    array.perCycle = peak / machine.clock.value / 2 * instances;
  else if (flopsPerCycle(core) > 0)
    array.perCycle = flopsPerCycle(core) / 2 * instances;
  else
    array.perCycle = static_cast<double>(sparse.lanes) * sparse.slots;
  const bool isArray = core.rows > 0 && core.cols > 0, structured = sparse.stationary.of > 0 || sparse.streaming.of > 0;
  if (isArray && structured)
    array.stationaryWords = core.rows;
  if (isArray && !structured && sparse.stationary.mode == Mode::Skip && sparse.streaming.mode == Mode::Skip &&
      sparse.tile > 1 && sparse.lanes == 1) {
    array.outerStationary = core.rows;
    array.outerStreaming = core.cols;
  }
  return array;
}

Result<SparseCost> sparseCost(const WorkGraph &graph, const Operation &op, const Machine &machine,
                              const OperationCost &dense, const LinearSparsity &sparsity, double confidence) {
  if (dense.core < 0 || static_cast<size_t>(dense.core) >= machine.cores.size() || op.givenSeconds || lookupRows(op))
    return asDense(dense);
  // What `roofline` does not give back is of a cost model of its own.
  auto again = combineCosts(op, machine, dense, dense.compute, "", dense.bytes);
  if (!again || again->time != dense.time)
    return asDense(dense);
  if (op.phase == Phase::Update)
    return updateCost(op, machine, dense, sparsity);
  const Core &core = machine.cores[dense.core];
  auto product = productOf(graph, op);
  if (!product || !core.sparse)
    return asDense(dense);

  const auto traffic = trafficOf(op, machine, dense);
  const auto operands = operandsIn(op.phase);
  Both both;
  auto fill = [&](Operand &operand, GemmOperand of, size_t tensor, int64_t outputs, int64_t bits) {
    operand.of = of;
    const OperandShape seen{outputs, product->depth};
    const bool turned = isTransposedIn(op.phase, of);
    operand.shape = turned ? OperandShape{seen.reduction, seen.outputs} : seen;
    operand.pattern = fitting(patternIn(op.phase, of, sparsity), seen);
    operand.stored = fitting(sparsityOf(of, sparsity).pattern, operand.shape);
    operand.format = sparsityOf(of, sparsity).format;
    operand.bits = bits;
    operand.bytes = traffic[tensor];
    const tile::Nest nest = tile::nestOf(op.domain, op.tensors);
    operand.whole = elementsOf(nest.tensors[tensor], nest) * bits / 8;
  };
  fill(both.stationary, operands.stationary, product->stationary, product->columns, product->stationaryBits);
  fill(both.streaming, operands.streaming, product->streaming, product->rows, product->streamingBits);
  SparseCore sparse = *core.sparse;
  // What is made for N:M reads nothing else: other patterns and formats are dense to it.
  for (auto [operand, use] :
       {std::pair(&both.stationary, &sparse.stationary), std::pair(&both.streaming, &sparse.streaming)}) {
    const SparsityPattern &stored = sparsityOf(operand->of, sparsity).pattern;
    if (use->of > 0 && (operand->format.kind != SparseFormat::Kind::Structured ||
                        (!supportsPattern(*use, stored) && !supportsPattern(*use, transposed(stored)))))
      operand->format = SparseFormat{};
  }
  if (auto error = addStored(both.stationary, sparse.stationary, confidence))
    return *error;
  if (auto error = addStored(both.streaming, sparse.streaming, confidence))
    return *error;

  SparseProduct p;
  p.rows = product->rows, p.columns = product->columns, p.depth = product->depth;
  p.stationary = both.stationary.pattern, p.streaming = both.streaming.pattern;
  p.stationaryFormat = both.stationary.format, p.streamingFormat = both.streaming.format;
  p.elementBits = both.stationary.bits;
  const double setup = sparse.setupCycles;
  sparse.setupCycles = 0;
  ProductArray array = productArray(machine, dense);
  if (sparse.stationary.of > 0 || sparse.streaming.of > 0)
    array.perCycle = 1; // nothing is random: the share of the time, not rounded to whole cycles
  auto counted = productCycles(p, sparse, array, confidence);
  if (!counted) {
    counted.error().location = op.location;
    return counted.takeError();
  }
  const auto &cycles = *counted;
  double masked = 1;
  if (op.phase == Phase::WeightGradient && sparsity.maskedGradients && !sparsity.weights.pattern.dynamic &&
      sparse.stationary.mode == Mode::Skip && sparse.stationary.of == 0) {
    const OperandShape shape{product->rows, product->columns};
    auto kept = density(fitting(sparsity.weights.pattern, shape), shape);
    if (auto *share = kept.get())
      masked = *share;
  }

  SparseCost result;
  result.cycles = cycles.mean / cycles.dense * masked;
  result.quantileCycles = cycles.quantile / cycles.dense * masked;
  result.active = cycles.active * masked;
  result.gated = cycles.gated * masked;
  result.sampled = cycles.sampled;
  const bool saves = result.cycles != 1 || result.active != 1;
  Seconds before;
  if (setup > 0 && saves) {
    if (machine.clock.value <= 0)
      return Error{Code::NotSkipped,
                   fmt::format("core '{}' of '{}' takes {:.6g} cycles to set up, but the machine states no clock",
                               core.name, machine.name, setup),
                   op.location,
                   {}};
    before = Seconds(setup / machine.clock.value);
  }
  // Masks that change in this step, where an operand is seen first.
  double found = 0;
  for (Operand *operand : {&both.stationary, &both.streaming}) {
    const bool first = (op.phase == Phase::Forward && operand->of != GemmOperand::Gradients) ||
                       (op.phase == Phase::DataGradient && operand->of == GemmOperand::Gradients);
    auto change =
        maskChange(operand->of, {operand->stored, operand->format}, operand->shape, operand->bits, confidence);
    if (auto *bits = change.get(); bits && first) {
      double elements = static_cast<double>(operand->shape.outputs) * operand->shape.reduction * operand->bits;
      found += (bits->readBits + bits->writtenBits) / elements * operand->whole;
    }
  }
  auto at = [&](double share, bool quantile) {
    std::vector<Bytes> bytes = bytesWith(dense, both, quantile);
    if (found > 0 && !bytes.empty())
      bytes[0] += Bytes(found);
    return combineCosts(op, machine, dense, dense.compute * share + before,
                        fmt::format("{:.6g} s * {:.6g} (of the cycles: {}){}", dense.compute.value, share,
                                    cycles.formula,
                                    before.value > 0 ? fmt::format(" + {:.6g} cycles to set up", setup) : ""),
                        bytes);
  };
  auto mean = at(result.cycles, false), quantile = at(result.quantileCycles, true);
  for (auto *cost : {&mean, &quantile})
    if (!(*cost))
      return (*cost).takeError();
  result.mean = std::move(*mean);
  const auto &max = *quantile;
  result.quantile = std::max(max.time, result.mean.time);
  const Joules arithmetic = Flops(op.flops) * energyPerFlop(machine, dense.type);
  const double moved = result.active + result.gated * sparse.gatedEnergy;
  result.quantileEnergy = max.energy;
  if (moved != 1) {
    result.mean.energy = result.mean.energy - arithmetic * (1 - moved);
    result.quantileEnergy = result.quantileEnergy - arithmetic * (1 - moved);
    result.mean.formula += fmt::format("; energy: {:.6g} of the multiply-accumulates and {:.6g} gated at {:.6g}",
                                       result.active, result.gated, sparse.gatedEnergy);
  }
  if (!both.stationary.bytes.empty())
    result.metadata =
        Bytes(both.stationary.bytes[0] * both.stationary.metadata + both.streaming.bytes[0] * both.streaming.metadata);
  result.stationary = Bytes(both.stationary.whole * both.stationary.quantile);
  result.streaming = Bytes(both.streaming.whole * both.streaming.quantile);
  result.used = saves || both.stationary.mean != 1 || both.streaming.mean != 1;
  return result;
}

bool pays(const SparseCost &cost, const OperationCost &dense, Bytes denseOperands, SparseObjective objective) {
  switch (objective) {
  case SparseObjective::Time:
    return cost.quantile < dense.time;
  case SparseObjective::Energy:
    return cost.quantileEnergy < dense.energy;
  case SparseObjective::Memory:
    return cost.stationary + cost.streaming < denseOperands;
  }
  return false;
}

} // namespace accord
