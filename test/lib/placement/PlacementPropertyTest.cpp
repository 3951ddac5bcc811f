// What must hold between the answers to placement problems that differ in one thing.
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "test/support/PlacementProblems.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace accord;

namespace {

struct SolvedProblem {
  double value = INFINITY, bound = INFINITY;
  std::optional<Placement> plan;
};

SolvedProblem solvePlacement(const PlacementProblem &problem, unsigned effort = 12) {
  PlacementOptions options;
  options.effort = effort;
  PlacementResult result = place(problem, options);
  return {result.plan ? result.value : INFINITY, result.bound, result.plan};
}

/// Greedy weight gradients of ZB-H1 may make a step longer where something gets shorter.
PlacementProblem monotoneProblem(uint64_t seed) {
  PlacementProblem problem = test::randomPlacement(seed, 7, 8);
  std::erase(problem.schedules, PipelineSchedule::ZeroBubble);
  if (problem.schedules.empty())
    problem.schedules = {PipelineSchedule::OneFOneB};
  return problem;
}

using Change = std::function<void(PlacementProblem &)>;

/// None of the changes makes the best plan worse; how many make it better.
size_t neverWorse(const PlacementProblem &problem, const std::vector<Change> &changes, uint64_t seed) {
  SolvedProblem before = solvePlacement(problem);
  size_t better = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    PlacementProblem more = problem;
    changes[i](more);
    EXPECT_TRUE(check(more).empty());
    SolvedProblem after = solvePlacement(more);
    EXPECT_LE(after.bound, before.value * (1 + 1e-12)) << "seed " << seed << " change " << i;
    if (after.bound >= after.value) // proved
      EXPECT_LE(after.value, before.value * (1 + 1e-12)) << "seed " << seed << " change " << i;
    better += after.value < before.value * (1 - 1e-12);
  }
  return better;
}

} // namespace

// A limit below which plans are of use is the best plan's own value, or a bit more: nothing, or
// that plan. Bounds of configurations alone are not above it.
TEST(PlacementProperty, OnlyWhatIsBelowALimitIsOfUse) {
  size_t plans = 0, tight = 0;
  for (uint64_t seed = 4000; seed < 4200; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 6, 8);
    if (problem.objective == PlacementObjective::Memory)
      problem.objective = PlacementObjective::StepTime;
    SolvedProblem whole = solvePlacement(problem);
    if (whole.bound < whole.value)
      continue;
    double min = placementLowerBound(problem), of = INFINITY;
    EXPECT_LE(min, whole.value) << seed;
    for (double parallelConfig : lowerBoundByConfig(problem))
      of = std::min(of, parallelConfig);
    EXPECT_DOUBLE_EQ(min, of) << seed;
    if (!whole.plan)
      continue;
    ++plans, tight += min > 0.7 * whole.value;
    PlacementOptions options;
    options.effort = 12;
    options.below = whole.value;
    PlacementResult none = place(problem, options);
    EXPECT_FALSE(none.plan) << seed;
    EXPECT_GE(none.bound, whole.value * (1 - 1e-12)) << seed;
    options.below = whole.value * (1 + 1e-9);
    PlacementResult same = place(problem, options);
    ASSERT_TRUE(same.plan) << seed;
    EXPECT_DOUBLE_EQ(same.value, whole.value) << seed;
  }
  EXPECT_GT(plans, 100u);
  EXPECT_GT(tight, plans / 2);
}

TEST(PlacementProperty, TwiceOfAnyResourceIsNeverWorse) {
  size_t devices = 0, memory = 0, bandwidth = 0, latency = 0;
  for (uint64_t seed = 2000; seed < 2160; ++seed) {
    PlacementProblem problem = monotoneProblem(seed);
    std::vector<Change> more[4];
    for (size_t k = 0; k < problem.deviceTypes.size(); ++k) {
      more[0].push_back([k](auto &p) { p.deviceTypes[k].devices *= 2; });
      more[1].push_back([k](auto &p) { p.deviceTypes[k].memory *= 2; });
    }
    for (size_t l = 0; l < problem.links.size(); ++l) {
      more[2].push_back([l](auto &p) { p.links[l].intraNode.perByte /= 2; });
      more[2].push_back([l](auto &p) { p.links[l].interNode.perByte /= 2; });
      more[3].push_back([l](auto &p) { p.links[l].intraNode.latency /= 2; });
      more[3].push_back([l](auto &p) { p.links[l].interNode.latency /= 2; });
    }
    auto alternatives = [](auto &p, double AlphaBetaModel::*field) {
      for (auto &parallelConfig : p.parallelConfigs) {
        for (auto *gradientSyncs : {&parallelConfig.gradientSyncs, &parallelConfig.expertGradientSyncs})
          for (auto &sync : *gradientSyncs)
            for (AlphaBetaModel &way : sync.alternatives)
              way.*field /= 2;
        for (AlphaBetaModel &way : parallelConfig.gather)
          way.*field /= 2;
      }
    };
    more[2].push_back([=](auto &p) { alternatives(p, &AlphaBetaModel::perByte); });
    more[3].push_back([=](auto &p) { alternatives(p, &AlphaBetaModel::latency); });
    devices += neverWorse(problem, more[0], seed), memory += neverWorse(problem, more[1], seed);
    bandwidth += neverWorse(problem, more[2], seed), latency += neverWorse(problem, more[3], seed);
  }
  EXPECT_GT(devices, 10u);
  EXPECT_GT(memory, 10u);
  EXPECT_GT(bandwidth, 10u);
  EXPECT_GT(latency, 10u);
}

TEST(PlacementProperty, MoreChoicesAreNeverWorse) {
  size_t better = 0;
  for (uint64_t seed = 3000; seed < 3120; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 7, 8);
    problem.limits.step = 600;
    std::vector<Change> more{
        [](auto &p) {
          p.schedules = {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved,
                         PipelineSchedule::ZeroBubble};
        },
        [](auto &p) { p.virtualStages.push_back(4); },
        [](auto &p) { p.groups.clear(); },
        [](auto &p) { p.uniformConfigPerDeviceType = false; },
        [](auto &p) { p.limits.step = 0; },
        [](auto &p) {
          for (auto &layer : p.layers)
            layer.placementConstraints.clear();
        },
        [](auto &p) { // a form with one sample more, if the batch allows
          p.parallelConfigs.push_back(p.parallelConfigs[0]);
          p.parallelConfigs.back().microbatch *= 2;
          for (auto &layer : p.classes)
            layer.costs.push_back(layer.costs[0]);
        },
        [](auto &p) {
          for (auto &layer : p.classes)
            for (auto &cost : layer.costs)
              if (cost)
                cost->recomputeChoices.push_back({"full", 7, 0, 1});
        },
    };
    better += neverWorse(problem, more, seed);
  }
  EXPECT_GT(better, 50u);
}

/// Layers in any other order in which no edge points back are the same problem.
TEST(PlacementProperty, OrderOfLayersDoesNotMatter) {
  size_t moved = 0;
  for (uint64_t seed = 4000; seed < 4150; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 7, 8), turned = problem;
    fuzz::Random random(seed);
    size_t n = problem.layers.size();
    std::vector<uint32_t> to(n), waits(n);
    for (const auto &edge : problem.edges)
      ++waits[edge.to];
    std::vector<uint32_t> ready;
    for (uint32_t l = 0; l < n; ++l)
      if (waits[l] == 0)
        ready.push_back(l);
    for (uint32_t at = 0; at < n; ++at) {
      size_t pick = random.below(ready.size());
      uint32_t layer = ready[pick];
      ready.erase(ready.begin() + static_cast<ptrdiff_t>(pick));
      turned.layers[at] = problem.layers[layer];
      to[layer] = at;
      moved += at != layer;
      for (const auto &edge : problem.edges)
        if (edge.from == layer && --waits[edge.to] == 0)
          ready.push_back(edge.to);
    }
    for (auto &edge : turned.edges)
      edge.from = to[edge.from], edge.to = to[edge.to];
    for (auto &tie : turned.ties)
      tie = {std::min(to[tie.a], to[tie.b]), std::max(to[tie.a], to[tie.b])};
    ASSERT_TRUE(check(turned).empty());
    SolvedProblem before = solvePlacement(problem, 14), after = solvePlacement(turned, 14);
    if (std::isinf(before.value))
      EXPECT_TRUE(std::isinf(after.value)) << "seed " << seed;
    else
      EXPECT_NEAR(after.value, before.value, 1e-12 * before.value) << "seed " << seed;
  }
  EXPECT_GT(moved, 100u);
}

TEST(PlacementProperty, WhatCannotBeUsedChangesNothing) {
  for (uint64_t seed = 5000; seed < 5080; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 7, 8), more = problem;
    // A kind without memory to hold anything, in a form of its own.
    size_t deviceTypes = problem.deviceTypes.size();
    more.deviceTypes.push_back(problem.deviceTypes[0]);
    more.deviceTypes.back().name = "other";
    more.deviceTypes.back().memory = 0;
    more.links.clear();
    for (size_t a = 0; a <= deviceTypes; ++a)
      for (size_t b = 0; b <= deviceTypes; ++b)
        more.links.push_back(a < deviceTypes && b < deviceTypes ? problem.links[a * deviceTypes + b]
                                                                : PlacementProblem::Link{});
    more.parallelConfigs.push_back(problem.parallelConfigs[0]);
    more.parallelConfigs.back().deviceType = static_cast<uint32_t>(deviceTypes);
    for (auto &layer : more.classes) {
      layer.costs.push_back(layer.costs[0]);
      if (layer.costs.back())
        layer.costs.back()->staticMemory += 1;
    }
    ASSERT_TRUE(check(more).empty());
    SolvedProblem before = solvePlacement(problem), after = solvePlacement(more);
    if (std::isinf(before.value))
      EXPECT_TRUE(std::isinf(after.value)) << "seed " << seed;
    else if (before.bound >= before.value && after.bound >= after.value)
      EXPECT_EQ(after.value, before.value) << "seed " << seed;
    EXPECT_LE(after.bound, before.value) << "seed " << seed;
  }
}

TEST(PlacementProperty, PricesScaleThePriceAlone) {
  for (uint64_t seed = 6000; seed < 6080; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 7, 8);
    problem.objective = seed % 2 ? PlacementObjective::Price : PlacementObjective::StepTime;
    PlacementProblem dear = problem;
    for (auto &deviceType : dear.deviceTypes)
      deviceType.pricePerHour *= 4;
    SolvedProblem before = solvePlacement(problem), after = solvePlacement(dear);
    if (!std::isinf(before.value))
      EXPECT_DOUBLE_EQ(after.value, before.value * (seed % 2 ? 4 : 1)) << "seed " << seed;
  }
}

/// Twelve equal layers on four fast and four slow devices: more of them go to a fast one, which
/// beats the fast alone, the slow alone and the same number for each.
TEST(PlacementProperty, TwoKindsShareUnevenly) {
  PlacementProblem problem;
  problem.batch = 32;
  problem.deviceTypes = {{"fast", 2, 8, 1 << 20, 0, 100, 1, {}}, {"slow", 2, 8, 1 << 20, 0, 100, 1, {}}};
  problem.links.assign(4, {{10, 0.01}, {20, 0.02}});
  problem.parallelConfigs.resize(2);
  problem.parallelConfigs[1].deviceType = 1;
  PlacementProblem::LayerClass layer{"layer", {}};
  for (int64_t slower : {1, 2}) {
    PlacementProblem::Cost cost;
    cost.forward = 100 * slower, cost.backward = 200 * slower;
    cost.recomputeChoices = {{"none", 0, 10, 0}};
    layer.costs.push_back(cost);
  }
  problem.classes = {layer};
  problem.layers.resize(12);
  for (uint32_t l = 1; l < 12; ++l)
    problem.edges.push_back({l - 1, l, 100});
  SolvedProblem both = solvePlacement(problem);
  ASSERT_TRUE(both.plan);
  EXPECT_EQ(both.bound, both.value);
  size_t on[2] = {};
  for (const PlacedStage &stage : both.plan->stages)
    on[stage.parallelConfig] += stage.layers.size();
  EXPECT_EQ(on[0], 8u); // 2 : 1, as their speeds
  EXPECT_EQ(on[1], 4u);
  for (size_t deviceType = 0; deviceType < 2; ++deviceType) {
    PlacementProblem alone = problem;
    for (auto &one : alone.classes)
      one.costs[1 - deviceType].reset();
    EXPECT_LT(both.value, solvePlacement(alone).value);
  }
  Placement even = *both.plan;
  for (uint32_t s = 0; s < 4; ++s)
    even.stages[s].layers = {3 * s, 3 * s + 1, 3 * s + 2}, even.stages[s].recomputeChoices = {0, 0, 0};
  ASSERT_TRUE(findViolations(problem, even).empty());
  EXPECT_LT(both.value, 0.8 * evaluate(problem, even).value);
}
