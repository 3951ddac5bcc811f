#include "lib/machine/tiling/LocalSearch.h"
#include <algorithm>
#include <cmath>

namespace accord::tile {

LocalSearch::LocalSearch(const Nest &nest, const Shape &shape, Orders &orders, const Clock &clock,
                         const ComputeOfTile &compute, const ComputeFloor &floor, int64_t steps)
    : steps(steps), nest(nest), shape(shape), orders(orders), clock(clock), compute(compute), floor(floor),
      loops(nest.loops.size()), nearest(clock.count() - 1) {
  const Split *whole[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i) {
    tile[0][i] = nest.loops[i].extent;
    split[0][i] = Split::whole(tile[0][i]);
    whole[i] = &split[0][i];
  }
  uncut = computeOf(compute, whole, loops).value;
}

/// Tiles inside are at most as long.
void LocalSearch::set(unsigned level, unsigned loop, int64_t extent) {
  for (unsigned l = level; l <= nearest; ++l) {
    extent = tile[l][loop] = l == level ? extent : std::min(extent, tile[l][loop]);
    split[l][loop] = split[l - 1][loop].cut(extent);
  }
}

LocalSearch::Saved LocalSearch::save(unsigned loop) const {
  Saved saved;
  for (unsigned l = 1; l <= nearest; ++l)
    saved.tile[l] = tile[l][loop];
  return saved;
}

void LocalSearch::restore(unsigned loop, const Saved &saved) {
  for (unsigned l = 1; l <= nearest; ++l) {
    tile[l][loop] = saved.tile[l];
    split[l][loop] = split[l - 1][loop].cut(saved.tile[l]);
  }
}

bool LocalSearch::fits(unsigned level) const { return shape.footprintBits(tile[level]) <= clock.capacityBits(level); }

/// Tries the orders of `level` and of all inside of it; those that make what is least go to
/// `chosen`. `at`: bits of the links outside as they are, of those inside at their least.
void LocalSearch::choose(unsigned level, double seconds, Objective &at) {
  const Split *splits[kMaxLevels];
  for (unsigned l = 0; l <= nearest; ++l)
    splits[l] = split[l];
  double min = at.bits[level], moved[kMaxTensors];
  for (const Order &each : orders.of(iterating(shape, split[level - 1], split[level]))) {
    if (steps <= 0)
      break;
    --steps;
    order[level] = &each;
    at.bits[level] = linkBits(shape, sums[level], splits, order, level, moved);
    at.time = clock.total(Seconds(seconds), at.bits).value;
    if ((any && !at.below(next, nearest + 1)) || (reached && !at.below(here, nearest + 1)))
      continue;
    if (level < nearest) {
      choose(level + 1, seconds, at);
    } else {
      any = true;
      next = at;
      std::copy_n(order, kMaxLevels, chosen);
    }
  }
  at.bits[level] = min;
}

/// Whether the tiles as they are beat those before them; then they are kept as `here`.
bool LocalSearch::better() {
  Objective at;
  double min = 0;
  for (const ShapeTensor &tensor : shape.tensors)
    min += tensor.whole * tensor.bits;
  for (unsigned l = 1; l <= nearest; ++l) {
    at.bits[l] = min;
    for (unsigned t = 0; t < shape.tensors.size(); ++t)
      sums[l][t] = shape.tensors[t].sum(split[l]);
  }
  double seconds = uncut;
  if (floor) {
    double known = floor(std::span<const int64_t>(tile[nearest], loops)).value;
    seconds = known > seconds && std::isfinite(known) ? known : seconds;
  }
  // The arithmetic of all kinds of tiles is asked for last: it takes longest.
  any = false;
  choose(1, seconds, at);
  if (!any)
    return false;
  const Split *splits[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i)
    splits[i] = &split[nearest][i];
  seconds = computeOf(compute, splits, loops).value;
  any = false;
  if (!(seconds >= 0) || !std::isfinite(seconds))
    return false;
  choose(1, seconds, at);
  if (!any)
    return false;
  reached = true;
  here = next;
  if (!found || here.below(value, nearest + 1)) {
    found = true;
    value = here;
    best.clear();
    for (unsigned l = 1; l <= nearest; ++l)
      best.push_back({{tile[l], tile[l] + loops}, chosen[l]->loops});
  }
  return true;
}

std::vector<int64_t> LocalSearch::extents(unsigned level, unsigned loop) {
  return candidates(split[level - 1][loop], nest.loops[loop].granule, true);
}

/// The largest extent that fits beside the others, or 0.
int64_t LocalSearch::largest(unsigned level, unsigned loop, const std::vector<int64_t> &of) {
  int64_t before = tile[level][loop];
  auto end = std::partition_point(of.begin(), of.end(), [&](int64_t extent) {
    tile[level][loop] = extent;
    return fits(level);
  });
  tile[level][loop] = before;
  return end == of.begin() ? 0 : *(end - 1);
}

/// Whether a loop that was whole inside, and stays so in its larger tile, makes the tiles better.
bool LocalSearch::stayingWhole(unsigned level, unsigned loop, const Saved &saved) {
  int64_t before = saved.tile[level], now = tile[level][loop];
  if (level == nearest || saved.tile[level + 1] != before || now <= before)
    return false;
  set(level + 1, loop, now);
  return fits(level + 1) && better();
}

/// A second loop makes room, or takes what is left.
bool LocalSearch::paired(unsigned level, unsigned loop) {
  bool fit = fits(level);
  for (unsigned other = 0; other < loops; ++other) {
    if (other == loop)
      continue;
    int64_t before = tile[level][other];
    int64_t max = largest(level, other, extents(level, other));
    if (max == 0 || max == before || (max > before) != fit)
      continue;
    Saved saved = save(other);
    set(level, other, max);
    if (better() || stayingWhole(level, other, saved))
      return true;
    restore(other, saved);
  }
  return false;
}

bool LocalSearch::neighbours(unsigned level, unsigned loop) {
  std::vector<int64_t> of = extents(level, loop);
  auto now = std::lower_bound(of.begin(), of.end(), tile[level][loop]) - of.begin();
  std::ptrdiff_t count = of.size();
  Saved saved = save(loop);
  for (std::ptrdiff_t step = 1; step < 2 * count; step *= 2)
    for (std::ptrdiff_t way : {step, -step}) {
      std::ptrdiff_t at = std::clamp<std::ptrdiff_t>(now + way, 0, count - 1);
      if (of[at] == saved.tile[level])
        continue;
      set(level, loop, of[at]);
      bool fit = fits(level);
      if ((fit && better()) || paired(level, loop))
        return true;
      if (fit && stayingWhole(level, loop, saved))
        return true;
      restore(loop, saved);
      if (steps <= 0)
        return false;
    }
  return false;
}

void LocalSearch::from(const std::vector<std::vector<int64_t>> &tiles) {
  for (unsigned l = 1; l <= nearest; ++l) {
    for (unsigned i = 0; i < loops; ++i) {
      tile[l][i] = std::min(tiles[l - 1][i], tile[l - 1][i]);
      split[l][i] = split[l - 1][i].cut(tile[l][i]);
    }
    if (!fits(l))
      return;
  }
  reached = false;
  if (!better())
    return;
  // Round and round over memories and loops, until all of them are in vain.
  unsigned turns = nearest * loops;
  for (unsigned at = 0, vain = 0; vain < turns && steps > 0; at = (at + 1) % turns)
    vain = neighbours(1 + at / loops, at % loops) ? 0 : vain + 1;
}

} // namespace accord::tile
