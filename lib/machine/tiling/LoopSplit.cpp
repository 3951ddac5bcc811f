#include "lib/machine/tiling/LoopSplit.h"
#include <algorithm>

namespace accord::tile {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

void add(Split &split, int64_t size, int64_t times) {
  for (unsigned k = 0; k < split.kinds; ++k)
    if (split.size[k] == size) {
      split.times[k] += times;
      return;
    }
  split.size[split.kinds] = size;
  split.times[split.kinds++] = times;
}

} // namespace

Split Split::whole(int64_t extent) {
  Split split;
  split.extent = split.tile = split.size[0] = extent;
  return split;
}

Split Split::cut(int64_t by) const {
  Split split;
  split.extent = extent;
  split.tile = std::min(by, tile);
  split.kinds = 0;
  split.tiles = 0;
  for (unsigned k = 0; k < kinds; ++k) {
    int64_t full = size[k] / by, rest = size[k] % by;
    if (full > 0)
      add(split, by, full * times[k]);
    if (rest > 0)
      add(split, rest, times[k]);
    split.tiles += (full + (rest > 0)) * times[k];
  }
  return split;
}

std::vector<int64_t> candidates(const Split &around, int64_t granule, bool all) {
  std::vector<int64_t> extents;
  auto push = [&](int64_t granules) {
    // Compared in granules: the product of a candidate below the last never passes the tile.
    extents.push_back(granules > (around.tile - 1) / granule ? around.tile : granules * granule);
  };
  int64_t max = ceilDiv(around.tile, granule);
  if (all && max <= 16)
    for (int64_t t = 1; t <= max; ++t)
      push(t);
  else
    for (unsigned k = 0; k < around.kinds; ++k) {
      int64_t granules = ceilDiv(around.size[k], granule), trips = 1;
      for (;;) {
        int64_t t = ceilDiv(granules, trips);
        push(t);
        if (t == 1)
          break;
        trips = std::min(granules, std::max(ceilDiv(granules, t - 1), trips + trips / 128));
      }
    }
  std::sort(extents.begin(), extents.end());
  extents.erase(std::unique(extents.begin(), extents.end()), extents.end());
  return extents;
}

} // namespace accord::tile
