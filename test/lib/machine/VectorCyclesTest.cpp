// Lanes against lanes that are stepped one element at a time.
#include "lib/machine/array/VectorCycles.h"
#include "test/support/Random.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace accord;

namespace {

/// Rounds until every element has been in a lane.
int64_t roundsOf(int64_t elements, int64_t lanes) {
  int64_t rounds = 0;
  for (; elements > 0; ++rounds)
    for (int64_t lane = 0; lane < lanes && elements > 0; ++lane)
      --elements;
  return rounds;
}

/// Sums every row with `group` lanes each, really adding, a cycle of the machine at a time (an
/// element takes `c`, a pairwise sum 1); -1 if a sum is wrong.
int64_t stepRows(int64_t rows, int64_t length, int64_t c, int64_t reductions, int64_t slots, int64_t group) {
  int64_t now = 0, next = 0;
  while (next < rows) {
    int64_t longest = 0;
    for (int64_t slot = 0; slot < slots && next < rows; ++slot, ++next) {
      std::vector<int64_t> partial(static_cast<size_t>(group));
      int64_t taken = 0, spent = 0;
      while (taken < length) {
        for (int64_t lane = 0; lane < group && taken < length; ++lane)
          partial[static_cast<size_t>(lane)] += next * 31 + taken++;
        spent += c;
      }
      for (int64_t r = 0; r < reductions; ++r) {
        std::vector<int64_t> tree = partial;
        while (tree.size() > 1) { // the upper half is added to the lower one
          size_t half = tree.size() / 2;
          for (size_t i = 0; i < half; ++i)
            tree[i] += tree[i + half];
          tree.resize(half);
          ++spent;
        }
        if (tree[0] != length * next * 31 + length * (length - 1) / 2)
          return -1;
      }
      longest = std::max(longest, spent);
    }
    now += longest;
  }
  return now;
}

} // namespace

TEST(VectorCycles, ElementsEqualTheSteppedLanes) {
  fuzz::Random random(41);
  for (int i = 0; i < 2000; ++i) {
    auto elements = static_cast<int64_t>(random.below(3000));
    auto c = static_cast<double>(random.below(30));
    VectorUnit unit{1 + static_cast<int64_t>(random.below(130)), 1 + static_cast<int64_t>(random.below(8)),
                    random.percent(70)};
    EXPECT_EQ(elementCycles(elements, c, unit),
              c * static_cast<double>(roundsOf(elements, unit.lanes * (unit.split ? unit.count : 1))));
  }
}

TEST(VectorCycles, RowsEqualTheBestOfTheSteppedGroups) {
  fuzz::Random random(42);
  for (int i = 0; i < 1500; ++i) {
    RowWork work{1 + static_cast<int64_t>(random.below(60)), 1 + static_cast<int64_t>(random.below(200)),
                 static_cast<double>(1 + random.below(8)), static_cast<int64_t>(random.below(3))};
    VectorUnit unit{1 + static_cast<int64_t>(random.below(100)), 1 + static_cast<int64_t>(random.below(4))};
    int64_t best = std::numeric_limits<int64_t>::max(), lanes = 0;
    auto consider = [&](int64_t group, int64_t slots) {
      int64_t cycles =
          stepRows(work.rows, work.length, static_cast<int64_t>(work.cyclesPerElement), work.reductions, slots, group);
      ASSERT_GE(cycles, 0);
      if (cycles < best)
        best = cycles, lanes = group;
    };
    int64_t max = 1;
    for (int64_t group = 1; group <= unit.lanes; group *= 2)
      consider(group, unit.lanes / group * unit.count), max = group;
    for (int64_t cores = 2; cores <= unit.count; cores *= 2)
      consider(max * cores, unit.count / cores);
    RowCycles found = *rowCycles(work, unit);
    ASSERT_EQ(found.cycles, static_cast<double>(best));
    ASSERT_EQ(found.lanesPerRow, lanes);
  }
}

TEST(VectorCycles, WhichMappingIsBetter) {
  // As many rows as lanes: a row each. One row: all lanes, and 7 steps to combine each of two
  // values.
  EXPECT_EQ(rowCycles({128, 1024, 1, 2}, {128, 1})->lanesPerRow, 1);
  EXPECT_EQ(rowCycles({128, 1024, 1, 2}, {128, 1})->cycles, 1024);
  EXPECT_EQ(rowCycles({1, 1024, 1, 2}, {128, 1})->lanesPerRow, 128);
  EXPECT_EQ(rowCycles({1, 1024, 1, 2}, {128, 1})->cycles, 8 + 2 * 7);
  // One row of 2^20 on 64 such cores.
  EXPECT_EQ(rowCycles({1, 1 << 20, 1, 1}, {128, 64})->cycles, 128 + 7 + 6);
}

TEST(VectorCycles, NeverSlowerWithMore) {
  fuzz::Random random(43);
  auto any = [&](size_t bits) { return 1 + static_cast<int64_t>(random.below(size_t{1} << random.below(bits))); };
  for (int i = 0; i < 20000; ++i) {
    RowWork work{any(24), any(16), static_cast<double>(any(5)), any(2)};
    VectorUnit unit{any(12), any(6)}, more{unit.lanes + any(6), unit.count}, cores{unit.lanes, unit.count + any(4)};
    RowCycles base = *rowCycles(work, unit);
    EXPECT_LE(rowCycles(work, more)->cycles, base.cycles);
    EXPECT_LE(rowCycles(work, cores)->cycles, base.cycles);
    EXPECT_LE(*elementCycles(work.rows, 3, more), *elementCycles(work.rows, 3, unit));
    // No faster than all lanes busy all the time.
    EXPECT_GE(base.cycles * static_cast<double>(unit.lanes * unit.count),
              static_cast<double>(work.rows * work.length) * work.cyclesPerElement);
  }
}

TEST(VectorCycles, OddInput) {
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (VectorUnit unit : {VectorUnit{0, 1}, {1, 0}, {-4, 1}, {1, -1}}) {
    EXPECT_FALSE(elementCycles(5, 1, unit));
    EXPECT_FALSE(rowCycles({5, 5, 1}, unit));
  }
  for (double c : {-1.0, infinite, std::nan("")}) {
    EXPECT_FALSE(elementCycles(5, c, {1, 1}));
    EXPECT_FALSE(rowCycles({5, 5, c}, {1, 1}));
  }
  EXPECT_EQ(elementCycles(0, 5, {8, 1}), 0);
  EXPECT_EQ(elementCycles(-7, 5, {8, 1}), 0);
  EXPECT_EQ(elementCycles(max, 1, {max, max}), 1);
  EXPECT_EQ(rowCycles({max, max, 1, 1}, {max, max})->cycles, 2 + 62); // 2^62 lanes of a row
  EXPECT_EQ(rowCycles({0, 0, 3, -2}, {4, 2})->cycles, 3);
  EXPECT_FALSE(std::isnan(rowCycles({max, max, 1e300, max}, {1, 1})->cycles));
}
