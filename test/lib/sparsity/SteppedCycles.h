// Cycles of small products, stepped over masks that are given: what lib/sparsity/cost/Cycles.h says, done literally.
#pragma once
#include "lib/sparsity/cost/Cycles.h"
#include <algorithm>
#include <cmath>

namespace accord::test {

using Mask = std::vector<std::vector<bool>>; // by output, then along the reduction

/// The next that is free takes the next group.
class Engines {
public:
  explicit Engines(double count) : free_(static_cast<size_t>(std::max(1.0, std::floor(count))), 0) {}
  void take(int64_t cycles) { *std::min_element(free_.begin(), free_.end()) += cycles; }
  double end() const { return static_cast<double>(*std::max_element(free_.begin(), free_.end())); }

private:
  std::vector<int64_t> free_;
};

/// The text of lib/sparsity/cost/Cycles.h, done literally.
inline double stepped(const Mask &w, const Mask &x, const SparseCore &core, const ProductArray &array, bool skipW,
                      bool skipX) {
  const auto depth = static_cast<int64_t>(w.front().size()), columns = static_cast<int64_t>(w.size());
  const int64_t tiles = (depth + core.tile - 1) / core.tile;
  auto left = [&](const std::vector<bool> &row, bool skip, int64_t granule, int64_t start, int64_t end, int64_t k) {
    if (!skip)
      return true;
    int64_t from = start + (k - start) / granule * granule, to = std::min(end, from + granule);
    for (int64_t i = from; i < to; ++i)
      if (row[static_cast<size_t>(i)])
        return true;
    return false;
  };
  Engines engines(array.perCycle / static_cast<double>(core.lanes * core.slots));
  for (const std::vector<bool> &row : x) {
    int64_t slowest = 0, inGroup = 0;
    for (int64_t unit = 0; unit < columns * tiles; ++unit) {
      int64_t n = unit / tiles, start = unit % tiles * core.tile, end = std::min(depth, start + core.tile), places = 0;
      for (int64_t k = start; k < end; ++k)
        places += left(w[static_cast<size_t>(n)], skipW, core.stationary.granule, start, end, k) &&
                  left(row, skipX, core.streaming.granule, start, end, k);
      slowest = std::max(slowest, (places + core.slots - 1) / core.slots);
      if (++inGroup == core.lanes || unit + 1 == columns * tiles) {
        engines.take(slowest);
        slowest = inGroup = 0;
      }
    }
  }
  return engines.end();
}

} // namespace accord::test
