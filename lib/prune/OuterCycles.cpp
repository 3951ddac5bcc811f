// Outer products of tiles: at each step of the reduction every pair of tiles meets.
#include "lib/prune/KnownZeros.h"
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
    const auto most = static_cast<double>(each.most());
    result.tiles += count;
    result.mean += count * each.mean();
    result.variance += count * each.variance();
    result.dense += count * most;
    result.longest = std::max(result.longest, most);
  };
  if (outputs >= tile)
    add(operand.whole, static_cast<double>(outputs / tile));
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
  const Steps a =
      stepsOf(stationary, p.columns, std::min(core.tile, p.columns), array.outerStationary);
  const Steps b = stepsOf(streaming, p.rows, std::min(core.tile, p.rows), array.outerStreaming);
  const auto depth = static_cast<double>(p.depth);
  CycleSum result;
  result.groups = depth * a.tiles * b.tiles;
  result.mean = depth * a.mean * b.mean;
  result.dense = depth * a.dense * b.dense;
  result.longest = a.longest * b.longest;
  result.variance = depth * std::min(depth, same) * std::max(0.0, each);
  return result;
}

} // namespace accord
