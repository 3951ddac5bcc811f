// Loop nests over tensors as matrix products and convolutions: by hand, and by what the roles of
// loops mean.
#include "lib/machine/array/Convolution.h"
#include "lib/machine/array/LoopRoles.h"
#include "test/support/Random.h"
#include <gtest/gtest.h>
#include <limits>

using namespace accord;

namespace {

using Positions = std::vector<std::vector<LoopTensor::Term>>;
constexpr auto kSum = IteratorKind::Reduction;

LoopTensor in(Positions positions) { return {std::move(positions), {}, 16, false}; }
LoopTensor out(Positions positions) { return {std::move(positions), {}, 16, true}; }

std::optional<Gemm> gemm(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  return gemmOf(domain, tensors);
}

// Image n, filter f, row h, column w; channel c, window r x s; stride 2, dilation 3 down.
const std::vector<Loop> kConv = {{4}, {64}, {28}, {30}, {16, kSum}, {3, kSum}, {5, kSum}};
const Positions kImage = {{{0}}, {{4}}, {{2, 2}, {5, 3}}, {{3, 2}, {6}}}, kFilter = {{{1}}, {{4}}, {{5}}, {{6}}},
                kResult = {{{0}}, {{1}}, {{2}}, {{3}}};

} // namespace

TEST(Gemm, Products) {
  // x (8 x 128) by w (32 x 128).
  std::vector<Loop> linear = {{8}, {32}, {128, kSum}};
  LoopTensor x = in({{{0}}, {{2}}}), w = in({{{1}}, {{2}}}), y = out({{{0}}, {{1}}});
  EXPECT_EQ(gemm(linear, {x, w, y}), (Gemm{1, 8, 32, 128}));
  EXPECT_EQ(gemm(linear, {w, x, y}), (Gemm{1, 32, 8, 128})); // the first operand has the rows
  // Heads of attention scores: batch and head in all three.
  EXPECT_EQ(
      gemm({{2}, {12}, {128}, {256}, {64, kSum}},
           {in({{{0}}, {{1}}, {{2}}, {{4}}}), in({{{0}}, {{1}}, {{3}}, {{4}}}), out({{{0}}, {{1}}, {{2}}, {{3}}})}),
      (Gemm{24, 128, 256, 64}));
  // A bias is no operand of the product, however large beside a single row.
  LoopTensor bias = in({{{1}}});
  for (int64_t k : {2, 4, 128})
    EXPECT_EQ(gemm({{1}, {1000}, {k, kSum}}, {x, w, bias, y}), (Gemm{1, 1, 1000, k}));
  // Scores and the product with the values in one nest: batch, key, query, width.
  std::vector<Loop> attention = {{2}, {256, kSum}, {128}, {64, kSum}};
  LoopTensor q = in({{{0}}, {{2}}, {{3}}}), k = in({{{0}}, {{1}}, {{3}}}), o = out({{{0}}, {{2}}, {{3}}});
  EXPECT_EQ(gemm(attention, {q, k, k, o}), (Gemm{2, 128, 256, 64}));
}

TEST(Gemm, LoopsOfOneTensorAlone) {
  // sum over j of a[i, j] b[i]: j is summed over.
  EXPECT_EQ(gemm({{5}, {7, kSum}}, {in({{{0}}, {{1}}}), in({{{0}}}), out({{{0}}})}), (Gemm{5, 1, 1, 7}));
  // The result repeats for each r: as many rows of the product.
  EXPECT_EQ(gemm({{3}, {5}, {6}, {7, kSum}}, {in({{{1}}, {{3}}}), in({{{3}}, {{2}}}), out({{{0}}, {{1}}, {{2}}})}),
            (Gemm{1, 15, 6, 7}));
  // In no tensor: repeated sums, or repeated products.
  EXPECT_EQ(gemm({{5}, {6}, {7, kSum}}, {in({{{0}}}), in({{{1}}}), out({{{0}}, {{1}}})}), (Gemm{1, 5, 6, 7}));
  EXPECT_EQ(gemm({{5}, {6}, {7}}, {in({{{0}}}), in({{{1}}}), out({{{0}}, {{1}}})}), (Gemm{7, 5, 6, 1}));
}

TEST(Gemm, Convolutions) {
  EXPECT_EQ(gemm(kConv, {in(kImage), in(kFilter), out(kResult)}), (Gemm{1, 4 * 28 * 30, 64, 16 * 3 * 5}));
  EXPECT_EQ(gemm(kConv, {in(kResult), in(kFilter), out(kImage)}), (Gemm{1, 4 * 28 * 30, 16 * 3 * 5, 64}));
  EXPECT_EQ(gemm(kConv, {in(kImage), in(kResult), out(kFilter)}), (Gemm{1, 16 * 3 * 5, 64, 4 * 28 * 30}));
  // Depthwise: channel 1 in all three. Grouped: group 0 of 2, 8 filters and 4 channels each.
  EXPECT_EQ(
      gemm({{2}, {32}, {14}, {14}, {3, kSum}, {3, kSum}},
           {in({{{0}}, {{1}}, {{2}, {4}}, {{3}, {5}}}), in({{{1}}, {{4}}, {{5}}}), out({{{0}}, {{1}}, {{2}}, {{3}}})}),
      (Gemm{32, 2 * 14 * 14, 1, 9}));
  EXPECT_EQ(gemm({{2}, {8}, {14}, {4, kSum}, {3, kSum}},
                 {in({{{0}}, {{3}}, {{2}, {4}}}), in({{{0}}, {{1}}, {{3}}, {{4}}}), out({{{0}}, {{1}}, {{2}}})}),
            (Gemm{2, 14, 8, 12}));
}

TEST(Gemm, WindowsOfConvolutions) {
  Convolution v = *convolutionOf(kConv, {in(kImage), in(kFilter), out(kResult)});
  EXPECT_EQ(std::tuple(v.groups, v.images, v.filters, v.channels), std::tuple(1, 4, 64, 16));
  EXPECT_EQ(std::tuple(v.filterRows, v.filterCols, v.outRows, v.outCols), std::tuple(3, 5, 28, 30));
  EXPECT_EQ(std::tuple(v.rowStride, v.colStride, v.rowDilation, v.colDilation), std::tuple(2, 2, 3, 1));
  // The same with the operands exchanged.
  v = *convolutionOf(kConv, {in(kFilter), in(kImage), out(kResult)});
  EXPECT_EQ(std::tuple(v.groups, v.images, v.filters, v.channels), std::tuple(1, 4, 64, 16));
  EXPECT_EQ(std::tuple(v.filterRows, v.filterCols, v.outRows, v.outCols), std::tuple(3, 5, 28, 30));
  // Gradient of the weight: the result is as large as the window was, the sum runs over images and
  // results.
  v = *convolutionOf(kConv, {in(kImage), in(kResult), out(kFilter)});
  EXPECT_EQ(std::tuple(v.groups, v.images, v.filters, v.channels), std::tuple(1, 16, 64, 4));
  EXPECT_EQ(std::tuple(v.filterRows, v.filterCols, v.outRows, v.outCols), std::tuple(28, 30, 3, 5));
  EXPECT_EQ(std::tuple(v.rowStride, v.rowDilation), std::tuple(3, 2));
  // Gradient of the input.
  v = *convolutionOf(kConv, {in(kResult), in(kFilter), out(kImage)});
  EXPECT_EQ(std::tuple(v.groups, v.images, v.filters, v.channels), std::tuple(1, 4, 16, 64));
  EXPECT_EQ(std::tuple(v.filterRows, v.filterCols, v.outRows, v.outCols), std::tuple(3, 5, 28, 30));
  // A product.
  v = *convolutionOf({{8}, {32}, {128, kSum}}, {in({{{0}}, {{2}}}), in({{{1}}, {{2}}}), out({{{0}}, {{1}}})});
  EXPECT_EQ(std::tuple(v.outCols, v.filters, v.channels, v.filterCols), std::tuple(8, 32, 128, 1));
}

TEST(Gemm, RolesMeanWhatTheySay) {
  fuzz::Random random(31);
  for (int i = 0; i < 5000; ++i) {
    std::vector<Loop> domain(1 + random.below(7));
    double points = 1;
    for (Loop &loop : domain) {
      loop.extent = 1 + static_cast<int64_t>(random.below(9));
      points *= static_cast<double>(loop.extent);
    }
    std::vector<LoopTensor> tensors(2 + random.below(3));
    std::vector<std::vector<bool>> indexed;
    for (LoopTensor &tensor : tensors) {
      indexed.emplace_back(domain.size());
      tensor.dimensions.resize(random.below(4));
      for (auto &position : tensor.dimensions)
        for (size_t t = random.below(3); t > 0; --t) {
          auto loop = static_cast<unsigned>(random.below(domain.size()));
          position.push_back({loop, static_cast<int64_t>(random.below(5)) - 1});
          if (position.back().stride != 0)
            indexed.back()[loop] = true;
        }
    }
    tensors.back().written = true;
    for (size_t l = 0; l < domain.size(); ++l) // as the iterators of a sum are
      domain[l].kind = indexed.back()[l] ? IteratorKind::Parallel : kSum;
    auto roles = loopRoles(domain, tensors);
    ASSERT_EQ(roles.has_value(), tensors.size() > 2);
    if (!roles)
      continue;
    // The product is sum over depth of lhs[batch, row, depth] rhs[batch, depth, column]: each
    // tensor may only depend on these.
    for (size_t l = 0; l < domain.size(); ++l) {
      LoopRole role = roles->roles[l];
      EXPECT_FALSE(role == LoopRole::Columns && indexed[roles->lhs][l]);
      EXPECT_FALSE(role == LoopRole::Rows && indexed[roles->rhs][l]);
      EXPECT_FALSE(role == LoopRole::Depth && indexed.back()[l]);
      EXPECT_FALSE(role != LoopRole::Depth && !indexed.back()[l]);
    }
    Gemm g = *gemmOf(domain, tensors);
    Convolution v = *convolutionOf(domain, tensors);
    EXPECT_EQ(static_cast<double>(g.batch * g.m * g.n * g.k), points);
    EXPECT_EQ(static_cast<double>(v.groups * v.images * v.filters * v.channels * v.filterRows * v.filterCols *
                                  v.outRows * v.outCols),
              points);
  }
}

TEST(Gemm, OddInput) {
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  LoopTensor a = in({{{0}}, {{2}}}), b = in({{{2}}, {{1}}}), c = out({{{0}}, {{1}}});
  EXPECT_FALSE(gemmOf({{2}, {2}, {2, kSum}}, {a, c}));
  EXPECT_FALSE(gemmOf({{2}, {2}, {2, kSum}}, {a, b}));
  EXPECT_FALSE(gemmOf({{2}, {2}}, {a, b, c})); // a loop that is not there
  EXPECT_FALSE(convolutionOf({{2}, {2}}, {a, b, c}));
  EXPECT_FALSE(gemmOf({}, {}));
  EXPECT_EQ(gemmOf({}, {in({}), in({}), out({})}), (Gemm{1, 1, 1, 1}));
  EXPECT_EQ(gemmOf({{0}, {-5}, {2, kSum}}, {a, b, c}), (Gemm{1, 1, 1, 2}));
  EXPECT_EQ(gemmOf({{max}, {max}, {max, kSum}, {max, kSum}}, {a, b, c}), (Gemm{1, max, max, max}));
  auto smallest = std::numeric_limits<int64_t>::min();
  LoopTensor window = in({{{0, smallest}, {2, smallest}}});
  EXPECT_EQ(convolutionOf({{2}, {2}, {2, kSum}}, {window, b, c})->colStride, max);
  EXPECT_EQ(gemmOf({{4}, {8}, {3, kSum}, {16}}), (Gemm{1, 32, 16, 3}));
  EXPECT_EQ(gemmOf({{max}, {max}, {max}}), (Gemm{1, max, max, 1}));
}
