#include "lib/sparsity/cost/SampledLaneCycles.h"
#include "lib/sparsity/cost/LaneGroups.h"
#include "lib/sparsity/cost/OperandSampler.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace accord {
namespace {

using Kind = SparsityPattern::Kind;

constexpr double kElements = 1 << 25, kError = 0.0015, kPlacesError = 0.001;
constexpr int64_t kLongestLine = 1 << 22, kBatch = 1024, kEnough = 8192, kMinDraws = 64;
/// A limit of what was drawn may be too low with this probability.
constexpr double kFailureProbability = 1e-4;
/// Exact shares of fewer elements or blocks leave to one tile what another has not.
constexpr double kFew = 4096;

double number(int64_t value) { return value; }
int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool isStatic(const SparsityPattern &p) { return p.kind == Kind::Mask || p.kind == Kind::Banded; }

/// Single elements, each place alike.
bool anywhere(const SparsityPattern &p) {
  return !isStatic(p) && p.kind != Kind::Block && patternBlockOf(p).reduction == 1;
}

/// `both`: the other operand is skipped, too.
bool operandHasClosedForm(const SparsityPattern &p, OperandShape shape, const SparseAcceleration &use,
                          const SparseCore &core, bool stationary, bool both) {
  if (isStatic(p))
    return true;
  const int64_t tile = std::min(core.tile, shape.reduction), tiles = divideUp(shape.reduction, tile);
  const PatternBlock piece = patternBlockOf(p);
  const bool cut = piece.reduction > 1 && tiles > 1 && tile % piece.reduction != 0;
  if (use.granule > 1 && piece.reduction > 1 &&
      (cut || piece.reduction % use.granule != 0 || shape.reduction % piece.reduction != 0))
    return false;
  if (core.lanes == 1)
    return true;
  const bool exact =
      !p.independent && (p.kind == Kind::Block || (p.kind == Kind::Unstructured && (use.granule > 1 || both)));
  const double pieces =
      number(divideUp(shape.outputs, piece.outputs)) * number(divideUp(shape.reduction, piece.reduction));
  const bool sharesLines = stationary && p.kind == Kind::Structured && piece.outputs > 1 && core.lanes > tiles;
  return !cut && !sharesLines && !(exact && pieces < kFew);
}

/// No mean of `count` draws from a range, whose standard error is `error`, is further below the true one, but with
/// `kFailureProbability` (Maurer and Pontil, COLT 2009, theorem 4).
double below(double error, double range, double count) {
  const double certain = std::log(2 / kFailureProbability);
  return std::sqrt(2 * certain) * error + 7 * range * certain / (3 * std::max(1.0, count - 1));
}

/// Sums of what is estimated, and its standard error.
class Estimate {
public:
  void add(double value) { ++count_, sum_ += value, squares_ += value * value; }
  double mean() const { return sum_ / count_; }
  double error() const { return std::sqrt(std::max(0.0, squares_ / count_ - mean() * mean()) / count_); }
  /// Of a value that is at most `range` from the least to the greatest.
  double limit(double range) const { return mean() + below(error(), range, count_); }

private:
  double count_ = 0, sum_ = 0, squares_ = 0;
};

/// What groups have of what they would have if nothing were zero, in sum: groups differ in size.
class Share {
public:
  void add(double value, double max) {
    ++count_, sum_ += value, max_ += max;
    squares_ += value * value, mixed_ += value * max, maxima_ += max * max;
  }
  double mean() const { return max_ > 0 ? sum_ / max_ : 0; }
  double error() const {
    const double r = mean();
    return max_ > 0 ? std::sqrt(std::max(0.0, squares_ - 2 * r * mixed_ + r * r * maxima_)) / max_ : 0;
  }
  /// `range`: of a value.
  double limit(double range) const { return max_ > 0 ? mean() + below(error(), range * count_ / max_, count_) : 0; }

private:
  double count_ = 0, sum_ = 0, max_ = 0, squares_ = 0, mixed_ = 0, maxima_ = 0;
};

/// Units `first` to `last` of row `m` of the result.
class GroupSampler {
public:
  GroupSampler(const SparseProduct &p, const SparseCore &core, const TiledOperand &stationary,
               const TiledOperand &streaming)
      : depth_(p.depth), tile_(std::min(core.tile, p.depth)), tiles_(divideUp(p.depth, tile_)), slots_(core.slots),
        ones_(tile_, 1) {
    for (int i = 0; i < 2; ++i) {
      if (stationary.skipped)
        stationary_[i].emplace(p.stationary, OperandShape{p.columns, p.depth}, stationary.staticMask, tile_,
                               core.stationary.granule);
      if (streaming.skipped)
        streaming_[i].emplace(p.streaming, OperandShape{p.rows, p.depth}, streaming.staticMask, tile_,
                              core.streaming.granule);
    }
  }

  /// Both operands twice.
  void draw(int64_t m, int64_t first, int64_t last, SplitMix &random) {
    spans_.clear();
    int64_t from = depth_, to = 0;
    for (int64_t n = first / tiles_; n <= (last - 1) / tiles_; ++n) {
      const int64_t begin = std::max(first - n * tiles_, int64_t{0}) * tile_,
                    end = std::min(std::min(last - n * tiles_, tiles_) * tile_, depth_);
      spans_.push_back({n, begin, end});
      from = std::min(from, begin), to = std::max(to, end);
    }
    streams_ = {{m, from, to}};
    for (int i = 0; i < 2; ++i) {
      if (stationary_[i] && (i == 0 || stationary_[i]->random()))
        stationary_[i]->draw(spans_, random);
      if (streaming_[i] && (i == 0 || streaming_[i]->random()))
        streaming_[i]->draw(streams_, random);
    }
  }

  /// Cycles of the slowest unit with draws `w` of the stationary operand and `x` of the other.
  int64_t cycles(int w, int x) {
    int64_t max = 0;
    taken_ = places_ = longest_ = 0;
    for (size_t i = 0; i < spans_.size(); ++i) {
      const LineSpan &span = spans_[i];
      const uint8_t *stays = stationary_[w] ? stationary_[w]->at(i) : nullptr,
                    *streams = streaming_[x] ? streaming_[x]->at(0) : nullptr;
      for (int64_t k = span.from; k < span.to; k += tile_) {
        const int64_t length = std::min(tile_, span.to - k);
        const uint8_t *a = stays ? stays + (k - span.from) : ones_.data(),
                      *b = streams ? streams + (k - streams_.front().from) : ones_.data();
        uint32_t both = 0;
        for (int64_t e = 0; e < length; ++e)
          both += a[e] & b[e];
        taken_ += both, places_ += length;
        longest_ = std::max(longest_, length);
        max = std::max<int64_t>(max, both);
      }
    }
    return divideUp(max, slots_);
  }
  /// Of the group that was last looked at: places at which something is computed, all places, and cycles if nothing is
  /// zero.
  int64_t taken() const { return taken_; }
  int64_t places() const { return places_; }
  int64_t max() const { return divideUp(longest_, slots_); }

  bool varies(bool stationary) const {
    const auto &of = stationary ? stationary_[0] : streaming_[0];
    return of && of->random();
  }
  double sampled() const {
    double sum = 0;
    for (const auto *both : {&stationary_, &streaming_})
      for (const auto &each : *both)
        sum += each ? each->sampled() : 0;
    return sum;
  }

private:
  int64_t depth_, tile_, tiles_, slots_, taken_ = 0, places_ = 0, longest_ = 0;
  std::vector<uint8_t> ones_;
  std::array<std::optional<OperandSampler>, 2> stationary_, streaming_;
  std::vector<LineSpan> spans_, streams_;
};

/// Elements that may be zero together rather than one instead of another. Those of N:M are drawn without replacement,
/// so negatively associated (Joag-Dev and Proschan, Ann. Statist. 11, 1983), and so are times that do not fall with any
/// of them: parts of one group add no variance.
PatternBlock correlatedExtent(const SparsityPattern &p) {
  return p.kind == Kind::Structured && !p.transposable ? PatternBlock{} : patternBlockOf(p);
}

/// Groups of a row of the result whose stationary tiles have something of one group's: it, its neighbours on the same
/// lines, and those on lines that are drawn together with them.
double groupsBeside(const SparsityPattern &p, double inRow, int64_t tile, int64_t tiles, int64_t lanes) {
  const PatternBlock piece = correlatedExtent(p);
  const double further = std::min(std::ceil(number(piece.reduction - 1) / number(tile)),
                                  number(tiles - 1)); // tiles that a piece has beside one of them
  const double beside = 1 + 2 * std::ceil(further / number(lanes));
  const auto others = number(piece.outputs - 1);
  const double inBetween = 1 + 2 * std::ceil((others * number(tiles) + further) / number(lanes));
  const double lines = number((lanes - 1) / tiles + 2),
               onLine = std::ceil((2 * number(lanes) + 2 * further) / number(lanes)) + 1;
  return std::min({inRow, inBetween, beside + lines * others * onLine});
}

} // namespace

bool hasClosedForm(const SparseProduct &p, const SparseCore &core, const TiledOperand &stationary,
                   const TiledOperand &streaming) {
  const OperandShape ofStationary{p.columns, p.depth}, ofStreaming{p.rows, p.depth};
  const bool both = stationary.skipped && streaming.skipped;
  if (stationary.skipped && !operandHasClosedForm(p.stationary, ofStationary, core.stationary, core, true, both))
    return false;
  if (streaming.skipped && !operandHasClosedForm(p.streaming, ofStreaming, core.streaming, core, false, both))
    return false;
  if (!both)
    return true;
  const bool staticMask = isStatic(p.stationary);
  if (staticMask && isStatic(p.streaming))
    return true;
  const int64_t tile = std::min(core.tile, p.depth), granule = core.stationary.granule;
  if (granule > 1 && granule == core.streaming.granule && tile % granule == 0 && p.depth % granule == 0)
    return anywhere(p.stationary) && anywhere(p.streaming); // whole granules meet
  const bool shares = core.lanes > divideUp(p.depth, tile);
  const bool first = anywhere(p.stationary) && granule <= 1,
             second = anywhere(p.streaming) && core.streaming.granule <= 1;
  return staticMask ? second && !shares : isStatic(p.streaming) ? first : first || second;
}

std::optional<CycleSum> sampledLaneCycles(const SparseProduct &p, const SparseCore &core,
                                          const TiledOperand &stationary, const TiledOperand &streaming) {
  for (auto [operand, pattern] : {std::pair{&stationary, &p.stationary}, std::pair{&streaming, &p.streaming}})
    if (operand->skipped && isStatic(*pattern) && !operand->staticMask)
      return std::nullopt;
  const int64_t tile = std::min(core.tile, p.depth), tiles = divideUp(p.depth, tile);
  if (p.depth > kLongestLine || number(p.columns) * number(tiles) > 0x1p52)
    return std::nullopt;
  const int64_t units = p.columns * tiles, inRow = divideUp(units, core.lanes);
  // A piece is drawn whole, however little of it a tile has.
  const int64_t longest = std::max({tile, p.stationary.kind == Kind::Block ? 1 : patternBlockOf(p.stationary).reduction,
                                    p.streaming.kind == Kind::Block ? 1 : patternBlockOf(p.streaming).reduction});
  if (2 * number(std::min(core.lanes, units)) * number(longest) * number(kMinDraws) > kElements)
    return std::nullopt;

  GroupSampler group(p, core, stationary, streaming);
  const bool w = group.varies(true), x = group.varies(false);
  Share cycles, taken;
  Estimate variance, ofStationary, ofStreaming;
  SplitMix random(0x5eed);
  for (int64_t draw = 0;; ++draw) {
    if (draw % kBatch == 0 && draw >= kEnough && cycles.error() <= kError * cycles.mean() &&
        taken.error() <= kPlacesError)
      break;
    if (draw >= kMinDraws && group.sampled() > kElements)
      break;
    // Places that fill the rows and the groups of a row evenly (Roberts' plastic sequence).
    const double down = 0.5 + number(draw) * 0.7548776662466927, along = 0.5 + number(draw) * 0.5698402909980532;
    const auto m = std::min(p.rows - 1, static_cast<int64_t>((down - std::floor(down)) * number(p.rows))),
               g = std::min(inRow - 1, static_cast<int64_t>((along - std::floor(along)) * number(inRow)));
    group.draw(m, g * core.lanes, std::min(units, (g + 1) * core.lanes), random);
    std::array<std::array<double, 2>, 2> f{};
    double sum = 0, places = 0;
    for (int i = 0; i <= w; ++i)
      for (int j = 0; j <= x; ++j) {
        sum += f[i][j] = number(group.cycles(i, j));
        places += number(group.taken());
      }
    const double pairs = (1 + w) * (1 + x);
    cycles.add(sum / pairs, number(group.max()));
    taken.add(places / pairs, number(group.places()));
    if (w && x) {
      variance.add((std::pow(f[0][0] - f[1][1], 2) + std::pow(f[0][1] - f[1][0], 2)) / 4);
      ofStationary.add((f[0][0] - f[1][0]) * (f[0][1] - f[1][1]) / 2);
      ofStreaming.add((f[0][0] - f[0][1]) * (f[1][0] - f[1][1]) / 2);
    } else {
      const double each = std::pow(f[0][0] - f[w][x], 2) / 2;
      variance.add(each);
      ofStationary.add(w ? each : 0);
      ofStreaming.add(x ? each : 0);
    }
  }

  CycleSum result;
  const double rows = number(p.rows), all = rows * number(inRow);
  result.groups = all;
  result.computed = taken.mean();
  const int64_t rest = p.depth % tile;
  for (const LaneGroups &kind : laneGroups(p.columns, tiles, rest > 0, core.lanes)) {
    int64_t length = 0;
    for (const EquivalentTiles &each : kind.tiles)
      if (each.tiles > 0 && each.units > 0)
        length = std::max(length, each.last ? rest : tile);
    const double longest = number(divideUp(length, core.slots));
    result.dense += rows * kind.count * longest;
    result.longest = std::max(result.longest, longest);
  }
  result.mean = result.dense * cycles.mean();
  result.meanUpperBound = result.dense * std::min(1.0, cycles.limit(result.longest));
  result.failureProbability = 4 * kFailureProbability;
  // Pairs of groups that share both operands' zeros, the stationary one's alone, the other's alone.
  const PatternBlock ofX = correlatedExtent(p.streaming);
  const double sameRows = x ? std::min(rows, number(ofX.outputs)) : 1,
               beside = w ? groupsBeside(p.stationary, number(inRow), tile, tiles, core.lanes) : 1,
               further = std::min(std::ceil(number(ofX.reduction - 1) / number(tile)), number(tiles - 1)),
               along =
                   x ? numGroupsSharingTile(number(inRow), tiles, core.lanes, static_cast<int64_t>(further) + 1) : 1;
  const double square = result.longest * result.longest, max = std::min(square / 4, variance.limit(square / 2));
  auto limit = [&](const Estimate &part) { return std::clamp(part.limit(square), 0.0, max); };
  result.variance = all * (max * sameRows * beside + limit(ofStationary) * (rows - sameRows) * beside +
                           limit(ofStreaming) * sameRows * along);
  return result;
}

} // namespace accord
