// Properties of mappings, published bounds, the interface.
#include "lib/machine/tiling/LoopSplit.h"
#include "lib/machine/tiling/Mapping.h"
#include "lib/machine/tiling/NestShape.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

using namespace accord;
using namespace accord::tile;

namespace {

Nest matrices(int64_t m, int64_t n, int64_t k, int64_t bits = 32) {
  return {{{m, 1, "m"}, {n, 1, "n"}, {k, 1, "k"}},
          {{"A", {{{0, 1}}, {{2, 1}}}, {}, bits, false},
           {"B", {{{2, 1}}, {{1, 1}}}, {}, bits, false},
           {"C", {{{0, 1}}, {{1, 1}}}, {}, bits, true}}};
}

std::vector<Level> dramAnd(double bytes, bool doubled = false) {
  return {{"dram", Bytes(1e12), BytesPerSecond(1e9), Seconds(0), false, {}},
          {"vmem", Bytes(bytes), {}, {}, doubled, {}}};
}

const ComputeOfTile nothing = [](std::span<const int64_t>) { return Seconds(0); };

Mapping mapped(const Nest &nest, const std::vector<Level> &levels, const ComputeOfTile &compute = nothing) {
  auto found = bestMapping(nest, levels, compute);
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  return *found;
}

std::string refused(const Nest &nest, const std::vector<Level> &levels, const ComputeOfTile &compute = nothing) {
  auto found = bestMapping(nest, levels, compute);
  auto *error = found.getError();
  return error ? numberOf(error->code) : "";
}

struct Random {
  std::mt19937 engine;
  int64_t operator()(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
};

Nest randomNest(Random &random) {
  int64_t s = random(1, 2);
  switch (random(0, 2)) {
  case 0:
    return matrices(random(1, 40), random(1, 40), random(1, 40), 8 << random(0, 2));
  case 1: {
    Nest nest = matrices(random(1, 12), random(1, 12), random(1, 12));
    nest.loops.push_back({random(1, 4), 1, "b"});
    for (NestTensor &tensor : nest.tensors)
      tensor.dimensions.push_back({{3, 1}});
    return nest;
  }
  default: {
    int64_t window = random(1, 3);
    return {{{random(1, 4), 1, "n"},
             {random(1, 8), 1, "c"},
             {random(1, 9), 1, "h"},
             {random(1, 8), 1, "i"},
             {window, window, "r"}},
            {{"X", {{{0, 1}}, {{3, 1}}, {{2, s}, {4, 1}}}, {}, 16, false},
             {"W", {{{1, 1}}, {{3, 1}}, {{4, 1}}}, {}, 16, random(0, 1) == 1},
             {"Y", {{{0, 1}}, {{1, 1}}, {{2, 1}}}, {}, 16, true}}};
  }
  }
}

std::vector<Level> randomLevels(Random &random, size_t memories) {
  std::vector<Level> levels;
  for (size_t l = 0; l < memories; ++l) {
    Level level{"m" + std::to_string(l), Bytes(0), {}, {}, random(0, 1) == 1, {}};
    level.bandwidth = BytesPerSecond(std::exp2(static_cast<double>(random(0, 8)) / 2));
    level.latency = Seconds(static_cast<double>(random(0, 3)));
    level.capacity = Bytes(std::exp2(static_cast<double>(random(8, 26)) / 2 - double(l)));
    levels.push_back(level);
  }
  return levels;
}

} // namespace

// Extents that are not the least of their trip count cannot do what the least cannot.
TEST(Tile, EveryTripCountHasItsLeastExtent) {
  for (int64_t extent = 1; extent <= 200; ++extent)
    for (int64_t granule : {1, 3, 8}) {
      std::set<int64_t> trips, found;
      for (int64_t t = granule; t < extent + granule; t += granule)
        trips.insert((extent + t - 1) / t);
      auto list = candidates(Split::whole(extent), granule, false);
      for (int64_t t : list) {
        EXPECT_TRUE(t == extent || t % granule == 0);
        EXPECT_TRUE(found.insert((extent + t - 1) / t).second) << "two of one trip count";
      }
      EXPECT_EQ(found, trips) << extent << " in granules of " << granule;
      EXPECT_EQ(list.back(), extent);
    }
}

TEST(Tile, CutsAddUpToTheLoop) {
  Random random{std::mt19937(5)};
  for (int round = 0; round < 2000; ++round) {
    Split split = Split::whole(random(1, 5000));
    for (int level = 0; level < 7; ++level) {
      Split inner = split.cut(random(1, split.tile));
      int64_t sum = 0, tiles = 0;
      for (unsigned k = 0; k < inner.kinds; ++k) {
        sum += inner.size[k] * inner.times[k];
        tiles += inner.times[k];
        EXPECT_LE(inner.size[k], inner.tile);
      }
      EXPECT_EQ(sum, split.extent);
      EXPECT_EQ(tiles, inner.tiles);
      split = inner;
    }
  }
}

// More of anything is never slower, nothing moves less than once, nothing takes more than there is.
TEST(Tile, MoreOfAnythingIsNeverSlower) {
  Random random{std::mt19937(6)};
  int mapped = 0, twoMemories = 0;
  for (int round = 0; round < 10000; ++round) {
    bool deep = round % 10 == 0;
    Nest nest = deep ? matrices(random(1, 6), random(1, 6), random(1, 6)) : randomNest(random);
    auto levels = randomLevels(random, deep ? 3 : 2);
    double perTile = static_cast<double>(random(0, 2)), rate = static_cast<double>(random(1, 200));
    auto solve = [&](const std::vector<Level> &machine, double speed) {
      return bestMapping(nest, machine, [&](std::span<const int64_t> extents) {
        double iterations = 1;
        for (int64_t e : extents)
          iterations *= static_cast<double>(e);
        return Seconds((perTile + iterations / rate) / speed);
      });
    };
    auto found = solve(levels, 1);
    auto *mapping = found.get();
    if (!mapping) {
      ASSERT_EQ(found.error().code, Code::TileDoesNotFit);
      continue;
    }
    ++mapped;
    twoMemories += deep;
    ASSERT_TRUE(mapping->exact);
    ASSERT_EQ(mapping->gap, 0);
    double max = mapping->time.value * (1 + 1e-9);
    for (size_t l = 0; l + 1 < levels.size(); ++l) {
      const LevelMapping &level = mapping->levels[l];
      double once = 0, capacity = levels[l + 1].capacity.value;
      std::vector<int64_t> all;
      for (const NestLoop &loop : nest.loops)
        all.push_back(loop.extent);
      for (size_t t = 0; t < nest.tensors.size(); ++t) {
        double min = elements(nest.tensors[t], all) * static_cast<double>(nest.tensors[t].elementBits) / 8;
        EXPECT_GE(level.tensors[t].read.value + level.tensors[t].written.value, min);
        once += min;
      }
      EXPECT_GE(level.bytes.value, once);
      EXPECT_LE(Shape(nest).footprintBits(level.tile.data()) / 8 * (levels[l + 1].doubleBuffered ? 2 : 1), capacity);
    }
    for (size_t l = 0; l < levels.size(); ++l)
      for (bool capacity : {false, true}) {
        auto better = levels;
        (capacity ? better[l].capacity.value : better[l].bandwidth.value) *= 2;
        auto again = solve(better, 1);
        ASSERT_TRUE(again);
        EXPECT_LE(again->time.value, max) << "round " << round << ", memory " << l;
      }
    EXPECT_LE(solve(levels, 2)->time.value, max) << "round " << round;
  }
  EXPECT_GT(mapped, 7000);
  EXPECT_GT(twoMemories, 300);
}

// What a caller knows of its array shortens the search and leaves the answer.
TEST(Tile, AFloorOfTheArithmeticChangesNoAnswer) {
  Random random{std::mt19937(7)};
  int64_t with = 0, without = 0;
  for (int round = 0; round < 400; ++round) {
    double m = double(random(1, 60)), n = double(random(1, 60)), k = double(random(1, 60));
    Nest nest = matrices(int64_t(m), int64_t(n), int64_t(k));
    auto levels = randomLevels(random, round % 8 ? 2 : 3);
    ComputeOfTile compute = [](std::span<const int64_t> e) {
      return Seconds(std::ceil(double(e[0]) / 8) * std::ceil(double(e[1]) / 8) * (double(e[2]) + 14));
    };
    SearchLimits limits;
    auto plain = bestMapping(nest, levels, compute, limits);
    limits.floor = [&](std::span<const int64_t> e) {
      return Seconds(std::ceil(m / std::min(8.0, double(e[0]))) * std::ceil(n / std::min(8.0, double(e[1]))) *
                     (k + 14 * std::ceil(k / double(e[2]))));
    };
    auto shorter = bestMapping(nest, levels, compute, limits);
    ASSERT_EQ(bool(plain), bool(shorter));
    if (auto *mapping = plain.get()) {
      const Mapping &other = *shorter;
      EXPECT_GE(other.bound.value, mapping->bound.value * (1 - 1e-9));
      if (!mapping->exact || !other.exact)
        continue;
      EXPECT_DOUBLE_EQ(mapping->time.value, other.time.value);
      EXPECT_DOUBLE_EQ(mapping->levels[0].bytes.value, other.levels[0].bytes.value);
      with += other.nodes;
      without += mapping->nodes;
    }
  }
  EXPECT_LT(with, without);
}

// Hong and Kung (STOC 1981) as sharpened by Irony, Toledo, Tiskin (JPDC 2004) and Smith et al.
// (arXiv 1702.02017): a memory of S words moves at least 2MNK/sqrt(S) - 2S words. A tile of C of
// side sqrt(S+1)-1, with one column of A and one row of B, moves 2MNK/side + MN.
TEST(Tile, MatrixTrafficLiesAtTheLowerBoundOfHongAndKung) {
  for (double n : {256.0, 512.0, 1000.0})
    for (double words : {1024.0, 4096.0, 16384.0}) {
      auto size = static_cast<int64_t>(n);
      Mapping m = mapped(matrices(size, size, size), dramAnd(words * 4));
      double moved = m.levels[0].bytes.value / 4;
      EXPECT_GE(moved, 2 * n * n * n / std::sqrt(words) - 2 * words);
      double side = std::floor(std::sqrt(words + 1) - 1), tiles = std::ceil(n / side);
      EXPECT_LE(moved, 2 * n * n * tiles + n * n);
      EXPECT_TRUE(m.exact);
    }
}

// 4 x 4 x 4 in 8 words: 2x2 of C with a column of A and a row of B fill them.
TEST(Tile, ATinyMatrixProductByHand) {
  Mapping m = mapped(matrices(4, 4, 4), dramAnd(8 * 4));
  // 2x2 of C stays: A and B pass twice, C once.
  EXPECT_EQ(m.levels[0].tile, (std::vector<int64_t>{2, 2, 1}));
  EXPECT_DOUBLE_EQ(m.levels[0].bytes.value, (2 * 16 + 2 * 16 + 16) * 4);
  EXPECT_DOUBLE_EQ(m.time.value, 80 * 4 / 1e9);
  EXPECT_EQ(describe(matrices(4, 4, 4), dramAnd(32), m)[0], "vmem tile 2x2x1, order n m k: A 2x, B 2x, C 1x");
}

TEST(Tile, WhatFitsMovesOnce) {
  Nest nest = matrices(100, 200, 300);
  double once = (100 * 300 + 300 * 200 + 100 * 200) * 4.0;
  Mapping m = mapped(nest, dramAnd(once));
  EXPECT_DOUBLE_EQ(m.levels[0].bytes.value, once);
  EXPECT_EQ(describe(nest, dramAnd(once), m)[0], "vmem tile 100x200x300, all at once: A 1x, B 1x, C 1x");
  // Half of the memory holds it no more, but a tile of C in turn with all of B still moves all
  // once.
  EXPECT_DOUBLE_EQ(mapped(nest, dramAnd(once, true)).levels[0].bytes.value, once);
  EXPECT_LT(mapped(nest, dramAnd(once, true)).levels[0].footprint.value, once / 2);
}

TEST(Tile, DoubleBufferingOverlapsAndTakesRoom) {
  Nest nest = matrices(64, 64, 64);
  ComputeOfTile compute = [](std::span<const int64_t> e) {
    return Seconds(static_cast<double>(e[0] * e[1] * e[2]) * 1e-9);
  };
  Mapping once = mapped(nest, dramAnd(1e6), compute), twice = mapped(nest, dramAnd(1e6, true), compute);
  double transfer = 3 * 64 * 64 * 4 / 1e9, arithmetic = 64 * 64 * 64 * 1e-9;
  EXPECT_DOUBLE_EQ(once.time.value, transfer + arithmetic);
  EXPECT_DOUBLE_EQ(twice.time.value, std::max(transfer, arithmetic));
  EXPECT_GT(mapped(nest, dramAnd(4096, true)).levels[0].bytes.value, mapped(nest, dramAnd(4096)).levels[0].bytes.value);
}

// The window of a strided convolution leaves gaps or a halo: positions counted one by one.
TEST(Tile, ElementsAreTheDifferentPositions) {
  for (int64_t s = 1; s <= 5; ++s)
    for (int64_t d = 1; d <= 5; ++d)
      for (int64_t t = 1; t <= 7; ++t)
        for (int64_t k = 1; k <= 7; ++k) {
          std::set<int64_t> positions;
          for (int64_t i = 0; i < t; ++i)
            for (int64_t j = 0; j < k; ++j)
              positions.insert(s * i + d * j);
          NestTensor tensor{"X", {{{0, s}, {1, d}}}, {}, 8, false};
          int64_t extents[] = {t, k};
          EXPECT_EQ(elements(tensor, extents), static_cast<double>(positions.size()));
        }
}

TEST(Tile, PaddingIsNotFetched) {
  Nest nest{{{56, 1, "h"}, {3, 3, "r"}}, {{"X", {{{0, 1}, {1, 1}}}, {56}, 8, false}, {"Y", {{{0, 1}}}, {}, 8, true}}};
  EXPECT_DOUBLE_EQ(mapped(nest, dramAnd(1e4)).levels[0].bytes.value, 56 + 56);
}

TEST(Tile, OperationsBecomeNests) {
  using Terms = std::vector<LoopTensor::Term>;
  // Rows of a linear layer over batch and sequence; a convolution keeps its window.
  std::vector<Loop> domain(4);
  domain[0].extent = 8, domain[1].extent = 512, domain[2].extent = 64, domain[3].extent = 32;
  std::vector<LoopTensor> tensors = {{{Terms{{0, 1}}, Terms{{1, 1}}, Terms{{3, 1}}}, {}, 16, false},
                                     {{Terms{{3, 1}}, Terms{{2, 1}}}, {}, 16, false},
                                     {{Terms{{0, 1}}, Terms{{1, 1}}, Terms{{2, 1}}}, {}, 16, true}};
  GroupedNest linear = grouped(nestOf(domain, tensors));
  ASSERT_EQ(linear.nest.loops.size(), 3u);
  EXPECT_EQ(linear.members[0], (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(linear.nest.loops[0].extent, 8 * 512);
  EXPECT_EQ(linear.nest.loops[0].name, "d0*d1");
  EXPECT_EQ(elements(linear.nest.tensors[0], std::vector<int64_t>{100, 1, 32}), 3200);

  domain = std::vector<Loop>(2);
  domain[0].extent = 14, domain[1].extent = 3;
  Nest window = nestOf(domain, std::vector<LoopTensor>{{{Terms{{0, 2}, {1, 1}}}, {}, 16, false},
                                                       {{Terms{{1, 1}}}, {}, 16, false},
                                                       {{Terms{{0, 1}}}, {}, 16, true}});
  EXPECT_EQ(window.loops[0].granule, 1);
  EXPECT_EQ(window.loops[1].granule, 3);
  EXPECT_EQ(grouped(window).nest, grouped(grouped(window).nest).nest);
  EXPECT_EQ(grouped(window).nest.loops.size(), 2u);
}

TEST(Tile, RefusesWhatCannotBe) {
  Nest nest = matrices(8, 8, 8);
  EXPECT_EQ(refused(nest, dramAnd(12)), "");
  EXPECT_EQ(refused(nest, dramAnd(11)), "A0453");
  EXPECT_EQ(refused(nest, dramAnd(23, true)), "A0453");
  EXPECT_EQ(refused(nest, dramAnd(24, true)), "");
  auto error = bestMapping(nest, dramAnd(23, true), nothing).error();
  EXPECT_EQ(error.message, "memory 'vmem' has 23 B, but one tile of each tensor takes 24 B, counted "
                           "twice because it is double buffered");
  Nest folds = nest;
  folds.loops[0].granule = folds.loops[1].granule = 4;
  EXPECT_EQ(refused(folds, dramAnd((4 + 4 + 16) * 4)), "");
  EXPECT_EQ(refused(folds, dramAnd((4 + 4 + 16) * 4 - 1)), "A0453");

  for (int64_t wrong : {int64_t(0), int64_t(-3), std::numeric_limits<int64_t>::min()}) {
    Nest bad = nest;
    bad.loops[1].extent = wrong;
    EXPECT_EQ(refused(bad, dramAnd(1e6)), "A0920");
    bad = nest;
    bad.loops[1].granule = wrong;
    EXPECT_EQ(refused(bad, dramAnd(1e6)), "A0920");
    bad = nest;
    bad.tensors[0].elementBits = wrong;
    EXPECT_EQ(refused(bad, dramAnd(1e6)), "A0920");
  }
  Nest bad = nest;
  bad.tensors[0].dimensions[0][0].loop = 3;
  EXPECT_EQ(refused(bad, dramAnd(1e6)), "A0920");
  EXPECT_EQ(refused(matrices(int64_t(1) << 40, int64_t(1) << 40, 8), dramAnd(1e6)), "A0920");
  EXPECT_EQ(refused(nest, {}), "A0921");
  auto levels = dramAnd(1e6);
  levels[0].bandwidth = BytesPerSecond(-1);
  EXPECT_EQ(refused(nest, levels), "A0921");
  levels[0].bandwidth = BytesPerSecond(std::nan(""));
  EXPECT_EQ(refused(nest, levels), "A0921");
  for (double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(refused(nest, dramAnd(1e6), [&](auto) { return Seconds(wrong); }), "A0452");
  levels = dramAnd(1e6);
  levels[0].bandwidth = BytesPerSecond(1e-308);
  EXPECT_EQ(refused(nest, levels), "A0452");
}

// Sizes at the edge of what is counted: an answer, a bound below it, no NaN.
TEST(Tile, HugeNestsEndAtTheLimitWithABound) {
  Nest nest = matrices(1 << 20, 1 << 20, 1 << 20, 16);
  auto found = bestMapping(nest, dramAnd(1 << 20), nothing, {500});
  const Mapping &m = *found;
  EXPECT_LE(m.nodes, 500);
  EXPECT_GT(m.bound.value, 0);
  EXPECT_LE(m.bound, m.time);
  EXPECT_GE(m.gap, 0);
  EXPECT_LE(m.gap, 1);
  double words = 1 << 19, n = 1 << 20;
  EXPECT_LE(m.levels[0].bytes.value / 2, 1.2 * 2 * n * n * n / std::sqrt(words));
  auto again = bestMapping(nest, dramAnd(1 << 20), nothing, {500});
  EXPECT_EQ(again->levels[0].tile, m.levels[0].tile);
}

TEST(Tile, ADeepHierarchyHasABoundToo) {
  std::vector<Level> levels = dramAnd(1 << 22, true);
  levels[1].bandwidth = BytesPerSecond(4e9);
  levels.push_back({"l1", Bytes(1 << 17), BytesPerSecond(1e10), {}, true, {}});
  levels.push_back({"registers", Bytes(1 << 12), {}, {}, false, {}});
  auto found = bestMapping(matrices(700, 800, 900), levels, nothing, {3000});
  const Mapping &m = *found;
  ASSERT_EQ(m.levels.size(), 3u);
  EXPECT_LE(m.nodes, 3000);
  EXPECT_LE(m.bound, m.time);
  for (size_t l = 0; l + 1 < 3; ++l) {
    EXPECT_LE(m.levels[l].bytes, m.levels[l + 1].bytes);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_LE(m.levels[l + 1].tile[i], m.levels[l].tile[i]);
  }
}
