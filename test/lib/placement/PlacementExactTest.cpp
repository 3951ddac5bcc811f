// The optimizer of placements against every plan of problems of up to eight layers and devices.
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "test/support/PlacementEnumerator.h"
#include "test/support/PlacementProblems.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>

using namespace accord;

namespace {

/// As `randomPlacement`, with other batches and, of a third, a form that shards its weights.
PlacementProblem wideProblem(uint64_t seed) {
  PlacementProblem problem = test::randomPlacement(seed, 8, 8);
  fuzz::Random random(seed ^ 0x77);
  problem.batch = random.pick(std::vector<int64_t>{1, 2, 3, 4, 6, 8, 8, 12, 16});
  if (random.below(3) == 0)
    for (auto &parallelConfig : problem.parallelConfigs)
      if (parallelConfig.data > 1)
        parallelConfig.zero = 3, parallelConfig.gather = {{1, 0.2}, {4, 0.05}};
  return problem;
}

/// Of each answer, that no plan is better, and that its bound is none above the best.
struct Against {
  size_t compared = 0, none = 0, skipped = 0, open = 0, limited = 0, recomputeTime = 0, mixed = 0, deep = 0;
  uint64_t plans = 0, sampled = 0;
  std::set<PipelineSchedule> schedules;
  std::set<PlacementObjective> objectives;

  std::optional<PlacementResult> compare(const PlacementProblem &problem, uint64_t seed) {
    PlacementOptions effort;
    effort.effort = 14;
    PlacementResult result = place(problem, effort);
    test::EnumeratorOptions options;
    options.max = 20'000'000, options.sampleEvery = 997;
    if (result.plan) // what is not better need not be looked at
      options.below = result.value * (1 + 1e-9);
    test::Enumerated all = test::enumeratePlans(problem, options);
    EXPECT_EQ(all.difference, "") << "seed " << seed;
    plans += all.choices, sampled += all.sampled;
    skipped += !all.complete;
    ++compared;
    if (!result.plan) {
      EXPECT_FALSE(all.plan) << "seed " << seed << ": no plan, but one of " << all.best;
      EXPECT_TRUE(std::isinf(result.bound)) << "seed " << seed;
      ++none;
      return {};
    }
    EXPECT_TRUE(placementViolations(problem, *result.plan).empty()) << "seed " << seed;
    auto metrics = reevaluate(problem, *result.plan);
    EXPECT_TRUE(metrics && metrics->fits && satisfiesLimits(problem, *metrics)) << "seed " << seed;
    if (!all.complete || !metrics)
      return {};
    EXPECT_TRUE(all.plan) << "seed " << seed;
    EXPECT_NEAR(metrics->value, result.value, 1e-9 * result.value) << "seed " << seed;
    EXPECT_LE(result.bound, all.best * (1 + 1e-9)) << "seed " << seed << ": " << result.proof;
    if (result.bound < result.value * (1 - 1e-9))
      ++open;
    else {
      EXPECT_NEAR(result.value, all.best, 2e-9 * all.best) << "seed " << seed;
      EXPECT_EQ(result.metrics.step, all.step) << "seed " << seed; // of equal plans the shortest
    }
    count(problem, *result.plan);
    return result;
  }

private:
  void count(const PlacementProblem &problem, const Placement &plan) {
    schedules.insert(plan.schedule), objectives.insert(problem.objective);
    std::set<uint32_t> deviceTypes;
    bool recomputeChoices = false;
    for (const PlacedStage &stage : plan.stages) {
      deviceTypes.insert(problem.parallelConfigs[stage.parallelConfig].deviceType);
      for (size_t i = 0; i < stage.layers.size(); ++i)
        recomputeChoices |= problem.cost(stage.layers[i], stage.parallelConfig)
                                ->recomputeChoices[stage.recomputeChoices[i]]
                                .recomputeTime > 0;
    }
    recomputeTime += recomputeChoices, mixed += deviceTypes.size() > 1, deep += plan.stages.size() > 3;
  }
};

} // namespace

/// ACCORD_PLACE_PROBLEMS=FROM:TO looks at other seeds than 1 to 900.
TEST(PlacementExact, NoPlanOfEightLayersOnEightDevicesIsBetter) {
  uint64_t from = 1, to = 901;
  if (const char *seeds = std::getenv("ACCORD_PLACE_PROBLEMS"))
    from = std::strtoull(seeds, const_cast<char **>(&seeds), 10),
    to = *seeds == ':' ? std::strtoull(seeds + 1, nullptr, 10) : from + 1;
  Against all;
  for (uint64_t seed = from; seed < to; ++seed) {
    PlacementProblem problem = wideProblem(seed);
    auto free = all.compare(problem, seed);
    if (!free)
      continue;
    // A limit that the best plan does not keep, if anything does.
    switch (seed % 6) {
    case 0:
      problem.limits.watts = free->metrics.joules / (static_cast<double>(free->metrics.step) * 1e-12) * 0.9;
      break;
    case 1:
      problem.limits.devices = std::max<int64_t>(1, free->metrics.devices - 1);
      break;
    case 2:
      problem.limits.joules = free->metrics.joules * 0.93;
      break;
    case 3:
      problem.limits.price = free->metrics.price * 0.93;
      break;
    case 4:
      problem.limits.step = std::max<int64_t>(1, free->metrics.step * 19 / 20);
      break;
    default:
      for (auto &deviceType : problem.deviceTypes)
        deviceType.memory = deviceType.memory * 4 / 5;
    }
    all.limited += all.compare(problem, seed).has_value();
  }
  RecordProperty("plans", static_cast<int>(all.plans / 1000));
  if (from != 1) {
    std::printf("%zu problems, %zu without a plan, %zu not proved, %zu skipped, %zu plans with "
                "recomputation, %zu on two kinds, %zu of four stages or more, %llu million plans\n",
                all.compared, all.none, all.open, all.skipped, all.recomputeTime, all.mixed, all.deep,
                static_cast<unsigned long long>(all.plans / 1'000'000));
    return;
  }
  EXPECT_EQ(all.open, 0u);
  EXPECT_EQ(all.skipped, 0u);
  EXPECT_EQ(all.schedules.size(), 4u);
  EXPECT_EQ(all.objectives.size(), 5u);
  EXPECT_GT(all.none, 100u);
  EXPECT_GT(all.limited, 200u);
  EXPECT_GT(all.recomputeTime, 70u);
  EXPECT_GT(all.mixed, 15u);
  EXPECT_GT(all.deep, 100u);
  EXPECT_GT(all.sampled, 1000u);
}

/// A search that may end at a gap leaves out what is within it, and its bound does not pass what it left out.
TEST(PlacementExact, NoBoundWithAGapIsAboveTheBest) {
  size_t open = 0;
  std::vector<uint64_t> seeds{1244};
  for (uint64_t seed = 1; seed <= 500; ++seed)
    seeds.push_back(seed);
  for (uint64_t seed : seeds) {
    PlacementProblem problem = test::randomPlacement(seed, 5, 4);
    PlacementOptions options;
    options.effort = 14, options.gap = 0.2;
    PlacementResult result = place(problem, options);
    test::Enumerated all = test::enumeratePlans(problem, {});
    if (!all.plan || !result.plan)
      continue;
    EXPECT_LE(result.bound, all.best * (1 + 1e-9)) << "seed " << seed << ": " << result.proof;
    EXPECT_LE(result.value, all.best / 0.8 * (1 + 1e-9)) << "seed " << seed;
    open += result.value > all.best * (1 + 1e-9);
  }
  EXPECT_GT(open, 20u);
}
