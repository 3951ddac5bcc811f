#include "lib/machine/operations/Time.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord::operations {
namespace {

constexpr double kFree = std::numeric_limits<double>::infinity();
const ParameterInfo kInfo[kParameters] = {{"product_efficiency", "", 0.95, 0.2, 1},
                                          {"tile_intensity", "", 4, 0.7, kFree},
                                          {"tile_depth", "", 16, 1, kFree},
                                          {"cache_rate", "", 3, 0.5, kFree},
                                          {"product_bandwidth", "", 0.8, 0.2, 1},
                                          {"energy_per_flop", "pJ", 1.5, 0.1, kFree},
                                          {"product_floor", "s", 15e-6, 0.5, kFree},
                                          {"wave_quantization", "", 0.8, 0.5, 1},
                                          {"overlap", "", 3, 0.5, kFree},
                                          {"batched_overhead", "", 1, 0.3, kFree},
                                          {"bandwidth", "", 0.85, 0.2, 1},
                                          {"floor", "s", 15e-6, 0.5, kFree},
                                          {"row_floor", "", 1.5, 0.2, kFree},
                                          {"softmax_fit", "", 0.85, 0.5, kFree},
                                          {"layer_norm_fit", "", 0.8, 0.5, kFree},
                                          {"miss_sharpness", "", 4, 0.5, kFree},
                                          {"softmax_traffic", "", 1, 0.2, kFree},
                                          {"layer_norm_traffic", "", 1, 0.2, kFree}};
constexpr double kWordBytes = 4;
constexpr double kShortRow = 1024; ///< a row that one warp holds in registers

class Terms {
public:
  Terms(const Operation &operation, const Device &device, const Parameters &values)
      : o(operation), device(device), values(values) {}

  double product(TileSet tiles) const {
    double best = kFree;
    for (size_t i = 0; i < kTiles.size(); ++i)
      if (tiles >> i & 1)
        for (double parts : {1.0, 4.0})
          best = std::min(best, tiled(kTiles[i], parts));
    return best * (o.kind == Kind::BatchedGemm ? at(Parameter::BatchedOverhead) : 1) + at(Parameter::ProductFloor);
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

  double tiled(const Tile &tile, double parts) const {
    double count = o.batch * std::ceil(o.m / tile.m) * std::ceil(o.n / tile.n) * parts;
    double depth = std::ceil(o.k / parts);
    double waves = std::max(count / device.computeUnits, 1.0);
    waves += at(Parameter::WaveQuantization) * (std::ceil(waves) - waves);
    double intensity = tile.m * tile.n / (tile.m + tile.n);
    double rate = device.peak / device.computeUnits * at(Parameter::ProductEfficiency) * intensity /
                  (intensity + at(Parameter::TileIntensity));
    double compute = waves * 2 * tile.m * tile.n * (depth + at(Parameter::TileDepth)) / rate;
    double energy = at(Parameter::EnergyPerFlop) * 1e-12 * device.node;
    compute = std::max(compute, flopsOf(o) * energy / device.power);
    double partial = parts > 1 ? parts * 2 * kWordBytes * o.batch * o.m * o.n : 0;
    double memory = (bytesOf(o) + partial) / (device.bandwidth * at(Parameter::ProductBandwidth));
    double cache =
        (count * (tile.m + tile.n) * depth * kWordBytes + partial) / (device.bandwidth * at(Parameter::CacheRate));
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
