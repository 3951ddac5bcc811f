// Cycles of products with zeros: published figures, and arrays stepped over every mask of small operands.
#include "lib/sparsity/cost/Cycles.h"
#include "test/lib/sparsity/SparseProductFixture.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace accord;
using namespace accord::test;

namespace {

/// The core of 1,024 multipliers behind 42 words a cycle, that keeps 16 of each tile of the reduction.
SparseCore structuredCore(int64_t kept, int64_t of, double extraBits) {
  SparseCore core;
  core.stationary.mode = SparseAcceleration::Mode::Skip;
  core.stationary.kept = kept;
  core.stationary.of = of;
  core.tile = 16 * of / kept;
  core.metadataBits = extraBits;
  core.wordsPerCycle = 42;
  return core;
}

SparseFormat nm(int64_t kept, int64_t of) {
  SparseFormat f;
  f.kind = SparseFormat::Kind::Structured;
  f.kept = kept;
  f.of = of;
  return f;
}

double structuredCycles(int64_t kept, int64_t of, double extraBits, int64_t depth) {
  SparseProduct p = product(1024, 128, depth, structured(kept, of));
  p.stationaryFormat = nm(kept, of);
  p.elementBits = 8;
  ProductArray array;
  array.perCycle = 1024;
  array.stationaryWords = 8;
  ProductCycles found = cycles(p, structuredCore(kept, of, extraBits), array);
  EXPECT_EQ(found.mean, found.quantile);
  return found.mean;
}

TEST(SparsityCycles, StructuredFollowsBandwidth) {
  // Sparse tensor core of 1,024 multipliers, 42 words of 8 bits a cycle (Sparseloop, MICRO 2022, artifact): demand 42
  // at 2:4, 60 at 2:6, 76 at 2:8; so 2:6 gains 2.10 and 2:8 gains 2.21, not 3 and 4.
  const double dense = 1024.0 * 128 * 1152 / 1024;
  EXPECT_EQ(structuredCycles(2, 4, 0, 1152), dense / 2);
  EXPECT_EQ(structuredCycles(2, 6, 1, 1152), std::ceil(dense / 3 * 60 / 42));
  EXPECT_NEAR(dense / structuredCycles(2, 6, 1, 1152), 2.10, 5e-3);
  EXPECT_NEAR(dense / structuredCycles(2, 8, 1, 1152), 2.21, 5e-3);
  // The reduction is padded to 48 at 2:6: 128 to 144, 1,024 to 1,056; so on a short one 2:6 is slower than 2:4 would
  // suggest.
  EXPECT_EQ(structuredCycles(2, 6, 1, 128), std::ceil(128.0 * 144 / 3 * 60 / 42));
  EXPECT_EQ(structuredCycles(2, 6, 1, 1024), std::ceil(128.0 * 1056 / 3 * 60 / 42));
}

TEST(SparsityCycles, StructuredWithACompressedOther) {
  // A bitmask of 8-bit words of density 1/2 is 5/8 of them: demand 10 + 20 of 2:4, 12 + 30 of 2:6.
  SparseProduct p = product(1024, 128, 1152, structured(2, 6), unstructured(0.5));
  p.stationaryFormat = nm(2, 6);
  p.elementBits = 8;
  SparseCore core = structuredCore(2, 6, 1);
  core.streaming.compress = true;
  ProductArray array;
  array.perCycle = 1024;
  array.stationaryWords = 8;
  EXPECT_EQ(cycles(p, core, array).mean, 128.0 * 1152 / 3);
}

TEST(SparsityCycles, OnlyWhatACoreTakes) {
  SparseAcceleration use;
  use.kept = 2;
  use.of = 4;
  EXPECT_TRUE(supportsPattern(use, structured(2, 4)));
  EXPECT_TRUE(supportsPattern(use, structured(1, 4)));
  EXPECT_TRUE(supportsPattern(use, structured(1, 2)));
  EXPECT_TRUE(supportsPattern(use, structured(2, 8)));
  EXPECT_FALSE(supportsPattern(use, structured(4, 8))); // all four may be neighbours
  EXPECT_FALSE(supportsPattern(use, structured(3, 4)));
  EXPECT_FALSE(supportsPattern(use, structured(2, 3))); // two of three beside two of three
  EXPECT_FALSE(supportsPattern(use, unstructured(0.5)));
  SparsityPattern across = structured(2, 4);
  across.along = SparsityPattern::Along::Output;
  EXPECT_FALSE(supportsPattern(use, across));
  across.transposable = true;
  EXPECT_TRUE(supportsPattern(use, across));
  // What it does not take costs what dense does.
  SparseProduct p = product(64, 64, 64, unstructured(0.1));
  ProductCycles found = cycles(p, structuredCore(2, 4, 0));
  EXPECT_EQ(found.mean, found.dense);
  EXPECT_EQ(found.active, 1);
}

TEST(SparsityCycles, WhatIsTakenNeverHasMore) {
  // Every row of groups of a pattern, cut into the core's groups.
  for (int64_t of : {2, 3, 4, 6, 8})
    for (int64_t kept = 1; kept <= of; ++kept)
      for (int64_t coreOf : {2, 3, 4, 6, 8}) {
        const int64_t length = std::lcm(of, coreOf);
        int64_t max = 0;
        for (int64_t start = 0; start < length; start += coreOf) {
          int64_t here = 0; // non-zeros crowd into this group of the core's
          for (int64_t group = start / of * of; group < start + coreOf; group += of)
            here += std::min(kept, std::min(group + of, start + coreOf) - std::max(group, start));
          max = std::max(max, here);
        }
        for (int64_t coreKept = 1; coreKept <= coreOf; ++coreKept) {
          SparseAcceleration use;
          use.kept = coreKept;
          use.of = coreOf;
          if (supportsPattern(use, structured(kept, of)))
            EXPECT_LE(max, coreKept) << kept << ":" << of << " on " << coreKept << ":" << coreOf;
          else if (of % coreOf == 0 || coreOf % of == 0) // exact where groups do not cross
            EXPECT_GT(max, coreKept) << kept << ":" << of << " on " << coreKept << ":" << coreOf;
        }
      }
}

TEST(SparsityCycles, OneElementMeetsNonZerosOnly) {
  // Eyeriss v2's processing element: MACs * d * d, with densities of whole elements.
  SparseProduct p = product(49, 256, 512, unstructured(0.6173), unstructured(0.4127));
  ProductCycles found = cycles(p, skipping(1, 1, 1));
  double w = std::ceil(0.6173 * 256 * 512) / (256 * 512), x = std::ceil(0.4127 * 49 * 512) / (49 * 512);
  EXPECT_NEAR(found.mean, 49.0 * 256 * 512 * w * x, 1e-3);
  EXPECT_NEAR(found.active, w * x, 1e-12);
  EXPECT_EQ(found.gated, 0);
}

TEST(SparsityCycles, OuterProductsOfTiles) {
  // Dual-side sparse tensor core: 32 by 32 tiles on 8 by 16 multipliers, E[ceil(A / 8)] * E[ceil(B / 16)] per step of
  // the reduction; here by summing over every pair of counts.
  const int64_t size = 128;
  ProductArray array{128, 8, 16, 0};
  for (double dw : {0.1, 0.35, 0.8})
    for (double dx : {0.25, 0.7}) {
      auto weights = [&](int64_t n, double d) {
        std::vector<double> p(33);
        double kept = std::ceil(d * static_cast<double>(n) - 1e-9), all = static_cast<double>(n);
        for (int k = 0; k <= 32; ++k)
          p[static_cast<size_t>(k)] =
              std::exp(std::lgamma(33.0) - std::lgamma(k + 1.0) - std::lgamma(33.0 - k) + std::lgamma(all - 31) -
                       std::lgamma(kept - k + 1) - std::lgamma(all - 32 - kept + k + 1) - std::lgamma(all + 1) +
                       std::lgamma(kept + 1) + std::lgamma(all - kept + 1));
        return p;
      };
      auto a = weights(size * size, dw), b = weights(size * size, dx);
      double expected = 0;
      for (int i = 0; i <= 32; ++i)
        for (int j = 0; j <= 32; ++j)
          expected += a[static_cast<size_t>(i)] * b[static_cast<size_t>(j)] * ((i + 7) / 8) * ((j + 15) / 16);
      ProductCycles found =
          cycles(product(size, size, size, unstructured(dw), unstructured(dx)), skipping(32, 1, 1), array);
      EXPECT_NEAR(found.mean, expected * size * 4 * 4, 1e-6 * expected * size * 16);
      EXPECT_EQ(found.dense, 8.0 * size * 16);
      EXPECT_GT(found.quantile, found.mean);
      EXPECT_LT(found.quantile, found.mean * 1.1);
    }
}

TEST(SparsityCycles, LanesWaitForTheSlowest) {
  ProductCycles four = cycles(product(1, 400, 8, unstructured(0.5, true)), skipping(8, 1, 4));
  EXPECT_NEAR(four.mean, 100 * 2915816807.0 / 536870912.0, 1e-9);
  ProductCycles sixteen = cycles(product(1, 16, 64, unstructured(0.25, true)), skipping(64, 1, 16));
  EXPECT_NEAR(sixteen.mean, 22.286, 5e-4);
}

TEST(SparsityCycles, NothingIsZeroIsDenseToTheBit) {
  std::mt19937_64 draw(7);
  auto pick = [&](int64_t max) { return static_cast<int64_t>(draw() % static_cast<uint64_t>(max)) + 1; };
  for (int i = 0; i < 300; ++i) {
    SparseProduct p = product(pick(300), pick(300), pick(300), unstructured(1, pick(2) == 1), unstructured(1));
    SparseCore core = skipping(pick(64), pick(8), pick(32));
    core.stationary.granule = pick(4);
    ProductArray array;
    array.perCycle = static_cast<double>(pick(512));
    if (pick(2) == 1) {
      array.outerStationary = pick(16);
      array.outerStreaming = pick(16);
    }
    ProductCycles found = cycles(p, core, array);
    EXPECT_EQ(found.mean, found.dense);
    EXPECT_EQ(found.active, 1);
    EXPECT_EQ(found.gated, 0);
    core.setupCycles = 40;
    EXPECT_EQ(cycles(p, core, array).mean, found.dense + 40);
  }
}

TEST(SparsityCycles, StoredZerosAreGatedNotSkipped) {
  SparseProduct p = product(64, 64, 256, unstructured(0.25), unstructured(0.5));
  p.stationaryFormat = {};
  SparseCore core = skipping(1, 1, 1);
  core.streaming.mode = SparseAcceleration::Mode::None;
  ProductCycles found = cycles(p, core);
  EXPECT_EQ(found.mean, found.dense);
  EXPECT_NEAR(found.active, 0.25, 1e-12);
  EXPECT_NEAR(found.gated, 0.75, 1e-12);
  // One is skipped, zeros of the other are gated among what is left.
  p.stationaryFormat = bitmask();
  core.streaming.mode = SparseAcceleration::Mode::Gate;
  found = cycles(p, core);
  EXPECT_NEAR(found.mean, 0.25 * found.dense, 1e-6);
  EXPECT_NEAR(found.active, 0.125, 1e-12);
  EXPECT_NEAR(found.gated, 0.125, 1e-12);
}

TEST(SparsityCycles, OneSidedCoresGainNothingFromTheOtherSide) {
  // SIGMA: 50 or 80 % zeros in the streaming operand change nothing.
  SparseCore core = skipping(64, 1, 16);
  core.streaming.mode = SparseAcceleration::Mode::None;
  EXPECT_EQ(cycles(product(64, 64, 256, unstructured(0.3), unstructured(0.2)), core).mean,
            cycles(product(64, 64, 256, unstructured(0.3)), core).mean);
}

TEST(SparsityCycles, QuantilesTightenWithSize) {
  SparseCore core = skipping(32, 4, 8);
  for (auto [extent, max] : {std::pair{64, 1.6}, {512, 1.06}, {4096, 1.01}}) {
    ProductCycles found =
        cycles(product(extent, extent, extent, unstructured(0.3, true), unstructured(0.5, true)), core);
    EXPECT_LT(found.quantile / found.mean, max) << extent;
    EXPECT_GT(found.quantile, found.mean);
    ProductCycles moreConfident =
        cycles(product(extent, extent, extent, unstructured(0.3, true), unstructured(0.5, true)), core, {}, 0.999);
    EXPECT_GT(moreConfident.quantile, found.quantile);
    EXPECT_LE(moreConfident.quantile, moreConfident.max);
  }
}

TEST(SparsityCycles, WrongInputIsRefused) {
  auto refused = [](const SparseProduct &p, const SparseCore &core, const ProductArray &array = {},
                    double confidence = 0.95) {
    auto found = productCycles(p, core, array, confidence);
    ASSERT_TRUE(!found);
    EXPECT_EQ(found.error().code, Code::NotSkipped);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SparseProduct good = product(8, 8, 8, unstructured(0.5));
  refused(product(0, 8, 8, unstructured(0.5)), skipping(4, 1, 1));
  refused(product(8, 8, std::numeric_limits<int64_t>::max(), unstructured(0.5)), skipping(4, 1, 1));
  refused(product(8, 8, 8, unstructured(nan)), skipping(4, 1, 1));
  refused(good, skipping(0, 1, 1));
  refused(good, skipping(1 << 20, 1, 1));
  refused(good, skipping(4, 0, 1));
  refused(good, skipping(4, 1, std::numeric_limits<int64_t>::max()));
  for (double confidence : {0.0, 1.0, -1.0, nan})
    refused(good, skipping(4, 1, 1), {}, confidence);
  for (double rate : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()})
    refused(good, skipping(4, 1, 1), {rate, 0, 0, 0});
  refused(good, skipping(4, 1, 1), {1, 8, 0, 0});
  SparseCore core = skipping(4, 1, 1);
  core.stationary.kept = 5;
  core.stationary.of = 4;
  refused(good, core);
  // The largest extents are counted, not walked.
  EXPECT_GT(cycles(product(int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 40, unstructured(0.5), unstructured(0.5)),
                   skipping(64, 4, 1 << 20))
                .mean,
            1e29);
}

} // namespace
