// Counts of non-zeros in tiles, against enumeration of all masks and against Boost.Math.
#include "lib/sparsity/cost/Occupancy.h"
#include "test/lib/sparsity/SparsityPatternFixture.h"
#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace accord;
using namespace accord::test;

namespace {

using Bits = std::vector<bool>;
using Histogram = std::vector<double>;

SparsityPattern blocks(int64_t rows, int64_t columns, double density, bool independent = false) {
  SparsityPattern p = unstructured(density, independent);
  p.kind = SparsityPattern::Kind::Block;
  p.blockRows = rows;
  p.blockColumns = columns;
  return p;
}

Occupancy occupancy(const SparsityPattern &p, OperandShape shape, int64_t tile,
                    TileDirection direction = TileDirection::Reduction) {
  auto found = tileParts(p, shape, tile, direction);
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  return total(*found);
}

void expectSame(const Occupancy &found, const Histogram &expected, double tolerance = 1e-12) {
  ASSERT_EQ(found.probability.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.probability[i], expected[i], tolerance) << "count " << i;
}

/// All choices of `ones` of `places`, as masks.
template <typename Each> void everyMask(int places, int ones, Each each) {
  for (unsigned bits = 0; bits < 1u << places; ++bits)
    if (ones < 0 || __builtin_popcount(bits) == ones)
      each(bits);
}

TEST(TileOccupancy, DrawsAreThoseOfBoost) {
  namespace bm = boost::math;
  for (auto [n, kept, draws] : {std::array{64, 20, 9},
                                {1000, 3, 64},
                                {1000, 997, 64},
                                {100000, 25000, 128},
                                {40, 40, 8},
                                {40, 0, 8},
                                {17, 9, 17}}) {
    Occupancy found = hypergeometric(n, kept, draws);
    bm::hypergeometric_distribution<double> law(static_cast<unsigned>(kept), static_cast<unsigned>(draws),
                                                static_cast<unsigned>(n));
    for (int k = 0; k <= draws; ++k) {
      bool possible = k <= kept && draws - k <= n - kept;
      EXPECT_NEAR(found.probability[static_cast<size_t>(k)], possible ? bm::pdf(law, k) : 0.0, 1e-10);
    }
    Occupancy free = binomial(draws, kept / static_cast<double>(n));
    bm::binomial_distribution<double> trials(draws, kept / static_cast<double>(n));
    for (int k = 0; k <= draws; ++k)
      EXPECT_NEAR(free.probability[static_cast<size_t>(k)], bm::pdf(trials, k), 1e-12);
  }
}

TEST(TileOccupancy, LargeOperandsNeitherOverflowNorDrift) {
  Occupancy huge = hypergeometric(int64_t{1} << 50, int64_t{1} << 48, 64), free = binomial(64, 0.25);
  expectSame(huge, free.probability, 1e-10);
  EXPECT_EQ(hypergeometric(1 << 20, 1 << 20, 64).probability.back(), 1.0); // to the bit
  EXPECT_EQ(occupancy(unstructured(1), {1 << 20, 1 << 20}, 4096).probability.back(), 1.0);
}

TEST(TileOccupancy, UnstructuredTilesAreAllDrawsCounted) {
  // 4 by 4 elements, 7 of them kept (ceil(0.4 * 16)): every mask, every tile of four.
  Histogram expected(5, 0.0);
  double masks = 0;
  everyMask(16, 7, [&](unsigned bits) {
    masks += 4;
    for (int row = 0; row < 4; ++row)
      expected[static_cast<size_t>(__builtin_popcount(bits >> (4 * row) & 15))] += 1;
  });
  for (double &each : expected)
    each /= masks;
  expectSame(occupancy(unstructured(0.4), {4, 4}, 4), expected);
}

TEST(TileOccupancy, GroupsThatATileCuts) {
  // Every mask of three groups of 2:4 in a row of 12; tiles of three neighbours cut groups at 3, 6 and 9.
  Histogram expected(4, 0.0);
  double count = 0;
  everyMask(12, 6, [&](unsigned bits) {
    for (int group = 0; group < 3; ++group)
      if (__builtin_popcount(bits >> (4 * group) & 15) != 2)
        return;
    for (int tile = 0; tile < 4; ++tile, ++count)
      expected[static_cast<size_t>(__builtin_popcount(bits >> (3 * tile) & 7))] += 1;
  });
  for (double &each : expected)
    each /= count;
  expectSame(occupancy(structured(2, 4), {1, 12}, 3), expected);
  // Whole groups leave nothing to chance; across groups each element is a draw of its own, unless both ways are kept.
  expectSame(occupancy(structured(2, 4), {8, 12}, 8), {0, 0, 0, 0, 1, 0, 0, 0, 0});
  expectSame(occupancy(structured(2, 4), {8, 12}, 2, TileDirection::Output), {.25, .5, .25});
  SparsityPattern both = structured(2, 4);
  both.transposable = true;
  expectSame(occupancy(both, {8, 12}, 4, TileDirection::Output), {0, 0, 1, 0, 0});
}

TEST(TileOccupancy, BlocksComeWhole) {
  // 2 x 2 blocks of a 4 by 4 operand: two of four are kept.
  Histogram expected(5, 0.0);
  everyMask(4, 2, [&](unsigned bits) {
    for (int row = 0; row < 2; ++row)
      expected[2 * __builtin_popcount(bits >> (2 * row) & 3)] += 1.0 / 12;
  });
  expectSame(occupancy(blocks(2, 2, 0.5), {4, 4}, 4), expected);
  expectSame(occupancy(blocks(2, 8, 0.5), {8, 64}, 4), {.5, 0, 0, 0, .5}); // inside of one block
  // Blocks of three under tiles of two: tile 0 is inside, tile 1 has the end of one and the start of the next.
  expectSame(occupancy(blocks(1, 3, 0.5, true), {1, 12}, 2), {(.5 + .25 + .5) / 3, .5 / 3, (.5 + .25 + .5) / 3});
}

TEST(TileOccupancy, BlocksThatATileCuts) {
  // Blocks of 2 by 3 on 5 by 10: three by four of them, of which five are kept; tiles of four along either side, and
  // what is left behind them.
  const SparsityPattern p = blocks(2, 3, 0.4);
  const OperandShape shape{5, 10};
  for (auto direction : {TileDirection::Reduction, TileDirection::Output}) {
    const bool along = direction == TileDirection::Reduction;
    const int lines = along ? 5 : 10, length = along ? 10 : 5;
    for (int tile : {4, 5, length}) {
      Histogram whole(static_cast<size_t>(tile) + 1, 0.0), last(static_cast<size_t>(length % tile) + 1, 0.0);
      everyMask(12, 5, [&](unsigned bits) {
        auto kept = [&](int line, int at) {
          const int row = along ? line : at, column = along ? at : line;
          return bits >> (row / 2 * 4 + column / 3) & 1;
        };
        for (int line = 0; line < lines; ++line)
          for (int from = 0; from < length; from += tile) {
            size_t count = 0;
            for (int at = from; at < std::min(from + tile, length); ++at)
              count += kept(line, at);
            if (from + tile <= length)
              whole[count] += 1.0 / (792.0 * lines * (length / tile));
            else
              last[count] += 1.0 / (792.0 * lines);
          }
      });
      expectSame(occupancy(p, shape, tile, direction), whole);
      if (length % tile > 0)
        expectSame(total(*(tileParts(p, shape, length % tile, direction, true))), last);
    }
  }
}

TEST(TileOccupancy, BandsAndMasksAreCounted) {
  SparsityPattern band;
  band.kind = SparsityPattern::Kind::Banded;
  SparsityPattern mask;
  mask.kind = SparsityPattern::Kind::Mask;
  for (int64_t width : {0, 1, 3, 20})
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{8, 12}, {12, 8}, {1, 16}}) {
      band.band = width;
      mask.mask.assign(static_cast<size_t>(rows), Bits(static_cast<size_t>(columns)));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          mask.mask[static_cast<size_t>(i)][static_cast<size_t>(j)] = std::abs(i - j) <= width;
      expectSame(occupancy(band, {rows, columns}, 4), occupancy(mask, {rows, columns}, 4).probability);
      EXPECT_DOUBLE_EQ(*(density(band, {rows, columns})), *(density(mask, {rows, columns})));
      EXPECT_NEAR(occupancy(mask, {rows, columns}, 1).mean(), *(density(mask, {rows, columns})), 1e-12);
    }
}

TEST(TileOccupancy, HistogramsAreOfWindows) {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Histogram;
  p.window = 2;
  p.histogram = {0.5, 0.3, 0.2}; // by zeros
  expectSame(occupancy(p, {4, 8}, 2), {.2, .3, .5});
  expectSame(occupancy(p, {4, 8}, 4), {.04, .12, .2 + .09, .3, .25});
  expectSame(occupancy(p, {4, 8}, 1), {.35, .65});
  EXPECT_NEAR(*(density(p, {4, 8})), 0.65, 1e-15);
}

/// Places of `tile` that are left when whole granules are skipped.
int coveredBy(unsigned bits, int tile, int granule) {
  int kept = 0;
  for (int from = 0; from < tile; from += granule) {
    int here = std::min(granule, tile - from);
    kept += bits >> from & ((1u << here) - 1) ? here : 0;
  }
  return kept;
}

TEST(TileOccupancy, GranulesAreLeftWhereOneElementIs) {
  for (auto [tile, granule] : {std::pair{8, 2}, {8, 4}, {6, 4}, {7, 3}, {8, 8}, {4, 16}}) {
    Histogram expected(static_cast<size_t>(tile) + 1, 0.0);
    double p = 0.3;
    everyMask(tile, -1, [&, tile = tile, granule = granule](unsigned bits) {
      int ones = __builtin_popcount(bits);
      expected[static_cast<size_t>(coveredBy(bits, tile, granule))] += std::pow(p, ones) * std::pow(1 - p, tile - ones);
    });
    TileParts parts = {{tile, binomial(tile, p), 1}};
    expectSame(total(inGranules(parts, granule)), expected);
  }
  // A group of 2:4 has something in both halves or in one; four neighbours always have.
  auto groups = *(tileParts(structured(2, 4), {4, 8}, 8));
  expectSame(total(inGranules(groups, 2)), {0, 0, 0, 0, 1. / 9, 0, 4. / 9, 0, 4. / 9});
  expectSame(total(inGranules(groups, 8)), {0, 0, 0, 0, 0, 0, 0, 0, 1});
}

TEST(TileOccupancy, OverlapIsWhereNeitherIsZero) {
  // All pairs of masks of six places, three and two of them not zero.
  Histogram expected(7, 0.0);
  double pairs = 0;
  everyMask(6, 3, [&](unsigned a) {
    everyMask(6, 2, [&](unsigned b) {
      expected[static_cast<size_t>(__builtin_popcount(a & b))] += 1;
      ++pairs;
    });
  });
  for (double &each : expected)
    each /= pairs;
  auto exactly = [](int64_t length, size_t count) {
    TilePart part{length, {}, 1};
    part.of.probability.assign(static_cast<size_t>(length) + 1, 0.0);
    part.of.probability[count] = 1;
    return TileParts{part};
  };
  expectSame(overlap(exactly(6, 3), exactly(6, 2)), expected);
  // Independent draws of both are draws of their product.
  expectSame(overlap({{16, binomial(16, 0.5), 1}}, {{16, binomial(16, 0.3), 1}}), binomial(16, 0.15).probability);
  // Two operands of 2:4 meet group by group.
  auto groups = *(tileParts(structured(2, 4), {4, 8}, 8));
  Occupancy one = overlap(exactly(4, 2), exactly(4, 2));
  expectSame(overlap(groups, groups), sum(one, one).probability);
}

TEST(TileOccupancy, RoundsOfSlots) { expectSame(rounds(binomial(3, 0.5), 2), {.125, .75, .125}); }

TEST(TileOccupancy, WrongPatternsAreRefused) {
  auto refused = [](const SparsityPattern &p, OperandShape shape = {4, 8}, int64_t tile = 4) {
    auto found = tileParts(p, shape, tile);
    ASSERT_TRUE(!found);
    EXPECT_EQ(found.error().code, Code::NotSkipped);
    EXPECT_FALSE(found.error().message.empty());
  };
  refused(unstructured(std::numeric_limits<double>::quiet_NaN()));
  refused(unstructured(1.5));
  refused(unstructured(-0.1));
  refused(structured(5, 4));
  refused(structured(0, 0));
  refused(blocks(0, 1, 0.5));
  refused(unstructured(0.5), {0, 8});
  refused(unstructured(0.5), {4, 8}, 9);
  refused(unstructured(0.5), {4, 8}, 0);
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Histogram;
  refused(p);
  p.window = 2;
  p.histogram = {0.5, 0.2, 0.2};
  refused(p);
  p.kind = SparsityPattern::Kind::Mask;
  p.mask = {{true, false}, {true}};
  refused(p);
  p.kind = SparsityPattern::Kind::Banded;
  p.band = -1;
  refused(p);
  p.band = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(occupancy(p, {4, 8}, 4).mean(), 4);
}

} // namespace
