#include "lib/machine/tiling/TileSearch.h"
#include "lib/machine/tiling/GrowthBound.h"
#include "lib/machine/tiling/Nest.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace accord::tile {
namespace {

constexpr double kRounding = 1e-12;

int compare(double a, double b) {
  double slack = kRounding * std::max(std::abs(a), std::abs(b));
  return a < b - slack ? -1 : a > b + slack ? 1 : 0;
}

/// Whether the extents of `candidates` reach the least traffic of all extents: see there.
bool affine(const Nest &nest, const Shape &shape) {
  for (const NestLoop &loop : nest.loops)
    if (loop.extent / loop.granule > 32768)
      return false;
  for (const ShapeTensor &tensor : shape.tensors)
    for (const auto &component : tensor.components)
      for (const ShapeDimension &dimension : component.dimensions)
        if (dimension.terms.size() > 2 || !std::isinf(dimension.cap) || component.dimensions.size() > 1 ||
            (dimension.terms.size() == 2 && dimension.terms[0].stride > 1 && dimension.terms[1].stride > 1))
          return false;
  return true;
}

} // namespace

bool Objective::below(const Objective &other, unsigned levels) const {
  if (int c = compare(time, other.time))
    return c < 0;
  for (unsigned l = 1; l < levels; ++l)
    if (int c = compare(bits[l], other.bits[l]))
      return c < 0;
  return false;
}

Search::Search(const Nest &nest, std::span<const Level> levels, const ComputeOfTile &compute,
               const SearchLimits &limits)
    : nest(nest), shape(nest), orders(shape), clock(levels, limits.minCompute), levels(levels), compute(compute),
      limits(limits), floor(limits.floor), loops(nest.loops.size()), nearest(levels.size() - 1),
      limit(std::max<int64_t>(limits.nodes, 64)) { // a first answer needs some, whatever the limit
  for (unsigned i = 0; i < loops; ++i) {
    frames[0].split[i] = Split::whole(nest.loops[i].extent);
    maxExtents[i] = nest.loops[i].extent;
  }
}

bool Search::consumeNode() {
  if (nodes >= limit || broken) {
    cut = true;
    return false;
  }
  ++nodes;
  return true;
}

void Search::setTile(unsigned level, unsigned loop, int64_t extent) {
  Frame &f = frames[level];
  f.tile[loop] = extent;
  f.split[loop] = frames[f.parent].split[loop].cut(extent);
}

/// Gets ready to decide the tiles of `level` inside of those of `parent`.
void Search::enter(unsigned level, unsigned parent) {
  Frame &f = frames[level];
  f.parent = parent;
  f.open.clear();
  bool all = nearest > 1;
  for (unsigned i = 0; i < loops; ++i) {
    const Split &around = frames[parent].split[i];
    if (parent < 2) {
      auto [at, fresh] = known[parent][i].try_emplace(around.tile);
      if (fresh)
        at->second = candidates(around, nest.loops[i].granule, all);
      f.extents[i] = &at->second;
    } else {
      f.own[i] = candidates(around, nest.loops[i].granule, all);
      f.extents[i] = &f.own[i];
    }
    setTile(level, i, f.extents[i]->back());
    if (f.extents[i]->size() > 1)
      f.open.push_back(i);
  }
  // Few extents first: what is decided early is decided in full soon.
  std::sort(f.open.begin(), f.open.end(), [&](unsigned a, unsigned b) {
    return std::pair(f.extents[a]->size(), a) < std::pair(f.extents[b]->size(), b);
  });
  f.compute = computeWith(level, 0);
}

/// Seconds of the arithmetic if only the `decided` loops (mask) are cut at this level: no way to
/// decide the others takes less, because to cut never makes it less.
double Search::computeWith(unsigned level, uint32_t decided) {
  if (traffic)
    return 0;
  const Split *splits[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i)
    splits[i] = &frames[decided >> i & 1 ? level : frames[level].parent].split[i];
  double seconds = computeOf(compute, splits, loops).value;
  if (!(seconds >= 0) || !std::isfinite(seconds))
    broken = true;
  return broken ? 0 : seconds;
}

/// What the caller knows of the arithmetic in tiles of at most these extents.
double Search::floorWith(const int64_t *tile) const {
  if (!floor || traffic)
    return 0;
  int64_t extents[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i)
    extents[i] = std::min(tile[i], maxExtents[i]);
  double seconds = floor(std::span<const int64_t>(extents, loops)).value;
  return seconds >= 0 && std::isfinite(seconds) ? seconds : 0;
}

/// The least bits over the link of `level` under any order, by the splits as they are, and that
/// order if asked for.
double Search::minBits(unsigned level, const Order **best) {
  double min = 0;
  bool first = true;
  eachOrder(level, [&](const Order &order, double bits, const double *) {
    if (!first && bits >= min)
      return;
    first = false;
    min = bits;
    if (best)
      *best = &order;
  });
  return min;
}

/// What no completion undercuts: links outside as decided, this one at `bits`, those inside at
/// their floors.
Objective Search::objective(unsigned level, double seconds, double bits) const {
  Objective value;
  for (unsigned l = 1; l <= nearest; ++l)
    if (l == level)
      value.bits[l] = bits;
    else if (!traffic)
      value.bits[l] = l < level ? frames[l].bits : floorBits[l];
  if (!traffic)
    value.time = clock.total(Seconds(seconds), value.bits).value;
  return value;
}

bool Search::improves(const Objective &value) const { return !found || value.below(incumbent, nearest + 1); }

Search::Box Search::wholeBox(unsigned level) const {
  Box box;
  for (unsigned loop : frames[level].open)
    box.high[loop] = frames[level].extents[loop]->size() - 1;
  return box;
}

/// Narrows a box to what fits and computes what none of its tilings undercuts; false if there is
/// nothing in it that is wanted.
bool Search::bounds(unsigned level, Box &box) {
  if (!consumeNode())
    return false;
  Frame &f = frames[level];
  int64_t tile[kMaxLoops];
  std::copy_n(f.tile, loops, tile);
  for (unsigned loop : f.open)
    tile[loop] = (*f.extents[loop])[box.low[loop]];
  if (shape.footprintBits(tile) > clock.capacityBits(level))
    return false;
  // Of each loop the largest extent that fits if all others take their least: none of the box has
  // larger ones, so that sums and trips of these are a bound.
  uint32_t decided = 0;
  for (unsigned loop : f.open) {
    if (box.high[loop] > box.low[loop])
      box.high[loop] = largest(level, loop, box.low[loop], box.high[loop], tile);
    setTile(level, loop, (*f.extents[loop])[box.high[loop]]);
    if (box.low[loop] == box.high[loop])
      decided |= uint32_t(1) << loop;
  }
  double bits = minBits(level, nullptr);
  box.seconds = std::max(f.compute, floorWith(f.tile));
  box.value = objective(level, box.seconds, bits);
  if (decided && improves(box.value)) {
    box.seconds = std::max(box.seconds, computeWith(level, decided));
    box.value = objective(level, box.seconds, bits);
  }
  box.largestFits = shape.footprintBits(f.tile) <= clock.capacityBits(level);
  if (!box.largestFits && improves(box.value))
    box.value = objective(level, box.seconds, minBitsWithinCapacity(level, tile));
  return improves(box.value);
}

/// The loop to halve: where arithmetic decides, which is known of decided loops only, one after
/// another; else the one whose extents are furthest apart. None: all are decided.
std::optional<unsigned> Search::widest(unsigned level, const Box &box) const {
  const Frame &f = frames[level];
  bool arithmetic = box.value.time <= clock.total(Seconds(box.seconds), floorBits).value * (1 + kRounding);
  std::optional<unsigned> found;
  double max = 0;
  for (unsigned loop : f.open) {
    if (box.low[loop] == box.high[loop])
      continue;
    if (arithmetic && !traffic)
      return loop;
    const auto &extents = *f.extents[loop];
    double ratio = 1.0 * extents[box.high[loop]] / extents[box.low[loop]];
    if (ratio > max) {
      max = ratio;
      found = loop;
    }
  }
  return found;
}

/// Best first: the box whose bound is least is halved.
void Search::explore(unsigned level) {
  auto later = [this](const Box *a, const Box *b) {
    if (a->value.time != b->value.time)
      return a->value.time > b->value.time;
    for (unsigned l = 1; l <= nearest; ++l)
      if (a->value.bits[l] != b->value.bits[l])
        return a->value.bits[l] > b->value.bits[l];
    return a->serial < b->serial; // of equals the latest, to reach tilings soon
  };
  // Boxes stay where they are while the queue is put in order: they are large.
  std::deque<Box> boxes;
  std::vector<Box *> spare;
  std::priority_queue<Box *, std::vector<Box *>, decltype(later)> queue(later);
  auto push = [&](const Box &one) {
    if (spare.empty())
      spare.push_back(&boxes.emplace_back());
    *spare.back() = one;
    queue.push(spare.back());
    spare.pop_back();
  };
  Frame &f = frames[level];
  int64_t serial = 0;
  Box box = wholeBox(level);
  box.value = objective(level, f.compute, floorBits[level]);
  if (bounds(level, box))
    push(box);
  while (!queue.empty() && !cut) {
    box = *queue.top();
    spare.push_back(queue.top());
    queue.pop();
    if (!improves(box.value))
      continue;
    auto split = widest(level, box);
    if (!split || (box.largestFits && level == stop)) {
      for (unsigned loop : f.open)
        setTile(level, loop, (*f.extents[loop])[box.high[loop]]);
      // Nothing in the box moves less than its largest tiles; unless it computes faster, that is
      // all.
      double reached = finishLevel(level);
      if (!split || compare(reached, box.seconds) <= 0)
        continue;
    }
    Index middle = std::midpoint(box.low[*split], box.high[*split]);
    // A loop that is whole stands in no order: bounds tell little of tilings that are and that are
    // not.
    if (std::cmp_equal(box.high[*split] + 1, f.extents[*split]->size()))
      middle = box.high[*split] - 1;
    for (bool upper : {true, false}) {
      Box half = box;
      (upper ? half.low : half.high)[*split] = upper ? middle + 1 : middle;
      half.serial = ++serial;
      if (bounds(level, half))
        push(half);
    }
  }
  if (level == 1 && cut)
    unexploredBound = std::min(box.value.time, queue.empty() ? box.value.time : queue.top()->value.time);
}

/// All tiles of `level` are decided. Goes on inside, or takes them as an answer; seconds of the
/// arithmetic.
double Search::finishLevel(unsigned level) {
  Frame &f = frames[level];
  double seconds = computeWith(level, ~uint32_t(0));
  if (level == stop) {
    f.bits = minBits(level, &f.order);
    Objective value = objective(level, seconds, f.bits);
    if (!broken && improves(value))
      record(value);
    return seconds;
  }
  eachOrder(level, [&](const Order &order, double bits, const double *) {
    if (cut || !improves(objective(level, seconds, bits)))
      return;
    f.order = &order;
    f.bits = bits;
    enter(level + 1, level);
    if (!quick || frames[level + 1].open.empty())
      explore(level + 1);
    else
      incumbents(level + 1);
  });
  return seconds;
}

void Search::record(const Objective &value) {
  incumbent = value;
  found = true;
  best.assign(stop, {});
  for (unsigned l = stop; l != 0; l = frames[l].parent)
    best[l - 1] = {{frames[l].tile, frames[l].tile + loops}, frames[l].order->loops};
}

/// Least bits over link `level` of any mapping: the best tiling of that memory inside of the whole
/// nest. (Of a hierarchy, the order in which loops first iterate going outward gives a single level
/// of no more traffic.) The floor stays where the search does not end.
void Search::raiseFloor(unsigned level, int64_t budget) {
  int64_t whole = std::exchange(limit, std::min(limit, nodes + budget));
  traffic = true;
  searchAlone(level, 0);
  if (!cut)
    floorBits[level] = incumbent.bits[level];
  if (found)
    starts.push_back(std::vector(nearest, best[level - 1].tile));
  traffic = false;
  limit = whole;
}

void Search::searchAlone(unsigned level, unsigned parent) {
  stop = level;
  found = cut = false;
  enter(level, parent);
  incumbents(level);
  explore(level);
}

bool Search::run() {
  for (unsigned l = 1; l <= nearest; ++l)
    for (const ShapeTensor &tensor : shape.tensors)
      floorBits[l] += tensor.whole * tensor.bits;
  const Split *splits[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i)
    splits[i] = &frames[0].split[i];
  double uncut = computeOf(compute, splits, loops).value;
  if (!(uncut >= 0) || !std::isfinite(uncut))
    return false;
  // All that is known if an operation has more orders than are searched.
  const double simple = clock.total(Seconds(uncut), floorBits).value;
  if (nearest == 0) {
    bound = simple;
    exact = true;
    return true;
  }
  boundExtentsByCapacity();
  if (nearest > 1 && affine(nest, shape))
    for (unsigned l = 1; l <= nearest; ++l)
      raiseFloor(l, limit / 8 / nearest);
  // One level after the other. With a single one this is the whole search.
  int64_t whole = limit;
  for (unsigned l = 1; l <= nearest && !broken; ++l) {
    if (nearest > 1)
      limit = std::min(whole, nodes + whole / 4 / nearest);
    searchAlone(l, l - 1);
    if (!found || broken)
      return false;
    for (unsigned i = 0; i < loops; ++i)
      setTile(l, i, best[l - 1].tile[i]);
    frames[l].bits = minBits(l, &frames[l].order);
  }
  limit = whole;
  if (nearest > 1) {
    starts.emplace_back();
    for (const Tiling &tiling : best)
      starts.back().push_back(tiling.tile);
    // What is best for the farthest link may be bad for the next: first answers of all together.
    cut = false;
    limit = std::min(whole, nodes + whole / 4);
    quick = true;
    enter(1, 0);
    incumbents(1);
    quick = cut = false;
    limit = whole;
    enter(1, 0);
    explore(1);
  }
  exact = !cut && !orders.truncated() && !broken;
  if (!exact && !broken && nearest > 1 && descends)
    descend();
  bound = exact ? incumbent.time : std::min(incumbent.time, orders.truncated() ? simple : unexploredBound);
  return !broken;
}

double minGrowth(std::span<const GrowthTerm> terms, uint32_t shrinking, double min, const double *max) {
  constexpr int kSteps = 8;
  double growth[kMaxLoops] = {}, slope[kMaxLoops], corner[kMaxLoops];
  double bound = -std::numeric_limits<double>::infinity();
  if (terms.empty())
    return bound;
  for (int step = 0; step < kSteps; ++step) {
    double logs[kMaxTensors], top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (size_t t = 0; t < terms.size(); ++t) {
      logs[t] = terms[t].log;
      for (uint32_t rest = terms[t].loops; rest; rest &= rest - 1)
        logs[t] += growth[std::countr_zero(rest)];
      top = std::max(top, logs[t]);
    }
    for (uint32_t rest = shrinking; rest; rest &= rest - 1)
      slope[std::countr_zero(rest)] = 0;
    for (size_t t = 0; t < terms.size(); ++t)
      sum += logs[t] = std::exp(logs[t] - top);
    for (size_t t = 0; t < terms.size(); ++t)
      for (uint32_t rest = terms[t].loops & shrinking; rest; rest &= rest - 1)
        slope[std::countr_zero(rest)] += logs[t] / sum;
    // The least of the tangent: loops of the least slope grow first.
    double value = top + std::log(sum), left = min;
    for (uint32_t open = shrinking; open;) {
      int next = std::countr_zero(open);
      for (uint32_t rest = open; rest; rest &= rest - 1)
        if (slope[std::countr_zero(rest)] < slope[next])
          next = std::countr_zero(rest);
      corner[next] = std::clamp(left, 0.0, max[next]);
      left -= corner[next];
      value += slope[next] * (corner[next] - growth[next]);
      open &= ~(uint32_t(1) << next);
    }
    bound = std::max(bound, value);
    double part = step == 0 ? 1 : 2.0 / (step + 2);
    for (uint32_t rest = shrinking; rest; rest &= rest - 1) {
      int loop = std::countr_zero(rest);
      growth[loop] += part * (corner[loop] - growth[loop]);
    }
  }
  return bound;
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
  auto fits = [&](int64_t extent) {
    tile[loop] = extent;
    return shape.footprintBits(tile) <= clock.capacityBits(level);
  };
  Index found = high; // nearly always
  if (low < high && !fits(extents[high]))
    found = std::partition_point(extents.begin() + low + 1, extents.begin() + high, fits) - extents.begin() - 1;
  tile[loop] = before;
  return found;
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
