#include "lib/sparsity/cost/LaneGroups.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace accord {
namespace {

constexpr double kSteps = 1 << 25;

double number(int64_t value) { return value; }

} // namespace

std::vector<LaneGroups> laneGroups(int64_t columns, int64_t tiles, bool shorter, int64_t lanes) {
  // Of all units beyond whole rounds of the tiles each takes a tile more.
  auto groupOf = [&](int64_t units, bool lastHasExtra) {
    const int64_t each = units / tiles, extra = units % tiles, wholeTiles = tiles - shorter;
    const int64_t more = extra - (shorter && lastHasExtra);
    std::vector<EquivalentTiles> group = {{false, more, each + 1}, {false, wholeTiles - more, each}};
    if (shorter)
      group.push_back({true, 1, each + lastHasExtra});
    return group;
  };
  const auto units = static_cast<__int128>(columns) * tiles;
  const auto fullGroups = units / lanes;
  const auto left = static_cast<int64_t>(units % lanes);
  // The last tile is in the window [start, start + extra), start = i * extra mod tiles, as often as i * extra passes a
  // multiple.
  const int64_t extra = lanes % tiles;
  const double withLast = shorter ? static_cast<double>(fullGroups * extra / tiles) : 0;
  std::vector<LaneGroups> kinds = {{groupOf(lanes, true), withLast}, {groupOf(lanes, false), fullGroups - withLast}};
  if (left > 0)
    kinds.push_back({groupOf(left, left % tiles > 0), 1});
  std::erase_if(kinds, [](const LaneGroups &kind) { return kind.count <= 0; });
  return kinds;
}

std::vector<LaneGroups> blockedGroups(int64_t columns, int64_t depth, int64_t tile, int64_t lanes, PatternBlock block) {
  const int64_t tiles = (depth + tile - 1) / tile;
  if (number(columns) * number(tiles) > 1 << 22)
    return {};
  // Tiles inside of one block are one; `classOf` has the first of them.
  std::vector<int64_t> classOf(tiles);
  for (int64_t t = 0; t < tiles; ++t) {
    auto blockOf = [&](int64_t place) { return place / block.reduction; };
    const int64_t from = t * tile, to = std::min(from + tile, depth) - 1;
    const bool joins = t > 0 && blockOf((t - 1) * tile) == blockOf(to) && blockOf(from) == blockOf(to);
    classOf[t] = joins ? classOf[t - 1] : t;
  }
  struct Seen {
    int64_t block = -1, units = 0;
    bool whole = false;
  };
  std::vector<Seen> seen(tiles);
  std::vector<int64_t> touched;
  std::map<std::map<std::pair<bool, int64_t>, int64_t>, double> kinds;
  auto finish = [&] {
    std::map<std::pair<bool, int64_t>, int64_t> group;
    for (int64_t each : touched) {
      Seen &one = seen[each];
      ++group[{!one.whole, one.units}];
      one = {};
    }
    touched.clear();
    ++kinds[group];
  };
  int64_t units = 0;
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t each = classOf[t];
      Seen &one = seen[each];
      if (one.units == 0)
        touched.push_back(each);
      if (one.block != n / block.outputs) {
        one.block = n / block.outputs;
        ++one.units;
      }
      one.whole |= (t + 1) * tile <= depth;
      if (++units == lanes) {
        finish();
        units = 0;
      }
    }
  if (units > 0)
    finish();
  std::vector<LaneGroups> result;
  for (const auto &[group, count] : kinds) {
    LaneGroups kind{{}, count};
    for (const auto &[of, tilesOfIt] : group)
      kind.tiles.push_back({of.first, tilesOfIt, of.second});
    result.push_back(std::move(kind));
  }
  return result;
}

std::vector<double> maxTileCyclesCdf(int64_t elements, int64_t nonZeros, const std::vector<int64_t> &lengths,
                                     int64_t slots) {
  int64_t longest = 0, all = 0;
  for (int64_t length : lengths)
    longest = std::max(longest, length), all += length;
  if (lengths.size() < 2 || elements > 512 * longest || all > elements)
    return {};
  const int64_t levels = (longest + slots - 1) / slots;
  if (number(all) * number(all) * number(longest) * number(levels) / number(lengths.size()) > kSteps)
    return {};
  // One tile after the other: P(so many non-zeros are drawn, and no tile has taken more than a cycles).
  const auto states = static_cast<size_t>(all) + 1;
  std::vector<std::vector<double>> sampled(static_cast<size_t>(levels) + 1, std::vector<double>(states, 0.0));
  for (std::vector<double> &each : sampled)
    each[0] = 1;
  int64_t left = elements;
  for (int64_t length : lengths) {
    std::vector<std::vector<double>> next(sampled.size(), std::vector<double>(states, 0.0));
    for (size_t before = 0; before < states; ++before) {
      if (sampled.back()[before] <= 1e-18)
        continue;
      const Occupancy tile = hypergeometric(left, nonZeros - static_cast<int64_t>(before), length);
      for (int64_t a = 0; a <= levels; ++a) {
        const double so = sampled[a][before];
        double *to = next[a].data() + before;
        if (so > 1e-18)
          for (int64_t c = 0; c <= std::min(tile.max(), a * slots); ++c)
            to[c] += so * tile.probability[c];
      }
    }
    sampled = std::move(next);
    left -= length;
  }
  std::vector<double> result;
  for (const std::vector<double> &each : sampled)
    result.push_back(std::min(1.0, std::accumulate(each.begin(), each.end(), 0.0)));
  return result;
}

} // namespace accord
