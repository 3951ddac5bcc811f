// Zeros of products as differences of layers, against layers that are priced with zeros anew.
#include "lib/placement/builder/LayerSparsity.h"
#include "lib/planning/solve/ScheduleStep.h"
#include "test/support/LatencyCluster.h"
#include "test/support/Random.h"
#include <gtest/gtest.h>

using namespace accord;
using test::ClusterCase;

namespace {

/// Weights with 2:4 zeros along both dimensions, found once and stored without them.
LinearSparsity halved() {
  LinearSparsity zeros;
  SparsityPattern &pattern = zeros.weights.pattern;
  pattern.kind = SparsityPattern::Kind::Structured;
  pattern.kept = 2, pattern.of = 4, pattern.transposable = true;
  zeros.weights.format.kind = SparseFormat::Kind::Structured;
  zeros.weights.format.kept = 2, zeros.weights.format.of = 4;
  return zeros;
}

/// Each product of a step may have them, by itself.
PlacementSparsityRequest requestOf(const WorkGraph &graph) {
  PlacementSparsityRequest request;
  for (const PrunedLayer &layer : prunedLayers(graph)) {
    const Operation &op = graph.operations[layer.forward];
    const ValueId weights = op.operands[productOf(graph, op)->stationary];
    request.decisions.push_back(
        {{uint32_t(request.products.size())}, {{0}, {1}}, {{layer.name}, {{"dense"}, {"2:4"}}}});
    request.products.push_back(
        {layer.name, parameterOf(graph, layer, weights), true, {LinearSparsity{}, halved()}, {false, false}});
  }
  return request;
}

struct Step {
  WorkGraph graph;
  Costs costs;
  Schedule schedule;
};
std::optional<Schedule> scheduleOf(const WorkGraph &graph, const Machine &machine, Costs costs) {
  ScheduleOptions brief;
  brief.effort = 0;
  auto schedule = scheduleStep(graph, machine, costs, brief);
  return schedule ? std::optional(std::move(*schedule)) : std::nullopt;
}
std::optional<Step> stepOf(ClusterCase &one, int64_t microbatch) {
  auto graph = one.graphAt(1, 1, microbatch, 2, {});
  auto costs = graph ? estimate(*graph, one.machine, {}) : Result<Costs, Errors>(Errors{});
  if (!costs)
    return std::nullopt;
  auto schedule = scheduleOf(*graph, one.machine, *costs);
  if (!schedule)
    return std::nullopt;
  return Step{std::move(*graph), std::move(*costs), std::move(*schedule)};
}

std::vector<double> secondsOf(const Costs &costs) {
  std::vector<double> seconds;
  for (const OperationCost &cost : costs.operations)
    seconds.push_back(cost.time.value);
  return seconds;
}

/// What all options of these decisions together make of the dense layers.
std::vector<LayerUse> addedUp(std::vector<LayerUse> uses, const SparsityDifferences &differences,
                              const std::vector<size_t> &decisions) {
  for (uint32_t cls = 0; cls < uses.size(); ++cls) {
    std::vector<const LayerUse *> more;
    for (size_t d : decisions)
      if (auto found = differences[d][1].find(cls); found != differences[d][1].end())
        more.push_back(&found->second);
    uses[cls] = withSparsity(uses[cls], more);
  }
  return uses;
}

/// The costs with zeros in these products, operation by operation.
Costs pricedAnew(const Step &step, const Machine &machine, const PlacementSparsityRequest &request,
                 const std::vector<size_t> &decisions) {
  Costs costs = step.costs;
  const SparseLayerUses uses(step.graph, machine, step.costs, request.pricing);
  for (size_t d : decisions) {
    auto use = uses.of(request.products[d].name, halved(), false);
    EXPECT_TRUE(use && *use);
    if (use && *use)
      for (const SparseLayerUse::OfOperation &one : (*use)->operations)
        costs.operations[one.id].time = costs.operations[one.id].time * one.time;
  }
  return costs;
}

constexpr int64_t LayerUse::*kTimes[] = {&LayerUse::forward, &LayerUse::backward, &LayerUse::weight, &LayerUse::update};

} // namespace

TEST(LayerSparsity, DifferencesAddUpToLayersPricedAnew) {
  size_t shorter = 0;
  for (auto [file, name, microbatch] :
       {std::tuple("gpt2.dnn", "gpt2_xl", 4), {"bert.dnn", "bert_large", 4}, {"resnet.dnn", "resnet50", 8}}) {
    SCOPED_TRACE(name);
    ClusterCase one(file, name, 2 * microbatch);
    auto step = stepOf(one, microbatch);
    ASSERT_TRUE(step);
    const Layering layering = Layering::of(step->graph, step->schedule);
    const PlacementSparsityRequest request = requestOf(step->graph);
    const std::vector<double> times = secondsOf(step->costs);
    auto differences =
        sparsityDifferences(request, layering, step->graph, one.machine, step->costs, step->costs, &times);
    ASSERT_TRUE(bool(differences));
    const auto dense = layerUses(layering, step->graph, step->costs, step->schedule, &times);
    std::vector<size_t> all;
    for (size_t d = 0; d < request.decisions.size(); ++d)
      all.push_back(d);
    for (const std::vector<size_t> &decisions : {std::vector<size_t>{0}, {all.size() / 2}, all}) {
      const Costs costs = pricedAnew(*step, one.machine, request, decisions);
      const std::vector<double> anew = secondsOf(costs);
      const auto priced = layerUses(layering, step->graph, costs, step->schedule, &anew);
      const auto added = addedUp(dense, *differences, decisions);
      for (size_t cls = 0; cls < priced.size(); ++cls)
        for (auto time : kTimes) { // rounded up by operation
          EXPECT_NEAR(double(added[cls].*time), double(priced[cls].*time), 200);
          EXPECT_GE(added[cls].*time, priced[cls].*time - 100);
          shorter += added[cls].*time < dense[cls].*time;
        }
      // Where operations of two cores overlap, a schedule saves less than all of them do.
      auto again = scheduleOf(step->graph, one.machine, costs);
      ASSERT_TRUE(again);
      const auto scheduled = layerUses(layering, step->graph, costs, *again);
      const auto whole =
          addedUp(layerUses(layering, step->graph, step->costs, step->schedule), *differences, decisions);
      double sum = 0, its = 0;
      for (size_t cls = 0; cls < whole.size(); ++cls)
        for (auto time : kTimes) {
          sum += double(whole[cls].*time) * double(layering.classes[cls].count);
          its += double(scheduled[cls].*time) * double(layering.classes[cls].count);
        }
      EXPECT_NEAR(sum, its, 0.01 * its);
    }
  }
  EXPECT_GT(shorter, 20U);
}

// Of 12 h^2 + 13 h scalars in a block of GPT-2 XL, 12 h^2 are weights of products: 16 bits become 9 of them in memory,
// and half of their gradients and states are left.
TEST(LayerSparsity, StaticMasksShrinkWeightsGradientsAndStates) {
  ClusterCase one("gpt2.dnn", "gpt2_xl", 2);
  auto step = stepOf(one, 1);
  ASSERT_TRUE(step);
  const Layering layering = Layering::of(step->graph, step->schedule);
  const PlacementSparsityRequest request = requestOf(step->graph);
  auto differences = sparsityDifferences(request, layering, step->graph, one.machine, step->costs, step->costs);
  ASSERT_TRUE(bool(differences));
  std::vector<size_t> block;
  for (size_t d = 0; d < request.decisions.size(); ++d)
    if (request.products[d].name.find("block") != std::string::npos)
      block.push_back(d);
  ASSERT_EQ(block.size(), 6U);
  const auto dense = layerUses(layering, step->graph, step->costs, step->schedule);
  const LayerUse use = addedUp(dense, *differences, block)[1];
  const int64_t weights = 12 * 1600 * 1600, rest = 13 * 1600;
  EXPECT_EQ(use.weights, weights * 9 / 8 + 2 * rest);
  EXPECT_EQ(use.gradients, weights + 2 * rest);
  EXPECT_EQ(use.states, 6 * weights + 12 * rest);
  EXPECT_EQ(use.activations, dense[1].activations);
}

// Whatever was left out, something that is nowhere worse was kept.
TEST(LayerSparsity, WhatIsLeftOutIsNowhereBetter) {
  size_t left = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    fuzz::Random random(seed);
    PlacementSparsityRequest request;
    request.budgets = {{"layers with zeros", 3}};
    SparsityUnits zeros;
    zeros.units.resize(1), zeros.decisions.resize(1);
    zeros.units[0].classes = {0};
    constexpr size_t kDecisions = 4, kOptions = 3;
    std::vector<SparsityDifferences> steps(2, SparsityDifferences(kDecisions));
    for (uint32_t d = 0; d < kDecisions; ++d) {
      SparsityDecision decision{{"layer"}, {{"dense", {0}}}};
      for (size_t o = 0; o < kOptions; ++o) {
        if (o > 0)
          decision.options.push_back({"sparse", {int64_t(random.below(3))}});
        for (SparsityDifferences &step : steps) {
          LayerUse use;
          if (o > 0)
            use.forward = -int64_t(random.below(4)), use.weights = 1 - int64_t(random.below(4));
          step[d].push_back({{0, use}});
        }
      }
      request.decisions.push_back({{0}, {}, decision});
      zeros.units[0].decisions.push_back(std::move(decision));
      zeros.decisions[0].push_back(d);
    }
    EXPECT_FALSE(listAlternatives(request, zeros, {&steps[0], &steps[1]}));
    const std::vector<SparsityAlternative> &kept = zeros.units[0].alternatives;
    EXPECT_EQ(kept.front().options, std::vector<uint32_t>(kDecisions));
    auto numbersOf = [&](const std::vector<uint32_t> &options) {
      std::array<int64_t, 5> sums{};
      for (uint32_t d = 0; d < kDecisions; ++d) {
        sums[0] += zeros.units[0].decisions[d].options[options[d]].takes[0];
        for (size_t s = 0; s < 2; ++s) {
          const LayerUse &use = steps[s][d][options[d]].at(0);
          sums[1 + 2 * s] += use.forward, sums[2 + 2 * s] += use.weights;
        }
      }
      return sums;
    };
    std::vector<uint32_t> options(kDecisions);
    for (size_t d = 0; d < kDecisions;) {
      const auto mine = numbersOf(options);
      bool isCovered = false;
      for (const SparsityAlternative &one : kept) {
        const auto its = numbersOf(one.options);
        bool isNoMore = true;
        for (size_t i = 0; i < its.size(); ++i)
          isNoMore = isNoMore && its[i] <= mine[i];
        isCovered = isCovered || isNoMore;
      }
      EXPECT_TRUE(isCovered) << "seed " << seed;
      for (d = 0; d < kDecisions && ++options[d] == kOptions; ++d)
        options[d] = 0;
    }
    left += 81 - kept.size();
  }
  EXPECT_GT(left, 1000U);
}

// Thirty independent layers under a limit have more choices than are placed: the dense one and those of the most time
// saved for each number of layers are among them.
TEST(LayerSparsity, TooManyChoicesAreThoseThatSaveMost) {
  PlacementSparsityRequest request;
  request.budgets = {{"layers with zeros", 8}};
  SparsityUnits zeros;
  zeros.units.resize(1), zeros.decisions.resize(1);
  zeros.units[0].classes = {0};
  SparsityDifferences step(30);
  for (uint32_t d = 0; d < 30; ++d) {
    SparsityDecision decision{{"layer"}, {{"dense", {0}}, {"sparse", {1}}}};
    LayerUse use;
    use.forward = -100 - int64_t(d), use.weights = -1000 + 30 * int64_t(d); // what saves time saves less memory
    step[d] = {{}, {{0, use}}};
    request.decisions.push_back({{0}, {}, decision});
    zeros.units[0].decisions.push_back(std::move(decision));
    zeros.decisions[0].push_back(d);
  }
  EXPECT_TRUE(listAlternatives(request, zeros, {&step}));
  const std::vector<SparsityAlternative> &kept = zeros.units[0].alternatives;
  EXPECT_LE(kept.size(), kMaxAlternatives + 1);
  EXPECT_EQ(kept.front().options, std::vector<uint32_t>(30));
  for (size_t layers = 1; layers <= 30; ++layers) {
    std::vector<uint32_t> best(30);
    for (size_t d = 30 - layers; d < 30; ++d)
      best[d] = 1;
    EXPECT_TRUE(std::ranges::any_of(kept, [&](const SparsityAlternative &one) { return one.options == best; }))
        << layers << " of " << kept.size();
  }
}
