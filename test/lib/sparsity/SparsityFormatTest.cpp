// Sizes of what is stored: published shares, and tensors written out element by element.
#include "lib/sparsity/cost/Format.h"
#include "test/lib/sparsity/SparsityPatternFixture.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace accord;
using namespace accord::test;

namespace {

using Kind = SparseFormat::Kind;
using Mask = std::vector<std::vector<bool>>;

SparseFormat format(Kind kind, int64_t coordinateBits = 16) {
  SparseFormat f;
  f.kind = kind;
  f.coordinateBits = coordinateBits;
  return f;
}

SparseFormat nm(int64_t kept, int64_t of) {
  SparseFormat f = format(Kind::Structured);
  f.kept = kept;
  f.of = of;
  return f;
}

StoredBits bits(const SparsityPattern &p, const SparseFormat &f, OperandShape shape, int64_t width,
                double confidence = 0.95) {
  auto found = storedBits(p, f, shape, width, confidence);
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  return *found;
}

TEST(SparsityFormat, TwoOfFourAsPublished) {
  StoredBits half = bits(structured(2, 4), nm(2, 4), {64, 64}, 16),
             byte = bits(structured(2, 4), nm(2, 4), {64, 64}, 8);
  EXPECT_EQ(half.mean / half.dense, 0.5625);
  EXPECT_EQ(byte.mean / byte.dense, 0.625);
  EXPECT_EQ(half.mean, half.quantile);
  // A row of six is two groups.
  EXPECT_EQ(bits(structured(2, 4), nm(2, 4), {1, 6}, 16).mean, 4 * 18);
}

TEST(SparsityFormat, WhereAFormatPays) {
  const OperandShape shape{1000, 1000};
  for (int64_t width : {8, 16}) {
    double pays = 1 - 1.0 / static_cast<double>(width); // 0.875 and 0.9375
    StoredBits at = bits(unstructured(pays), format(Kind::Bitmask), shape, width);
    EXPECT_NEAR(at.mean, at.dense, 1);
    EXPECT_EQ(cheapestFormat(unstructured(pays + 0.01), shape, width, 0.95, {format(Kind::Bitmask)}).kind, Kind::Dense);
    EXPECT_EQ(cheapestFormat(unstructured(pays - 0.01), shape, width, 0.95, {format(Kind::Bitmask)}).kind,
              Kind::Bitmask);
  }
  StoredBits pairs = bits(unstructured(0.5), format(Kind::Coordinates, 16), shape, 16);
  EXPECT_EQ(pairs.mean, pairs.dense);
  EXPECT_EQ(pairs.metadata, pairs.dense / 2);
}

TEST(SparsityFormat, ResNetTableOfRigL) {
  // 25.5 million weights of 32 bits at 80 % zeros as a bitmask: 23.62 MB of 23.68 published, the rest are biases.
  EXPECT_NEAR(bits(unstructured(0.2), format(Kind::Bitmask), {25502912, 1}, 32).mean / 8e6, 23.6, 0.06);
}

/// What a mask takes, written out: each of these counts what it puts down.
double written(const Mask &mask, const SparseFormat &f, int64_t width) {
  double out = 0;
  const auto rows = static_cast<int64_t>(mask.size()), columns = static_cast<int64_t>(mask.front().size());
  auto at = [&](int64_t i, int64_t j) {
    return i < rows && j < columns && mask[static_cast<size_t>(i)][static_cast<size_t>(j)];
  };
  if (f.kind == Kind::Rows)
    out += static_cast<double>(f.pointerBits);
  for (int64_t i = 0; i < rows; i += f.blockRows) {
    if (f.kind == Kind::Rows)
      out += static_cast<double>(f.pointerBits);
    int64_t run = 0;
    for (int64_t j = 0; j < columns; j += f.blockColumns) {
      bool any = false;
      for (int64_t r = 0; r < f.blockRows; ++r)
        for (int64_t c = 0; c < f.blockColumns; ++c)
          any |= at(i + r, j + c);
      if (f.kind == Kind::Bitmask)
        out += 1;
      if (f.kind == Kind::RunLength) {
        if (any || run + 1 == int64_t{1} << f.coordinateBits) { // a non-zero, or a zero that ends the longest run
          bool more = any;
          for (int64_t k = j; k < columns && !more; ++k)
            more = at(i, k);
          out += more ? width + f.coordinateBits : 0;
          run = 0;
        } else
          ++run;
        continue;
      }
      if (any)
        out += static_cast<double>(f.blockRows * f.blockColumns * width +
                                   (f.kind == Kind::Bitmask ? 0 : f.coordinateBits));
    }
  }
  return out;
}

TEST(SparsityFormat, RandomTensorsWrittenOut) {
  std::mt19937_64 draw(11);
  SparseFormat blocks = format(Kind::Rows);
  blocks.blockRows = 2;
  blocks.blockColumns = 4;
  for (double density : {0.02, 0.1, 0.4})
    for (const SparseFormat &f : {format(Kind::Bitmask), format(Kind::Coordinates), format(Kind::Rows), blocks,
                                  format(Kind::RunLength, 2), format(Kind::RunLength, 4)})
      for (bool independent : {true, false}) {
        const int runs = 400;
        const OperandShape shape{12, 64};
        double sum = 0, kept = 0, whole = 0;
        StoredBits found = bits(unstructured(density, independent), f, shape, 8, 0.9);
        for (int run = 0; run < runs; ++run) {
          std::vector<bool> flat(12 * 64);
          auto ones = static_cast<size_t>(std::ceil(density * 12 * 64 - 1e-9));
          for (size_t i = 0; i < flat.size(); ++i)
            flat[i] = independent ? std::uniform_real_distribution<>(0, 1)(draw) < density : i < ones;
          if (!independent)
            std::shuffle(flat.begin(), flat.end(), draw);
          SparsityPattern mask;
          mask.kind = SparsityPattern::Kind::Mask;
          mask.mask.assign(12, std::vector<bool>(64));
          for (size_t i = 0; i < flat.size(); ++i)
            mask.mask[i / 64][i % 64] = flat[i];
          double took = written(mask.mask, f, 8);
          EXPECT_EQ(bits(mask, f, shape, 8).mean, took) << describe(f); // a mask's size is exact
          sum += took;
          kept += took <= found.quantile;
          whole = std::max(whole, took);
        }
        EXPECT_NEAR(sum / runs, found.mean, 0.02 * found.mean) << describe(f) << " " << density;
        EXPECT_GE(kept / runs, 0.9) << describe(f) << " " << density;
        EXPECT_GE(found.quantile, found.mean);
      }
}

TEST(SparsityFormat, CheapestOfAll) {
  for (double density : {0.001, 0.05, 0.3, 0.99, 1.0}) {
    SparsityPattern p = unstructured(density);
    const OperandShape shape{512, 1024};
    auto formats = formatsOf(p, shape);
    SparseFormat best = cheapestFormat(p, shape, 16, 0.95, formats);
    for (const SparseFormat &f : formats)
      EXPECT_LE(bits(p, best, shape, 16).quantile, bits(p, f, shape, 16).quantile);
  }
  EXPECT_EQ(formatsOf({}, {4, 4}).size(), 1u);
  EXPECT_EQ(cheapestFormat(structured(2, 4), {64, 64}, 16, 0.95, formatsOf(structured(2, 4), {64, 64})).kind,
            Kind::Structured);
}

TEST(SparsityFormat, BlocksAndBands) {
  SparsityPattern p = unstructured(0.25);
  p.kind = SparsityPattern::Kind::Block;
  p.blockRows = p.blockColumns = 8;
  SparseFormat f = format(Kind::Rows);
  f.blockRows = f.blockColumns = 8;
  // 64 blocks, 16 kept of 64 elements of 16 bits, with a column of 16 bits each; 9 pointers of 32.
  EXPECT_EQ(bits(p, f, {64, 64}, 16).mean, 16 * (64 * 16 + 16) + 9 * 32);
  SparsityPattern band;
  band.kind = SparsityPattern::Kind::Banded;
  band.band = 0;
  EXPECT_EQ(bits(band, f, {64, 64}, 16).mean, 8 * (64 * 16 + 16) + 9 * 32);
}

TEST(SparsityFormat, WrongInputIsRefused) {
  auto refused = [](const SparsityPattern &p, const SparseFormat &f, OperandShape shape = {8, 8}, int64_t width = 8) {
    auto found = storedBits(p, f, shape, width, 0.95);
    ASSERT_TRUE(!found);
    EXPECT_EQ(found.error().code, Code::NotSkipped);
  };
  refused(unstructured(0.5), nm(2, 4));
  refused(structured(3, 4), nm(2, 4));
  refused(structured(2, 4), nm(0, 0));
  refused(unstructured(2), format(Kind::Bitmask));
  refused(unstructured(0.5), format(Kind::Coordinates, 0));
  refused(unstructured(0.5), format(Kind::RunLength, 65));
  refused(unstructured(0.5), format(Kind::Bitmask), {0, 8});
  refused(unstructured(0.5), format(Kind::Bitmask), {8, 8}, 0);
  SparseFormat f = format(Kind::Rows);
  f.blockRows = -1;
  refused(unstructured(0.5), f);
  EXPECT_EQ(bits(unstructured(0), format(Kind::RunLength, 4), {8, 8}, 8).mean, 0);
  EXPECT_TRUE(std::isfinite(
      bits(unstructured(1e-9, true), format(Kind::Rows), {int64_t{1} << 40, int64_t{1} << 40}, 8).quantile));
}

} // namespace
