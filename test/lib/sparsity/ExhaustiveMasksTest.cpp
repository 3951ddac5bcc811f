// Arrays stepped over every mask of small operands: means to the digit, deviations and quantiles that hold.
#include "test/lib/sparsity/SparseProductFixture.h"
#include "test/lib/sparsity/SteppedCycles.h"
#include <array>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

/// Outer products: at each step of the reduction all pairs of tiles of outputs.
double steppedOuter(const Mask &w, const Mask &x, const SparseCore &core, const ProductArray &array) {
  Engines engines(array.perCycle / static_cast<double>(array.outerStationary * array.outerStreaming));
  auto rounds = [&](const Mask &mask, size_t from, size_t k, int64_t along) {
    int64_t count = 0;
    for (size_t i = from; i < std::min(mask.size(), from + static_cast<size_t>(core.tile)); ++i)
      count += mask[i][k];
    return (count + along - 1) / along;
  };
  for (size_t k = 0; k < w.front().size(); ++k)
    for (size_t i = 0; i < w.size(); i += static_cast<size_t>(core.tile))
      for (size_t j = 0; j < x.size(); j += static_cast<size_t>(core.tile))
        engines.take(rounds(w, i, k, array.outerStationary) * rounds(x, j, k, array.outerStreaming));
  return engines.end();
}

struct Truth {
  double mean = 0, square = 0, within = 0;
};

/// Every pair of masks with its probability; `density` of each element, or exactly ceil(density * elements) of them.
Truth everyMask(const SparseProduct &p, const SparseCore &core, const ProductArray &array, bool skipW, bool skipX,
                double limit) {
  const int64_t ws = skipW ? p.columns * p.depth : 0, xs = skipX ? p.rows * p.depth : 0;
  auto probability = [](unsigned bits, int64_t places, const SparsityPattern &pattern) {
    int ones = __builtin_popcount(bits);
    if (pattern.independent)
      return std::pow(pattern.density, ones) * std::pow(1 - pattern.density, static_cast<double>(places) - ones);
    double kept = std::ceil(pattern.density * static_cast<double>(places) - 1e-9), all = static_cast<double>(places);
    return ones == static_cast<int>(kept)
               ? std::exp(std::lgamma(kept + 1) + std::lgamma(all - kept + 1) - std::lgamma(all + 1))
               : 0.0;
  };
  auto mask = [&](unsigned bits, int64_t lines, bool all) {
    Mask result(static_cast<size_t>(lines), std::vector<bool>(static_cast<size_t>(p.depth), true));
    for (int64_t i = 0; !all && i < lines * p.depth; ++i)
      result[static_cast<size_t>(i / p.depth)][static_cast<size_t>(i % p.depth)] = bits >> i & 1;
    return result;
  };
  Truth truth;
  for (unsigned w = 0; w < 1u << ws; ++w) {
    double pw = skipW ? probability(w, ws, p.stationary) : 1;
    if (pw == 0)
      continue;
    Mask stationary = mask(w, p.columns, !skipW);
    for (unsigned x = 0; x < 1u << xs; ++x) {
      double both = pw * (skipX ? probability(x, xs, p.streaming) : 1);
      if (both == 0)
        continue;
      const Mask streaming = mask(x, p.rows, !skipX);
      double took = array.outerStationary > 0 ? steppedOuter(stationary, streaming, core, array)
                                              : stepped(stationary, streaming, core, array, skipW, skipX);
      truth.mean += both * took;
      truth.square += both * took * took;
      truth.within += took <= limit ? both : 0;
    }
  }
  return truth;
}

struct Case {
  int64_t rows, columns, depth, tile, slots, lanes, granule;
  bool skipW, skipX;
};

TEST(ExhaustiveMasks, DotProductsInLanes) {
  const Case cases[] = {
      {2, 3, 4, 2, 1, 2, 1, true, false}, {2, 3, 4, 2, 2, 3, 1, true, false}, {3, 2, 4, 2, 1, 2, 1, false, true},
      {2, 2, 3, 2, 1, 2, 1, true, true},  {2, 2, 4, 4, 2, 2, 2, true, true},  {2, 2, 3, 3, 1, 4, 1, true, true},
      {1, 3, 3, 2, 1, 4, 1, true, true},  {2, 2, 3, 1, 1, 1, 1, true, true},  {3, 2, 2, 1, 1, 5, 1, true, true},
      {2, 3, 3, 2, 1, 3, 1, false, true}, {1, 3, 5, 2, 1, 4, 1, true, false}, {1, 2, 6, 4, 1, 2, 2, true, false}};
  for (const Case &c : cases)
    for (bool independent : {true, false})
      for (double density : {0.3, 0.6})
        for (double confidence : {0.5, 0.9, 0.99}) {
          SparseProduct p =
              product(c.rows, c.columns, c.depth, c.skipW ? unstructured(density, independent) : SparsityPattern{},
                      c.skipX ? unstructured(density, independent) : SparsityPattern{});
          SparseCore core = skipping(c.tile, c.slots, c.lanes);
          core.stationary.granule = core.streaming.granule = c.granule;
          ProductCycles found = cycles(p, core, {}, confidence);
          Truth truth = everyMask(p, core, {}, c.skipW, c.skipX, found.quantile);
          std::string what =
              testing::PrintToString(std::vector<int64_t>{c.rows, c.columns, c.depth, c.tile, c.slots, c.lanes,
                                                          c.granule, c.skipW, c.skipX, independent}) +
              " at " + std::to_string(density);
          // Lanes that draw from one small operand without replacement are not independent: drawn; at one lane all is
          // exact.
          if (independent || c.lanes == 1)
            EXPECT_NEAR(found.mean, truth.mean, 1e-9) << what;
          else
            EXPECT_NEAR(found.mean, truth.mean, 0.008 * truth.mean) << what;
          EXPECT_GE(truth.within, confidence - 1e-12) << what;
          EXPECT_GE(found.deviation * found.deviation, truth.square - truth.mean * truth.mean - 1e-9) << what;
          EXPECT_LE(found.quantile, found.max) << what;
        }
}

TEST(ExhaustiveMasks, OuterProducts) {
  for (auto [rows, columns, depth, tile] :
       {std::array<int64_t, 4>{3, 3, 2, 2}, {2, 4, 2, 4}, {4, 3, 2, 3}, {2, 2, 3, 1}})
    for (bool independent : {true, false})
      for (double density : {0.3, 0.7})
        for (double confidence : {0.5, 0.9, 0.99}) {
          SparseProduct p =
              product(rows, columns, depth, unstructured(density, independent), unstructured(density, independent));
          ProductArray array{4, 2, 2, 0};
          ProductCycles found = cycles(p, skipping(tile, 1, 1), array, confidence);
          Truth truth = everyMask(p, skipping(tile, 1, 1), array, true, true, found.quantile);
          EXPECT_NEAR(found.mean, truth.mean, 1e-9);
          EXPECT_GE(truth.within, confidence - 1e-12);
          EXPECT_GE(found.deviation * found.deviation, truth.square - truth.mean * truth.mean - 1e-9);
        }
}

TEST(ExhaustiveMasks, EnginesEndWithTheLastGroup) {
  ProductArray two;
  two.perCycle = 2;
  EXPECT_EQ(cycles(product(1, 7, 2, unstructured(1)), skipping(2, 1, 1), two).mean,
            8); // seven groups of two cycles
  for (double engines : {2.0, 3.0})
    for (int64_t lanes : {1, 2})
      for (double density : {0.2, 0.5, 0.8})
        for (double confidence : {0.5, 0.9, 0.99}) {
          SparseProduct p = product(2, 3, 4, unstructured(density, true));
          SparseCore core = skipping(2, 1, lanes);
          ProductArray array;
          array.perCycle = engines * static_cast<double>(lanes);
          ProductCycles found = cycles(p, core, array, confidence);
          Truth truth = everyMask(p, core, array, true, false, found.quantile);
          EXPECT_GE(truth.within, confidence - 1e-12) << engines << " " << lanes << " " << density;
          EXPECT_LE(found.mean, found.quantile);
          // No less than the work evenly shared, and no more than one group above it.
          EXPECT_LE(truth.mean, found.mean + 2);
          EXPECT_GE(truth.mean, found.mean - 2);
        }
}

} // namespace
