#include "lib/sparsity/cost/Cycles.h"
#include "lib/sparsity/cost/Format.h"
#include "lib/sparsity/cost/LaneCycles.h"
#include "lib/sparsity/cost/StaticMaskCycles.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace accord {
namespace {

constexpr int64_t kLargestExtent = int64_t{1} << 40, kLargestTile = 4096, kLargestCount = int64_t{1} << 20;

bool within(int64_t value, int64_t max) { return value >= 1 && value <= max; }

std::optional<Error> checkCore(const SparseCore &core) {
  if (!within(core.tile, kLargestTile) || !within(core.slots, kLargestCount) || !within(core.lanes, kLargestCount))
    return notSkipped(
        fmt::format("a core with tiles of {}, {} slots and {} lanes; a tile is from 1 to {}, the others from 1 to {}",
                    core.tile, core.slots, core.lanes, kLargestTile, kLargestCount));
  for (const SparseAcceleration *use : {&core.stationary, &core.streaming}) {
    if (!within(use->granule, kLargestCount))
      return notSkipped(
          fmt::format("zeros are skipped {} at a time; that is from 1 to {}", use->granule, kLargestCount));
    if (use->kept < 0 || use->of < 0 || use->of > kLargestTile || use->kept > use->of ||
        (use->kept == 0 && use->of > 0))
      return notSkipped(
          fmt::format("a core that uses nm({}, {}): the first is from 1 to the second, which is at most {}", use->kept,
                      use->of, kLargestTile));
  }
  return std::nullopt;
}

std::optional<Error> checkArray(const SparseCore &core, const ProductArray &array) {
  if (array.outerStationary < 0 || array.outerStreaming < 0 ||
      (array.outerStationary > 0) != (array.outerStreaming > 0))
    return notSkipped(
        fmt::format("outer products of {} by {} elements in a cycle", array.outerStationary, array.outerStreaming));
  auto isAmount = [](double value) { return value >= 0 && std::isfinite(value); }; // not of NaN
  if (array.perCycle == 0 || !std::ranges::all_of(std::array{array.perCycle, array.stationaryWords, core.wordsPerCycle,
                                                             core.metadataBits, core.setupCycles},
                                                  isAmount))
    return notSkipped("a core's rates, words and cycles are finite and not negative, and it multiplies");
  return std::nullopt;
}

std::optional<Error> check(const SparseProduct &p, const SparseCore &core, const ProductArray &array,
                           double confidence) {
  if (!within(p.rows, kLargestExtent) || !within(p.columns, kLargestExtent) || !within(p.depth, kLargestExtent))
    return notSkipped(
        fmt::format("a product of {} by {} by {}; its extents are from 1 to 2^40", p.rows, p.columns, p.depth));
  if (auto error = checkCore(core))
    return error;
  if (auto error = checkArray(core, array))
    return error;
  if (!within(p.elementBits, 1 << 16))
    return notSkipped(fmt::format("elements of {} bits; they have from 1 to 65,536", p.elementBits));
  if (!(confidence > 0 && confidence < 1))
    return notSkipped(fmt::format("a confidence of {}; it is above 0 and below 1", confidence));
  return std::nullopt;
}

bool looksAt(const SparseAcceleration &use, const SparsityPattern &pattern) {
  return use.mode != SparseAcceleration::Mode::None && pattern.kind != SparsityPattern::Kind::Dense &&
         supportsPattern(use, pattern);
}

/// Whether zeros of an operand that is stored so take no cycles.
bool isSkipped(const SparseAcceleration &use, const SparsityPattern &pattern, const SparseFormat &format) {
  return use.mode == SparseAcceleration::Mode::Skip && format.kind != SparseFormat::Kind::Dense &&
         looksAt(use, pattern);
}

/// Tiles of `tile` neighbours of an operand, those that are not skipped as if nothing were zero.
Result<TiledOperand> tiled(const SparsityPattern &pattern, OperandShape shape, const SparseAcceleration &use,
                           bool skipped, int64_t tile, TileDirection direction) {
  TiledOperand result;
  result.skipped = skipped;
  const bool along = direction == TileDirection::Reduction;
  const int64_t line = along ? shape.reduction : shape.outputs, length = std::min(tile, line), rest = line % length;
  // Zeros of a granule of neighbours along the reduction are no neighbours along the outputs.
  const int64_t granule = along ? use.granule : 1;
  auto partsOf = [&](int64_t elements, bool last) -> Result<TileParts> {
    auto parts = tileParts(skipped ? pattern : SparsityPattern{}, shape, elements, direction, last);
    if (skipped && parts)
      return inGranules(*parts, granule);
    return parts;
  };
  auto whole = partsOf(length, false);
  if (!whole)
    return whole.takeError();
  result.whole = std::move(*whole);
  if (rest > 0) {
    auto last = partsOf(rest, true);
    if (!last)
      return last.takeError();
    result.rest = std::move(*last);
  }
  result.fixed = isStatic(pattern);
  if (skipped)
    setStaticMask(result, pattern, shape, length, granule, direction);
  if (pattern.kind == SparsityPattern::Kind::Unstructured && skipped && !pattern.independent && granule <= 1 &&
      number(shape.outputs) * shape.reduction < 0x1p40) {
    result.elements = shape.outputs * shape.reduction;
    result.nonZeros = std::llround(*density(pattern, shape) * result.elements);
  }
  if (pattern.kind == SparsityPattern::Kind::Block && skipped) {
    result.block = {pattern.blockRows, pattern.blockColumns};
    const int64_t across = along ? pattern.blockRows : pattern.blockColumns,
                  beside = along ? pattern.blockColumns : pattern.blockRows;
    result.sameOutputs = std::min(across, along ? shape.outputs : shape.reduction);
    result.sameTiles = std::min(beside / length + (beside % length > 0 && beside > 1), line / length + 1);
    result.sameTiles = std::max<int64_t>(1, result.sameTiles);
  }
  return result;
}

/// Share of a tile's places at which something is computed, over whole lines.
double covered(const TiledOperand &operand, int64_t line, int64_t tile) {
  if (operand.staticMask) {
    double places = 0;
    for (uint64_t word : operand.staticMask->bits)
      places += std::popcount(word);
    return places / operand.staticMask->lines / operand.staticMask->length;
  }
  const int64_t length = std::min(tile, line);
  double sum = (line / length) * total(operand.whole).mean();
  if (line % length > 0)
    sum += total(operand.rest).mean();
  return sum / line;
}

/// Cycles at N:M: nothing of it is random but the size of the other operand, where it is compressed.
ProductCycles structuredCycles(const SparseProduct &p, const SparseCore &core, const ProductArray &array,
                               bool stationary, double confidence) {
  const SparseAcceleration &use = stationary ? core.stationary : core.streaming;
  const SparseFormat &kept = stationary ? p.stationaryFormat : p.streamingFormat,
                     &other = stationary ? p.streamingFormat : p.stationaryFormat;
  const SparseAcceleration &otherUse = stationary ? core.streaming : core.stationary;
  const SparsityPattern &otherPattern = stationary ? p.streaming : p.stationary;
  const int64_t step = core.tile > 1 ? core.tile : use.of;
  const double padded = std::ceil(number(p.depth) / step) * step, outputs = number(p.rows) * p.columns,
               bits = number(p.elementBits),
               position =
                   number(kept.kind == SparseFormat::Kind::RunLength ? kept.coordinateBits : widthOfCount(use.of));
  // What the other operand's words are of its dense ones: on average, with the confidence, at most.
  double mean = 1, quantile = 1, max = 1;
  if (otherUse.compress && other.kind != SparseFormat::Kind::Dense) {
    OperandShape shape{stationary ? p.rows : p.columns, p.depth};
    auto stored = storedBits(otherPattern, other, shape, p.elementBits, confidence);
    if (auto *size = stored.get()) {
      mean = size->mean / size->dense;
      quantile = size->quantile / size->dense;
      max = quantile;
    }
  }
  if (quantile != 1) {
    auto full = storedBits(SparsityPattern{}, other, {1, p.depth}, p.elementBits, confidence);
    if (auto *size = full.get())
      max = std::max(quantile, size->mean / size->dense);
  }
  auto demand = [&](double ofOther) {
    return array.stationaryWords * (1 + (position + core.metadataBits) / bits) + step * ofOther;
  };
  auto wait = [&](double ofOther) {
    return core.wordsPerCycle > 0 ? std::max(1.0, demand(ofOther) / core.wordsPerCycle) : 1.0;
  };
  const double share = number(use.kept) / use.of;
  ProductCycles result;
  result.dense = std::ceil(outputs * p.depth / array.perCycle);
  auto cycles = [&](double ofOther) {
    const double whole = outputs * padded * use.kept / use.of / array.perCycle * wait(ofOther);
    return std::ceil(whole * (1 - 1e-13)) + core.setupCycles;
  };
  result.mean = cycles(mean);
  result.quantile = cycles(quantile);
  result.max = cycles(max);
  result.active = share * padded / p.depth;
  result.formula = fmt::format("{} * {} * {:.0f} * {} / {} / {:.6g} * {:.6g}", p.rows, p.columns, padded, use.kept,
                               use.of, array.perCycle, wait(mean));
  if (wait(mean) > 1)
    result.formula +=
        fmt::format(" (it asks for {:.6g} words a cycle and gets {:.6g})", demand(mean), core.wordsPerCycle);
  return result;
}

/// Whole cycles, where what is missing to a whole number is rounding alone.
double wholeCycles(double cycles) { return std::ceil(cycles * (1 - 1e-13)); }

/// ln E[exp(s * cycles)], without overflow.
double logMoment(const Occupancy &cycles, double s) {
  // From the largest count that happens at all: beside one that does not, all others vanish.
  size_t last = cycles.probability.size() - 1;
  while (last > 0 && cycles.probability[last] <= 0)
    --last;
  const double max = last;
  double sum = 0;
  for (size_t k = 0; k < cycles.probability.size(); ++k)
    sum += cycles.probability[k] * std::exp(s * (k - max));
  return s * max + std::log(sum);
}

/// Cycles that one operand's tiles take along the array at one step of the reduction.
struct Steps {
  double mean = 0, variance = 0, dense = 0, longest = 0, tiles = 0;
};

Steps stepsOf(const TiledOperand &operand, int64_t outputs, int64_t tile, int64_t along) {
  Steps result;
  auto add = [&](const TileParts &parts, double count) {
    const Occupancy each = rounds(total(parts), along);
    const double max = number(each.max());
    result.tiles += count;
    result.mean += count * each.mean();
    result.variance += count * each.variance();
    result.dense += count * max;
    result.longest = std::max(result.longest, max);
  };
  if (outputs >= tile)
    add(operand.whole, outputs / tile);
  if (outputs % tile > 0)
    add(operand.rest, 1);
  // Tiles inside of one block have the same zeros.
  result.variance *= std::min(result.tiles, number(operand.sameTiles));
  if (operand.fixed || !operand.skipped)
    result.variance = 0;
  return result;
}

} // namespace

bool supportsPattern(const SparseAcceleration &use, const SparsityPattern &p) {
  if (use.of == 0)
    return true;
  if (p.kind == SparsityPattern::Kind::Mask) {
    for (const std::vector<bool> &row : p.mask)
      for (auto from = row.begin(), to = from; from != row.end(); from = to) {
        to += std::min<int64_t>(use.of, row.end() - from);
        if (std::count(from, to, true) > use.kept)
          return false;
      }
    return true;
  }
  if (p.kind != SparsityPattern::Kind::Structured || (p.along != SparsityPattern::Along::Reduction && !p.transposable))
    return false;
  if (p.of % use.of == 0)
    return std::min(p.kept, use.of) <= use.kept;
  // Groups of the pattern that one of the core's may touch.
  const int64_t groups = use.of % p.of == 0 ? use.of / p.of : (use.of - 2) / p.of + 2;
  return std::min(groups * p.kept, use.of) <= use.kept;
}

PatternBlock patternBlockOf(const SparsityPattern &p) {
  switch (p.kind) {
  case SparsityPattern::Kind::Structured:
    if (p.transposable)
      return {p.of, p.of};
    return p.along == SparsityPattern::Along::Output ? PatternBlock{p.of, 1} : PatternBlock{1, p.of};
  case SparsityPattern::Kind::Block:
    return {p.blockRows, p.blockColumns};
  case SparsityPattern::Kind::Histogram:
    return {1, p.window};
  default:
    return {};
  }
}

double chernoffQuantile(const std::vector<EquivalentGroups> &groups, double confidence) {
  const double certain = -std::log1p(-confidence);
  double widest = 1;
  for (const EquivalentGroups &each : groups)
    widest = std::max(widest, each.weight * each.cycles.max());
  auto limit = [&](double logS) {
    const double s = std::exp(logS);
    double sum = certain;
    for (const EquivalentGroups &each : groups)
      sum += each.count * logMoment(each.cycles, s * each.weight);
    return sum / s;
  };
  // One valley in ln s; any s gives a limit that holds, so that where the search ends is no matter of trust.
  double low = std::log(1e-9 / widest), high = std::log(1e3 / widest);
  for (int i = 0; i < 60; ++i) {
    double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (limit(a) < limit(b))
      high = b;
    else
      low = a;
  }
  return limit((low + high) / 2);
}

ProductCycles shared(const CycleSum &sum, double engines, double setup, double confidence) {
  ProductCycles result;
  // Each engine takes its share of groups, and whole groups.
  auto perEngine = [&](double cycles) {
    return engines <= 1 || sum.groups <= 0 ? cycles : cycles / sum.groups * std::ceil(sum.groups / engines);
  };
  const double variance = std::max(0.0, sum.variance);
  const double sure = confidence + sum.failureProbability;
  double quantile =
      sure < 1 ? std::max(sum.mean, sum.meanUpperBound) + std::sqrt(variance * sure / (1 - sure)) : sum.dense;
  if (sum.allIndependent && variance > 0)
    quantile = std::min(quantile, chernoffQuantile(sum.equivalent, confidence));
  quantile = std::min(quantile, sum.dense);
  double max = engines <= 1 ? sum.dense : std::ceil(sum.groups / engines) * sum.longest;
  if (sum.onlyMaxIsCertain)
    quantile = sum.dense;
  if (engines > 1)
    quantile = std::min(max, (quantile + (engines - 1) * sum.longest) / engines);
  result.mean = perEngine(sum.mean) + setup;
  result.dense = perEngine(sum.dense);
  result.max = max + setup;
  result.deviation = std::sqrt(variance) / std::max(1.0, engines);
  result.quantile = wholeCycles(std::max(quantile + setup, result.mean));
  return result;
}

CycleSum outerCycles(const SparseProduct &p, const SparseCore &core, const ProductArray &array,
                     const TiledOperand &stationary, const TiledOperand &streaming) {
  const Steps a = stepsOf(stationary, p.columns, std::min(core.tile, p.columns), array.outerStationary);
  const Steps b = stepsOf(streaming, p.rows, std::min(core.tile, p.rows), array.outerStreaming);
  const double depth = number(p.depth);
  CycleSum result;
  result.groups = depth * a.tiles * b.tiles;
  result.mean = depth * a.mean * b.mean;
  result.dense = depth * a.dense * b.dense;
  result.longest = a.longest * b.longest;
  const double same = std::max(stationary.sameOutputs, streaming.sameOutputs);
  if (stationary.staticMask || streaming.staticMask) {
    // Where zeros are known, each step is what it is: those of both may prefer the same ones.
    std::vector<double> ofA(p.depth, a.mean), ofB(ofA.size(), b.mean);
    if (stationary.staticMask)
      ofA = staticMaskSteps(stationary, std::min(core.tile, p.columns), array.outerStationary);
    if (streaming.staticMask)
      ofB = staticMaskSteps(streaming, std::min(core.tile, p.rows), array.outerStreaming);
    result.mean = 0;
    for (size_t k = 0; k < ofA.size(); ++k) {
      result.mean += ofA[k] * ofB[k];
      result.variance += ofA[k] * ofA[k] * b.variance + ofB[k] * ofB[k] * a.variance;
    }
    result.variance *= std::min(depth, same);
    if (stationary.staticMask && streaming.staticMask) {
      const std::vector<double> w = staticMaskSteps(stationary, p.columns, 1),
                                x = staticMaskSteps(streaming, p.rows, 1);
      result.computed = std::inner_product(w.begin(), w.end(), x.begin(), 0.0) / (number(p.columns) * p.rows * depth);
    }
    return result;
  }
  // Steps of the reduction share no element; within one the operands are independent.
  const double each =
      (a.variance + a.mean * a.mean) * (b.variance + b.mean * b.mean) - a.mean * a.mean * b.mean * b.mean;
  result.variance = depth * std::min(depth, same) * std::max(0.0, each);
  return result;
}

Result<ProductCycles> productCycles(const SparseProduct &p, const SparseCore &core, const ProductArray &array,
                                    double confidence) {
  if (auto error = check(p, core, array, confidence))
    return *error;
  const OperandShape ofStationary{p.columns, p.depth}, ofStreaming{p.rows, p.depth};
  auto stationaryShare = density(p.stationary, ofStationary), streamingShare = density(p.streaming, ofStreaming);
  for (auto *share : {&stationaryShare, &streamingShare})
    if (!(*share))
      return (*share).takeError();
  const bool stationary = isSkipped(core.stationary, p.stationary, p.stationaryFormat),
             streaming = isSkipped(core.streaming, p.streaming, p.streamingFormat);
  double notZero = (looksAt(core.stationary, p.stationary) ? *stationaryShare : 1.0) *
                   (looksAt(core.streaming, p.streaming) ? *streamingShare : 1.0);
  if (looksAt(core.stationary, p.stationary) && looksAt(core.streaming, p.streaming))
    notZero = staticMaskOverlap(p).value_or(notZero);
  ProductCycles result;
  if ((stationary && core.stationary.of > 0) || (streaming && core.streaming.of > 0)) {
    result = structuredCycles(p, core, array, stationary && core.stationary.of > 0, confidence);
  } else {
    const bool outer = array.outerStationary > 0;
    const TileDirection direction = outer ? TileDirection::Output : TileDirection::Reduction;
    auto first = tiled(p.stationary, ofStationary, core.stationary, stationary, core.tile, direction),
         second = tiled(p.streaming, ofStreaming, core.streaming, streaming, core.tile, direction);
    for (auto *operand : {&first, &second})
      if (!(*operand))
        return (*operand).takeError();
    const auto &w = *first, &x = *second;
    const double each = outer ? number(array.outerStationary) * array.outerStreaming : number(core.lanes) * core.slots;
    const double engines = std::max(1.0, std::floor(array.perCycle / each));
    const CycleSum sum = outer ? outerCycles(p, core, array, w, x) : laneCycles(p, core, w, x);
    const bool sparse = stationary || streaming;
    result = shared(sum, engines, sparse ? core.setupCycles : 0, confidence);
    result.active =
        covered(w, outer ? p.columns : p.depth, core.tile) * covered(x, outer ? p.rows : p.depth, core.tile);
    if (sum.computed >= 0)
      result.active = sum.computed;
    result.formula = outer ? fmt::format("{} * {:.6g} pairs of tiles * {:.6g} cycles / {:.0f}", p.depth,
                                         sum.groups / p.depth, sum.mean / sum.groups, engines)
                           : fmt::format("{:.6g} groups of {} lanes * {:.6g} cycles / {:.0f}", sum.groups, core.lanes,
                                         sum.mean / sum.groups, engines);
    result.sampled = sum.failureProbability > 0;
    if (result.sampled)
      result.formula += " (of sampled groups)";
  }
  if (!std::isfinite(result.mean) || !std::isfinite(result.max))
    return notSkipped(
        fmt::format("a product of {} by {} by {} takes more cycles than can be counted", p.rows, p.columns, p.depth));
  const double computed = result.active; // what is not skipped
  result.active = std::min(computed, notZero);
  result.gated = computed - result.active > 1e-12 * computed ? computed - result.active : 0; // not what rounding leaves
  return result;
}

} // namespace accord
