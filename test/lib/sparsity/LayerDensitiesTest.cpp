// Densities by layer, and published ratios of work, from the catalogue's network.
#include "test/lib/sparsity/LayerDensities.h"
#include "lib/sparsity/cost/TrainingSparsity.h"
#include "test/support/CatalogueWork.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace accord;

namespace {

const WorkGraph &resnet50() {
  static const auto work = test::ofCatalogue("resnet.dnn", "resnet50", "a100_80g", 1);
  return work->first;
}

std::vector<double> densities(const Result<std::vector<double>> &found) {
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  return *found;
}

/// To the two digits that are published.
int hundredths(double ratio) { return static_cast<int>(std::lround(100 * ratio)); }

TEST(LayerDensities, LayersOfResNet50) {
  auto layers = maskedLayers(resnet50());
  double elements = 0, tensors = 0;
  for (const MaskedLayer &layer : layers) {
    elements += layer.count * layer.elements();
    tensors += layer.count;
  }
  EXPECT_EQ(tensors, 54); // 53 convolutions and the classifier
  EXPECT_EQ(elements, 25502912);
  ASSERT_FALSE(layers.empty());
  auto dims = layers.front().dims;
  std::sort(dims.begin(), dims.end());
  EXPECT_EQ(dims, (std::vector<int64_t>{3, 7, 7, 64}));
}

TEST(LayerDensities, PublishedRatiosOfResNet50) {
  // Evci et al.: Rigging the Lottery, ICML 2020, table 2 and its repository: ERK at 80, 90 and 95 % zeros 0.42, 0.24,
  // 0.12 of the dense work; uniform at 80 % 0.23.
  auto layers = maskedLayers(resnet50());
  auto ratio = [&](const std::vector<double> &by) { return inferenceFlops(resnet50(), layers, by).ratio(); };
  EXPECT_EQ(hundredths(ratio(densities(erkDensities(layers, 0.2)))), 42);
  EXPECT_EQ(hundredths(ratio(densities(erkDensities(layers, 0.1)))), 24);
  EXPECT_EQ(hundredths(ratio(densities(erkDensities(layers, 0.05)))), 12);
  EXPECT_EQ(hundredths(ratio(densities(uniformDensities(layers, 0.2)))), 23);
  EXPECT_EQ(ratio(densities(erkDensities(layers, 1))), 1);
}

TEST(LayerDensities, ContractionsAloneAsRecomputed) {
  // From the rule and the layers' shapes alone: 0.4138, 0.2418, 0.1217 (ERK) and 0.2231, 0.1260 (uniform) of the
  // products.
  auto layers = maskedLayers(resnet50());
  auto forward = [&](const std::vector<double> &by) {
    double masked = 0, dense = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      double flops = static_cast<double>(resnet50().operations[layers[i].operation].flops) * layers[i].count;
      masked += flops * by[i];
      dense += flops;
    }
    return masked / dense;
  };
  EXPECT_NEAR(forward(densities(erkDensities(layers, 0.2))), 0.4138, 5e-5);
  EXPECT_NEAR(forward(densities(erkDensities(layers, 0.1))), 0.2418, 5e-5);
  EXPECT_NEAR(forward(densities(erkDensities(layers, 0.05))), 0.1217, 5e-5);
  EXPECT_NEAR(forward(densities(uniformDensities(layers, 0.2))), 0.2231, 5e-5);
  EXPECT_NEAR(forward(densities(uniformDensities(layers, 0.1))), 0.1260, 5e-5);
}

TEST(LayerDensities, TheStepOfTheGraph) {
  // The first layer has no data gradient: of 3 * 8.178 GFLOP of products 0.236 are missing.
  auto layers = maskedLayers(resnet50());
  auto by = densities(erkDensities(layers, 0.2));
  MaskedFlops alone = trainingFlops(resnet50(), layers, by, true), all = trainingFlops(resnet50(), layers, by, false);
  EXPECT_NEAR(alone.dense, 3 * 8178368512.0 - 236027904, 1);
  EXPECT_NEAR(alone.ratio(), 0.4095, 5e-5);
  EXPECT_GT(all.dense, alone.dense);
  EXPECT_GT(all.ratio(), alone.ratio()); // what no mask touches stays
  // The table of docs/sparsity.md: products alone, and all of a step.
  const std::pair<std::vector<double>, std::pair<int, int>> rows[] = {
      {by, {41, 42}},
      {densities(erkDensities(layers, 0.1)), {24, 25}},
      {densities(erkDensities(layers, 0.05)), {12, 13}},
      {densities(uniformDensities(layers, 0.2)), {22, 23}}};
  for (const auto &[mask, ratios] : rows) {
    EXPECT_EQ(hundredths(trainingFlops(resnet50(), layers, mask, true).ratio()), ratios.first);
    EXPECT_EQ(hundredths(trainingFlops(resnet50(), layers, mask, false).ratio()), ratios.second);
  }
}

TEST(LayerDensities, GradientsFollowTheirLayer) {
  // Without any weights what is left is attention's products of activations, forward and backward; the table that is
  // looked up and then multiplied with has a gradient of its own name.
  auto work = test::ofCatalogue("gpt2.dnn", "gpt2", "a100_80g", 1);
  ASSERT_TRUE(work);
  auto layers = maskedLayers(work->first);
  double left = 0;
  for (OperationId id = 0; id < work->first.operations.size(); ++id) {
    const Operation &op = work->first.operations[id];
    if (op.contraction && op.body == kNone && !productOf(work->first, op))
      left += static_cast<double>(op.flops) * static_cast<double>(work->first.executions(id));
  }
  EXPECT_GT(left, 0);
  EXPECT_EQ(trainingFlops(work->first, layers, std::vector<double>(layers.size(), 0.0), true).masked, left);
}

MaskedLayer layer(std::vector<int64_t> dims, double count = 1) { return {0, "l", std::move(dims), count}; }

TEST(LayerDensities, ErkKeepsTheShareAndTheProportions) {
  std::vector<MaskedLayer> layers = {layer({3, 3, 16, 16}), layer({1, 1, 64, 256}, 3), layer({512, 1000}),
                                     layer({7, 7, 3, 64})};
  for (double density : {0.01, 0.05, 0.3, 0.7, 0.99}) {
    auto by = densities(erkDensities(layers, density));
    double kept = 0, all = 0, scale = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      kept += by[i] * layers[i].count * layers[i].elements();
      all += layers[i].count * layers[i].elements();
      EXPECT_LE(by[i], 1);
      double sum = 0;
      for (int64_t dim : layers[i].dims)
        sum += static_cast<double>(dim);
      if (by[i] < 1)
        scale = std::max(scale, by[i] / (sum / layers[i].elements()));
    }
    EXPECT_NEAR(kept, density * all, 1e-9 * all);
    for (size_t i = 0; i < layers.size(); ++i) { // one scale for all that are not at 1, which would pass it
      double sum = 0;
      for (int64_t dim : layers[i].dims)
        sum += static_cast<double>(dim);
      EXPECT_NEAR(by[i], std::min(1.0, scale * sum / layers[i].elements()), 1e-9);
    }
  }
  EXPECT_EQ(densities(erkDensities(layers, 1)), std::vector<double>(4, 1.0));
  EXPECT_EQ(densities(erkDensities(layers, 0)), std::vector<double>(4, 0.0));
  EXPECT_EQ(densities(uniformDensities(layers, 0.3)), (std::vector<double>{1, .3, .3, .3}));
}

TEST(LayerDensities, WrongInputIsRefused) {
  for (const auto &found :
       {erkDensities({}, 0.5), erkDensities({layer({4, 4})}, 1.1), uniformDensities({layer({4, 4})}, -0.1),
        erkDensities({layer({4, 4})}, std::numeric_limits<double>::quiet_NaN()), erkDensities({layer({0, 4})}, 0.5),
        erkDensities({layer({})}, 0.5)}) {
    ASSERT_TRUE(!found);
    EXPECT_EQ(found.error().code, Code::NotSkipped);
  }
}

} // namespace
