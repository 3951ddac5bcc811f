// Cycles and energy of products on cores that use zeros against arrays that are stepped over masks
// drawn at random: the mean, and how often a run takes longer than the quantile.
#include "lib/prune/Cycles.h"
#include "test/unit/SparseArraySimulator.h"
#include "test/unit/SparsePublished.h"
#include <array>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace accord;

namespace {

using fuzz::Random;
using simulator::drawMask;
using simulator::SparseMask;
using Kind = ZeroPattern::Kind;
using Mode = ZeroUse::Mode;
using Format = SparseFormat::Kind;

constexpr std::array kConfidences = {0.9, 0.95, 0.99};

int64_t between(Random &random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random.below(static_cast<size_t>(high - low + 1)));
}

int64_t extent(Random &random, int64_t least, int64_t most) { // log-uniform
  double share = static_cast<double>(random.below(1 << 20)) / (1 << 20);
  return static_cast<int64_t>(
      static_cast<double>(least) *
      std::pow(static_cast<double>(most) / static_cast<double>(least), share));
}

/// A divisor of `tile` or, sometimes, any number up to `most`.
int64_t groupLength(Random &random, int64_t tile, int64_t most, bool whole) {
  std::vector<int64_t> fits;
  for (int64_t length = 1; length <= most; ++length)
    if (!whole || tile % length == 0)
      fits.push_back(length);
  return random.pick(fits);
}

/// `whole`: tiles are whole groups, windows and blocks.
ZeroPattern pattern(Random &random, int64_t outputs, int64_t reduction, int64_t tile, bool whole) {
  ZeroPattern p;
  p.density = static_cast<double>(between(random, 5, 100)) / 100;
  switch (random.below(10)) {
  case 0:
    return p;
  case 1:
    p.kind = Kind::Structured;
    p.of = groupLength(random, tile, 8, whole), p.kept = between(random, 1, p.of);
    p.transposable = random.percent(30);
    p.along = random.percent(70) ? ZeroPattern::Along::Reduction : ZeroPattern::Along::Output;
    break;
  case 2:
    p.kind = Kind::Block;
    p.blockRows = groupLength(random, tile, 4, whole);
    p.blockColumns = groupLength(random, tile, 8, whole);
    p.independent = random.percent(50);
    break;
  case 3:
    p.kind = Kind::Banded;
    p.band = between(random, 0, std::max(outputs, reduction) - 1);
    break;
  case 4: {
    p.kind = Kind::Histogram;
    p.window = groupLength(random, tile, 9, whole);
    p.histogram.resize(static_cast<size_t>(p.window + 1));
    double sum = 0;
    for (double &share : p.histogram)
      sum += share = static_cast<double>(random.below(8));
    if (sum == 0)
      sum = p.histogram[0] = 1;
    for (double &share : p.histogram)
      share /= sum;
    break;
  }
  case 5: {
    p.kind = Kind::Mask;
    for (int64_t r = 0; r < outputs; ++r) {
      auto percent = static_cast<unsigned>(between(random, 10, 90));
      p.mask.emplace_back();
      for (int64_t c = 0; c < reduction; ++c)
        p.mask.back().push_back(random.percent(percent));
    }
    break;
  }
  default:
    p.kind = Kind::Unstructured;
    p.independent = random.percent(40);
  }
  return p;
}

ZeroUse use(Random &random) {
  ZeroUse use;
  use.mode = random.percent(20) ? Mode::None : random.percent(25) ? Mode::Gate : Mode::Skip;
  use.compress = use.mode == Mode::Skip;
  if (random.percent(15))
    use.granule = between(random, 2, 4);
  return use;
}

struct Case {
  SparseProduct product;
  SparseCore core;
  ProductArray array;
};

bool skips(const ZeroUse &use, const ZeroPattern &pattern, const SparseFormat &format) {
  return use.mode == Mode::Skip && format.kind != Format::Dense && pattern.kind != Kind::Dense;
}

simulator::SparseRun simulate(const Case &c, const SparseMask &stationary,
                              const SparseMask &streaming) {
  bool w = skips(c.core.stationary, c.product.stationary, c.product.stationaryFormat),
       x = skips(c.core.streaming, c.product.streaming, c.product.streamingFormat);
  bool gateW = c.core.stationary.mode != Mode::None, gateX = c.core.streaming.mode != Mode::None;
  auto engines = [&](int64_t ofOne) {
    return std::max<int64_t>(1, static_cast<int64_t>(c.array.perCycle) / ofOne);
  };
  if (c.core.stationary.of > 0) {
    simulator::StructuredArray array;
    array.multipliers = static_cast<int64_t>(c.array.perCycle);
    array.kept = c.core.stationary.kept, array.of = c.core.stationary.of;
    array.tile = c.core.tile > 1 ? c.core.tile : array.of;
    array.wordsKept = c.array.stationaryWords, array.wordsPerCycle = c.core.wordsPerCycle;
    int64_t bits = 0;
    while ((int64_t{1} << bits) < array.of)
      ++bits;
    array.metadataBits = static_cast<double>(bits) + c.core.metadataBits;
    if (c.core.streaming.compress)
      array.streamingFormat = c.product.streamingFormat;
    array.elementBits = c.product.elementBits;
    array.gateStationary = gateW, array.gateStreaming = gateX;
    return step({stationary, streaming}, array);
  }
  if (c.array.outerStationary > 0) {
    simulator::OuterArray array;
    array.tile = c.core.tile;
    array.engines = engines(c.array.outerStationary * c.array.outerStreaming);
    array.stationary = {c.array.outerStationary, w, gateW};
    array.streaming = {c.array.outerStreaming, x, gateX};
    return step({stationary, streaming}, array);
  }
  simulator::LaneArray array;
  array.tile = c.core.tile, array.slots = c.core.slots, array.lanes = c.core.lanes;
  array.engines = engines(array.lanes * array.slots);
  array.stationary = {w, c.core.stationary.granule, gateW};
  array.streaming = {x, c.core.streaming.granule, gateX};
  return step({stationary, streaming}, array);
}

std::string told(const Case &c) {
  auto pattern = [](const ZeroPattern &p) {
    return "pattern " + std::to_string(static_cast<int>(p.kind)) + " d " +
           std::to_string(p.density) + (p.independent ? " independent " : " ") +
           std::to_string(p.kept) + ":" + std::to_string(p.of) +
           (p.along == ZeroPattern::Along::Output ? " along output" : "") +
           (p.transposable ? " transposable" : "") + " block " + std::to_string(p.blockRows) + "x" +
           std::to_string(p.blockColumns) + " band " + std::to_string(p.band) + " window " +
           std::to_string(p.window);
  };
  auto use = [](const ZeroUse &u) {
    return " mode " + std::to_string(static_cast<int>(u.mode)) + " granule " +
           std::to_string(u.granule) + " takes " + std::to_string(u.kept) + ":" +
           std::to_string(u.of);
  };
  return std::to_string(c.product.rows) + " x " + std::to_string(c.product.columns) + " x " +
         std::to_string(c.product.depth) + "\n stationary " + pattern(c.product.stationary) +
         use(c.core.stationary) + "\n streaming " + pattern(c.product.streaming) +
         use(c.core.streaming) + "\n tile " + std::to_string(c.core.tile) + " slots " +
         std::to_string(c.core.slots) + " lanes " + std::to_string(c.core.lanes) + " outer " +
         std::to_string(c.array.outerStationary) + "x" + std::to_string(c.array.outerStreaming) +
         " per cycle " + std::to_string(c.array.perCycle) + " words " +
         std::to_string(c.array.stationaryWords) + " of " + std::to_string(c.core.wordsPerCycle);
}

/// What runs of one case said.
struct Runs {
  int64_t count = 0;
  double sum = 0, squares = 0, active = 0, activeSquares = 0, gated = 0;
  std::array<int64_t, kConfidences.size()> above = {};
  double mean() const { return sum / static_cast<double>(count); }
  /// Of the mean.
  double error() const { return deviation(sum, squares); }
  double activeError() const { return deviation(active, activeSquares); }

private:
  double deviation(double of, double ofSquares) const {
    double n = static_cast<double>(count);
    return std::sqrt(std::max(0.0, ofSquares / n - of / n * of / n) / n);
  }
};

bool random(const ZeroPattern &p) {
  return p.kind != Kind::Dense && p.kind != Kind::Banded && p.kind != Kind::Mask;
}

/// Runs with new masks each, until the mean is known to a fifth of a percent.
Runs repeat(const Case &c, const std::array<ProductCycles, kConfidences.size()> &expected,
            Random &source) {
  Runs runs;
  auto places = static_cast<double>(c.product.rows * c.product.columns * c.product.depth);
  int64_t most = random(c.product.stationary) || random(c.product.streaming) ? 20'000 : 1;
  do {
    SparseMask w = drawMask(c.product.stationary, c.product.columns, c.product.depth, source),
               x = drawMask(c.product.streaming, c.product.rows, c.product.depth, source);
    simulator::SparseRun run = simulate(c, w, x);
    bool sparse = skips(c.core.stationary, c.product.stationary, c.product.stationaryFormat) ||
                  skips(c.core.streaming, c.product.streaming, c.product.streamingFormat);
    double cycles = static_cast<double>(run.cycles) + (sparse ? c.core.setupCycles : 0);
    ++runs.count;
    runs.sum += cycles, runs.squares += cycles * cycles;
    double active = static_cast<double>(run.active) / places;
    runs.active += active, runs.activeSquares += active * active;
    runs.gated += static_cast<double>(run.gated) / places;
    for (size_t i = 0; i < kConfidences.size(); ++i)
      runs.above[i] += cycles > expected[i].quantile;
  } while (runs.count < most &&
           (runs.count < 8 || runs.error() > runs.mean() / 500 || runs.activeError() > 0.002));
  return runs;
}

/// P(at least `count` of `n`), each with probability `p`.
double atLeast(int64_t count, int64_t n, double p) {
  double sum = 0;
  for (int64_t k = count; k <= n; ++k) {
    double part = std::exp(std::lgamma(n + 1.0) - std::lgamma(static_cast<double>(k) + 1) -
                           std::lgamma(static_cast<double>(n - k) + 1) +
                           static_cast<double>(k) * std::log(p) +
                           static_cast<double>(n - k) * std::log1p(-p));
    sum += part;
    if (part < 1e-18 * sum)
      break;
  }
  return sum;
}

struct Agreement {
  int64_t cases = 0, apart = 0, runs = 0;
  double worst = 0;
  std::array<int64_t, kConfidences.size()> above = {};
  std::array<double, kConfidences.size()> slack = {}; ///< of quantiles, over the mean
};

/// Cases until there are `count`; each is held against as many runs as it takes.
Agreement compare(int64_t cases, uint64_t seed, const std::function<Case(Random &)> &draw) {
  Agreement all;
  Random source(seed);
  for (; all.cases < cases; ++all.cases) {
    Case c = draw(source);
    std::array<ProductCycles, kConfidences.size()> expected;
    for (size_t i = 0; i < kConfidences.size(); ++i) {
      auto answer = productCycles(c.product, c.core, c.array, kConfidences[i]);
      if (auto *issue = std::get_if<Issue>(&answer)) {
        ADD_FAILURE() << issue->message << "\n" << told(c);
        return all;
      }
      expected[i] = std::get<ProductCycles>(answer);
    }
    Runs runs = repeat(c, expected, source);
    double apart =
        runs.mean() == expected[0].mean ? 0 : std::abs(runs.mean() / expected[0].mean - 1);
    all.worst = std::max(all.worst, apart);
    all.runs += runs.count;
    if (apart > 0.01) {
      ++all.apart;
      ADD_FAILURE() << "case " << all.cases << ": " << runs.mean() << " ± " << runs.error()
                    << " cycles, not " << expected[0].mean << "\n"
                    << told(c);
    }
    auto count = static_cast<double>(runs.count);
    EXPECT_NEAR(runs.active / count, expected[0].active, 0.01) << told(c);
    EXPECT_NEAR(runs.gated / count, expected[0].gated, 0.01) << told(c);
    for (size_t i = 0; i < kConfidences.size(); ++i) {
      all.above[i] += runs.above[i];
      all.slack[i] += expected[i].mean > 0 ? expected[i].quantile / expected[i].mean - 1 : 0;
      EXPECT_LE(expected[i].quantile, expected[i].most);
      EXPECT_GT(atLeast(runs.above[i], runs.count, 1 - kConfidences[i]), 1e-6)
          << runs.above[i] << " of " << runs.count << " runs above " << expected[i].quantile
          << ", the quantile of " << kConfidences[i] << "\n"
          << told(c);
    }
  }
  for (size_t i = 0; i < kConfidences.size(); ++i) {
    EXPECT_GT(atLeast(all.above[i], all.runs, 1 - kConfidences[i]), 1e-6);
    std::printf(
        "confidence %g: %lld of %lld runs above the quantile, which is %.2f %% above the mean\n",
        kConfidences[i], static_cast<long long>(all.above[i]), static_cast<long long>(all.runs),
        100 * all.slack[i] / static_cast<double>(all.cases));
  }
  std::printf("%lld of %lld cases further apart than 1 %%; the furthest %.3f %%\n",
              static_cast<long long>(all.apart), static_cast<long long>(all.cases),
              100 * all.worst);
  return all;
}

/// Products of 16 to 400 in each dimension; `places` multiply-accumulates at most.
void drawProduct(Random &random, int64_t places, bool whole, Case &c) {
  SparseProduct &p = c.product;
  do {
    p.rows = extent(random, 16, 400), p.columns = extent(random, 16, 400);
    p.depth = extent(random, 16, 400);
  } while (p.rows * p.columns * p.depth > places);
  p.stationary = pattern(random, p.columns, p.depth, c.core.tile, whole);
  p.streaming = pattern(random, p.rows, p.depth, c.core.tile, whole);
  for (SparseFormat *format : {&p.stationaryFormat, &p.streamingFormat})
    format->kind = random.percent(10) ? Format::Dense : Format::Bitmask;
  p.elementBits = random.percent(50) ? 8 : 16;
}

Case dotProducts(Random &random, bool whole) {
  Case c;
  c.core.stationary = use(random), c.core.streaming = use(random);
  c.core.tile = extent(random, 1, 100), c.core.slots = extent(random, 1, 8);
  c.core.lanes = extent(random, 1, 32);
  c.core.setupCycles = static_cast<double>(random.percent(20) ? between(random, 1, 100) : 0);
  c.array.perCycle = static_cast<double>(c.core.lanes * c.core.slots);
  drawProduct(random, 200'000, whole, c);
  return c;
}

Case outerProducts(Random &random, bool whole) {
  Case c;
  c.core.stationary = use(random), c.core.streaming = use(random);
  c.core.stationary.granule = c.core.streaming.granule = 1;
  c.core.tile = between(random, 1, 64);
  c.array.outerStationary = between(random, 1, 16), c.array.outerStreaming = between(random, 1, 16);
  c.array.perCycle = static_cast<double>(c.array.outerStationary * c.array.outerStreaming);
  drawProduct(random, 200'000, whole, c);
  return c;
}

TEST(SparseArray, DotProductsInLanes) {
  compare(600, 1, [](Random &random) { return dotProducts(random, true); });
}

TEST(SparseArray, OuterProducts) {
  compare(250, 2, [](Random &random) { return outerProducts(random, true); });
}

TEST(SparseArray, StructuredWeights) {
  compare(150, 3, [](Random &random) {
    Case c;
    drawProduct(random, 1'000'000, true, c);
    ZeroUse &w = c.core.stationary;
    w.mode = Mode::Skip, w.compress = true;
    w.of = between(random, 2, 8), w.kept = between(random, 1, w.of - 1);
    ZeroPattern stored;
    stored.kind = Kind::Structured;
    stored.of = w.of, stored.kept = between(random, 1, w.kept);
    c.core.tile = random.percent(50) ? 1 : w.of * between(random, 1, 8);
    int64_t whole = std::max(c.core.tile, w.of);
    c.product.depth = (c.product.depth + whole - 1) / whole * whole;
    c.product.stationary = stored;
    c.product.streaming = pattern(random, c.product.rows, c.product.depth, c.core.tile, false);
    c.product.stationaryFormat = {.kind = Format::Structured, .kept = w.kept, .of = w.of};
    c.core.streaming.mode = random.percent(50) ? Mode::Gate : Mode::None;
    c.array.perCycle = static_cast<double>(between(random, 1, 64));
    return c;
  });
}

} // namespace
