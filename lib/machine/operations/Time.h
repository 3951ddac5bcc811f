// The time of one operation on a device that is known from its data sheet, tile by tile and wave by wave.
#pragma once
#include "lib/machine/operations/Rows.h"

namespace accord::operations {

/// What is fitted. All are above 0; those without a unit are shares or ratios, so that they mean the same on any
/// device.
enum class Parameter : uint8_t {
  ProductEfficiency, ///< share of the peak that a product of large tiles reaches, at most 1
  TileIntensity,     ///< elements tm * tn / (tm + tn) of a tile at which half of that is reached
  TileSharpness,     ///< exponent with which smaller tiles lose
  TileDepth,         ///< steps of k that filling and emptying a tile's pipeline takes
  EnergyPerFlop,     ///< picojoule of the board for one FLOP
  TrafficEnergy,     ///< elements tm * tn / (tm + tn) of a tile whose operands take as much again
  IdlePower,         ///< watts of the board that do not compute
  WaveQuantization,  ///< share of a wave's empty units that is lost, at most 1
  CacheRate,         ///< bandwidth of the L2 over that of the memory
  RowReach,          ///< bytes of a row of k elements at which half of `RowCost` is paid
  RowCost,           ///< time of the L2 over what it takes with short rows, of rows that are far apart, less 1
  ProductBandwidth,  ///< share of the memory's bandwidth that products reach, at most 1
  Overlap,           ///< 1 + this is the exponent of the norm of computing, memory and L2: 0 adds, large is the maximum
  TileChoice,        ///< exponent with which a library prefers the faster tile
  TileArea,          ///< exponent with which a library prefers the larger tile
  ProductFloor,      ///< seconds before and after a linear layer
  BatchedFloor,      ///< the same of a batched product
  Bandwidth,         ///< share of the memory's bandwidth that other operations reach, at most 1
  Floor,             ///< seconds before and after an element-wise operation
  RowFloor,          ///< the same of softmax and layer norm, over `Floor`
  SoftmaxFit,        ///< share of the L1 that the rows of a softmax fill when half of their second reads miss
  LayerNormFit,      ///< the same of layer norm
  MissSharpness,     ///< 1 + this is the exponent of the share of misses
  SoftmaxTraffic,    ///< bytes of softmax over those that it needs
  LayerNormTraffic,  ///< the same of layer norm
};
constexpr size_t kParameters = 25;
constexpr size_t indexOf(Parameter parameter) { return static_cast<size_t>(parameter); }
using Parameters = std::array<double, kParameters>;

struct ParameterInfo {
  const char *name;
  const char *unit;
  double median; ///< of the prior
  double spread; ///< standard deviation of the prior's logarithm
  double upper;
};
const ParameterInfo &info(size_t parameter);
Parameters priorMedians();

/// Tiles of the result of a product that a library has kernels for, rows x columns. cuBLAS stores columns first: its
/// "sgemm_128x64" has 64 rows and 128 columns.
struct Tile {
  double m, n;
};
constexpr std::array<Tile, 7> kTiles{{{128, 128}, {128, 64}, {64, 128}, {64, 64}, {128, 32}, {32, 128}, {32, 64}}};
/// One bit for each of `kTiles`.
using TileSet = unsigned;
constexpr TileSet kAllTiles = (1u << kTiles.size()) - 1;

/// Seconds.
/// Products: for each tile the least over 1, 4 or 16 parts of k (batched, or of more than 8 tiles for each compute
/// unit: 1) of (c^p + d^p + l^p)^(1/p), p = 1 + overlap:
///   c = waves * 2 tm tn (k / parts + depth) / (e * peak / units), where waves is the number of tiles over that of
///   compute units, of at least 1, and `wave_quantization` of what is missing to the next integer;
///   e = s / (1 + h^8)^(1/8), s = efficiency / (1 + (intensity / i)^sharpness), i = tm tn / (tm + tn), and
///   h = s * peak * energy * (1 + traffic_energy / i) / (power - idle): the clock falls until the board may draw it;
///   d = bytes over the memory, with 8 m n for each part of k;
///   l = tiles * (tm + tn) * k * 4 bytes over the L2, times 1 + row_cost x / (1 + x), x = (4 k / row_reach)^1.5: the
///   rows of a tile lie that far apart, and each read of one needs another translation of its address.
/// Libraries do not always choose the fastest tile: the result is the geometric mean over the tiles, with the weights
/// (fastest / time)^choice * (tm tn / 128^2)^area, plus the floor.
/// Others: traffic * bytes over the memory + floor. A softmax of rows longer than 1024 reads a row three times, a layer
/// norm twice; the share of the later reads that misses the L1 is 1 / (1 + (fit / filled)^q), q = 1 + sharpness, where
/// `filled` is what the rows that a unit holds at a time take of its L1. A row takes a block of width / 8 threads,
/// 32 to 512 (softmax), or 128 (layer norm): PyTorch's kernels.
/// Sources: waves and tiles, NVIDIA's "Matrix Multiplication Background" guide; roofline, Williams et al. 2009.
double timeOf(const Operation &operation, const Device &device, const Parameters &parameters,
              TileSet tiles = kAllTiles);

} // namespace accord::operations
