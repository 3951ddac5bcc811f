// The simulator of sparse arrays itself: what it writes can be read again, cases counted by hand, and what others
// measured or published.
#include "test/lib/sparsity/SparseArraySimulator.h"
#include "test/lib/sparsity/SparsePublished.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::simulator;

namespace {

using Kind = SparsityPattern::Kind;

SparsityPattern unstructured(double density, bool independent = false) {
  SparsityPattern pattern;
  pattern.kind = Kind::Unstructured;
  pattern.density = density, pattern.independent = independent;
  return pattern;
}

SparsityPattern structured(int64_t kept, int64_t of, bool transposable = false) {
  SparsityPattern pattern;
  pattern.kind = Kind::Structured;
  pattern.kept = kept, pattern.of = of, pattern.transposable = transposable;
  return pattern;
}

SparseMask written(const std::vector<std::string> &rows) {
  SparseMask mask(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()));
  for (int64_t r = 0; r < mask.rows(); ++r)
    for (int64_t c = 0; c < mask.columns(); ++c)
      mask.set(r, c, rows[static_cast<size_t>(r)][static_cast<size_t>(c)] != '.');
  return mask;
}

TEST(SparseArraySimulator, MasksAreWhatTheirPatternSays) {
  fuzz::Random random(1);
  for (int64_t i = 0; i < 100; ++i) {
    auto rows = static_cast<int64_t>(1 + random.below(90)), columns = static_cast<int64_t>(1 + random.below(90));
    double density = static_cast<double>(random.below(101)) / 100;
    EXPECT_EQ(drawMask(unstructured(density), rows, columns, random).count(),
              static_cast<int64_t>(std::ceil(density * static_cast<double>(rows * columns) - 1e-9)));
    SparseMask groups = drawMask(structured(2, 4), rows, columns / 4 * 4 + 4, random);
    SparseMask squares = drawMask(structured(1, 4, true), rows / 4 * 4 + 4, columns / 4 * 4 + 4, random);
    for (int64_t r = 0; r < groups.rows(); ++r)
      for (int64_t c = 0; c < groups.columns(); c += 4) {
        int64_t kept = 0;
        for (int64_t k = 0; k < 4; ++k)
          kept += groups.at(r, c + k);
        ASSERT_EQ(kept, 2);
      }
    SparseMask turned = squares.transposed();
    ASSERT_EQ(squares.count() * 4, squares.rows() * squares.columns());
    for (const SparseMask *mask : {&squares, &turned})
      for (int64_t r = 0; r < mask->rows(); ++r)
        for (int64_t c = 0; c < mask->columns(); c += 4)
          ASSERT_EQ(mask->at(r, c) + mask->at(r, c + 1) + mask->at(r, c + 2) + mask->at(r, c + 3), 1);
  }
  SparsityPattern windows;
  windows.kind = Kind::Histogram;
  windows.window = 3, windows.histogram = {0.5, 0, 0.5, 0};
  SparseMask mask = drawMask(windows, 200, 300, random);
  EXPECT_NEAR(static_cast<double>(mask.count()) / 60'000, 0.5 + 0.5 / 3, 0.02);
}

TEST(SparseArraySimulator, WhatIsStoredCanBeRead) {
  fuzz::Random random(2);
  int64_t held = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    auto rows = static_cast<int64_t>(1 + random.below(20)), columns = static_cast<int64_t>(1 + random.below(90)),
         width = static_cast<int64_t>(1 + random.below(16));
    SparseMask mask = drawMask(unstructured(static_cast<double>(random.below(101)) / 100), rows, columns, random);
    SparseFormat format;
    format.kind = static_cast<SparseFormat::Kind>(random.below(6));
    format.coordinateBits = static_cast<int64_t>(1 + random.below(8));
    format.of = static_cast<int64_t>(2 + random.below(7));
    format.kept = static_cast<int64_t>(1 + random.below(static_cast<size_t>(format.of)));
    if (random.percent(30))
      format.blockRows = static_cast<int64_t>(1 + random.below(3)),
      format.blockColumns = static_cast<int64_t>(1 + random.below(3));
    auto bits = encode(mask, format, width);
    if (!bits)
      continue;
    ++held;
    ASSERT_TRUE(decode(*bits, format, width, rows, columns) == mask)
        << i << ": format " << static_cast<int>(format.kind);
  }
  EXPECT_GT(held, 1000);
}

TEST(SparseArraySimulator, LanesByHand) {
  SparseMask w = written({"xx..x.xx", "x......."}), x = written({"xxxxxxxx", ".x......"});
  LaneArray array;
  array.tile = 4, array.slots = 1, array.lanes = 2;
  EXPECT_EQ(step({w, x}, array).cycles, 2 * (4 + 4)); // nothing is skipped
  array.stationary.skip = true;
  // Of each row of the result: tiles of 2 and 3, then 1 and 0.
  SparseRun one = step({w, x}, array);
  EXPECT_EQ(one.cycles, 2 * (3 + 1));
  EXPECT_EQ(one.active, 2 * 6);
  array.streaming.gate = true;
  EXPECT_EQ(step({w, x}, array).active, 6 + 1);
  EXPECT_EQ(step({w, x}, array).gated, 6 - 1);
  array.streaming.skip = true;
  EXPECT_EQ(step({w, x}, array).cycles, (3 + 1) + (1 + 0));
  array.engines = 2; // 3 beside 1, then the 1 beside what is left of the 3
  EXPECT_EQ(step({w, x}, array).cycles, 3);
  array.engines = 1, array.lanes = 4, array.slots = 2;
  EXPECT_EQ(step({w, x}, array).cycles, 2 + 1);
  array.stationary.granule = 2, array.streaming = {};
  // Pairs that are not zero: 1 and 2 of two in the first column of W, 1 and 0 in the second.
  EXPECT_EQ(step({w, x}, array).cycles, 2 * 2);
  EXPECT_EQ(step({w, x}, array).active, 2 * 8);
}

TEST(SparseArraySimulator, OuterProductsByHand) {
  SparseMask w = written({"x.", "x.", "xx", ".x", "x."}), x = written({"x.", "xx", "x."});
  OuterArray array;
  array.tile = 4, array.stationary = {2, true, false}, array.streaming = {1, true, false};
  // Place 0: 3 and 1 elements against 3; place 1: 2 and 0 against 1.
  EXPECT_EQ(step({w, x}, array).cycles, 2 * 3 + 1 * 3 + 1 * 1);
  EXPECT_EQ(step({w, x}, array).active, 4 * 3 + 2 * 1);
  array.streaming = {1, false, true};
  EXPECT_EQ(step({w, x}, array).cycles, 2 * 3 + 1 * 3 + 1 * 3);
  EXPECT_EQ(step({w, x}, array).gated, 2 * 2);
}

/// E[max] that the page of each formula states, of draws that are independent.
TEST(SparseArraySimulator, LockStep) {
  fuzz::Random random(3);
  for (auto [lanes, tile, density, expected] :
       {std::tuple{4, 8, 0.5, 2915816807.0 / 536870912}, std::tuple{16, 64, 0.25, 22.286}}) {
    SparseMask w = drawMask(unstructured(density, true), lanes, tile * 1500, random),
               x = SparseMask(1, tile * 1500, true);
    // Lanes have neighbouring tiles: all of the same result.
    LaneArray array;
    array.tile = tile, array.lanes = lanes;
    array.stationary.skip = true;
    double mean = static_cast<double>(step({w, x}, array).cycles) / 1500;
    EXPECT_NEAR(mean, expected, 0.005 * expected) << lanes;
  }
}

TEST(SparseArraySimulator, DualSideTensorCore) {
  fuzz::Random random(4);
  double sum = 0, max = 0;
  for (const published::DualSide &point : published::kDualSide) {
    SparseMask a = drawMask(unstructured(point.a), 32, 4000, random),
               b = drawMask(unstructured(point.b), 32, 4000, random);
    OuterArray array;
    array.tile = 32, array.stationary = {8, true, false}, array.streaming = {16, true, false};
    double share = static_cast<double>(step({a, b}, array).cycles) / (4000 * 8);
    double error = std::abs(share / (point.time / published::kDualSide[0].time) - 1);
    sum += error, max = std::max(max, error);
  }
  // Of nine points beside the dense one, as a closed form has them too.
  EXPECT_NEAR(sum / 9, 0.060, 0.002);
  EXPECT_NEAR(max, 0.114, 0.003);
}

TEST(SparseArraySimulator, OnePeThatSkipsBothOperands) {
  fuzz::Random random(5);
  for (const published::SinglePe &layer : published::kSinglePe) {
    SparseMask w = drawMask(unstructured(layer.weights), layer.outputs, layer.inputs, random),
               x = drawMask(unstructured(layer.activations), layer.pixels, layer.inputs, random);
    LaneArray array;
    array.stationary.skip = array.streaming.skip = true;
    auto cycles = static_cast<double>(step({w, x}, array).cycles);
    // Places drawn alike have none of the channels that real activations prefer: always optimistic.
    EXPECT_NEAR(cycles / static_cast<double>(layer.sparseloop), 1, 0.01) << layer.layer;
    EXPECT_LT(cycles, static_cast<double>(layer.simulated)) << layer.layer;
    EXPECT_GT(cycles, 0.93 * static_cast<double>(layer.simulated)) << layer.layer;
  }
}

/// With the zeros where they are, the published count comes out to the cycle.
TEST(SparseArraySimulator, OnePeOnTheMasksThemselves) {
  constexpr int64_t kChannels = std::size(published::kL07Pixels);
  const published::SinglePe &layer = published::kSinglePe[0];
  SparseMask w(layer.outputs, kChannels), x(layer.pixels, kChannels);
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t n = 0; n < published::kL07Outputs[c]; ++n)
      w.set(n, c);
    for (int64_t m = 0; m < published::kL07Pixels[c]; ++m)
      x.set(m, c);
  }
  LaneArray array;
  array.stationary.skip = array.streaming.skip = true;
  EXPECT_EQ(step({w, x}, array).cycles, layer.simulated);
}

TEST(SparseArraySimulator, StructuredTensorCores) {
  fuzz::Random random(6);
  for (const published::Structured &gemm : published::kStructured) {
    StructuredArray array;
    array.multipliers = 1024, array.kept = gemm.kept, array.of = gemm.of, array.elementBits = 8;
    array.tile = 16 * gemm.of / gemm.kept;
    array.wordsKept = 8, array.wordsPerCycle = 42;
    // Densities are of the padded product there.
    int64_t depth = (gemm.k + array.tile - 1) / array.tile * array.tile;
    SparseMask w = drawMask(structured(gemm.kept, gemm.of), gemm.n, depth, random),
               x = drawMask(unstructured(gemm.activations), gemm.m, depth, random);
    auto name = std::to_string(gemm.m) + " x " + std::to_string(gemm.k) + " x " + std::to_string(gemm.n) + ", " +
                std::to_string(gemm.kept) + ":" + std::to_string(gemm.of);
    for (auto [bits, cycles] :
         {std::pair{gemm.of == 4 ? 2 : 4, gemm.flexible}, std::pair{gemm.of == 8 ? 4 : 2, gemm.runLength}}) {
      array.metadataBits = bits;
      EXPECT_NEAR(static_cast<double>(step({w, x}, array).cycles), static_cast<double>(cycles), 1) << name;
    }
    if (gemm.of == 4)
      continue; // its core has no mask for the other operand
    array.streamingFormat.kind = SparseFormat::Kind::Bitmask;
    EXPECT_NEAR(static_cast<double>(step({w, x}, array).cycles), static_cast<double>(gemm.compressed),
                0.002 * static_cast<double>(gemm.compressed))
        << name;
  }
}

} // namespace
