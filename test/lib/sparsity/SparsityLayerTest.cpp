// Layers of a training step with zeros: all their operations together.
#include "lib/machine/cost/Estimate.h"
#include "lib/sparsity/cost/Format.h"
#include "lib/sparsity/cost/SparseCost.h"
#include "test/lib/sparsity/LayerDensities.h"
#include "test/support/CatalogueWork.h"
#include <gtest/gtest.h>
#include <set>

using namespace accord;

namespace {

struct Job {
  WorkGraph graph;
  Machine machine;
  Costs costs;
};

/// On an A100 whose tensor cores take 2:4 weights, as their data sheet says.
const Job &job() {
  static const Job one = [] {
    auto found = test::ofCatalogue("gpt2.dnn", "gpt2", "a100_80g", 1);
    Job job{std::move(found->first), std::move(found->second), {}};
    SparseCore sparse;
    sparse.stationary = {SparseAcceleration::Mode::Skip, true, 2, 4, 1};
    for (Core &core : job.machine.cores)
      core.sparse = sparse;
    job.costs = *estimate(job.graph, job.machine);
    return job;
  }();
  return one;
}

SparsityPattern twoOfFour(bool transposable) {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Structured;
  p.kept = 2;
  p.of = 4;
  p.transposable = transposable;
  return p;
}

LayerCost cost(const PrunedLayer &layer, const LinearSparsity &sparsity) {
  auto found = layerCost(job().graph, job().machine, job().costs, layer, sparsity, 0.95);
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  return *found;
}

LinearSparsity weights(const PrunedLayer &layer, const SparsityPattern &pattern) {
  const SparseFormat format =
      cheapestFormat(pattern, layer.weights, layer.weightBits, 0.95, formatsOf(pattern, layer.weights));
  return {{pattern, format}, {}, {}};
}

TEST(SparsityLayer, EveryProductOfWeightsIsInOneLayer) {
  auto layers = prunedLayers(job().graph);
  EXPECT_EQ(layers.size(), maskedLayers(job().graph).size());
  std::set<OperationId> seen;
  for (const PrunedLayer &layer : layers)
    for (OperationId id : layer.operations)
      EXPECT_TRUE(seen.insert(id).second) << job().graph.operations[id].name;
  for (OperationId id = 0; id < job().graph.operations.size(); ++id)
    if (productOf(job().graph, job().graph.operations[id]))
      EXPECT_TRUE(seen.count(id)) << job().graph.operations[id].name;
}

TEST(SparsityLayer, DenseIsTheSumOfItsOperations) {
  for (const PrunedLayer &layer : prunedLayers(job().graph)) {
    Seconds time;
    Joules energy;
    for (OperationId id : layer.operations)
      if (job().costs.operations[id].core >= 0) {
        time += job().costs.operations[id].time * static_cast<double>(job().graph.executions(id));
        energy += job().costs.operations[id].energy * static_cast<double>(job().graph.executions(id));
      }
    LayerCost found = cost(layer, {});
    EXPECT_EQ(found.time, time) << layer.name;
    EXPECT_EQ(found.quantile, time);
    EXPECT_EQ(found.energy, energy);
    EXPECT_FALSE(found.used);
  }
}

TEST(SparsityLayer, TwoOfFourGainsInTwoProductsIfTransposable) {
  int layers = 0;
  for (const PrunedLayer &layer : prunedLayers(job().graph)) {
    LayerCost dense = cost(layer, {}), along = cost(layer, weights(layer, twoOfFour(false))),
              both = cost(layer, weights(layer, twoOfFour(true)));
    if (layer.weights.reduction % 4 != 0)
      continue;
    ++layers;
    EXPECT_LE(along.time, dense.time) << layer.name;
    EXPECT_LE(both.time, along.time) << layer.name;
    EXPECT_TRUE(along.used);
    EXPECT_NEAR(along.weights / dense.weights, 0.5625, 1e-9) << layer.name;
    for (const auto &[id, part] : both.parts) {
      Phase phase = job().graph.operations[id].phase;
      if (!productOf(job().graph, job().graph.operations[id]))
        continue;
      // The reduction of a data gradient is the layer's outputs, padded to groups of four.
      EXPECT_NEAR(part.cycles, phase == Phase::WeightGradient ? 1 : 0.5, 1e-3) << layer.name;
    }
  }
  EXPECT_GT(layers, 4);
}

TEST(SparsityLayer, UpdatesOfWeightsFollowTheMaskAlone) {
  int weighted = 0, biases = 0;
  for (const PrunedLayer &layer : prunedLayers(job().graph))
    for (const auto &[id, part] : cost(layer, weights(layer, twoOfFour(true))).parts) {
      const Operation &op = job().graph.operations[id];
      if (op.phase != Phase::Update)
        continue;
      bool bias = op.name.find("bias") != std::string::npos;
      EXPECT_EQ(part.cycles, bias ? 1 : 0.5) << op.name;
      ++(bias ? biases : weighted);
    }
  EXPECT_GT(weighted, 4);
  EXPECT_GT(biases, 4);
}

TEST(SparsityLayer, ADynamicMaskKeepsTheDenseWeightsToo) {
  PrunedLayer layer = prunedLayers(job().graph).front();
  SparsityPattern dynamic = twoOfFour(true);
  dynamic.dynamic = true;
  LayerCost fixed = cost(layer, weights(layer, twoOfFour(true))), anew = cost(layer, weights(layer, dynamic));
  EXPECT_EQ(anew.weights, fixed.weights + cost(layer, {}).weights);
  EXPECT_GT(anew.moved, fixed.moved);
}

} // namespace
