#include "lib/sparsity/solve/FabricUse.h"
#include "lib/sparsity/solve/Dataflow.h"
#include <algorithm>
#include <bit>

namespace accord {
namespace {

/// More than any device has; products of extents are cut to it.
constexpr int64_t kMany = int64_t(1) << 52;
constexpr int64_t kTableBits = 32, kTableDepth = 32, kTableMemory = 1024;
constexpr int64_t kUltraWidth = 72, kUltraDepth = 4096;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t product(std::initializer_list<int64_t> factors) {
  __int128 out = 1;
  for (int64_t factor : factors)
    out = std::min<__int128>(out * factor, kMany);
  return static_cast<int64_t>(out);
}

/// What one layer takes, memory after memory.
class LayerUse {
public:
  LayerUse(const DataflowLayer &layer, const DataflowFolding &folding, bool skipsZeros, const DataflowMemory &memory,
           const DataflowFabric &fabric)
      : layer(layer), folding(folding), skipsZeros(skipsZeros), memory(memory), fabric(fabric),
        window(layer.kernelRows * layer.kernelColumns), ins(folding.groups * folding.in),
        outs(folding.groups * folding.out), engines(product({folding.groups, folding.in, folding.out})),
        groupSteps(layer.groups / folding.groups), inSteps(layer.channels / layer.groups / folding.in),
        outSteps(layer.filters / layer.groups / folding.out) {
    const uint64_t terms = product({window, layer.channels / layer.groups});
    sumBits = layer.weightBits + layer.activationBits + std::bit_width(terms - 1);
  }

  FabricUse run() {
    use.multipliers = multipliersOf(layer, folding, fabric);
    logic();
    const bool isStreamed = memory.weights == WeightPlace::Streamed;
    if (isStreamed)
      stream();
    else
      place(weightsOf(product({groupSteps, inSteps, outSteps})), memory.weights == WeightPlace::UltraRam);
    if (isStreamed && memory.passes <= layer.rows)
      holdRows();
    else
      holdLines();
    for (const DataflowDetour &detour : layer.detours)
      around(detour);
    return use;
  }

private:
  const DataflowLayer &layer;
  const DataflowFolding &folding;
  bool skipsZeros;
  const DataflowMemory &memory;
  const DataflowFabric &fabric;
  int64_t window, ins, outs, engines; ///< streams of the input, of the result; products of windows at once
  int64_t groupSteps, inSteps, outSteps, sumBits = 0;
  int64_t heldRows = 0; ///< of the input
  FabricUse use;

  void place(const RamShape &shape, bool ultra) {
    if (shape.width == 0 || shape.depth == 0)
      return;
    if (liesInTables(shape))
      add(use.luts, product({shape.width, divided(shape.depth, kTableBits)}));
    else if (ultra)
      add(use.ultraRams, ultraRamsOf(shape));
    else
      add(use.blockRams, blockRamsOf(shape));
  }
  static void add(int64_t &sum, int64_t more) { sum = std::min(sum + more, kMany); }

  void logic() {
    const int64_t lanes = product({engines, folding.fine}), operands = layer.weightBits + layer.activationBits;
    const int64_t pieces =
        divided(layer.activationBits, fabric.multiplierRows) * divided(layer.weightBits, fabric.multiplierColumns);
    add(use.luts, product({engines, sumBits}));
    add(use.luts, product({lanes, pieces - 1, sumBits}));
    add(use.luts, product({ins + outs, layer.activationBits}));
    if (skipsZeros) {
      add(use.luts, product({lanes, operands, std::max<int64_t>(1, divided(window - 1, 3))}));
      add(use.luts, product({lanes, window}));
    }
  }

  /// Weights that are read at once, so many times.
  RamShape weightsOf(int64_t steps) const {
    if (skipsZeros)
      return {product({engines, window, layer.weightBits}), steps};
    return {product({engines, folding.fine, layer.weightBits}), product({window / folding.fine, steps})};
  }

  void stream() {
    place(weightsOf(2), false);
    use.bits = product({memory.passes, layer.channels / layer.groups, layer.filters, window, layer.weightBits});
  }

  /// One position after another.
  void holdLines() {
    const int64_t turns = layer.channels / ins;
    const int64_t lines = layer.kernelRows - 1, columns = layer.kernelColumns - 1;
    place({product({ins, layer.activationBits, lines}), product({layer.inputColumns, turns})}, memory.ultraBuffers);
    place({product({ins, layer.activationBits, layer.kernelRows, columns}), turns}, memory.ultraBuffers);
    if (inSteps > 1)
      place({product({outs, sumBits}), outSteps}, memory.ultraBuffers);
    heldRows = lines;
  }

  /// The rows of a pass for each set of weights.
  void holdRows() {
    const int64_t rows = divided(layer.rows, memory.passes);
    const int64_t inputRows = divided(product({layer.inputRows, rows}), layer.rows);
    heldRows = std::min(2 * layer.inputRows, 2 * inputRows + layer.kernelRows - 1);
    place({product({ins, layer.activationBits, layer.kernelRows}),
           product({divided(heldRows, layer.kernelRows), layer.inputColumns, layer.channels / ins})},
          memory.ultraBuffers);
    if (inSteps > 1)
      place({product({outs, sumBits}), product({rows, layer.columns})}, memory.ultraBuffers);
    if (groupSteps * outSteps > 1)
      place({product({outs, layer.activationBits}), product({2, rows, layer.columns, groupSteps, outSteps})},
            memory.ultraBuffers);
  }

  void around(const DataflowDetour &detour) {
    int64_t rows = divided(product({heldRows, detour.rows}), layer.inputRows);
    if (layer.inputRows == 1 && layer.inputColumns == 1)
      rows = detour.rows;
    rows = std::min(rows, 2 * detour.rows);
    // As many words at once as come while the layer's own input does.
    const int64_t words = product({detour.rows, detour.columns, detour.channels});
    if (memory.evicts)
      return add(use.bits, product({2, words, detour.bits}));
    const int64_t own = product({layer.inputRows, layer.inputColumns, layer.channels / ins});
    const int64_t packed = std::max<int64_t>(1, kUltraWidth / detour.bits);
    const int64_t atOnce = layer.inputRows == 1 && layer.inputColumns == 1 ? packed : divided(words, own);
    place({product({atOnce, detour.bits}), divided(product({rows, detour.columns, detour.channels}), atOnce)},
          memory.ultraBuffers);
  }
};

} // namespace

bool liesInTables(const RamShape &shape) {
  return shape.depth <= kTableDepth || product({shape.width, shape.depth}) <= kTableMemory;
}

int64_t blockRamsOf(const RamShape &shape) {
  constexpr RamShape kShapes[] = {{1, 16384}, {2, 8192}, {4, 4096}, {9, 2048}, {18, 1024}, {36, 512}};
  int64_t min = kMany;
  for (const RamShape &of : kShapes)
    min = std::min(min, product({divided(shape.width, of.width), divided(shape.depth, of.depth)}));
  return min;
}

int64_t ultraRamsOf(const RamShape &shape) {
  return product({divided(shape.width, kUltraWidth), divided(shape.depth, kUltraDepth)});
}

std::vector<DataflowMemory> memoryChoices(const DataflowLayer &layer, const FabricResources &resources) {
  std::vector<DataflowMemory> out;
  const bool streams = resources.bytesPerSecond > 0;
  for (bool evicts : {false, true})
    for (bool ultraBuffers : {false, true}) {
      if ((ultraBuffers && resources.ultraRams == 0) || (evicts && (!streams || layer.detours.empty())))
        continue;
      out.push_back({WeightPlace::BlockRam, 0, ultraBuffers, evicts});
      if (resources.ultraRams > 0)
        out.push_back({WeightPlace::UltraRam, 0, ultraBuffers, evicts});
      for (int64_t passes = 1; streams && passes <= layer.rows; passes *= 2)
        out.push_back({WeightPlace::Streamed, passes, ultraBuffers, evicts});
      if (streams && layer.columns > 1)
        out.push_back({WeightPlace::Streamed, layer.rows * layer.columns, ultraBuffers, evicts});
    }
  return out;
}

FabricUse useOf(const DataflowLayer &layer, const DataflowFolding &folding, bool skipsZeros,
                const DataflowMemory &memory, const DataflowFabric &fabric) {
  return LayerUse(layer, folding, skipsZeros, memory, fabric).run();
}

int64_t imageBits(const DataflowProblem &problem) {
  const DataflowLayer &first = problem.layers.front(), &last = problem.layers.back();
  return product({first.inputRows, first.inputColumns, first.channels, first.activationBits}) +
         product({last.rows, last.columns, last.filters, last.activationBits});
}

} // namespace accord
