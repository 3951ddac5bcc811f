// Dot products in lanes that wait for the slowest of them after each tile.
#include "lib/prune/KnownZeros.h"
#include "lib/prune/LaneGroups.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord {
namespace {

/// Sums over pairs of counts that take more than this many steps are replaced by a limit of what
/// they give.
constexpr double kSteps = 1 << 26;

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
  const int64_t length = static_cast<int64_t>(result.probability.size()) - 1;
  for (int64_t count = 0; count <= length; ++count) {
    TilePart exactly{length, {}, known.size() == 1 ? known.front().run : 1};
    exactly.of.probability.assign(static_cast<size_t>(length) + 1, 0.0);
    exactly.of.probability[static_cast<size_t>(count)] = 1;
    result.atMost.push_back(cumulative(rounds(overlap({exactly}, other), slots)));
  }
  return result;
}

UnitCycles unitCycles(const TileParts &stationary, const TileParts &streaming, int64_t slots,
                      bool both) {
  UnitCycles unit;
  Occupancy meet = overlap(stationary, streaming);
  unit.length = meet.most();
  unit.atMost = cumulative(rounds(meet, slots));
  unit.levels = static_cast<int64_t>(unit.atMost.size()) - 1;
  const double steps = static_cast<double>(unit.length) * static_cast<double>(unit.length) *
                       static_cast<double>(unit.length);
  if (both && steps <= kSteps) {
    unit.byStationary = given(stationary, streaming, slots);
    unit.byStreaming = given(streaming, stationary, slots);
  }
  return unit;
}

double at(const std::vector<double> &sums, int64_t a) {
  return a < static_cast<int64_t>(sums.size()) ? sums[static_cast<size_t>(a)] : 1.0;
}

/// Tiles of a group that are alike, and how many units use each.
struct Used {
  const UnitCycles *unit = nullptr;
  int64_t tiles = 0, units = 0;
};

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
          all *= std::pow(alone(used, a), static_cast<double>(used.tiles));
      result.probability[static_cast<size_t>(a)] = std::max(0.0, all - before);
      before = all;
    }
    return result;
  }

  /// Covariance of two groups that share one operand's tiles and nothing else (Hoeffding 1940: the
  /// sum of P(both at most) less the product of each); `none` where that is not summed.
  double shared(const std::vector<Used> &group, bool stationary, double none) const {
    int64_t levels = 0;
    for (const Used &used : group) {
      if (used.tiles == 0 || used.units == 0)
        continue;
      const Conditional &by = stationary ? used.unit->byStationary : used.unit->byStreaming;
      if (used.units > 1 || by.atMost.empty() ||
          std::pow(static_cast<double>(used.unit->levels), 2) *
                  static_cast<double>(used.unit->length) >
              kSteps)
        return none;
      levels = std::max(levels, used.unit->levels);
    }
    double sum = 0;
    for (int64_t a = 0; a < levels; ++a)
      for (int64_t b = 0; b < levels; ++b) {
        double both = 1, each = 1;
        for (const Used &used : group) {
          if (used.tiles == 0 || used.units == 0)
            continue;
          const Conditional &by = stationary ? used.unit->byStationary : used.unit->byStreaming;
          double joint = 0;
          for (size_t c = 0; c < by.probability.size(); ++c)
            joint += by.probability[c] * at(by.atMost[c], a) * at(by.atMost[c], b);
          both *= std::pow(joint, static_cast<double>(used.tiles));
          each *= std::pow(at(used.unit->atMost, a) * at(used.unit->atMost, b),
                           static_cast<double>(used.tiles));
        }
        sum += both - each;
      }
    return std::clamp(sum, 0.0, none);
  }

private:
  /// P(all units of one tile <= a). They share the tile of the streaming operand.
  double alone(const Used &used, int64_t a) const {
    double one = at(used.unit->atMost, a);
    if (used.units == 1 || !stationary_)
      return one;
    const Conditional &by = used.unit->byStreaming;
    if (!streaming_ ||
        by.atMost
            .empty()) // too large to tell apart: as if each had a tile of its own, which is no less
      return std::pow(one, static_cast<double>(used.units));
    double sum = 0;
    for (size_t c = 0; c < by.probability.size(); ++c)
      if (by.probability[c] > 0)
        sum += by.probability[c] * std::pow(at(by.atMost[c], a), static_cast<double>(used.units));
    return sum;
  }

  bool stationary_, streaming_;
};

double number(int64_t value) { return static_cast<double>(value); }

} // namespace

double groupsThatShare(double inRow, int64_t tiles, int64_t lanes, int64_t sameTiles) {
  if (lanes >= tiles)
    return inRow;
  const int64_t step = std::gcd(lanes, tiles);
  const double windows = std::min(number(tiles / step), 2 * number(lanes / step) - 1);
  return std::min(inRow,
                  std::ceil(inRow / number(tiles / step)) * windows * number(2 * sameTiles - 1));
}

CycleSum laneCycles(const SparseProduct &p, const SparseCore &core, const TiledOperand &stationary,
                    const TiledOperand &streaming) {
  if (auto known = knownLaneCycles(p, core, stationary, streaming))
    return *std::move(known);
  const int64_t tile = std::min(core.tile, p.depth), rest = p.depth % tile,
                tiles = p.depth / tile + (rest > 0);
  const bool both = stationary.skipped && streaming.skipped;
  const UnitCycles whole = unitCycles(stationary.whole, streaming.whole, core.slots, both);
  const UnitCycles last =
      rest > 0 ? unitCycles(stationary.rest, streaming.rest, core.slots, both) : UnitCycles{};

  // Units of one row of the result: n * tiles + t. In blocks many of them do the same.
  const bool blocks =
      stationary.sameOutputs * stationary.sameTiles * streaming.sameOutputs * streaming.sameTiles >
      1;
  std::vector<LaneGroups> kinds;
  if (blocks) {
    const BlockExtent extent{stationary.block.outputs, both ? 1
                                                       : stationary.skipped
                                                           ? stationary.block.reduction
                                                           : streaming.block.reduction};
    kinds = blockedGroups(p.columns, p.depth, tile, core.lanes, extent);
  }
  if (kinds.empty())
    kinds = laneGroups(p.columns, tiles, rest > 0, core.lanes);

  double inRow = 0;
  for (const LaneGroups &kind : kinds)
    inRow += kind.count;
  const double rows = number(p.rows),
               sharing = groupsThatShare(inRow, tiles, core.lanes, streaming.sameTiles) - 1;
  const double sameStationary =
      std::min(inRow, blocks ? number(core.lanes) * number(stationary.sameOutputs) *
                                   number(2 * stationary.sameTiles - 1)
                             : 1.0);
  const double sameRows = std::min(rows, number(streaming.sameOutputs));

  CycleSum result;
  const Lanes lanes(stationary.skipped, streaming.skipped);
  const bool random =
      (stationary.skipped && !stationary.fixed) || (streaming.skipped && !streaming.fixed);
  // Few elements: what one tile of a group has, the others have not.
  const TiledOperand &only = stationary.skipped ? stationary : streaming;
  for (const LaneGroups &kind : kinds) {
    std::vector<Used> group;
    std::vector<int64_t> lengths;
    for (const AlikeTiles &each : kind.tiles) {
      group.push_back({each.last ? &last : &whole, each.tiles, each.units});
      if (!both && only.elements > 0 && each.units > 0)
        for (int64_t i = 0;
             i < each.tiles * (stationary.skipped ? each.units : 1) && lengths.size() <= 4096; ++i)
          lengths.push_back(group.back().unit->length);
    }
    Occupancy cycles = lanes.cycles(group);
    if (auto together = drawnTogether(only.elements, only.nonZeros, lengths, core.slots);
        !together.empty())
      for (size_t a = 0; a < cycles.probability.size(); ++a)
        cycles.probability[a] = together[a] - (a > 0 ? together[a - 1] : 0);
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
    double ofStationary = stationary.skipped ? variance : 0,
           ofStreaming = streaming.skipped ? variance : 0;
    if (both && !blocks) {
      ofStationary = lanes.shared(group, true, variance);
      ofStreaming = lanes.shared(group, false, variance);
    }
    result.variance +=
        rows * kind.count *
        (variance + ((rows - 1) * sameStationary + sameStationary - 1) * ofStationary +
         (sharing + (sameRows - 1) * (sharing + 1)) * ofStreaming);
    // Each row of the result repeats the groups of the weights.
    result.alike.push_back({cycles, kind.count, rows});
  }
  result.allIndependent = random && !blocks && !streaming.skipped;
  return result;
}

} // namespace accord
