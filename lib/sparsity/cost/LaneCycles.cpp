#include "lib/sparsity/cost/LaneCycles.h"
#include "lib/sparsity/cost/StaticMaskCycles.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace accord {
namespace {

/// Sums over pairs of counts that take more than this many steps are replaced by a limit of what they give.
constexpr double kSteps = 1 << 26;
/// Steps of a sum over all tiles of a group that are drawn from few elements.
constexpr double kCdfSteps = 1 << 25;
/// Counts that are less likely say nothing.
constexpr double kNever = 1e-18;
/// Pairs of cycles that add less than this to a covariance add what they add at most.
constexpr double kSmallPair = 1e-5;
/// Counts of a tile that are less likely add as much as they can.
constexpr double kRare = 1e-6;

/// P(cycles <= a) of a unit by the count of one operand's tile, which units may share.
struct Conditional {
  std::vector<double> probability;         ///< of the count
  std::vector<std::vector<double>> atMost; ///< by count, then by cycles
};

/// What a unit of one length of tile takes.
struct UnitCycles {
  int64_t length = 0, levels = 0; ///< at most `levels` cycles
  std::vector<double> atMost;     ///< P(cycles <= a)
  Conditional byStationary, byStreaming;
  int64_t slots = 1;
  /// Every place of the tile is equally likely; then only the other's count matters.
  bool stationaryAnywhere = false, streamingAnywhere = false;
  /// How far the stationary tile's elements are from draws of their own, in probability.
  double apart = 0;
};

std::vector<double> cumulative(const Occupancy &cycles) {
  std::vector<double> sums(cycles.probability.size());
  double sum = 0;
  for (size_t a = 0; a < sums.size(); ++a)
    sums[a] = std::min(1.0, sum += cycles.probability[a]);
  sums.back() = 1;
  return sums;
}

Conditional given(const TileParts &known, const TileParts &other, int64_t slots) {
  Conditional result;
  result.probability = total(known).probability;
  const int64_t length = std::ssize(result.probability) - 1;
  for (int64_t count = 0; count <= length; ++count) {
    if (result.probability[count] <= kNever) {
      result.probability[count] = 0;
      result.atMost.emplace_back();
      continue;
    }
    const TilePart exactly{length, certain(length, count), known.size() == 1 ? known.front().run : 1};
    result.atMost.push_back(cumulative(rounds(overlap({exactly}, other), slots)));
  }
  return result;
}

UnitCycles unitCycles(const TileParts &stationary, const TileParts &streaming, int64_t slots, bool both) {
  UnitCycles unit;
  Occupancy meet = overlap(stationary, streaming);
  unit.length = meet.max();
  unit.atMost = cumulative(rounds(meet, slots));
  unit.levels = std::ssize(unit.atMost) - 1;
  unit.slots = slots;
  unit.stationaryAnywhere = stationary.size() == 1 && stationary.front().run == 1;
  unit.streamingAnywhere = streaming.size() == 1 && streaming.front().run == 1;
  if (both && number(unit.length) * unit.length * unit.length <= kSteps) {
    unit.byStationary = given(stationary, streaming, slots);
    unit.byStreaming = given(streaming, stationary, slots);
  }
  return unit;
}

double at(const std::vector<double> &sums, int64_t a) { return a < std::ssize(sums) ? sums[a] : 1.0; }

/// Tiles of a group that are alike, and how many units use each.
struct Used {
  const UnitCycles *unit = nullptr;
  int64_t tiles = 0, units = 0;
};

/// No less than the mean of the power of a number that is from `min` to `greatest` and on average `mean`.
double onChord(double mean, double min, double greatest, int64_t power) {
  const double n = number(power);
  if (greatest - min < 1e-12)
    return std::pow(std::max(mean, greatest), n);
  const double low = std::pow(min, n), high = std::pow(greatest, n);
  return low + std::clamp((mean - min) / (greatest - min), 0.0, 1.0) * (high - low);
}

class Lanes {
public:
  Lanes(bool stationary, bool streaming) : stationary_(stationary), streaming_(streaming) {}

  Occupancy cycles(const std::vector<Used> &group) const {
    int64_t levels = 0;
    for (const Used &used : group)
      levels = std::max(levels, used.unit->levels);
    Occupancy result = emptyOccupancy(levels);
    double before = 0;
    for (int64_t a = 0; a <= levels; ++a) {
      double all = 1;
      for (const Used &used : group)
        all *= std::pow(alone(used, a), used.tiles);
      result.probability[a] = std::max(0.0, all - before);
      before = all;
    }
    return result;
  }

  /// Covariance of two groups that share one operand's tiles and nothing else (Hoeffding 1940: the sum of P(both at
  /// most) less the product of each), or more; `max` where that is not summed.
  double shared(const std::vector<Used> &group, bool stationary, double max) const {
    int64_t levels = 0;
    for (const Used &each : group) {
      const UnitCycles &unit = *each.unit;
      // Where units share the streaming tile, what they share of the stationary one depends on it.
      const bool pairs = stationary && each.units > 1;
      const bool counts =
          stationary ? unit.streamingAnywhere && (!pairs || unit.stationaryAnywhere) : unit.stationaryAnywhere;
      if (!counts || unit.byStationary.atMost.empty() ||
          std::pow(number(unit.levels), 2) * number(unit.length) > kSteps)
        return max;
      levels = std::max(levels, unit.levels);
    }
    std::vector<double> alone(levels, 1.0);
    for (int64_t a = 0; a < levels; ++a)
      for (const Used &each : group)
        alone[a] *= std::pow(this->alone(each, a), number(each.tiles));
    // No pair of cycles adds more than this, however much the groups share (Frechet).
    auto limit = [&](int64_t a, int64_t b) {
      const double p = alone[a], q = alone[b];
      return std::min(p, q) - p * q;
    };
    std::vector<std::pair<int64_t, int64_t>> pairs;
    double sum = 0;
    for (int64_t a = 0; a < levels; ++a)
      for (int64_t b = 0; b <= a; ++b)
        if (limit(a, b) > kSmallPair)
          pairs.emplace_back(a, b);
        else
          sum += limit(a, b) * (a == b ? 1 : 2);
    std::vector<double> both(pairs.size(), 1.0);
    for (const Used &each : group)
      if (!stationary)
        through(each.unit->byStreaming, each, pairs, both);
      else if (each.units == 1)
        through(each.unit->byStationary, each, pairs, both);
      else if (!throughBoth(each, pairs, both))
        return max;
    for (size_t i = 0; i < pairs.size(); ++i) {
      auto [a, b] = pairs[i];
      const double each = both[i] - alone[a] * alone[b];
      sum += std::clamp(each, 0.0, limit(a, b)) * (a == b ? 1 : 2);
    }
    return std::clamp(sum, 0.0, max);
  }

private:
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;

  /// Multiplies P(one group <= a, the other <= b) of tiles whose count, given by one operand, both share.
  static void through(const Conditional &by, const Used &used, const Pairs &pairs, std::vector<double> &both) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      auto [a, b] = pairs[i];
      double joint = 0;
      for (size_t c = 0; c < by.probability.size(); ++c)
        if (by.probability[c] > 0)
          joint += by.probability[c] * std::pow(at(by.atMost[c], a) * at(by.atMost[c], b), number(used.units));
      both[i] *= std::pow(joint, number(used.tiles));
    }
  }

  /// The same of stationary tiles that both share, while all units of one group look at one streaming tile and those of
  /// the other at another. False where that is too long to sum.
  static bool throughBoth(const Used &used, const Pairs &pairs, std::vector<double> &both) {
    const UnitCycles &unit = *used.unit;
    const std::vector<double> &ofStationary = unit.byStationary.probability,
                              &ofStreaming = unit.byStreaming.probability;
    std::vector<int64_t> counts; // of the streaming tile; what is left out adds to each pair what it adds at most
    double left = 1;
    for (size_t s = 0; s < ofStreaming.size(); ++s)
      if (ofStreaming[s] > kRare) {
        counts.push_back(s);
        left -= ofStreaming[s];
      }
    const double wide = ofStationary.size(), many = counts.size();
    if (many * many * wide * pairs.size() > kSteps || many * wide * wide > kSteps)
      return false;
    // atMost[s][a][w]: a unit with counts s and w takes at most a cycles.
    std::vector<std::vector<std::vector<double>>> atMost(
        counts.size(), std::vector<std::vector<double>>(unit.levels, std::vector<double>(ofStationary.size(), 1.0)));
    for (size_t s = 0; s < counts.size(); ++s)
      for (size_t w = 0; w < ofStationary.size(); ++w) {
        if (ofStationary[w] <= 0)
          continue;
        auto sums = cumulative(rounds(hypergeometric(unit.length, w, counts[s]), unit.slots));
        for (int64_t a = 0; a < unit.levels; ++a)
          atMost[s][a][w] = at(sums, a);
      }
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto [levelA, levelB] = pairs[i];
      const bool certainA = levelA >= unit.levels, certainB = levelB >= unit.levels;
      if (certainA && certainB)
        continue;
      const int64_t a = std::min(levelA, unit.levels - 1), b = std::min(levelB, unit.levels - 1);
      double joint = 2 * std::max(0.0, left);
      for (size_t s = 0; s < counts.size(); ++s)
        for (size_t r = 0; r < counts.size(); ++r) {
          double one = 0;
          for (size_t w = 0; w < ofStationary.size(); ++w)
            one += ofStationary[w] * (certainA ? 1 : atMost[s][a][w]) * (certainB ? 1 : atMost[r][b][w]);
          const double p = at(unit.byStreaming.atMost[counts[s]], levelA),
                       q = at(unit.byStreaming.atMost[counts[r]], levelB);
          const double min = std::max({0.0, p + q - 1, p * q - unit.apart}), greatest = std::min(p, q);
          joint += ofStreaming[counts[s]] * ofStreaming[counts[r]] * onChord(one, min, greatest, used.units);
        }
      both[i] *= std::pow(std::min(1.0, joint), number(used.tiles));
    }
    return true;
  }

  /// P(all units of one tile <= a). They share the tile of the streaming operand.
  double alone(const Used &used, int64_t a) const {
    double one = at(used.unit->atMost, a);
    if (used.units == 1 || !stationary_)
      return one;
    const Conditional &by = used.unit->byStreaming;
    if (!streaming_ || by.atMost.empty()) // too large to tell apart: as if each had a tile of its own, which is no less
      return std::pow(one, used.units);
    double sum = 0;
    for (size_t c = 0; c < by.probability.size(); ++c)
      if (by.probability[c] > 0)
        sum += by.probability[c] * std::pow(at(by.atMost[c], a), used.units);
    return sum;
  }

  bool stationary_, streaming_;
};

/// As `laneGroups`, where units whose tiles lie in the same block count once; empty where a row has more than 2^22
/// units. A tile that is in two blocks is its own.
std::vector<LaneGroups> blockedGroups(int64_t columns, int64_t depth, int64_t tile, int64_t lanes, PatternBlock block) {
  const int64_t tiles = divideUp(depth, tile);
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

/// P(no tile takes more than a cycles) for a = 0 …, of tiles that are all drawn from `elements` elements of which
/// `nonZeros` are not zero: what one of them has, the others have not. Empty where that changes next to nothing (the
/// elements are more than 512 tiles) or is too long to sum.
std::vector<double> maxTileCyclesCdf(int64_t elements, int64_t nonZeros, const std::vector<int64_t> &lengths,
                                     int64_t slots) {
  int64_t longest = 0, all = 0;
  for (int64_t length : lengths)
    longest = std::max(longest, length), all += length;
  if (lengths.size() < 2 || elements > 512 * longest || all > elements)
    return {};
  const int64_t levels = divideUp(longest, slots);
  if (number(all) * number(all) * number(longest) * number(levels) / number(lengths.size()) > kCdfSteps)
    return {};
  // One tile after the other: P(so many non-zeros are drawn, and no tile has taken more than a cycles).
  std::vector<std::vector<double>> sampled(levels + 1, std::vector<double>(all + 1, 0.0));
  for (std::vector<double> &each : sampled)
    each[0] = 1;
  int64_t left = elements;
  for (int64_t length : lengths) {
    std::vector<std::vector<double>> next(sampled.size(), std::vector<double>(all + 1, 0.0));
    for (int64_t before = 0; before <= all; ++before) {
      if (sampled.back()[before] <= kNever)
        continue;
      const Occupancy tile = hypergeometric(left, nonZeros - before, length);
      for (int64_t a = 0; a <= levels; ++a) {
        const double so = sampled[a][before];
        double *to = next[a].data() + before;
        if (so > kNever)
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

/// All groups of a product, by what is the same, shared or drawn together in closed form.
class LaneSum {
public:
  LaneSum(const SparseProduct &p, const SparseCore &core, const TiledOperand &stationary, const TiledOperand &streaming)
      : p_(p), core_(core), stationary_(stationary), streaming_(streaming), tile_(std::min(core.tile, p.depth)),
        tiles_(divideUp(p.depth, tile_)), both_(stationary.skipped && streaming.skipped),
        blocks_(stationary.sameOutputs * stationary.sameTiles * streaming.sameOutputs * streaming.sameTiles > 1),
        lanes_(stationary.skipped, streaming.skipped),
        whole_(unitCycles(stationary.whole, streaming.whole, core.slots, both_)) {
    if (p.depth % tile_ > 0)
      last_ = unitCycles(stationary.rest, streaming.rest, core.slots, both_);
    // Draws without replacement from n elements are within 4 k / n of draws with it for k of them (Diaconis and
    // Freedman, Ann. Probab. 8, 1980).
    whole_.apart = last_.apart = p.stationary.kind != SparsityPattern::Kind::Unstructured ? 1
                                 : p.stationary.independent ? 0
                                                            : 4 * number(tile_) / (number(p.columns) * number(p.depth));
  }

  CycleSum run() const {
    const std::vector<LaneGroups> kinds = groupsOfRow();
    double inRow = 0;
    for (const LaneGroups &kind : kinds)
      inRow += kind.count;
    const double rows = number(p_.rows),
                 sharing = numGroupsSharingTile(inRow, tiles_, core_.lanes, streaming_.sameTiles) - 1;
    const double sameStationary = std::min(inRow, blocks_ ? number(core_.lanes) * number(stationary_.sameOutputs) *
                                                                number(2 * stationary_.sameTiles - 1)
                                                          : 1.0);
    const double sameRows = std::min(rows, number(streaming_.sameOutputs));
    const bool random = (stationary_.skipped && !stationary_.fixed) || (streaming_.skipped && !streaming_.fixed);
    CycleSum result;
    for (const LaneGroups &kind : kinds) {
      std::vector<Used> group;
      for (const EquivalentTiles &each : kind.tiles)
        group.push_back({each.last ? &last_ : &whole_, each.tiles, each.units});
      const Occupancy cycles = cyclesOf(group);
      const double dense = number(cycles.max());
      result.groups += rows * kind.count;
      result.mean += rows * kind.count * cycles.mean();
      result.dense += rows * kind.count * dense;
      result.longest = std::max(result.longest, dense);
      if (!random)
        continue;
      const double variance = cycles.variance();
      double ofStationary = stationary_.skipped ? variance : 0, ofStreaming = streaming_.skipped ? variance : 0;
      if (both_ && !blocks_) {
        ofStationary = lanes_.shared(group, true, variance);
        ofStreaming = lanes_.shared(group, false, variance);
      }
      result.variance += rows * kind.count *
                         (variance + ((rows - 1) * sameStationary + sameStationary - 1) * ofStationary +
                          (sharing + (sameRows - 1) * (sharing + 1)) * ofStreaming);
      // Each row of the result repeats the groups of the weights.
      result.equivalent.push_back({cycles, kind.count, rows});
    }
    result.allIndependent = random && !blocks_ && !streaming_.skipped;
    return result;
  }

private:
  /// Units of one row of the result: n * tiles + t. In blocks many of them do the same.
  std::vector<LaneGroups> groupsOfRow() const {
    std::vector<LaneGroups> kinds;
    if (blocks_) {
      const TiledOperand &only = stationary_.skipped ? stationary_ : streaming_;
      kinds = blockedGroups(p_.columns, p_.depth, tile_, core_.lanes,
                            {stationary_.block.outputs, both_ ? 1 : only.block.reduction});
    }
    return kinds.empty() ? laneGroups(p_.columns, tiles_, p_.depth % tile_ > 0, core_.lanes) : kinds;
  }

  /// Where one operand alone is skipped and has few elements, what one tile of a group has, the others have not.
  Occupancy cyclesOf(const std::vector<Used> &group) const {
    Occupancy cycles = lanes_.cycles(group);
    const TiledOperand &only = stationary_.skipped ? stationary_ : streaming_;
    if (both_ || only.elements <= 0)
      return cycles;
    std::vector<int64_t> lengths;
    for (const Used &used : group)
      for (int64_t i = 0; i < used.tiles * (stationary_.skipped ? used.units : 1) && lengths.size() <= 4096; ++i)
        lengths.push_back(used.unit->length);
    if (auto cdf = maxTileCyclesCdf(only.elements, only.nonZeros, lengths, core_.slots); !cdf.empty())
      for (size_t a = 0; a < cycles.probability.size(); ++a)
        cycles.probability[a] = cdf[a] - (a > 0 ? cdf[a - 1] : 0);
    return cycles;
  }

  const SparseProduct &p_;
  const SparseCore &core_;
  const TiledOperand &stationary_, &streaming_;
  int64_t tile_, tiles_;
  bool both_, blocks_; ///< operands are skipped; units of one block do the same
  Lanes lanes_;
  UnitCycles whole_, last_;
};

} // namespace

std::vector<LaneGroups> laneGroups(int64_t columns, int64_t tiles, bool shorter, int64_t lanes) {
  // Of all units beyond whole rounds of the tiles each takes a tile more.
  auto groupOf = [&](int64_t units, bool lastHasExtra) {
    const int64_t each = units / tiles, extra = units % tiles, wholeTiles = tiles - shorter;
    const int64_t more = extra - (shorter && lastHasExtra);
    std::vector<EquivalentTiles> group = {{false, more, each + 1}, {false, wholeTiles - more, each}};
    if (shorter)
      group.push_back({true, 1, each + lastHasExtra});
    std::erase_if(group, [](const EquivalentTiles &none) { return none.tiles == 0 || none.units == 0; });
    return group;
  };
  const auto units = __int128(columns) * tiles;
  const auto fullGroups = units / lanes;
  const int64_t left = units % lanes;
  // The last tile is in the window [start, start + extra), start = i * extra mod tiles, as often as i * extra passes a
  // multiple.
  const int64_t extra = lanes % tiles;
  const double withLast = shorter ? number(fullGroups * extra / tiles) : 0;
  std::vector<LaneGroups> kinds = {{groupOf(lanes, true), withLast}, {groupOf(lanes, false), fullGroups - withLast}};
  if (left > 0)
    kinds.push_back({groupOf(left, left % tiles > 0), 1});
  std::erase_if(kinds, [](const LaneGroups &kind) { return kind.count <= 0; });
  return kinds;
}

double numGroupsSharingTile(double inRow, int64_t tiles, int64_t lanes, int64_t sameTiles) {
  if (lanes >= tiles)
    return inRow;
  const int64_t step = std::gcd(lanes, tiles);
  const double windows = std::min(number(tiles / step), 2 * number(lanes / step) - 1);
  return std::min(inRow, std::ceil(inRow / number(tiles / step)) * windows * number(2 * sameTiles - 1));
}

CycleSum laneCycles(const SparseProduct &p, const SparseCore &core, const TiledOperand &stationary,
                    const TiledOperand &streaming) {
  const bool follows = hasClosedForm(p, core, stationary, streaming);
  if (!follows)
    if (auto sampled = sampledLaneCycles(p, core, stationary, streaming))
      return *std::move(sampled);
  if (auto known = staticMaskLaneCycles(p, core, stationary, streaming)) {
    known->onlyMaxIsCertain = !follows;
    return *std::move(known);
  }
  CycleSum result = LaneSum(p, core, stationary, streaming).run();
  result.onlyMaxIsCertain = !follows;
  return result;
}

} // namespace accord
