#include "lib/machine/operations/Time.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord::operations {
namespace {

constexpr double kFree = std::numeric_limits<double>::infinity();
const ParameterInfo kInfo[kParameters] = {{"product_efficiency", "", 0.97, 0.1, 1},
                                          {"tile_intensity", "", 14, 0.3, kFree},
                                          {"tile_sharpness", "", 3, 0.3, kFree},
                                          {"tile_depth", "", 16, 1, kFree},
                                          {"energy_per_flop", "pJ", 12, 0.2, kFree},
                                          {"traffic_energy", "", 10, 0.7, kFree},
                                          {"idle_power", "W", 15, 0.3, kFree},
                                          {"wave_quantization", "", 0.8, 0.5, 1},
                                          {"cache_rate", "", 3, 0.5, kFree},
                                          {"row_reach", "B", 1e5, 1.5, kFree},
                                          {"row_cost", "", 4, 1, kFree},
                                          {"product_bandwidth", "", 0.8, 0.2, 1},
                                          {"overlap", "", 3, 0.5, kFree},
                                          {"tile_choice", "", 20, 0.4, kFree},
                                          {"tile_area", "", 1, 0.5, kFree},
                                          {"product_floor", "s", 30e-6, 0.5, kFree},
                                          {"batched_floor", "s", 20e-6, 0.5, kFree},
                                          {"bandwidth", "", 0.85, 0.2, 1},
                                          {"floor", "s", 15e-6, 0.5, kFree},
                                          {"row_floor", "", 1.5, 0.2, kFree},
                                          {"softmax_fit", "", 0.85, 0.5, kFree},
                                          {"layer_norm_fit", "", 0.8, 0.5, kFree},
                                          {"miss_sharpness", "", 4, 0.5, kFree},
                                          {"softmax_traffic", "", 1, 0.2, kFree},
                                          {"layer_norm_traffic", "", 1, 0.2, kFree}};
constexpr double kWordBytes = 4;
constexpr double kShortRow = 1024;      ///< a row that one warp holds in registers
constexpr double kClockNorm = 8;        ///< exponent with which the clock turns from its boost to what the power allows
constexpr double kMinPowerShare = 0.25; ///< share of a board's power that computes however much it draws idle
constexpr double kRowExponent = 1.5;    ///< with which long rows cost
constexpr double kFewWaves = 8;         ///< of tiles: more of them are not divided along k

class Terms {
public:
  Terms(const Operation &operation, const Device &device, const Parameters &values)
      : o(operation), device(device), values(values) {}

  double product(TileSet tiles) const {
    std::array<double, kTiles.size()> times{};
    double best = kFree;
    for (size_t i = 0; i < kTiles.size(); ++i)
      if (tiles >> i & 1) {
        times[i] = tiled(kTiles[i]);
        best = std::min(best, times[i]);
      }
    double weights = 0, logarithms = 0;
    for (size_t i = 0; i < kTiles.size(); ++i)
      if (tiles >> i & 1) {
        double area = kTiles[i].m * kTiles[i].n / (kTiles[0].m * kTiles[0].n);
        double weight = std::pow(best / times[i], at(Parameter::TileChoice)) * std::pow(area, at(Parameter::TileArea));
        weights += weight;
        logarithms += weight * std::log(times[i] / best);
      }
    return best * std::exp(logarithms / weights) +
           at(o.kind == Kind::Gemm ? Parameter::ProductFloor : Parameter::BatchedFloor);
  }

  double moved() const {
    double traffic = 1, floor = at(Parameter::Floor);
    if (o.kind == Kind::Softmax) {
      double threads = std::clamp(o.width / 8, 32.0, 512.0);
      double again = o.width <= kShortRow ? 0 : 2 * misses(threads, at(Parameter::SoftmaxFit));
      traffic = (1 + again / 2) * at(Parameter::SoftmaxTraffic);
      floor *= at(Parameter::RowFloor);
    } else if (o.kind == Kind::LayerNorm) {
      traffic = (1 + misses(128, at(Parameter::LayerNormFit)) / 2) * at(Parameter::LayerNormTraffic);
      floor *= at(Parameter::RowFloor);
    }
    return traffic * bytesOf(o) / (device.bandwidth * at(Parameter::Bandwidth)) + floor;
  }

private:
  double at(Parameter parameter) const { return values[indexOf(parameter)]; }

  /// Share of the reads of a row after the first that miss the L1.
  double misses(double threads, double fit) const {
    double filled = device.threads / threads * kWordBytes * o.width / device.l1;
    return 1 / (1 + std::pow(fit / filled, 1 + at(Parameter::MissSharpness)));
  }

  /// FLOP/s of a compute unit with tiles of this intensity, at the clock that the board's power allows.
  double unitRate(double intensity) const {
    double share = at(Parameter::ProductEfficiency) /
                   (1 + std::pow(at(Parameter::TileIntensity) / intensity, at(Parameter::TileSharpness)));
    double joules = at(Parameter::EnergyPerFlop) * 1e-12 * (1 + at(Parameter::TrafficEnergy) / intensity);
    double power = std::max(device.power - at(Parameter::IdlePower), kMinPowerShare * device.power);
    double heat = device.peak * share * joules / power;
    return device.peak * share / std::pow(1 + std::pow(heat, kClockNorm), 1 / kClockNorm) / device.computeUnits;
  }

  /// The best number of parts of k.
  double tiled(const Tile &tile) const {
    double rate = unitRate(tile.m * tile.n / (tile.m + tile.n));
    double tiles = o.batch * std::ceil(o.m / tile.m) * std::ceil(o.n / tile.n);
    double apart = std::pow(kWordBytes * o.k / at(Parameter::RowReach), kRowExponent);
    double rowCost = 1 + at(Parameter::RowCost) * apart / (1 + apart);
    double best = kFree;
    for (double parts : {1.0, 4.0, 16.0}) {
      if (parts > 1 && (o.kind == Kind::BatchedGemm || tiles > kFewWaves * device.computeUnits))
        break;
      double count = tiles * parts;
      double depth = std::ceil(o.k / parts);
      double waves = std::max(count / device.computeUnits, 1.0);
      waves += at(Parameter::WaveQuantization) * (std::ceil(waves) - waves);
      double compute = waves * 2 * tile.m * tile.n * (depth + at(Parameter::TileDepth)) / rate;
      double partial = parts > 1 ? parts * 2 * kWordBytes * o.batch * o.m * o.n : 0;
      double memory = (bytesOf(o) + partial) / (device.bandwidth * at(Parameter::ProductBandwidth));
      double cache = (count * (tile.m + tile.n) * depth * kWordBytes + partial) * rowCost /
                     (device.bandwidth * at(Parameter::CacheRate));
      best = std::min(best, norm(compute, memory, cache));
    }
    return best;
  }

  double norm(double compute, double memory, double cache) const {
    double power = 1 + at(Parameter::Overlap);
    double largest = std::max({compute, memory, cache}); // so that no power leaves the range of numbers
    return largest * std::pow(std::pow(compute / largest, power) + std::pow(memory / largest, power) +
                                  std::pow(cache / largest, power),
                              1 / power);
  }

  const Operation &o;
  const Device &device;
  const Parameters &values;
};

} // namespace

const ParameterInfo &info(size_t parameter) { return kInfo[parameter]; }

Parameters priorMedians() {
  Parameters medians;
  for (size_t i = 0; i < kParameters; ++i)
    medians[i] = kInfo[i].median;
  return medians;
}

double timeOf(const Operation &operation, const Device &device, const Parameters &parameters, TileSet tiles) {
  Terms terms(operation, device, parameters);
  bool product = operation.kind == Kind::Gemm || operation.kind == Kind::BatchedGemm;
  return product ? terms.product(tiles) : terms.moved();
}

} // namespace accord::operations
