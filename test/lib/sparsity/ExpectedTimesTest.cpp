// What kernels are expected to make of zeros: by the definitions, by code that shares nothing with it, and with claims
// that are false.
#include "lib/sparsity/cost/ExpectedTimes.h"
#include "lib/machine/operations/SparseProducts.h"
#include "lib/sparsity/cost/TrainingSparsity.h"
#include "lib/sparsity/verify/ExpectedTimes.h"
#include "test/lib/sparsity/LayerDensities.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

SparseKernelTable randomTable(std::mt19937 &random, size_t points) {
  auto size = [&] { return std::floor(std::exp2(6 + 9 * std::generate_canonical<double, 32>(random))); };
  SparseKernelTable table{"gpu", "bf16", {}, {}};
  for (size_t i = 0; i < points; ++i)
    table.points.push_back({size(), size(), size(), 0.7 + 1.2 * std::generate_canonical<double, 32>(random)});
  table.masks = {{true, 1 << 16, 1e-5}, {true, 1 << 22, 2e-4}};
  EXPECT_TRUE(operations::fitSparseKernels(table));
  return table;
}

PruneOption optionWith(std::mt19937 &random, const std::vector<SparseKernelTable> &kernels, const std::string &type) {
  auto size = [&] { return std::floor(std::exp2(5 + 12 * std::generate_canonical<double, 32>(random))); };
  PruneOption option;
  option.seconds = 1, option.quantile = 1.01;
  option.expected = option.expectedMin = option.seconds, option.expectedMax = option.quantile;
  for (int i = 0; i < 3; ++i) {
    SparseProductTime product{"p", 3, size(), size(), size(), type, 1e-3, 0.52e-3};
    expectKernels(product, kernels);
    EXPECT_LE(product.ideal, product.min);
    EXPECT_LE(product.min, product.expected);
    EXPECT_LE(product.expected, product.max);
    option.expected += 3 * (product.expected - product.ideal);
    option.expectedMin += 3 * (product.min - product.ideal), option.expectedMax += 3 * (product.max - product.ideal);
    option.products.push_back(product);
  }
  MaskSearchTime masks{true, size() * size(), 16, 24, 10, 2e12, type};
  expectMaskSearch(masks, kernels);
  option.expected += masks.seconds, option.expectedMin += masks.min, option.expectedMax += masks.max;
  option.masks = masks;
  return option;
}

} // namespace

TEST(ExpectedTimes, PublishedFiguresWhereNothingWasMeasured) {
  SparseProductTime large{"p", 1, 4096, 4096, 4096, "bf16", 1.0, 0.5}, small{"p", 1, 512, 4096, 4096, "bf16", 1.0, 0.5};
  expectKernels(large, {}), expectKernels(small, {});
  EXPECT_DOUBLE_EQ(large.expected, 1 / 1.56);
  EXPECT_DOUBLE_EQ(large.min, 1 / 1.79);
  EXPECT_DOUBLE_EQ(large.max, 1 / 1.18);
  EXPECT_DOUBLE_EQ(small.max, 1 / 0.78); // slower than dense
  SparseProductTime tiny{"p", 1, 63, 4096, 4096, "bf16", 1.0, 0.5};
  expectKernels(tiny, {});
  EXPECT_EQ(tiny.expected, 1);
  EXPECT_DOUBLE_EQ(tiny.max, 1 / 0.11);
  // What no core can do is not expected.
  SparseProductTime bound{"p", 1, 4096, 4096, 4096, "bf16", 1.0, 0.9};
  expectKernels(bound, {});
  EXPECT_EQ(bound.expected, 0.9);
  // Masks: 1.9 times a copy of 2 MiB at 2 TB/s, in every tenth step.
  MaskSearchTime masks{true, 1 << 20, 16, 1, 10, 2e12, "bf16"};
  expectMaskSearch(masks, {});
  EXPECT_DOUBLE_EQ(masks.seconds, 1.9 * 2 * 2 * (1 << 20) / 2e12 / 10);
  EXPECT_LT(masks.min, masks.seconds);
  EXPECT_GT(masks.max, masks.seconds);
}

TEST(ExpectedTimes, TheVerifierComputesTheSame) {
  std::mt19937 random(31);
  for (int i = 0; i < 200; ++i) {
    const std::vector<SparseKernelTable> kernels{randomTable(random, 9 + i % 30)};
    for (const std::string &error : findWrongKernels(kernels))
      ADD_FAILURE() << error;
    for (const char *type : {"bf16", "fp16"}) // of the second, nothing was measured
      for (const std::string &error : findWrongExpectations(optionWith(random, kernels, type), kernels))
        ADD_FAILURE() << i << ' ' << type << ": " << error;
  }
}

TEST(ExpectedTimes, FalseClaimsAreRefused) {
  std::mt19937 random(5);
  const std::vector<SparseKernelTable> kernels{randomTable(random, 40)};
  const PruneOption right = optionWith(random, kernels, "bf16");
  for (double by : {0.999, 1.001}) {
    for (double SparseKernelTable::*field :
         {&SparseKernelTable::width, &SparseKernelTable::deviation, &SparseKernelTable::reach}) {
      std::vector<SparseKernelTable> wrong = kernels;
      wrong[0].*field *= by;
      EXPECT_FALSE(findWrongKernels(wrong).empty());
    }
    auto refused = [&](const std::function<void(PruneOption &)> &change) {
      PruneOption wrong = right;
      change(wrong);
      EXPECT_FALSE(findWrongExpectations(wrong, kernels).empty());
    };
    for (double PruneOption::*field : {&PruneOption::expected, &PruneOption::expectedMin, &PruneOption::expectedMax})
      refused([&](PruneOption &option) { option.*field *= by; });
    for (double SparseProductTime::*field :
         {&SparseProductTime::expected, &SparseProductTime::min, &SparseProductTime::max, &SparseProductTime::dense})
      refused([&](PruneOption &option) { option.products[1].*field *= by; });
    for (double MaskSearchTime::*field :
         {&MaskSearchTime::seconds, &MaskSearchTime::min, &MaskSearchTime::max, &MaskSearchTime::elements,
          &MaskSearchTime::period, &MaskSearchTime::matrices})
      refused([&](PruneOption &option) { (*option.masks).*field *= by; });
    std::vector<SparseKernelTable> other = kernels; // another row than the one that was measured
    other[0].points[3].speedup *= by;
    EXPECT_FALSE(findWrongKernels(other).empty() && findWrongExpectations(right, other).empty());
  }
  std::vector<SparseKernelTable> few = kernels;
  few[0].points.resize(8);
  EXPECT_FALSE(findWrongKernels(few).empty());
  few[0].points.clear();
  EXPECT_FALSE(findWrongKernels(few).empty());
  std::vector<SparseKernelTable> none = kernels;
  none[0].points[0].rows = 0;
  EXPECT_FALSE(findWrongKernels(none).empty());
}

TEST(ErdosRenyi, AgreesWithTheRuleOfTheTests) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    std::vector<MaskedLayer> masked;
    std::vector<ErdosRenyiLayer> layers;
    for (size_t l = 0; l < 1 + random() % 20; ++l) {
      MaskedLayer layer{static_cast<OperationId>(l), "x", {}, double(1 + random() % 4)};
      ErdosRenyiLayer same{0, 1, layer.count};
      for (size_t d = 0; d < 2 + random() % 3; ++d) {
        layer.dims.push_back(static_cast<int64_t>(1 + random() % (d < 2 ? 2000 : 7)));
        same.sum += double(layer.dims.back()), same.elements *= double(layer.dims.back());
      }
      masked.push_back(layer), layers.push_back(same);
    }
    for (double density : {0.0, 0.05, 0.2, 0.5, 0.97, 1.0}) {
      auto expected = erkDensities(masked, density);
      ASSERT_TRUE(bool(expected));
      const std::vector<double> found = erdosRenyiDensities(layers, density);
      double kept = 0, all = 0;
      for (size_t l = 0; l < layers.size(); ++l) {
        EXPECT_NEAR(found[l], (*expected)[l], 1e-9) << i << ' ' << l;
        kept += found[l] * layers[l].copies * layers[l].elements, all += layers[l].copies * layers[l].elements;
      }
      EXPECT_NEAR(kept, density * all, 1e-9 * all);
    }
  }
}
