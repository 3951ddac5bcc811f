#include "lib/sparsity/cost/LaneCycles.h"
#include "lib/sparsity/cost/StaticMaskCycles.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace accord {
namespace {

using Kind = SparsityPattern::Kind;

constexpr double kElements = 1 << 25, kError = 0.0015, kPlacesError = 0.001;
constexpr int64_t kLongestLine = 1 << 22, kBatch = 1024, kEnough = 8192, kMinDraws = 64;
/// A limit of what was drawn may be too low with this probability.
constexpr double kFailureProbability = 1e-4;
/// Exact shares of fewer elements or blocks leave to one tile what another has not.
constexpr double kFew = 4096;

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

/// Elements `from` to `to` of a line (an output) along the reduction, both at the border of a tile.
struct LineSpan {
  int64_t line = 0, from = 0, to = 0;
};

/// `kept` of `of` places, any of them as likely as any other.
void choose(int64_t kept, int64_t of, SplitMix &random, uint8_t *places) {
  for (int64_t i = 0; i < of; ++i) {
    places[i] = random.unit() * number(of - i) < number(kept);
    kept -= places[i];
  }
}

void shuffle(std::vector<int64_t> &order, int64_t size, SplitMix &random) {
  order.resize(size);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
}

/// From the first to the last place that any of these spans has.
std::pair<int64_t, int64_t> hullOf(const std::vector<LineSpan> &spans, size_t first, size_t last) {
  int64_t from = spans[first].from, to = spans[first].to;
  for (size_t i = first; i < last; ++i)
    from = std::min(from, spans[i].from), to = std::max(to, spans[i].to);
  return {from, to};
}

/// Draws an operand that is skipped. Transposable N:M is drawn as squares with `kept` neighbours in each row, around
/// the edge, whose rows and columns are shuffled.
class OperandSampler {
public:
  /// `staticMask`: its zeros, where nothing is drawn. Granules of `granule` neighbours from the start of each tile
  /// count whole.
  OperandSampler(const SparsityPattern &pattern, OperandShape shape, const std::optional<StaticMask> &staticMask,
                 int64_t tile, int64_t granule)
      : pattern_(pattern), staticMask_(staticMask), tile_(tile), granule_(granule),
        patternBlock_(patternBlockOf(pattern)) {
    const auto share = density(pattern, shape);
    share_ = share ? *share : 1;
    if ((pattern.kind != Kind::Unstructured && pattern.kind != Kind::Block) || pattern.independent)
      return;
    all_ = number(divideUp(shape.outputs, patternBlock_.outputs)) *
           number(divideUp(shape.reduction, patternBlock_.reduction));
    kept_ = std::round(share_ * all_);
  }

  bool random() const { return !staticMask_; }
  /// Draws these spans of a new operand; lines ascend, and none comes twice.
  void draw(const std::vector<LineSpan> &spans, SplitMix &random) {
    left_ = all_, leftKept_ = kept_;
    if (bits_.size() < spans.size())
      bits_.resize(spans.size());
    for (size_t i = 0; i < spans.size(); ++i)
      bits_[i].resize(spans[i].to - spans[i].from);
    if (staticMask_) {
      for (size_t i = 0; i < spans.size(); ++i)
        for (int64_t k = spans[i].from; k < spans[i].to; ++k)
          bits_[i][k - spans[i].from] = staticMask_->at(spans[i].line, k);
      return; // granules are whole there
    }
    for (size_t first = 0, last = 0; first < spans.size(); first = last) {
      const int64_t group = spans[first].line / patternBlock_.outputs;
      while (last < spans.size() && spans[last].line / patternBlock_.outputs == group)
        ++last;
      lines(spans, first, last, random);
    }
    if (granule_ > 1)
      for (size_t i = 0; i < spans.size(); ++i)
        joinGranules(spans[i], i);
  }
  /// Of the last draw: 1 where an element is not zero, from the start of the span on.
  const uint8_t *at(size_t span) const { return bits_[span].data(); }
  /// Elements that all draws took.
  double sampled() const { return numSampled_; }

private:
  bool sampleNonZero(SplitMix &random) {
    if (all_ <= 0)
      return random.unit() < share_;
    const bool kept = random.unit() * left_ < leftKept_;
    left_ -= 1, leftKept_ -= kept;
    return kept;
  }

  void elements(const LineSpan &of, size_t span, SplitMix &random) {
    for (uint8_t &bit : bits_[span])
      bit = sampleNonZero(random);
    numSampled_ += number(of.to - of.from);
  }

  /// Groups and windows, one behind the other.
  void patternBlocks(const LineSpan &of, size_t span, SplitMix &random) {
    const int64_t length = patternBlock_.reduction, start = of.from / length * length;
    const int64_t drawn = divideUp(of.to - start, length) * length;
    scratch_.resize(drawn);
    for (int64_t at = 0; at < drawn; at += length) {
      int64_t kept = pattern_.kept;
      if (pattern_.kind == Kind::Histogram) {
        double left = random.unit();
        int64_t zeros = 0;
        while (zeros < length && (left -= pattern_.histogram[zeros]) >= 0)
          ++zeros;
        kept = length - zeros;
      }
      choose(kept, length, random, scratch_.data() + at);
    }
    std::copy_n(scratch_.begin() + (of.from - start), of.to - of.from, bits_[span].begin());
    numSampled_ += number(drawn);
  }

  /// Groups of outputs: at each step of the reduction the lines that are looked at are some of the group's.
  void across(const std::vector<LineSpan> &spans, size_t first, size_t last, SplitMix &random) {
    const auto [from, to] = hullOf(spans, first, last);
    for (int64_t k = from; k < to; ++k) {
      int64_t left = pattern_.of, kept = pattern_.kept;
      for (size_t i = first; i < last; ++i) {
        if (k < spans[i].from || k >= spans[i].to)
          continue;
        const bool keep = random.unit() * number(left) < number(kept);
        bits_[i][k - spans[i].from] = keep;
        --left, kept -= keep;
      }
    }
    for (size_t i = first; i < last; ++i)
      numSampled_ += number(spans[i].to - spans[i].from);
  }

  void squares(const std::vector<LineSpan> &spans, size_t first, size_t last, SplitMix &random) {
    const int64_t side = pattern_.of;
    const auto [from, to] = hullOf(spans, first, last);
    for (int64_t square = from / side * side; square < to; square += side) {
      shuffle(order_, side, random);
      shuffle(columns_, side, random);
      for (size_t i = first; i < last; ++i) {
        const int64_t row = order_[spans[i].line % side];
        for (int64_t at = 0; at < side; ++at) {
          const int64_t k = square + columns_[(row + at) % side];
          if (k >= spans[i].from && k < spans[i].to)
            bits_[i][k - spans[i].from] = at < pattern_.kept;
        }
        numSampled_ += number(side);
      }
      numSampled_ += number(2 * side);
    }
  }

  void blocks(const std::vector<LineSpan> &spans, size_t first, size_t last, SplitMix &random) {
    const auto [from, to] = hullOf(spans, first, last);
    const int64_t length = patternBlock_.reduction;
    scratch_.resize(to - from);
    for (int64_t at = from; at < to;) {
      const bool kept = sampleNonZero(random);
      for (const int64_t end = std::min((at / length + 1) * length, to); at < end; ++at)
        scratch_[at - from] = kept;
    }
    for (size_t i = first; i < last; ++i) {
      std::copy_n(scratch_.begin() + (spans[i].from - from), spans[i].to - spans[i].from, bits_[i].begin());
      numSampled_ += number(spans[i].to - spans[i].from);
    }
  }

  void joinGranules(const LineSpan &of, size_t span) {
    std::vector<uint8_t> &bits = bits_[span];
    for (int64_t from = 0; from < of.to - of.from; from += tile_)
      for (int64_t end = std::min(from + tile_, of.to - of.from), g = from; g < end; g += granule_) {
        const auto begin = bits.begin() + g, stop = bits.begin() + std::min(g + granule_, end);
        std::fill(begin, stop, std::find(begin, stop, 1) != stop);
      }
  }

  /// Spans of lines that are drawn together.
  void lines(const std::vector<LineSpan> &spans, size_t first, size_t last, SplitMix &random) {
    if (pattern_.kind == Kind::Block)
      return blocks(spans, first, last, random);
    // One line of squares is like groups of its own; one of groups of outputs like single draws.
    const bool alone = last - first == 1;
    if (patternBlock_.outputs > 1 && !alone)
      return patternBlock_.reduction > 1 ? squares(spans, first, last, random) : across(spans, first, last, random);
    for (size_t i = first; i < last; ++i)
      if (patternBlock_.reduction > 1)
        patternBlocks(spans[i], i, random);
      else
        elements(spans[i], i, random);
  }

  const SparsityPattern &pattern_;
  const std::optional<StaticMask> &staticMask_;
  int64_t tile_, granule_;
  PatternBlock patternBlock_;
  /// Elements or blocks of an exact share that are left to draw from; 0: each is a draw of its own.
  double all_ = 0, kept_ = 0, left_ = 0, leftKept_ = 0, share_ = 1;
  std::vector<std::vector<uint8_t>> bits_;
  std::vector<uint8_t> scratch_;
  std::vector<int64_t> order_, columns_;
  double numSampled_ = 0;
};

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

/// What drawn groups say of all.
struct GroupStatistics {
  Share cycles, taken; ///< places at which something is computed
  Estimate variance, ofStationary,
      ofStreaming; ///< of a group's cycles; what stays when the other operand is drawn anew

  bool areEnough() const { return cycles.error() <= kError * cycles.mean() && taken.error() <= kPlacesError; }

  /// The group that was drawn last, with each draw of the stationary operand beside each of the other.
  void add(GroupSampler &group) {
    const bool w = group.varies(true), x = group.varies(false);
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
};

/// Groups of `lanes` of the `units` of each of `rows`, drawn until they are enough or took too many elements.
GroupStatistics drawGroups(GroupSampler &group, int64_t rows, int64_t units, int64_t lanes) {
  const int64_t inRow = divideUp(units, lanes);
  GroupStatistics sampled;
  SplitMix random(0x5eed);
  for (int64_t draw = 0;; ++draw) {
    if ((draw % kBatch == 0 && draw >= kEnough && sampled.areEnough()) ||
        (draw >= kMinDraws && group.sampled() > kElements))
      return sampled;
    // Places that fill the rows and the groups of a row evenly (Roberts' plastic sequence).
    const double down = 0.5 + number(draw) * 0.7548776662466927, along = 0.5 + number(draw) * 0.5698402909980532;
    const int64_t m = std::min<int64_t>(rows - 1, (down - std::floor(down)) * number(rows)),
                  g = std::min<int64_t>(inRow - 1, (along - std::floor(along)) * number(inRow));
    group.draw(m, g * lanes, std::min(units, (g + 1) * lanes), random);
    sampled.add(group);
  }
}

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
  const GroupStatistics sampled = drawGroups(group, p.rows, units, core.lanes);

  CycleSum result;
  const double rows = number(p.rows), all = rows * number(inRow);
  result.groups = all;
  result.computed = sampled.taken.mean();
  const int64_t rest = p.depth % tile;
  for (const LaneGroups &kind : laneGroups(p.columns, tiles, rest > 0, core.lanes)) {
    int64_t length = 0;
    for (const EquivalentTiles &each : kind.tiles)
      length = std::max(length, each.last ? rest : tile);
    const double longest = number(divideUp(length, core.slots));
    result.dense += rows * kind.count * longest;
    result.longest = std::max(result.longest, longest);
  }
  result.mean = result.dense * sampled.cycles.mean();
  result.meanUpperBound = result.dense * std::min(1.0, sampled.cycles.limit(result.longest));
  result.failureProbability = 4 * kFailureProbability;
  // Pairs of groups that share both operands' zeros, the stationary one's alone, the other's alone.
  const PatternBlock ofX = correlatedExtent(p.streaming);
  const double sameRows = x ? std::min(rows, number(ofX.outputs)) : 1,
               beside = w ? groupsBeside(p.stationary, number(inRow), tile, tiles, core.lanes) : 1,
               further = std::min(std::ceil(number(ofX.reduction - 1) / number(tile)), number(tiles - 1)),
               along = x ? numGroupsSharingTile(number(inRow), tiles, core.lanes, further + 1) : 1;
  const double square = result.longest * result.longest, max = std::min(square / 4, sampled.variance.limit(square / 2));
  auto limit = [&](const Estimate &part) { return std::clamp(part.limit(square), 0.0, max); };
  result.variance = all * (max * sameRows * beside + limit(sampled.ofStationary) * (rows - sameRows) * beside +
                           limit(sampled.ofStreaming) * sameRows * along);
  return result;
}

} // namespace accord
