#include "lib/machine/tiling/LoopOrders.h"
#include "lib/machine/tiling/LoopSplit.h"
#include <algorithm>

namespace accord::tile {

Order orderOf(const Shape &shape, const std::vector<unsigned> &loops, uint32_t iterating) {
  Order order;
  order.loops = loops;
  uint32_t inside = 0;
  for (size_t at = loops.size(); at-- > 0;) {
    unsigned loop = loops[at];
    if (!(iterating >> loop & 1))
      continue;
    uint32_t ends = shape.indexes[loop] & ~order.ended;
    order.ended |= ends;
    for (unsigned t = 0; ends; ++t, ends >>= 1)
      if (ends & 1)
        order.outside[t] = iterating & ~inside;
    inside |= uint32_t(1) << loop;
  }
  return order;
}

const std::vector<Order> &Orders::of(uint32_t iterating) {
  auto found = known.find(iterating);
  if (found != known.end())
    return found->second;
  std::vector<Order> orders;
  std::vector<unsigned> inner;
  extend(inner, iterating, 0, orders, iterating);
  return known.emplace(iterating, std::move(orders)).first->second;
}

void Orders::extend(std::vector<unsigned> &inner, uint32_t left, uint32_t ended, std::vector<Order> &into,
                    uint32_t iterating) {
  size_t before = inner.size();
  for (unsigned loop = shape.indexes.size(); loop-- > 0;)
    if ((left >> loop & 1) && !(shape.indexes[loop] & ~ended)) {
      inner.push_back(loop);
      left &= ~(uint32_t(1) << loop);
    }
  if (into.size() >= kMaxOrders) {
    cut = true;
  } else if (!left) {
    std::vector<unsigned> loops;
    for (unsigned loop = 0; loop < shape.indexes.size(); ++loop)
      if (!(iterating >> loop & 1))
        loops.push_back(loop);
    loops.insert(loops.end(), inner.rbegin(), inner.rend());
    into.push_back(orderOf(shape, loops, iterating));
  } else {
    for (unsigned loop = 0; loop < shape.indexes.size(); ++loop) {
      if (!(left >> loop & 1))
        continue;
      uint32_t ends = shape.indexes[loop] & ~ended;
      bool skip = false;
      for (unsigned other = 0; other < shape.indexes.size() && !skip; ++other) {
        uint32_t less = shape.indexes[other] & ~ended;
        // Of loops that end the same, the first stands for all: the others follow at no cost.
        skip = (left >> other & 1) && !(less & ~ends) && (less != ends || other < loop);
      }
      if (skip)
        continue;
      inner.push_back(loop);
      extend(inner, left & ~(uint32_t(1) << loop), ended | ends, into, iterating);
      inner.pop_back();
    }
  }
  inner.resize(before);
}

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
