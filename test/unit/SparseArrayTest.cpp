// Cycles and energy of products on cores that use zeros against arrays that are stepped over masks
// drawn at random: the mean, and how often a run takes longer than the quantile.
#include "test/unit/SparseArrayCases.h"
#include "test/unit/SparsePublished.h"
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

/// Runs with new masks each, until the mean is known to a quarter of a percent.
Runs repeat(const SparseCase &c, const std::array<ProductCycles, kConfidences.size()> &expected,
            Random &source) {
  Runs runs;
  auto places = static_cast<double>(c.product.rows * c.product.columns * c.product.depth);
  // A last cycle that has not enough to do for all multipliers is a cycle.
  double last = c.core.stationary.of > 0 ? 1 : 0;
  int64_t most = isRandom(c.product.stationary) || isRandom(c.product.streaming) ? 20'000 : 1;
  do {
    SparseMask w = drawMask(c.product.stationary, c.product.columns, c.product.depth, source),
               x = drawMask(c.product.streaming, c.product.rows, c.product.depth, source);
    simulator::SparseRun run = simulate(c, w, x);
    auto cycles = static_cast<double>(run.cycles);
    ++runs.count;
    runs.sum += cycles, runs.squares += cycles * cycles;
    double active = static_cast<double>(run.active) / places;
    runs.active += active, runs.activeSquares += active * active;
    runs.gated += static_cast<double>(run.gated) / places;
    for (size_t i = 0; i < kConfidences.size(); ++i)
      runs.above[i] += cycles > expected[i].quantile + last;
  } while (runs.count < most &&
           (runs.count < 16 || runs.error() > runs.mean() / 400 || runs.activeError() > 0.0025));
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

/// How far the mean of runs may be from what was said, as shares of it.
struct Limits {
  double less = 0.01, more = 0.01;
  bool energy = true;
};

/// Cases at random, each held against as many runs as it takes.
void compare(int64_t cases, uint64_t seed, const std::function<SparseCase(Random &)> &draw,
             const Limits &limits = {}) {
  Random source(seed);
  double least = 0, most = 0;
  int64_t count = 0;
  std::array<int64_t, kConfidences.size()> above = {};
  std::array<double, kConfidences.size()> slack = {}; // of quantiles, over the mean
  for (int64_t i = 0; i < cases; ++i) {
    SparseCase c = draw(source);
    std::array<ProductCycles, kConfidences.size()> said;
    for (size_t k = 0; k < kConfidences.size(); ++k) {
      auto answer = productCycles(c.product, c.core, c.array, kConfidences[k]);
      if (auto *issue = std::get_if<Issue>(&answer)) {
        ADD_FAILURE() << issue->message << "\n" << told(c);
        return;
      }
      said[k] = std::get<ProductCycles>(answer);
    }
    Runs runs = repeat(c, said, source);
    double mean = said[0].mean, apart = (runs.mean() - mean) / std::max(1.0, mean);
    least = std::min(least, apart), most = std::max(most, apart);
    EXPECT_TRUE(apart >= -limits.less && apart <= limits.more)
        << "case " << i << ": " << runs.mean() << " ± " << runs.error() << " cycles, not " << mean
        << "\n"
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
      EXPECT_LE(said[k].quantile, said[k].most) << told(c);
      EXPECT_GT(atLeast(runs.above[k], runs.count, 1 - kConfidences[k]), 1e-6)
          << runs.above[k] << " of " << runs.count << " runs above " << said[k].quantile
          << ", the quantile of " << kConfidences[k] << "\n"
          << told(c);
    }
  }
  std::printf(
      "%lld cases, %lld runs: means are from %.2f %% below to %.2f %% above what was said\n",
      static_cast<long long>(cases), static_cast<long long>(count), -100 * least, 100 * most);
  for (size_t k = 0; k < kConfidences.size(); ++k) {
    EXPECT_GT(atLeast(above[k], count, 1 - kConfidences[k]), 1e-6);
    std::printf("confidence %g: %lld runs above the quantile, which is %.1f %% above the mean\n",
                kConfidences[k], static_cast<long long>(above[k]),
                100 * slack[k] / static_cast<double>(cases));
  }
}

TEST(SparseArray, DotProductsInLanes) {
  compare(600, 1, [](Random &random) { return dotProducts(random, {}); });
}

TEST(SparseArray, OuterProducts) {
  compare(250, 2, [](Random &random) { return outerProducts(random, {}); });
}

TEST(SparseArray, StructuredWeights) { compare(150, 3, structuredProducts); }

} // namespace
