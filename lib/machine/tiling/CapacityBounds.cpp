// What a memory has room for, and what its room says of the traffic.
#include "lib/machine/tiling/GrowthBound.h"
#include "lib/machine/tiling/TileSearch.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord::tile {
namespace {
constexpr double kRounding = 1e-12;
}

std::optional<Error> Search::fits() const {
  int64_t min[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i)
    min[i] = std::min(nest.loops[i].granule, nest.loops[i].extent);
  double bits = shape.footprintBits(min);
  for (unsigned l = 1; l <= nearest; ++l)
    if (bits > clock.capacityBits(l))
      return doesNotFitError(levels, l, bits);
  return std::nullopt;
}

/// Index of the largest extent of a loop in [low, high] that fits with the others in `tile`; that
/// of `low` is known to.
Index Search::largest(unsigned level, unsigned loop, Index low, Index high, int64_t *tile) const {
  const std::vector<int64_t> &extents = *frames[level].extents[loop];
  int64_t before = tile[loop];
  auto fit = [&](int index) {
    tile[loop] = extents[index];
    return shape.footprintBits(tile) <= clock.capacityBits(level);
  };
  int min = low, max = high;
  if (fit(max))
    min = max;
  else
    while (max - min > 1) {
      int middle = min + (max - min) / 2;
      (fit(middle) ? min : max) = middle;
    }
  tile[loop] = before;
  return static_cast<Index>(min);
}

/// The largest extent of each loop that the nearest memory holds, the others at their least.
void Search::boundExtentsByCapacity() {
  int64_t tile[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i)
    tile[i] = std::min(nest.loops[i].granule, nest.loops[i].extent);
  for (unsigned i = 0; i < loops; ++i) {
    int64_t min = tile[i], above = nest.loops[i].extent + 1;
    while (above - min > 1) {
      tile[i] = min + (above - min) / 2;
      (shape.footprintBits(tile) <= clock.capacityBits(nearest) ? min : above) = tile[i];
    }
    maxExtents[i] = min;
    tile[i] = std::min(nest.loops[i].granule, nest.loops[i].extent);
  }
}

/// What tilings of a box move at least over the link of `level`, whose tiles are set to the largest
/// extent of each loop, which do not fit together: by each tensor in turn, how far its loops must
/// shrink until it fits beside the least of the others, and how trips grow with that. `low`: the
/// least extents.
double Search::minBitsWithinCapacity(unsigned level, const int64_t *low) {
  const Frame &f = frames[level];
  const Split *around = frames[f.parent].split;
  double max[kMaxLoops], slack[kMaxLoops], fitsBeside = clock.capacityBits(level);
  for (unsigned i = 0; i < loops; ++i) {
    max[i] = slack[i] = 0;
    if (low[i] == f.tile[i])
      continue;
    double tiles = f.split[i].tiles;
    max[i] = std::log(around[i].cut(low[i]).tiles / tiles);
    slack[i] = std::log(f.split[i].extent / tiles / f.tile[i]);
  }
  double min[kMaxTensors], shrink[kMaxTensors];
  for (unsigned t = 0; t < shape.tensors.size(); ++t)
    fitsBeside -= min[t] = shape.tensors[t].bits * shape.tensors[t].elements(low);
  for (unsigned t = 0; t < shape.tensors.size(); ++t) {
    const ShapeTensor &tensor = shape.tensors[t];
    double capacityBits = fitsBeside + min[t];
    shrink[t] =
        capacityBits > 0 && tensor.shrinksByLoop ? std::log(tensor.bits * tensor.elements(f.tile) / capacityBits) : 0;
    for (unsigned i = 0; i < loops; ++i)
      if (tensor.loops >> i & 1)
        shrink[t] += slack[i];
  }
  double bound = std::numeric_limits<double>::infinity();
  eachOrder(level, [&](const Order &order, double bits, const double *moved) {
    GrowthTerm terms[kMaxTensors];
    double known = 0, best = bits;
    uint32_t growing = 0;
    for (unsigned t = 0; t < shape.tensors.size(); ++t) {
      const ShapeTensor &tensor = shape.tensors[t];
      known += tensor.written ? tensor.whole * tensor.bits : 0;
      terms[t].log = std::log(moved[t] * tensor.bits * (tensor.written ? 2 : 1));
      terms[t].loops = order.ended >> t & 1 ? order.outside[t] & ~tensor.loops : 0;
      growing |= terms[t].loops;
    }
    for (unsigned t = 0; t < shape.tensors.size(); ++t) {
      const ShapeTensor &tensor = shape.tensors[t];
      double free = 0;
      for (unsigned i = 0; i < loops; ++i)
        if ((tensor.loops & ~growing) >> i & 1)
          free += max[i];
      if (shrink[t] > free)
        best = std::max(
            best,
            std::exp(minGrowth({terms, shape.tensors.size()}, tensor.loops, shrink[t], max)) * (1 - kRounding) - known);
    }
    bound = std::min(bound, best);
  });
  return bound;
}

} // namespace accord::tile
