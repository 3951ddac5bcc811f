// Cycles and energy of products on cores that use zeros against arrays that are stepped over masks drawn at random: the
// mean, and how often a run takes longer than the quantile.
#include "lib/sparsity/cost/Format.h"
#include "test/lib/sparsity/SparseArrayCases.h"
#include "test/lib/sparsity/SparsePublished.h"
#include "test/support/Random.h"
#include <array>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

using fuzz::Random;
using simulator::drawMask;
using simulator::SparseMask;

constexpr std::array kConfidences = {0.9, 0.95, 0.99};

/// What runs of one case said.
struct Runs {
  int64_t count = 0;
  double sum = 0, squares = 0, active = 0, activeSquares = 0, gated = 0, gatedSquares = 0;
  std::array<int64_t, kConfidences.size()> above = {};
  double mean() const { return sum / static_cast<double>(count); }
  /// Of the mean.
  double error() const { return deviation(sum, squares); }
  /// Of the shares of places.
  double placesError() const { return std::max(deviation(active, activeSquares), deviation(gated, gatedSquares)); }

private:
  double deviation(double of, double ofSquares) const {
    double n = static_cast<double>(count);
    return std::sqrt(std::max(0.0, ofSquares / n - of / n * of / n) / n);
  }
};

/// Runs with new masks each, until the mean is known to a quarter of a percent.
Runs repeat(const SparseCase &c, const std::array<ProductCycles, kConfidences.size()> &expected, Random &source) {
  Runs runs;
  auto places = static_cast<double>(c.product.rows * c.product.columns * c.product.depth);
  // A last cycle that has not enough to do for all multipliers is a cycle.
  double last = c.core.stationary.of > 0 ? 1 : 0;
  // What happens rarely must have had its chance: more runs of small products.
  int64_t min = std::clamp<int64_t>(static_cast<int64_t>(3e6 / places), 16, 300);
  int64_t max = isRandom(c.product.stationary) || isRandom(c.product.streaming) ? 20'000 : 1;
  do {
    SparseMask w = drawMask(c.product.stationary, c.product.columns, c.product.depth, source),
               x = drawMask(c.product.streaming, c.product.rows, c.product.depth, source);
    simulator::SparseRun run = simulate(c, w, x);
    auto cycles = static_cast<double>(run.cycles);
    ++runs.count;
    runs.sum += cycles, runs.squares += cycles * cycles;
    double active = static_cast<double>(run.active) / places;
    runs.active += active, runs.activeSquares += active * active;
    double gated = static_cast<double>(run.gated) / places;
    runs.gated += gated, runs.gatedSquares += gated * gated;
    for (size_t i = 0; i < kConfidences.size(); ++i)
      runs.above[i] += cycles > expected[i].quantile + last;
  } while (runs.count < max && (runs.count < min || runs.error() > runs.mean() / 400 || runs.placesError() > 0.0025));
  return runs;
}

/// P(at least `count` of `n`), each with probability `p`.
double atLeast(int64_t count, int64_t n, double p) {
  double sum = 0;
  for (int64_t k = count; k <= n; ++k) {
    double part = std::exp(std::lgamma(n + 1.0) - std::lgamma(static_cast<double>(k) + 1) -
                           std::lgamma(static_cast<double>(n - k) + 1) + static_cast<double>(k) * std::log(p) +
                           static_cast<double>(n - k) * std::log1p(-p));
    sum += part;
    if (part < 1e-18 * sum)
      break;
  }
  return sum;
}

/// How far the mean of runs may be from what was said, as shares of it.
struct Limits {
  double less = 0.01, more = 0.01;
  bool energy = true;
};

/// Cases at random, each held against as many runs as it takes.
void compare(int64_t cases, uint64_t seed, const std::function<SparseCase(Random &)> &draw, const Limits &limits = {}) {
  Random source(seed);
  double min = 0, max = 0;
  int64_t count = 0;
  std::array<int64_t, kConfidences.size()> above = {};
  std::array<double, kConfidences.size()> slack = {}; // of quantiles, over the mean
  for (int64_t i = 0; i < cases; ++i) {
    SparseCase c = draw(source);
    std::array<ProductCycles, kConfidences.size()> said;
    for (size_t k = 0; k < kConfidences.size(); ++k) {
      auto answer = productCycles(c.product, c.core, c.array, kConfidences[k]);
      if (!answer) {
        ADD_FAILURE() << answer.error().message << "\n" << told(c);
        return;
      }
      said[k] = *answer;
    }
    Runs runs = repeat(c, said, source);
    double mean = said[0].mean, apart = (runs.mean() - mean) / std::max(1.0, mean);
    min = std::min(min, apart), max = std::max(max, apart);
    EXPECT_TRUE(apart >= -limits.less && apart <= limits.more)
        << "case " << i << ": " << runs.mean() << " ± " << runs.error() << " cycles, not " << mean << "\n"
        << told(c);
    auto all = static_cast<double>(runs.count);
    if (limits.energy) {
      EXPECT_NEAR(runs.active / all, said[0].active, 0.01) << told(c);
      EXPECT_NEAR(runs.gated / all, said[0].gated, 0.01) << told(c);
    }
    count += runs.count;
    for (size_t k = 0; k < kConfidences.size(); ++k) {
      above[k] += runs.above[k];
      slack[k] += said[k].quantile / std::max(1.0, mean) - 1;
      EXPECT_LE(said[k].quantile, said[k].max) << told(c);
      EXPECT_GT(atLeast(runs.above[k], runs.count, 1 - kConfidences[k]), 1e-6)
          << runs.above[k] << " of " << runs.count << " runs above " << said[k].quantile << ", the quantile of "
          << kConfidences[k] << "\n"
          << told(c);
    }
  }
  std::printf("%lld cases, %lld runs: means are from %.2f %% below to %.2f %% above what was said\n",
              static_cast<long long>(cases), static_cast<long long>(count), -100 * min, 100 * max);
  for (size_t k = 0; k < kConfidences.size(); ++k) {
    EXPECT_GT(atLeast(above[k], count, 1 - kConfidences[k]), 1e-6);
    std::printf("confidence %g: %lld runs above the quantile, which is %.1f %% above the mean\n", kConfidences[k],
                static_cast<long long>(above[k]), 100 * slack[k] / static_cast<double>(cases));
  }
}

TEST(SparseArray, DotProductsInLanes) {
  compare(cases(60), 1, [](Random &random) { return dotProducts(random, 1); });
}

TEST(SparseArray, OuterProducts) {
  compare(cases(100), 2, [](Random &random) { return outerProducts(random, 1); });
}

TEST(SparseArray, StructuredWeights) { compare(cases(70), 3, structuredProducts); }

/// Engines that take the next group as soon as they are free: the mean to a group of each.
TEST(SparseArray, SeveralEngines) {
  compare(cases(25), 4, [](Random &random) { return dotProducts(random, 4); }, {.less = 0.05, .more = 0.05});
}

/// As many bits as are written one by one.
TEST(SparseArray, StoredBits) {
  Random random(7);
  int64_t held = 0;
  const int64_t count = cases(250);
  for (int64_t i = 0; i < count; ++i) {
    auto [pattern, format, shape, bits] = stored(random);
    std::array<StoredBits, kConfidences.size()> said;
    bool refused = false;
    for (size_t k = 0; k < kConfidences.size(); ++k) {
      auto answer = storedBits(pattern, format, shape, bits, kConfidences[k]);
      refused |= !answer;
      if (!refused)
        said[k] = *answer;
    }
    if (refused)
      continue;
    // Runs of zeros end with their line there, not here: no more than one more stored zero in each.
    double runs = format.kind == SparseFormat::Kind::RunLength
                      ? static_cast<double>(shape.outputs * (bits + format.coordinateBits))
                      : 0;
    double sum = 0, squares = 0;
    int64_t count = isRandom(pattern) ? 64 : 1, written = 0;
    std::array<int64_t, kConfidences.size()> ofThis = {};
    for (; written < count; ++written) {
      auto tensor = encode(drawMask(pattern, shape.outputs, shape.reduction, random), format, bits);
      if (!tensor)
        break;
      auto size = static_cast<double>(tensor->size());
      sum += size, squares += size * size;
      for (size_t k = 0; k < kConfidences.size(); ++k)
        ofThis[k] += size > said[k].quantile * (1 + 1e-12) + runs;
    }
    if (written < count)
      continue; // it does not fit
    ++held;
    auto n = static_cast<double>(count);
    double mean = sum / n, error = std::sqrt(std::max(0.0, squares / n - mean * mean) / n);
    auto name = "format " + std::to_string(static_cast<int>(format.kind)) + " of pattern " +
                std::to_string(static_cast<int>(pattern.kind)) + " " + std::to_string(shape.outputs) + " x " +
                std::to_string(shape.reduction) + " density " + std::to_string(pattern.density) + " group " +
                std::to_string(pattern.of) + " blocks " + std::to_string(pattern.blockRows) + " x " +
                std::to_string(pattern.blockColumns);
    EXPECT_LE(mean, 1.001 * said[0].mean + 5 * error + runs) << name;
    if (runs == 0) // zeros that come together make fewer runs than was said
      EXPECT_GE(mean, 0.999 * said[0].mean - 5 * error) << name;
    for (size_t k = 0; k < kConfidences.size(); ++k)
      EXPECT_GT(atLeast(ofThis[k], count, 1 - kConfidences[k]), 1e-6) << name;
  }
  EXPECT_GT(held, count / 2);
}

/// The published counts of one element that skips the zeros of both operands: with densities alone to three cycles of
/// Sparseloop, which states them with two digits; with the masks to the cycle of what was simulated.
TEST(SparseArray, MasksOfAPublishedLayer) {
  SparseCore core;
  core.stationary = core.streaming = {.mode = SparseAcceleration::Mode::Skip, .compress = true};
  for (const published::SinglePe &layer : published::kSinglePe) {
    SparseProduct p{layer.pixels, layer.outputs, layer.inputs, {}, {}, {}, {}};
    p.stationary.kind = p.streaming.kind = SparsityPattern::Kind::Unstructured;
    p.stationary.density = layer.weights, p.streaming.density = layer.activations;
    p.stationaryFormat.kind = p.streamingFormat.kind = SparseFormat::Kind::Bitmask;
    auto said = *(productCycles(p, core, {}, 0.95));
    EXPECT_NEAR(said.mean / static_cast<double>(layer.sparseloop), 1, 3e-4) << layer.layer;
    EXPECT_LT(said.mean, static_cast<double>(layer.simulated)) << layer.layer;
    if (std::string(layer.layer) != "L07")
      continue;
    p.stationary.kind = p.streaming.kind = SparsityPattern::Kind::Mask;
    for (auto [pattern, lines, counts] : {std::tuple{&p.stationary, layer.outputs, published::kL07Outputs},
                                          std::tuple{&p.streaming, layer.pixels, published::kL07Pixels}})
      for (int64_t line = 0; line < lines; ++line) {
        pattern->mask.emplace_back();
        for (int64_t c = 0; c < layer.inputs; ++c)
          pattern->mask.back().push_back(line < counts[c]);
      }
    said = *(productCycles(p, core, {}, 0.95));
    EXPECT_EQ(said.mean, static_cast<double>(layer.simulated));
    EXPECT_EQ(said.quantile, static_cast<double>(layer.simulated));
  }
}

} // namespace
