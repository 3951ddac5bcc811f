// Answers that are not proven: first ones, always the same family of tilings, those of them that fit; and last ones, by
// local search.
#include "lib/machine/tiling/LocalSearch.h"
#include "lib/machine/tiling/TileSearch.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord::tile {
namespace {
/// What a search of smaller memories may cost, as a part of the search that starts it, and from how many nodes on such
/// a search starts some of its own.
constexpr int64_t kPart = 4, kWorth = 5000;
} // namespace

/// Loops with a choice, in groups that index the same tensors.
std::vector<std::vector<unsigned>> Search::classes(unsigned level) const {
  std::vector<std::vector<unsigned>> groups;
  std::vector<unsigned> open = frames[level].open;
  // Inner loops first: rows of an image before the images, whose cut has no halo.
  std::sort(open.rbegin(), open.rend());
  for (unsigned loop : open) {
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const auto &group) { return shape.indexes[group.front()] == shape.indexes[loop]; });
    if (same == groups.end())
      groups.push_back({loop});
    else
      same->push_back(loop);
  }
  return groups;
}

/// From `base`, gives each loop in turn the largest extent that fits.
void Search::fill(unsigned level, std::vector<int64_t> tile, const std::vector<unsigned> &turn) {
  if (!consumeNode())
    return;
  for (unsigned loop : turn) {
    const std::vector<int64_t> &extents = *frames[level].extents[loop];
    Index at = std::lower_bound(extents.begin(), extents.end(), tile[loop]) - extents.begin();
    tile[loop] = extents[largest(level, loop, at, extents.size() - 1, tile.data())];
  }
  for (unsigned loop : turn)
    setTile(level, loop, tile[loop]);
  Objective hope = objective(level, frames[level].compute, minBits(level, nullptr));
  if (improves(hope))
    finishLevel(level);
}

void Search::incumbents(unsigned level) {
  Frame &f = frames[level];
  auto groups = classes(level);
  if (groups.empty())
    return; // nothing to decide: `assign` takes it as it is
  Box box = wholeBox(level);
  if (!bounds(level, box))
    return;
  Objective ideal = box.value;
  auto done = [&] { return cut || (found && !improves(ideal)); };

  std::vector<int64_t> min(loops);
  for (unsigned i = 0; i < loops; ++i)
    min[i] = f.extents[i]->front();
  auto flat = [&](const std::vector<unsigned> &turn) {
    std::vector<unsigned> all;
    for (unsigned g : turn)
      all.insert(all.end(), groups[g].begin(), groups[g].end());
    return all;
  };
  // What stays, by what is given room first: every sequence of up to four groups, or each group
  // first once.
  std::vector<unsigned> turn(groups.size());
  std::iota(turn.begin(), turn.end(), 0);
  if (groups.size() <= 4) {
    do
      fill(level, min, flat(turn));
    while (!done() && std::next_permutation(turn.begin(), turn.end()));
  } else {
    for (size_t r = 0; r < groups.size() && !done(); ++r) {
      fill(level, min, flat(turn));
      std::rotate(turn.begin(), turn.begin() + 1, turn.end());
    }
  }
  // Cubes: some groups at one common extent as large as fits, the others thin.
  std::iota(turn.begin(), turn.end(), 0);
  for (unsigned thin = 0; groups.size() <= 4 && thin + 1 < 1u << groups.size() && !done(); ++thin) {
    auto cube = [&](double side) {
      std::vector<int64_t> tile = min;
      for (unsigned g = 0; g < groups.size(); ++g)
        for (unsigned loop : groups[g])
          if (!(thin >> g & 1)) {
            const auto &extents = *f.extents[loop];
            auto above = std::upper_bound(extents.begin(), extents.end(), side,
                                          [](double s, int64_t e) { return s < double(e); });
            if (above != extents.begin())
              tile[loop] = *(above - 1);
          }
      return tile;
    };
    auto fits = [&](double side) { return shape.footprintBits(cube(side).data()) <= clock.capacityBits(level); };
    double side = 1, step = 2;
    while (side < 1e18 && fits(side * step))
      side *= step;
    for (int halvings = 0; halvings < 5; ++halvings) {
      step = std::sqrt(step);
      if (fits(side * step))
        side *= step;
    }
    fill(level, cube(side), flat(turn));
  }
}

/// What is not proven best is improved from all that is known: the best so far, what was best for
/// each link by itself, and what is best where one memory is half as large, which fits here too.
void Search::descend() {
  std::vector<std::vector<std::vector<int64_t>>> from;
  auto add = [&](const std::vector<Tiling> &tilings) {
    from.emplace_back();
    for (const Tiling &tiling : tilings)
      from.back().push_back(tiling.tile);
  };
  add(best);
  for (unsigned l = 1; l <= nearest; ++l) {
    std::vector<Level> smaller(levels.begin(), levels.end());
    smaller[l].capacity = smaller[l].capacity / 2;
    SearchLimits some = limits;
    some.nodes = limit / kPart;
    Search half(nest, smaller, compute, some);
    half.descends = some.nodes >= kWorth;
    if (!half.fits() && half.run() && half.best.size() == nearest)
      add(half.best);
  }
  from.insert(from.end(), starts.begin(), starts.end());
  LocalSearch descent(nest, shape, orders, clock, compute, floor, 0);
  for (const auto &tiles : from) {
    descent.steps = limit;
    descent.from(tiles);
  }
  if (descent.found && descent.value.below(incumbent, nearest + 1)) {
    incumbent = descent.value;
    best = descent.best;
  }
}

} // namespace accord::tile
