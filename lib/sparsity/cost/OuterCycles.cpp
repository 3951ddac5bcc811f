// Outer products of tiles: at each step of the reduction every pair of tiles meets.
#include "lib/sparsity/cost/StaticMaskCycles.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord {
namespace {

/// Cycles that one operand's tiles take along the array at one step of the reduction.
struct Steps {
  double mean = 0, variance = 0, dense = 0, longest = 0, tiles = 0;
};

Steps stepsOf(const TiledOperand &operand, int64_t outputs, int64_t tile, int64_t along) {
  Steps result;
  auto add = [&](const TileParts &parts, double count) {
    const Occupancy each = rounds(total(parts), along);
    const auto max = static_cast<double>(each.max());
    result.tiles += count;
    result.mean += count * each.mean();
    result.variance += count * each.variance();
    result.dense += count * max;
    result.longest = std::max(result.longest, max);
  };
  if (outputs >= tile)
    add(operand.whole, outputs / tile);
  if (outputs % tile > 0)
    add(operand.rest, 1);
  // Tiles inside of one block have the same zeros.
  result.variance *= std::min(result.tiles, static_cast<double>(operand.sameTiles));
  if (operand.fixed || !operand.skipped)
    result.variance = 0;
  return result;
}

} // namespace

CycleSum outerCycles(const SparseProduct &p, const SparseCore &core, const ProductArray &array,
                     const TiledOperand &stationary, const TiledOperand &streaming) {
  const Steps a = stepsOf(stationary, p.columns, std::min(core.tile, p.columns), array.outerStationary);
  const Steps b = stepsOf(streaming, p.rows, std::min(core.tile, p.rows), array.outerStreaming);
  const auto depth = static_cast<double>(p.depth);
  CycleSum result;
  result.groups = depth * a.tiles * b.tiles;
  result.mean = depth * a.mean * b.mean;
  result.dense = depth * a.dense * b.dense;
  result.longest = a.longest * b.longest;
  const double same = std::max(stationary.sameOutputs, streaming.sameOutputs);
  if (stationary.staticMask || streaming.staticMask) {
    // Where zeros are known, each step is what it is: those of both may prefer the same ones.
    std::vector<double> ofA(p.depth, a.mean), ofB(ofA.size(), b.mean);
    if (stationary.staticMask)
      ofA = staticMaskSteps(stationary, std::min(core.tile, p.columns), array.outerStationary);
    if (streaming.staticMask)
      ofB = staticMaskSteps(streaming, std::min(core.tile, p.rows), array.outerStreaming);
    result.mean = 0;
    for (size_t k = 0; k < ofA.size(); ++k) {
      result.mean += ofA[k] * ofB[k];
      result.variance += ofA[k] * ofA[k] * b.variance + ofB[k] * ofB[k] * a.variance;
    }
    result.variance *= std::min(depth, same);
    if (stationary.staticMask && streaming.staticMask) {
      const std::vector<double> w = staticMaskSteps(stationary, p.columns, 1),
                                x = staticMaskSteps(streaming, p.rows, 1);
      result.computed =
          std::inner_product(w.begin(), w.end(), x.begin(), 0.0) / (static_cast<double>(p.columns) * p.rows * depth);
    }
    return result;
  }
  // Steps of the reduction share no element; within one the operands are independent.
  const double each =
      (a.variance + a.mean * a.mean) * (b.variance + b.mean * b.mean) - a.mean * a.mean * b.mean * b.mean;
  result.variance = depth * std::min(depth, same) * std::max(0.0, each);
  return result;
}

} // namespace accord
