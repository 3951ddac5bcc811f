// A device that runs every layer on a part of its own, one behind the other, as plain data: the layers, how each is
// laid out, and what limits them.
#pragma once
#include "lib/machine/model/Sparsity.h"
#include "lib/sparsity/problem/Selection.h"
#include <string>
#include <vector>

namespace accord {

/// Zeros of a layer that may be used. Dense is always there beside these.
struct DataflowSparsity {
  std::string label;
  /// Shares of windows (kernel rows x kernel columns products of one channel) by how many of their products are zero,
  /// weight and activation together: kernel + 1 numbers, their sum 1.
  std::vector<double> windows;
  int64_t loss = 0; ///< `lossUnits`
  /// As `windows`, of each channel of the layer by itself: as measured. Empty: all channels are like `windows`.
  std::vector<std::vector<double>> channels = {};
};

/// Values that go around a layer and wait until it is done with what they meet behind it: a shortcut, a gate.
struct DataflowDetour {
  int64_t rows = 1, columns = 1, channels = 1, bits = 16;
};

/// A convolution, or a fully connected layer (all extents but channels and filters 1).
struct DataflowLayer {
  std::string name;
  int64_t channels = 1, filters = 1, groups = 1;
  int64_t inputRows = 1, inputColumns = 1, rows = 1, columns = 1; ///< of the input, of the result
  int64_t kernelRows = 1, kernelColumns = 1;
  int64_t weightBits = 16, activationBits = 16;
  std::vector<DataflowSparsity> sparsity;
  std::vector<DataflowDetour> detours = {};
};

/// What a device has beside its multipliers. Without `blockRams` all of it is assumed to be enough, and nothing is
/// read from outside of the chip.
struct FabricResources {
  int64_t blockRams = 0;     ///< of 18 Kibit
  int64_t ultraRams = 0;     ///< of 288 Kibit
  int64_t luts = 0;          ///< look-up tables of six inputs; 0: enough
  double bytesPerSecond = 0; ///< of the memory beside the chip; 0: enough
  bool isStated() const { return blockRams > 0; }
};

/// What a layer, or all of them, takes of a device.
struct FabricUse {
  int64_t multipliers = 0, luts = 0, blockRams = 0, ultraRams = 0;
  int64_t bits = 0; ///< moved to and from the memory beside the chip, for an image
  bool operator==(const FabricUse &) const = default;
};

/// Where the weights of a layer lie.
enum class WeightPlace : uint8_t { BlockRam, UltraRam, Streamed };
const char *name(WeightPlace); ///< "block_ram", "ultra_ram", "streamed"

/// What of a layer lies where.
struct DataflowMemory {
  WeightPlace weights = WeightPlace::BlockRam;
  /// Streamed weights are read so often for an image, each time for ceil(rows / passes) rows of the result; more passes
  /// than rows: for each position by itself.
  int64_t passes = 0;
  bool ultraBuffers = false; ///< its buffers lie in UltraRAM
  bool evicts = false;       ///< what goes around it waits in the memory beside the chip
  bool operator==(const DataflowMemory &) const = default;
};

struct DataflowProblem {
  std::vector<DataflowLayer> layers;
  DataflowFabric fabric;
  double hertz = 0;
  int64_t lossBudget = SelectionProblem::kUnlimited; ///< `budgetUnits`
  FabricResources resources = {};
  /// All layers take zeros of one name (those that have none of it are dense): a network that was measured as a whole.
  bool together = false;
};

/// How a layer is laid out. Multipliers = groups * in * out * fine * ceil(activation bits / `multiplierRows`) *
/// ceil(weight bits / `multiplierColumns`).
struct DataflowFolding {
  int64_t groups = 1, in = 1, out = 1; ///< groups, channels and filters of a group at once
  int64_t fine = 1;                    ///< products of one window at once
};

/// What a layer waits for: its multipliers, or words, of which each stream moves one in a cycle.
enum class DataflowBottleneck : uint8_t { Products, Input, Output };
const char *name(DataflowBottleneck); ///< "products", "input", "output"

/// Cycles of an image. Products: rows * columns * (groups / g) * (channels / groups / in) * (filters / groups / out) *
/// E[ceil((window - zeros) / fine)]; input: input rows * input columns * channels / (g * in); output: rows * columns *
/// filters / (g * out); the most of them counts (fpgaConvNet: Venieris and Bouganis, FCCM 2016; zeros as in
/// Montgomerie-Corcoran et al.: PASS, FPL 2023). Divisors alone, so that all streams are equal.
struct DataflowCycles {
  double products = 0, input = 0, output = 0;
  double max() const;
  DataflowBottleneck limit() const; ///< the first of equal ones, products first
};

struct DataflowStage {
  DataflowFolding folding;
  std::string label; ///< of its zeros; "dense"
  bool sparse = false;
  DataflowCycles cycles;
  int64_t multipliers = 0;
  DataflowMemory memory = {};
  FabricUse use = {}; ///< where the device states its resources
  double busy = 0;    ///< share of the interval
  /// With multipliers without end: the fewest cycles of any folding and zeros that keep the losses.
  double minCycles = 0;
};

struct DataflowResult {
  bool feasible = false;
  std::vector<DataflowStage> stages; ///< by layer
  FabricUse use = {};                ///< of all, where the device states its resources
  double interval = 0;               ///< cycles between images
  double imagesPerSecond = 0;
  int64_t multipliers = 0;
  int64_t loss = 0;
  size_t bottleneck = 0; ///< the layer that takes the interval, the first of equal ones
  /// With as many multipliers as there may be the interval is that of this layer, the first of equal ones, and no
  /// device is faster.
  size_t saturating = 0;
  double maxImagesPerSecond = 0;
  std::string explanation;   ///< one sentence or two: what limits, and what would not help
  SelectionProblem problem;  ///< foldings as options of stages, `bytes` are multipliers
  SelectionResult selection; ///< for `verify`
  bool proven = true;        ///< claimed: no interval is shorter
  /// Claimed, where the device states its resources: no interval is shorter. `interval` where it is proven.
  double minInterval = 0;
};

/// Cycles that the memory beside the chip needs for so many bits; 0 where its bandwidth is not stated.
double transferCycles(const DataflowProblem &problem, int64_t bits);

/// What is wrong with a problem: no layers or more than 10,000, extents outside of 1 to 2^20, windows of more than
/// 1,024 products, groups that do not divide channels and filters, shares that are no distribution, histograms of some
/// channels alone, negative losses, no multipliers, a clock outside of 1 Hz to 1 THz, negative resources, detours of no
/// extent. Empty: nothing.
std::string check(const DataflowProblem &problem);

} // namespace accord
