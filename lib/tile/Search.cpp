#include "lib/tile/Search.h"
#include <algorithm>
#include <cmath>
#include <numeric>

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
        if (dimension.terms.size() > 2 || !std::isinf(dimension.cap) ||
            component.dimensions.size() > 1 ||
            (dimension.terms.size() == 2 && dimension.terms[0].stride > 1 &&
             dimension.terms[1].stride > 1))
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
               int64_t limit)
    : nest(nest), shape(this->nest), orders(shape), clock(levels), levels(levels), compute(compute),
      loops(static_cast<unsigned>(nest.loops.size())),
      nearest(static_cast<unsigned>(levels.size()) - 1), limit(limit) {
  for (unsigned i = 0; i < loops; ++i)
    frames[0].split[i] = Split::whole(nest.loops[i].extent);
}

std::optional<Issue> Search::fits() const {
  int64_t least[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i)
    least[i] = std::min(nest.loops[i].granule, nest.loops[i].extent);
  double bits = shape.footprintBits(least);
  for (unsigned l = 1; l <= nearest; ++l)
    if (bits > clock.room(l))
      return doesNotFit(levels, l, bits);
  return std::nullopt;
}

bool Search::spend() {
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
  // The last loop decided takes the largest extent that fits: let it be the one of most extents.
  std::sort(f.open.begin(), f.open.end(), [&](unsigned a, unsigned b) {
    return std::pair(f.extents[a]->size(), a) < std::pair(f.extents[b]->size(), b);
  });
  f.compute = computeWith(level, 0);
}

/// Seconds of the arithmetic if loops not yet decided are not cut at this level: no way to decide
/// them takes less, because to cut never makes it less.
double Search::computeWith(unsigned level, size_t decided) {
  if (traffic)
    return 0;
  const Frame &f = frames[level];
  const Split *splits[kMaxLoops];
  for (unsigned i = 0; i < loops; ++i)
    splits[i] = &frames[f.parent].split[i];
  for (size_t at = 0; at < decided; ++at)
    splits[f.open[at]] = &f.split[f.open[at]];
  double seconds = computeOf(compute, splits, loops).value;
  if (!(seconds >= 0) || !std::isfinite(seconds))
    broken = true;
  return broken ? 0 : seconds;
}

/// Bits over the link of `level` under each order that matters, by the splits as they are; the
/// least of them, and its order.
template <class Each> void Search::eachOrder(unsigned level, Each each) {
  const Split *splits[kMaxLevels];
  const Order *outer[kMaxLevels];
  unsigned depth = 0;
  for (unsigned l = level; l != 0; l = frames[l].parent)
    ++depth;
  for (unsigned l = level, at = depth; l != 0; l = frames[l].parent, --at) {
    splits[at] = frames[l].split;
    outer[at] = frames[l].order;
  }
  splits[0] = frames[0].split;
  double sums[kMaxTensors];
  for (unsigned t = 0; t < shape.tensors.size(); ++t)
    sums[t] = shape.tensors[t].sum(splits[depth]);
  for (const Order &order : orders.of(iterating(shape, splits[depth - 1], splits[depth]))) {
    outer[depth] = &order;
    each(order, linkBits(shape, sums, splits, outer, depth));
  }
}

double Search::leastBits(unsigned level, const Order **best) {
  double least = 0;
  bool first = true;
  eachOrder(level, [&](const Order &order, double bits) {
    if (!first && bits >= least)
      return;
    first = false;
    least = bits;
    if (best)
      *best = &order;
  });
  return least;
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

bool Search::improves(const Objective &value) const {
  return !found || value.below(incumbent, nearest + 1);
}

/// For each undecided loop the largest extent that fits if all other undecided ones take their
/// least. No completion has larger ones, so that traffic and trips of these are a bound.
bool Search::relax(unsigned level, size_t depth, const Choice &most, Choice &into) {
  Frame &f = frames[level];
  int64_t tile[kMaxLoops];
  std::copy_n(f.tile, loops, tile);
  for (size_t at = depth; at < f.open.size(); ++at)
    tile[f.open[at]] = f.extents[f.open[at]]->front();
  if (shape.footprintBits(tile) > clock.room(level))
    return false;
  for (size_t at = depth; at < f.open.size(); ++at) {
    unsigned loop = f.open[at];
    into[loop] = largest(level, loop, most[loop], tile);
    setTile(level, loop, (*f.extents[loop])[into[loop]]);
  }
  return true;
}

/// Index of the largest extent of a loop, at most `most`, that fits with the others in `tile`; the
/// least one is known to.
int Search::largest(unsigned level, unsigned loop, int most, int64_t *tile) const {
  const std::vector<int64_t> &extents = *frames[level].extents[loop];
  int64_t before = tile[loop];
  auto fit = [&](int index) {
    tile[loop] = extents[index];
    return shape.footprintBits(tile) <= clock.room(level);
  };
  int low = 0, high = most;
  if (fit(most))
    low = most;
  else
    while (high - low > 1) {
      int middle = low + (high - low) / 2;
      (fit(middle) ? low : high) = middle;
    }
  tile[loop] = before;
  return low;
}

void Search::assign(unsigned level, size_t depth, const Choice &most) {
  if (!spend())
    return;
  Frame &f = frames[level];
  Choice fit;
  if (!relax(level, depth, most, fit))
    return;
  double bits = leastBits(level, nullptr), seconds = f.compute;
  if (!improves(objective(level, seconds, bits)))
    return;
  if (depth > 0) {
    seconds = computeWith(level, depth);
    if (!improves(objective(level, seconds, bits)))
      return;
  }
  if (depth == f.open.size()) {
    leave(level);
    return;
  }
  unsigned loop = f.open[depth];
  const std::vector<int64_t> &extents = *f.extents[loop];
  for (int index = fit[loop]; index >= 0 && !cut; --index) {
    setTile(level, loop, extents[index]);
    if (depth + 1 < f.open.size()) {
      assign(level, depth + 1, fit);
      continue;
    }
    // Traffic only grows as the last tile shrinks; once the arithmetic is at its least too, all
    // smaller ones are worse.
    if (!spend() || !improves(objective(level, seconds, leastBits(level, nullptr))))
      return;
    double reached = leave(level);
    if (level == stop && compare(reached, seconds) <= 0)
      return;
  }
}

/// All tiles of `level` are decided. Goes on inside, or takes them as an answer; seconds of the
/// arithmetic.
double Search::leave(unsigned level) {
  Frame &f = frames[level];
  double seconds = computeWith(level, f.open.size());
  if (level == stop) {
    f.bits = leastBits(level, &f.order);
    Objective value = objective(level, seconds, f.bits);
    if (!broken && improves(value))
      record(value);
    return seconds;
  }
  eachOrder(level, [&](const Order &order, double bits) {
    if (cut || !improves(objective(level, seconds, bits)))
      return;
    f.order = &order;
    f.bits = bits;
    enter(level + 1, level);
    assign(level + 1, 0, everything(level + 1));
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

Search::Choice Search::everything(unsigned level) const {
  Choice most{};
  for (unsigned loop : frames[level].open)
    most[loop] = static_cast<int>(frames[level].extents[loop]->size()) - 1;
  return most;
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
  traffic = false;
  limit = whole;
}

void Search::searchAlone(unsigned level, unsigned parent) {
  stop = level;
  found = cut = false;
  enter(level, parent);
  incumbents(level);
  assign(level, 0, everything(level));
}

bool Search::run() {
  for (unsigned l = 1; l <= nearest; ++l)
    for (const ShapeTensor &tensor : shape.tensors)
      floorBits[l] += tensor.whole * tensor.bits;
  if (nearest == 0) {
    const Split *splits[kMaxLoops];
    for (unsigned i = 0; i < loops; ++i)
      splits[i] = &frames[0].split[i];
    bound = computeOf(compute, splits, loops).value;
    exact = true;
    return bound >= 0 && std::isfinite(bound);
  }
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
    frames[l].bits = leastBits(l, &frames[l].order);
  }
  limit = whole;
  if (nearest > 1) {
    cut = false;
    enter(1, 0);
    assign(1, 0, everything(1));
  }
  exact = !cut && !orders.truncated() && !broken;
  bound = incumbent.time;
  if (!exact && !broken) {
    enter(1, 0);
    Choice fit;
    relax(1, 0, everything(1), fit);
    double bits = std::max(floorBits[1], leastBits(1, nullptr));
    bound = std::min(bound, objective(1, frames[1].compute, bits).time);
  }
  return !broken;
}

} // namespace accord::tile
