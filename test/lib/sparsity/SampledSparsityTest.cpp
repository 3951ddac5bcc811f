// Groups of lanes drawn at random, against every mask that a pattern allows on small operands.
#include "test/lib/sparsity/SparseProductFixture.h"
#include "test/lib/sparsity/SteppedCycles.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

struct Likely {
  Mask mask;
  double probability = 1;
};
using Masks = std::vector<Likely>;

/// All of `masks`, each with every choice of `kept` of these places.
Masks choosing(const Masks &masks, const std::vector<std::pair<size_t, size_t>> &places,
               const std::vector<double> &byKept) {
  Masks result;
  const auto n = static_cast<unsigned>(places.size());
  std::vector<double> ways(n + 1, 0.0);
  for (unsigned bits = 0; bits < 1u << n; ++bits)
    ways[static_cast<size_t>(__builtin_popcount(bits))] += 1;
  for (const Likely &each : masks)
    for (unsigned bits = 0; bits < 1u << n; ++bits) {
      const auto kept = static_cast<size_t>(__builtin_popcount(bits));
      if (kept >= byKept.size() || byKept[kept] == 0)
        continue;
      Likely next = each;
      next.probability *= byKept[kept] / ways[kept];
      for (unsigned i = 0; i < n; ++i)
        if (places[i].first < next.mask.size() && places[i].second < next.mask[places[i].first].size())
          next.mask[places[i].first][places[i].second] = bits >> i & 1;
      result.push_back(std::move(next));
    }
  return result;
}

Masks everyMask(const SparsityPattern &p, int64_t lines, int64_t depth) {
  Masks masks = {{Mask(static_cast<size_t>(lines), std::vector<bool>(static_cast<size_t>(depth), true))}};
  if (p.kind == SparsityPattern::Kind::Unstructured) { // an exact share
    std::vector<std::pair<size_t, size_t>> all;
    for (int64_t i = 0; i < lines * depth; ++i)
      all.emplace_back(i / depth, i % depth);
    std::vector<double> byKept(all.size() + 1, 0.0);
    byKept[static_cast<size_t>(std::ceil(p.density * static_cast<double>(all.size()) - 1e-9))] = 1;
    return choosing(masks, all, byKept);
  }
  const bool window = p.kind == SparsityPattern::Kind::Histogram,
             across = !window && p.along == SparsityPattern::Along::Output;
  const auto length = static_cast<size_t>(window ? p.window : p.of);
  std::vector<double> byKept(length + 1, 0.0);
  if (window)
    byKept.assign(p.histogram.rbegin(), p.histogram.rend());
  else
    byKept[static_cast<size_t>(p.kept)] = 1;
  const auto high = static_cast<size_t>(lines), wide = static_cast<size_t>(depth);
  for (size_t line = 0; line < (across ? wide : high); ++line)
    for (size_t from = 0; from < (across ? high : wide); from += length) {
      std::vector<std::pair<size_t, size_t>> places;
      for (size_t i = from; i < from + length; ++i)
        places.emplace_back(across ? i : line, across ? line : i);
      masks = choosing(masks, places, byKept);
    }
  return masks;
}

SparsityPattern windows(std::vector<double> shares) {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Histogram;
  p.window = static_cast<int64_t>(shares.size()) - 1;
  p.histogram = std::move(shares);
  return p;
}

SparsityPattern acrossOutputs(SparsityPattern p) {
  p.along = SparsityPattern::Along::Output;
  return p;
}

struct Case {
  int64_t rows, columns, depth;
  SparsityPattern stationary, streaming;
  int64_t tile, slots, lanes, granule = 1;
};

TEST(SampledSparsity, EveryMaskThatIsAllowed) {
  const Case cases[] = {
      {2, 2, 6, structured(1, 3), {}, 2, 1, 3},                              // tiles cut groups
      {2, 3, 5, structured(1, 3), {}, 1, 1, 4},                              // far smaller ones
      {2, 2, 6, windows({0.5, 0, 0, 0.5}), {}, 2, 1, 2},                     // all or nothing
      {2, 4, 2, acrossOutputs(structured(1, 2)), {}, 2, 1, 4},               // lanes on two lines
      {2, 2, 4, structured(1, 2), structured(1, 2), 2, 1, 2},                // both
      {2, 1, 6, structured(1, 3), windows({0.2, 0.3, 0.5}), 3, 1, 2},        // both, cut
      {2, 2, 4, unstructured(0.5), unstructured(0.3), 2, 1, 3},              // few elements
      {2, 2, 6, structured(1, 3), {}, 6, 1, 2, 2},                           // granules cut groups
      {2, 2, 6, {}, structured(1, 3), 2, 1, 3},                              // the streaming one
      {4, 1, 4, structured(1, 4), acrossOutputs(structured(1, 2)), 2, 1, 2}, // rows together
  };
  for (const Case &c : cases)
    for (double confidence : {0.5, 0.9, 0.99}) {
      const SparseProduct p = product(c.rows, c.columns, c.depth, c.stationary, c.streaming);
      SparseCore core = skipping(c.tile, c.slots, c.lanes);
      core.stationary.granule = core.streaming.granule = c.granule;
      const ProductCycles found = cycles(p, core, {}, confidence);
      const bool w = c.stationary.kind != SparsityPattern::Kind::Dense,
                 x = c.streaming.kind != SparsityPattern::Kind::Dense;
      const Masks dense = {{Mask(static_cast<size_t>(std::max(c.rows, c.columns)),
                                 std::vector<bool>(static_cast<size_t>(c.depth), true))}};
      auto masksOf = [&](bool skipped, const SparsityPattern &pattern, int64_t lines) {
        Masks masks = skipped ? everyMask(pattern, lines, c.depth) : dense;
        for (Likely &each : masks)
          each.mask.resize(static_cast<size_t>(lines));
        return masks;
      };
      double mean = 0, square = 0, within = 0, all = 0;
      const Masks streaming = masksOf(x, c.streaming, c.rows);
      for (const Likely &stays : masksOf(w, c.stationary, c.columns))
        for (const Likely &streams : streaming) {
          const double took = stepped(stays.mask, streams.mask, core, {}, w, x),
                       probability = stays.probability * streams.probability;
          all += probability;
          mean += probability * took, square += probability * took * took;
          within += took <= found.quantile ? probability : 0;
        }
      const auto number = &c - cases;
      EXPECT_TRUE(found.sampled) << number;
      EXPECT_NEAR(all, 1, 1e-9) << number;
      EXPECT_NEAR(found.mean, mean, 0.006 * mean) << number; // four standard errors
      EXPECT_GE(within, confidence) << number;
      EXPECT_GE(found.deviation * found.deviation, square - mean * mean) << number;
      EXPECT_LE(found.quantile, found.max) << number;
    }
}

TEST(SampledSparsity, TheSameEachTime) {
  const SparseProduct p = product(64, 64, 100, structured(2, 7), unstructured(0.4));
  const SparseCore core = skipping(16, 2, 8);
  const ProductCycles first = cycles(p, core), second = cycles(p, core);
  EXPECT_TRUE(first.sampled);
  EXPECT_EQ(first.mean, second.mean);
  EXPECT_EQ(first.quantile, second.quantile);
  EXPECT_LT(first.quantile, first.max);
  const ProductCycles larger = cycles(product(256, 256, 400, structured(2, 7), unstructured(0.4)), core);
  EXPECT_LT(larger.quantile / larger.mean, first.quantile / first.mean);
}

TEST(SampledSparsity, WhatIsTooMuchToDrawIsNoFasterThanDense) {
  const SparseCore wide = skipping(4096, 1, 1 << 20);
  const ProductCycles found = cycles(product(1 << 20, 1 << 20, 1 << 20, structured(2, 7)), wide, {1e9});
  EXPECT_FALSE(found.sampled);
  EXPECT_EQ(found.quantile, found.max);
  // A line of 2^40 elements.
  EXPECT_FALSE(cycles(product(4, 4, int64_t{1} << 40, structured(2, 7)), skipping(16, 1, 4)).sampled);
}

} // namespace
