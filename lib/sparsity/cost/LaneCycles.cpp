// Dot products in lanes that wait for the slowest of them after each tile.
#include "lib/sparsity/cost/LaneGroups.h"
#include "lib/sparsity/cost/SampledLaneCycles.h"
#include "lib/sparsity/cost/StaticMaskCycles.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord {
namespace {

/// Sums over pairs of counts that take more than this many steps are replaced by a limit of what they give.
constexpr double kSteps = 1 << 26;
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

double number(int64_t value) { return value; }

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
  const int64_t length = static_cast<int64_t>(result.probability.size()) - 1;
  for (int64_t count = 0; count <= length; ++count) {
    if (result.probability[count] <= kNever) {
      result.probability[count] = 0;
      result.atMost.emplace_back();
      continue;
    }
    TilePart exactly{length, {}, known.size() == 1 ? known.front().run : 1};
    exactly.of.probability.assign(static_cast<size_t>(length) + 1, 0.0);
    exactly.of.probability[count] = 1;
    result.atMost.push_back(cumulative(rounds(overlap({exactly}, other), slots)));
  }
  return result;
}

UnitCycles unitCycles(const TileParts &stationary, const TileParts &streaming, int64_t slots, bool both) {
  UnitCycles unit;
  Occupancy meet = overlap(stationary, streaming);
  unit.length = meet.max();
  unit.atMost = cumulative(rounds(meet, slots));
  unit.levels = static_cast<int64_t>(unit.atMost.size()) - 1;
  unit.slots = slots;
  unit.stationaryAnywhere = stationary.size() == 1 && stationary.front().run == 1;
  unit.streamingAnywhere = streaming.size() == 1 && streaming.front().run == 1;
  const double steps = static_cast<double>(unit.length) * unit.length * unit.length;
  if (both && steps <= kSteps) {
    unit.byStationary = given(stationary, streaming, slots);
    unit.byStreaming = given(streaming, stationary, slots);
  }
  return unit;
}

double at(const std::vector<double> &sums, int64_t a) { return a < static_cast<int64_t>(sums.size()) ? sums[a] : 1.0; }

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
      levels = std::max(levels, used.tiles > 0 && used.units > 0 ? used.unit->levels : 0);
    Occupancy result;
    result.probability.assign(static_cast<size_t>(levels) + 1, 0.0);
    double before = 0;
    for (int64_t a = 0; a <= levels; ++a) {
      double all = 1;
      for (const Used &used : group)
        if (used.tiles > 0 && used.units > 0)
          all *= std::pow(alone(used, a), used.tiles);
      result.probability[a] = std::max(0.0, all - before);
      before = all;
    }
    return result;
  }

  /// Covariance of two groups that share one operand's tiles and nothing else (Hoeffding 1940: the sum of P(both at
  /// most) less the product of each), or more; `max` where that is not summed.
  double shared(const std::vector<Used> &group, bool stationary, double max) const {
    std::vector<Used> used;
    int64_t levels = 0;
    for (const Used &each : group) {
      if (each.tiles == 0 || each.units == 0)
        continue;
      const UnitCycles &unit = *each.unit;
      // Where units share the streaming tile, what they share of the stationary one depends on it.
      const bool pairs = stationary && each.units > 1;
      const bool counts =
          stationary ? unit.streamingAnywhere && (!pairs || unit.stationaryAnywhere) : unit.stationaryAnywhere;
      if (!counts || unit.byStationary.atMost.empty() ||
          std::pow(number(unit.levels), 2) * number(unit.length) > kSteps)
        return max;
      levels = std::max(levels, unit.levels);
      used.push_back(each);
    }
    std::vector<double> alone(levels, 1.0);
    for (int64_t a = 0; a < levels; ++a)
      for (const Used &each : used)
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
    for (const Used &each : used)
      if (!(stationary
                ? each.units > 1 ? throughBoth(each, pairs, both) : through(each.unit->byStationary, each, pairs, both)
                : through(each.unit->byStreaming, each, pairs, both)))
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
  static bool through(const Conditional &by, const Used &used, const Pairs &pairs, std::vector<double> &both) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      auto [a, b] = pairs[i];
      double joint = 0;
      for (size_t c = 0; c < by.probability.size(); ++c)
        if (by.probability[c] > 0)
          joint += by.probability[c] * std::pow(at(by.atMost[c], a) * at(by.atMost[c], b), number(used.units));
      both[i] *= std::pow(joint, number(used.tiles));
    }
    return true;
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
    const auto wide = static_cast<double>(ofStationary.size()), many = static_cast<double>(counts.size());
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
      const auto a = static_cast<size_t>(std::min(pairs[i].first, unit.levels - 1)),
                 b = static_cast<size_t>(std::min(pairs[i].second, unit.levels - 1));
      if (pairs[i].first >= unit.levels && pairs[i].second >= unit.levels)
        continue;
      double joint = 2 * std::max(0.0, left);
      for (size_t s = 0; s < counts.size(); ++s)
        for (size_t r = 0; r < counts.size(); ++r) {
          double one = 0;
          for (size_t w = 0; w < ofStationary.size(); ++w)
            one += ofStationary[w] * (pairs[i].first >= unit.levels ? 1 : atMost[s][a][w]) *
                   (pairs[i].second >= unit.levels ? 1 : atMost[r][b][w]);
          const double p = at(unit.byStreaming.atMost[counts[s]], pairs[i].first),
                       q = at(unit.byStreaming.atMost[counts[r]], pairs[i].second);
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

} // namespace

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
  const int64_t tile = std::min(core.tile, p.depth), rest = p.depth % tile, tiles = p.depth / tile + (rest > 0);
  const bool both = stationary.skipped && streaming.skipped;
  UnitCycles whole = unitCycles(stationary.whole, streaming.whole, core.slots, both), last;
  if (rest > 0)
    last = unitCycles(stationary.rest, streaming.rest, core.slots, both);
  // Draws without replacement from n elements are within 4 k / n of draws with it for k of them (Diaconis and Freedman,
  // Ann. Probab. 8, 1980).
  whole.apart = last.apart = p.stationary.kind != SparsityPattern::Kind::Unstructured ? 1
                             : p.stationary.independent ? 0
                                                        : 4 * number(tile) / (number(p.columns) * number(p.depth));

  // Units of one row of the result: n * tiles + t. In blocks many of them do the same.
  const bool blocks = stationary.sameOutputs * stationary.sameTiles * streaming.sameOutputs * streaming.sameTiles > 1;
  std::vector<LaneGroups> kinds;
  if (blocks) {
    const PatternBlock extent{stationary.block.outputs, both                 ? 1
                                                        : stationary.skipped ? stationary.block.reduction
                                                                             : streaming.block.reduction};
    kinds = blockedGroups(p.columns, p.depth, tile, core.lanes, extent);
  }
  if (kinds.empty())
    kinds = laneGroups(p.columns, tiles, rest > 0, core.lanes);

  double inRow = 0;
  for (const LaneGroups &kind : kinds)
    inRow += kind.count;
  const double rows = number(p.rows), sharing = numGroupsSharingTile(inRow, tiles, core.lanes, streaming.sameTiles) - 1;
  const double sameStationary = std::min(
      inRow, blocks ? number(core.lanes) * number(stationary.sameOutputs) * number(2 * stationary.sameTiles - 1) : 1.0);
  const double sameRows = std::min(rows, number(streaming.sameOutputs));

  CycleSum result;
  result.onlyMaxIsCertain = !follows;
  const Lanes lanes(stationary.skipped, streaming.skipped);
  const bool random = (stationary.skipped && !stationary.fixed) || (streaming.skipped && !streaming.fixed);
  // Few elements: what one tile of a group has, the others have not.
  const TiledOperand &only = stationary.skipped ? stationary : streaming;
  for (const LaneGroups &kind : kinds) {
    std::vector<Used> group;
    std::vector<int64_t> lengths;
    for (const EquivalentTiles &each : kind.tiles) {
      group.push_back({each.last ? &last : &whole, each.tiles, each.units});
      if (!both && only.elements > 0 && each.units > 0)
        for (int64_t i = 0; i < each.tiles * (stationary.skipped ? each.units : 1) && lengths.size() <= 4096; ++i)
          lengths.push_back(group.back().unit->length);
    }
    Occupancy cycles = lanes.cycles(group);
    if (auto cdf = maxTileCyclesCdf(only.elements, only.nonZeros, lengths, core.slots); !cdf.empty())
      for (size_t a = 0; a < cycles.probability.size(); ++a)
        cycles.probability[a] = cdf[a] - (a > 0 ? cdf[a - 1] : 0);
    double dense = 0;
    for (const Used &used : group)
      if (used.tiles > 0 && used.units > 0)
        dense = std::max(dense, number(used.unit->levels));
    result.groups += rows * kind.count;
    result.mean += rows * kind.count * cycles.mean();
    result.dense += rows * kind.count * dense;
    result.longest = std::max(result.longest, dense);
    if (!random)
      continue;
    const double variance = cycles.variance();
    double ofStationary = stationary.skipped ? variance : 0, ofStreaming = streaming.skipped ? variance : 0;
    if (both && !blocks) {
      ofStationary = lanes.shared(group, true, variance);
      ofStreaming = lanes.shared(group, false, variance);
    }
    result.variance += rows * kind.count *
                       (variance + ((rows - 1) * sameStationary + sameStationary - 1) * ofStationary +
                        (sharing + (sameRows - 1) * (sharing + 1)) * ofStreaming);
    // Each row of the result repeats the groups of the weights.
    result.equivalent.push_back({cycles, kind.count, rows});
  }
  result.allIndependent = random && !blocks && !streaming.skipped;
  return result;
}

} // namespace accord
