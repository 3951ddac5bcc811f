#include "lib/sparsity/cost/SparseCost.h"
#include "lib/machine/model/Lookups.h"
#include "lib/machine/tiling/Mapping.h"
#include "lib/sparsity/cost/Format.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

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
  if (!p.mask.empty() && OperandShape{std::ssize(p.mask), std::ssize(p.mask.front())} == shape)
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
    operand.metadata = 1 / number(operand.bits); // whole values, and a mask
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

/// Where the law of boards gave the dense energy, and not that of the operation's parts (`own`), it gives that with
/// zeros in proportion; without energies of parts, in proportion to time.
void chargeLike(const OperationCost &dense, Joules own, SparseCost &cost) {
  if (own == dense.energy || !cost.used)
    return;
  if (own.value > 0) {
    cost.mean.energy = cost.mean.energy * (dense.energy / own);
    cost.quantileEnergy = cost.quantileEnergy * (dense.energy / own);
  } else if (dense.time.value > 0) {
    cost.mean.energy = dense.energy * (cost.mean.time / dense.time);
    cost.quantileEnergy = dense.energy * (cost.quantile / dense.time);
  }
}

/// Arithmetic and traffic by one share: updates of parameters that the mask keeps.
Result<SparseCost> updateCost(const Operation &op, const Machine &machine, const OperationCost &dense,
                              const LinearSparsity &sparsity) {
  // A density alone is asked for, and a mask brings its own shape.
  const SparsityPattern &p = sparsity.weights.pattern;
  OperandShape shape{1 << 20, 1 << 20};
  if (p.kind == SparsityPattern::Kind::Mask && !p.mask.empty())
    shape = {std::ssize(p.mask), std::ssize(p.mask.front())};
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

/// Both operands of a product as its core reads them, with the share of their bytes that is left.
Result<Both> operandsOf(const Operation &op, const OperationProduct &product, const Machine &machine,
                        const OperationCost &dense, const SparseCore &core, const LinearSparsity &sparsity,
                        double confidence) {
  const auto traffic = trafficOf(op, machine, dense);
  const tile::Nest nest = tile::nestOf(op.domain, op.tensors);
  const auto operands = operandsIn(op.phase);
  Both both;
  auto fill = [&](Operand &operand, GemmOperand of, size_t tensor, int64_t outputs, int64_t bits,
                  const SparseAcceleration &use) {
    const OperandSparsity &stored = sparsity.of(of);
    const OperandShape seen{outputs, product.depth};
    operand.of = of;
    operand.shape = isTransposedIn(op.phase, of) ? OperandShape{seen.reduction, seen.outputs} : seen;
    operand.pattern = fitting(patternIn(op.phase, of, sparsity), seen);
    operand.stored = fitting(stored.pattern, operand.shape);
    // What is made for N:M reads nothing else: other patterns and formats are dense to it.
    if (use.of == 0 || (stored.format.kind == SparseFormat::Kind::Structured &&
                        (supportsPattern(use, stored.pattern) || supportsPattern(use, transposed(stored.pattern)))))
      operand.format = stored.format;
    operand.bits = bits;
    operand.bytes = traffic[tensor];
    operand.whole = elementsOf(nest.tensors[tensor], nest) * bits / 8;
  };
  fill(both.stationary, operands.stationary, product.stationary, product.columns, product.stationaryBits,
       core.stationary);
  fill(both.streaming, operands.streaming, product.streaming, product.rows, product.streamingBits, core.streaming);
  if (auto error = addStored(both.stationary, core.stationary, confidence))
    return *error;
  if (auto error = addStored(both.streaming, core.streaming, confidence))
    return *error;
  return both;
}

/// Bytes of masks that change in this step, where an operand is seen first.
double bytesOfMaskChanges(const Operation &op, const Both &both, double maskPeriod, double confidence) {
  double found = 0;
  for (const Operand *operand : {&both.stationary, &both.streaming}) {
    const bool first = (op.phase == Phase::Forward && operand->of != GemmOperand::Gradients) ||
                       (op.phase == Phase::DataGradient && operand->of == GemmOperand::Gradients);
    auto change =
        maskChange(operand->of, {operand->stored, operand->format}, operand->shape, operand->bits, confidence);
    if (auto *bits = change.get(); bits && first) {
      const double elements = number(operand->shape.outputs) * operand->shape.reduction * operand->bits;
      const double period = operand->of == GemmOperand::Weights ? maskPeriod : 1;
      found += (bits->readBits + bits->writtenBits) / elements * operand->whole / period;
    }
  }
  return found;
}

} // namespace

ProductArray productArray(const Machine &machine, const OperationCost &dense) {
  const Core &core = machine.cores[dense.core];
  const double instances = dense.instances > 0 ? dense.instances : instancesPerOperation(core);
  const SparseCore sparse = core.sparse.value_or(SparseCore{});
  ProductArray array;
  const double peak = peakOfOne(machine, core, dense.type).value;
  if (machine.clock.value > 0 && peak > 0)
    array.perCycle = peak / machine.clock.value / 2 * instances;
  else if (flopsPerCycle(core) > 0)
    array.perCycle = flopsPerCycle(core) / 2 * instances;
  else
    array.perCycle = number(sparse.lanes) * sparse.slots;
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
  if (dense.core < 0 || dense.core >= std::ssize(machine.cores) || op.givenSeconds || lookupRows(op))
    return asDense(dense);
  // What `roofline` does not give back is of a cost model of its own.
  auto again = combineCosts(op, machine, dense, dense.compute, "", dense.bytes);
  if (!again || again->time != dense.time)
    return asDense(dense);
  if (op.phase == Phase::Update) {
    auto update = updateCost(op, machine, dense, sparsity);
    if (update)
      chargeLike(dense, again->energy, *update);
    return update;
  }
  const Core &core = machine.cores[dense.core];
  auto product = productOf(graph, op);
  if (!product || !core.sparse)
    return asDense(dense);

  SparseCore sparse = *core.sparse;
  auto operands = operandsOf(op, *product, machine, dense, sparse, sparsity, confidence);
  if (!operands)
    return operands.takeError();
  const Both &both = *operands;
  const double setup = sparse.setupCycles;
  sparse.setupCycles = 0;
  ProductArray array = productArray(machine, dense);
  if (sparse.stationary.of > 0 || sparse.streaming.of > 0)
    array.perCycle = 1; // nothing is random: the share of the time, not rounded to whole cycles
  auto counted =
      productCycles({product->rows, product->columns, product->depth, both.stationary.pattern, both.streaming.pattern,
                     both.stationary.format, both.streaming.format, both.stationary.bits},
                    sparse, array, confidence);
  if (!counted) {
    counted.error().location = op.location;
    return counted.takeError();
  }
  const auto &cycles = *counted;

  SparseCost result;
  result.cycles = cycles.mean / cycles.dense;
  result.quantileCycles = cycles.quantile / cycles.dense;
  result.active = cycles.active;
  result.gated = cycles.gated;
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
  const double found = bytesOfMaskChanges(op, both, sparsity.maskPeriod, confidence);
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
  result.quantile = std::max(quantile->time, result.mean.time);
  const Joules arithmetic = Flops(op.flops) * energyPerFlop(machine, dense.type);
  const double moved = result.active + result.gated * sparse.gatedEnergy;
  result.quantileEnergy = quantile->energy;
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
  chargeLike(dense, again->energy, result);
  return result;
}

bool updatesWeights(const Operation &op, const PrunedLayer &layer) {
  double elements = op.domain.empty() ? 0 : 1;
  for (const Loop &loop : op.domain)
    elements *= loop.extent;
  return elements >= number(layer.weights.outputs) * layer.weights.reduction;
}

std::vector<PrunedLayer> prunedLayers(const WorkGraph &graph) {
  std::vector<PrunedLayer> layers;
  std::map<std::string, size_t> byName;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.phase != Phase::Forward)
      continue;
    auto product = productOf(graph, op);
    if (!product)
      continue;
    byName[op.name] = layers.size();
    layers.push_back({op.name, id, {}, {product->columns, product->depth}, product->stationaryBits});
    layers.back().weights.outputs *= product->batch; // groups of a convolution have weights of their own
  }
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone || op.core == CoreKind::None || op.communication)
      continue;
    for (const std::string &name : namedAfter(op.name))
      if (auto layer = byName.find(name); layer != byName.end()) {
        layers[layer->second].operations.push_back(id);
        break;
      }
  }
  return layers;
}

Result<LayerCost> layerCost(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                            const PrunedLayer &layer, const LinearSparsity &sparsity, double confidence) {
  LayerCost result;
  for (OperationId id : layer.operations) {
    if (id >= costs.operations.size() || costs.operations[id].core < 0)
      continue;
    // A bias has no mask.
    const Operation &op = graph.operations[id];
    const bool other = op.phase == Phase::Update && !updatesWeights(op, layer);
    auto cost = sparseCost(graph, op, machine, costs.operations[id], other ? LinearSparsity{} : sparsity, confidence);
    if (!cost)
      return cost.takeError();
    SparseCost &one = *cost;
    const double times = graph.executions(id);
    result.time += one.mean.time * times;
    result.quantile += one.quantile * times;
    result.energy += one.mean.energy * times;
    result.quantileEnergy += one.quantileEnergy * times;
    if (!one.mean.bytes.empty())
      result.moved += one.mean.bytes[0] * times;
    result.metadata += one.metadata * times;
    result.sampled |= one.sampled;
    result.used |= one.used;
    result.parts.emplace_back(id, std::move(one));
  }
  // All iterations of the repeats around it have weights of their own; micro-batches use the same.
  const double copies = double(graph.executions(layer.forward)) / std::max<int64_t>(1, graph.microbatches);
  const double dense = number(layer.weights.outputs) * layer.weights.reduction * layer.weightBits / 8 * copies;
  double kept = dense;
  const int core = layer.forward < costs.operations.size() ? costs.operations[layer.forward].core : -1;
  for (const auto &[id, part] : result.parts)
    if (id == layer.forward && core >= 0 && machine.cores[core].sparse &&
        machine.cores[core].sparse->stationary.compress && part.stationary.value > 0)
      kept = part.stationary.value * copies;
  if (sparsity.weights.pattern.dynamic && kept != dense)
    kept += dense;
  result.weights = Bytes(kept);
  return result;
}

} // namespace accord
