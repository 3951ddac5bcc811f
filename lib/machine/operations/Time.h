// The time of one operation on a device that is known from its data sheet, tile by tile and wave by wave.
#pragma once
#include "lib/machine/operations/Rows.h"

namespace accord::operations {

/// What is fitted. All are above 0; those without a unit are shares or ratios, so that they mean the same on any
/// device.
enum class Parameter : uint8_t {
  ProductEfficiency, ///< share of the peak that a product of large tiles reaches, at most 1
  TileIntensity,     ///< elements tm * tn / (tm + tn) of a tile at which half of that is reached
  TileDepth,         ///< steps of k that filling and emptying a tile's pipeline takes
  CacheRate,         ///< bandwidth of the L2 over that of the memory
  ProductBandwidth,  ///< share of the memory's bandwidth that products reach, at most 1
  EnergyPerFlop,     ///< picojoule of the board for one FLOP and nanometre of the process
  ProductFloor,      ///< seconds before and after a product
  WaveQuantization,  ///< share of a wave's empty units that is lost, at most 1
  Overlap,           ///< 1 + this is the exponent of the norm of computing, memory and L2: 0 adds, large is the maximum
  BatchedOverhead,   ///< time of a batched product over that of one of the same tiles
  Bandwidth,         ///< share of the memory's bandwidth that other operations reach, at most 1
  Floor,             ///< seconds before and after an element-wise operation
  RowFloor,          ///< the same of softmax and layer norm, over `Floor`
  SoftmaxFit,        ///< share of the L1 that the rows of a softmax fill when half of their second reads miss
  LayerNormFit,      ///< the same of layer norm
  MissSharpness,     ///< 1 + this is the exponent of the share of misses
  SoftmaxTraffic,    ///< bytes of softmax over those that it needs
  LayerNormTraffic,  ///< the same of layer norm
};
constexpr size_t kParameters = 18;
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

/// Tiles of the result of a product that a library has kernels for, rows x columns.
struct Tile {
  double m, n;
};
constexpr std::array<Tile, 7> kTiles{{{128, 128}, {128, 64}, {64, 128}, {64, 64}, {128, 32}, {32, 128}, {64, 32}}};
/// One bit for each of `kTiles`.
using TileSet = unsigned;
constexpr TileSet kAllTiles = (1u << kTiles.size()) - 1;

/// Seconds.
/// Products: the least over tiles and 1 or 4 parts of k of
///   (c^p + d^p + l^p)^(1/p) + floor, p = 1 + overlap,
///   c = max(waves * tile / unit rate, FLOP * energy * node / power): waves is the number of tiles over that of compute
///   units, of at least 1, and `wave_quantization` of what is missing to the next integer; a tile of tm x tn takes
///   2 tm tn (k / parts + depth) FLOP at peak * efficiency * i / (i + intensity), i = tm tn / (tm + tn);
///   d = bytes over the memory, with 8 m n for each part of k; l = tiles * (tm + tn) * k * 4 bytes over the L2.
/// Others: traffic * bytes over the memory + floor. A softmax of rows longer than 1024 reads a row three times, a layer
/// norm twice; the share of the later reads that misses the L1 is 1 / (1 + (fit / filled)^q), q = 1 + sharpness, where
/// `filled` is what the rows that a unit holds at a time take of its L1. A row takes a block of width / 8 threads,
/// 32 to 512 (softmax), or 128 (layer norm): PyTorch's kernels.
/// Sources: waves and tiles, NVIDIA's "Matrix Multiplication Background" guide; roofline, Williams et al. 2009.
double timeOf(const Operation &operation, const Device &device, const Parameters &parameters,
              TileSet tiles = kAllTiles);

} // namespace accord::operations
