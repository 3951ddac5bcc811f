#include "lib/sparsity/cost/StaticMaskCycles.h"
#include "lib/sparsity/cost/LaneCycles.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace accord {
namespace {

/// Places or pairs of tiles that are counted one by one.
constexpr double kCounted = 1 << 28;

StaticMask staticMaskOf(const SparsityPattern &p, OperandShape shape) {
  StaticMask staticMask{shape.outputs, shape.reduction, divideUp(shape.reduction, 64), {}};
  staticMask.bits.assign(staticMask.lines * staticMask.words, 0);
  for (int64_t line = 0; line < staticMask.lines; ++line) {
    const bool mask = p.kind == SparsityPattern::Kind::Mask;
    const int64_t low = mask ? 0 : line - std::min(p.band, line),
                  high = mask || p.band >= staticMask.length ? staticMask.length
                                                             : std::min(staticMask.length, line + p.band + 1);
    for (int64_t place = low; place < high; ++place)
      if (!mask || p.mask[line][place])
        staticMask.set(line, place);
  }
  return staticMask;
}

bool few(OperandShape shape) { return number(shape.outputs) * number(shape.reduction) <= kCounted; }

/// Elements that are not zero in a part of a line, of one or of both operands.
int64_t countIn(const StaticMask &a, int64_t line, const StaticMask *b, int64_t other, int64_t from, int64_t to) {
  int64_t count = 0;
  for (int64_t word = from / 64; word * 64 < to; ++word) {
    uint64_t bits = a.bits[line * a.words + word];
    if (b)
      bits &= b->bits[other * b->words + word];
    if (word * 64 < from)
      bits &= ~uint64_t{0} << (from % 64);
    if (word * 64 + 64 > to)
      bits &= ~uint64_t{0} >> (64 - to % 64);
    count += std::popcount(bits);
  }
  return count;
}

/// P(cycles of a unit <= a), from 0 on; certain beyond the end.
using AtMost = std::vector<double>;

AtMost atMost(const Occupancy &count, int64_t slots) {
  AtMost sums = rounds(count, slots).probability;
  for (size_t a = 1; a < sums.size(); ++a)
    sums[a] += sums[a - 1];
  sums.back() = 1;
  return sums;
}

void multiply(AtMost &all, const AtMost &one) {
  if (all.size() < one.size())
    all.resize(one.size(), 1.0);
  for (size_t a = 0; a < one.size(); ++a)
    all[a] *= one[a];
}

/// Units of one length of tile, by what is known of one operand's and random of the other's.
class Units {
public:
  Units(const TileParts &random, int64_t slots) : slots_(slots), random_(total(random)), length_(random_.max()) {
    for (int64_t count = 0; count <= length_; ++count) {
      byCount_.push_back(atMost(overlap({{length_, certain(length_, count), 1}}, random), slots));
    }
    both_.resize(byCount_.size() * byCount_.size());
  }

  const AtMost &with(int64_t count) const { return byCount_[count]; }

  /// Units that share a random tile: the slowest of them.
  AtMost sharing(const std::vector<int64_t> &counts) {
    AtMost result(divideUp(length_, slots_) + 1, 0.0);
    for (int64_t b = 0; b <= length_; ++b) {
      const double probability = random_.probability[b];
      if (probability <= 1e-18)
        continue;
      AtMost all(result.size(), 1.0);
      for (int64_t count : counts) {
        AtMost &one = both_[count * (length_ + 1) + b];
        if (one.empty())
          one = atMost(hypergeometric(length_, count, b), slots_);
        multiply(all, one);
      }
      for (size_t a = 0; a < result.size(); ++a)
        result[a] += probability * all[a];
    }
    return result;
  }

private:
  int64_t slots_;
  Occupancy random_;
  int64_t length_;
  std::vector<AtMost> byCount_, both_;
};

/// Cycles of a group of units whose known operand's tiles have these counts.
class StaticMaskGroup {
public:
  /// `shared`: units of a group that look at the same tile share the random operand's.
  StaticMaskGroup(const TiledOperand *random, int64_t slots, bool shared) : slots_(slots), shared_(shared) {
    if (random)
      whole_.emplace(random->whole, slots);
    if (random && !random->rest.empty())
      rest_.emplace(random->rest, slots);
  }

  /// A unit of tile `tile` with `count` elements of the known operand.
  void add(int64_t tile, int64_t count, bool last) {
    if (!whole_)
      max_ = std::max(max_, divideUp(count, slots_));
    else if (shared_)
      counts_[{tile, last}].push_back(count);
    else
      multiply(all_, (last ? *rest_ : *whole_).with(count));
  }

  /// Mean and variance of the slowest unit's cycles.
  std::pair<double, double> finish() {
    for (const auto &[tile, counts] : counts_) {
      Units &units = tile.second ? *rest_ : *whole_;
      multiply(all_, counts.size() > 1 ? units.sharing(counts) : units.with(counts.front()));
    }
    double mean = number(max_), square = mean * mean;
    for (size_t a = 0; a < all_.size(); ++a) { // sums of P(cycles > a)
      mean += 1 - all_[a];
      square += (2.0 * a + 1) * (1 - all_[a]);
    }
    max_ = 0;
    all_.clear();
    counts_.clear();
    return {mean, std::max(0.0, square - mean * mean)};
  }

private:
  int64_t slots_, max_ = 0;
  bool shared_;
  std::optional<Units> whole_, rest_;
  AtMost all_;
  std::map<std::pair<int64_t, bool>, std::vector<int64_t>> counts_;
};

} // namespace

bool isStatic(const SparsityPattern &p) {
  return p.kind == SparsityPattern::Kind::Mask || p.kind == SparsityPattern::Kind::Banded;
}

void setStaticMask(TiledOperand &operand, const SparsityPattern &pattern, OperandShape shape, int64_t tile,
                   int64_t granule, TileDirection direction) {
  if (!isStatic(pattern) || !few(shape))
    return;
  StaticMask staticMask = staticMaskOf(pattern, shape);
  if (direction == TileDirection::Reduction && granule > 1)
    for (int64_t line = 0; line < staticMask.lines; ++line)
      for (int64_t from = 0; from < staticMask.length; from += tile)
        for (int64_t end = std::min(from + tile, staticMask.length), g = from; g < end; g += granule) {
          const int64_t to = std::min(g + granule, end);
          if (countIn(staticMask, line, nullptr, 0, g, to) > 0)
            for (int64_t place = g; place < to; ++place)
              staticMask.set(line, place);
        }
  operand.staticMask = std::move(staticMask);
}

std::optional<CycleSum> staticMaskLaneCycles(const SparseProduct &p, const SparseCore &core,
                                             const TiledOperand &stationary, const TiledOperand &streaming) {
  const int64_t tile = std::min(core.tile, p.depth), tiles = divideUp(p.depth, tile);
  const bool bothStatic = stationary.staticMask && streaming.staticMask;
  if (!stationary.staticMask && !streaming.staticMask)
    return std::nullopt;
  const TiledOperand &other = stationary.staticMask ? streaming : stationary;
  const TiledOperand *random = other.skipped && !bothStatic ? &other : nullptr;
  if (random && (random->fixed || random->sameOutputs * random->sameTiles > 1))
    return std::nullopt;
  // Rows of the result are alike where the streaming operand's zeros are not known one by one.
  const int64_t rows = streaming.staticMask ? p.rows : 1;
  const double equivalent = number(p.rows) / number(rows), words = number(divideUp(tile, 64) + 1),
               levels = random ? number(divideUp(tile, core.slots)) : 0;
  const bool shared = random && stationary.staticMask && core.lanes > tiles;
  if (number(rows) * number(p.columns) * number(tiles) * (words + levels * (shared ? number(tile) : 1)) > kCounted ||
      (random && std::pow(number(tile), 3) > kCounted))
    return std::nullopt;

  // Groups that share a random tile: of a row of the result, or of all rows.
  const double inRow = std::ceil(number(p.columns) * number(tiles) / number(core.lanes)),
               sharing = stationary.staticMask ? numGroupsSharingTile(inRow, tiles, core.lanes, 1) : number(p.rows);
  CycleSum result;
  StaticMaskGroup group(random, core.slots, shared);
  double computed = 0;
  for (int64_t m = 0; m < rows; ++m) {
    int64_t units = 0, longest = 0;
    auto finish = [&] {
      auto [mean, variance] = group.finish();
      result.groups += equivalent;
      result.mean += equivalent * mean;
      result.variance += equivalent * sharing * variance;
      result.dense += equivalent * number(longest);
      result.longest = std::max(result.longest, number(longest));
      units = longest = 0;
    };
    for (int64_t n = 0; n < p.columns; ++n)
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t from = t * tile, to = std::min(from + tile, p.depth);
        const int64_t count = bothStatic ? countIn(*stationary.staticMask, n, &*streaming.staticMask, m, from, to)
                              : stationary.staticMask ? countIn(*stationary.staticMask, n, nullptr, 0, from, to)
                                                      : countIn(*streaming.staticMask, m, nullptr, 0, from, to);
        computed += number(count);
        group.add(t, count, to - from < tile);
        longest = std::max(longest, divideUp(to - from, core.slots));
        if (++units == core.lanes)
          finish();
      }
    if (units > 0)
      finish();
  }
  if (bothStatic)
    result.computed = computed / (number(p.rows) * number(p.columns) * number(p.depth));
  return result;
}

std::optional<double> staticMaskOverlap(const SparseProduct &p) {
  const OperandShape stationary{p.columns, p.depth}, streaming{p.rows, p.depth};
  if (!isStatic(p.stationary) || !isStatic(p.streaming) || !few(stationary) || !few(streaming))
    return std::nullopt;
  // Every pair of lines meets: at each place of the reduction, those of one with those of the other.
  const StaticMask w = staticMaskOf(p.stationary, stationary), x = staticMaskOf(p.streaming, streaming);
  double both = 0;
  for (int64_t k = 0; k < p.depth; ++k) {
    int64_t ofStationary = 0, ofStreaming = 0;
    for (int64_t n = 0; n < p.columns; ++n)
      ofStationary += w.at(n, k);
    for (int64_t m = 0; m < p.rows; ++m)
      ofStreaming += x.at(m, k);
    both += number(ofStationary) * number(ofStreaming);
  }
  return both / (number(p.rows) * number(p.columns) * number(p.depth));
}

std::vector<double> staticMaskSteps(const TiledOperand &operand, int64_t tile, int64_t along) {
  const StaticMask &staticMask = *operand.staticMask;
  std::vector<double> steps(staticMask.length, 0.0);
  for (int64_t k = 0; k < staticMask.length; ++k)
    for (int64_t from = 0; from < staticMask.lines; from += tile) {
      int64_t count = 0;
      for (int64_t line = from; line < std::min(from + tile, staticMask.lines); ++line)
        count += staticMask.at(line, k);
      steps[k] += number(divideUp(count, along));
    }
  return steps;
}

} // namespace accord
