// What a pipeline of several device types gets done at most, against pipelines that are simulated.
#include "lib/placement/solve/MixedPipelineBound.h"
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/solve/GroupAssignment.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "test/support/PlacementEnumerator.h"
#include "test/support/PlacementProblems.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::placing;

TEST(MixedPipelineBound, IsTheClosedFormOfEqualGroups) {
  for (int64_t m : {5, 8, 32, 200})
    for (int64_t p : {2, 3, 4}) {
      std::vector<GroupKind> kinds{{p - 1, 2.0}, {1, 2.0}};
      EXPECT_NEAR(maxMixedThroughput(PipelineSchedule::OneFOneB, m, p, kinds), 2.0 * p / (m + p - 1), 2e-3 / m);
      EXPECT_NEAR(maxMixedThroughput(PipelineSchedule::GPipe, m, p, kinds), 2.0 * p / (m + p - 1), 2e-3 / m);
    }
}

// Groups in any order with any work: none gets more done. Even times come close where micro-batches are many.
TEST(MixedPipelineBound, IsNeverBelowASimulatedPipeline) {
  fuzz::Random random(7);
  size_t close = 0;
  for (int trial = 0; trial < 3'000; ++trial) {
    PipelineSchedule schedule = random.below(3) == 0 ? PipelineSchedule::GPipe : PipelineSchedule::OneFOneB;
    int64_t p = 2 + random.below(4), m = 1 + random.below(24), types = 2 + random.below(2);
    std::vector<GroupKind> kinds;
    for (int64_t k = 0; k < types; ++k)
      kinds.push_back({1 + static_cast<int64_t>(random.below(p)), 1.0 + random.below(8)});
    std::vector<size_t> order;
    std::vector<int64_t> used(types);
    for (int64_t s = 0; s < p; ++s) {
      size_t k = s < types ? s : random.below(types);
      if (used[k] < kinds[k].groups)
        ++used[k], order.push_back(k);
    }
    if (static_cast<int64_t>(order.size()) < std::max(p, types))
      continue;
    for (size_t s = order.size(); s-- > 1;)
      std::swap(order[s], order[random.below(s + 1)]);
    bool even = random.below(2) == 0;
    std::vector<StageTimes> times(p);
    std::vector<std::vector<uint32_t>> edges(p);
    double work = 0;
    for (int64_t s = 0; s < p; ++s) {
      int64_t all = even ? 3'000 : 30 * random.below(200);
      times[s].forward = all / 3, times[s].backward = all - all / 3;
      work += kinds[order[s]].rate * all;
      if (s > 0)
        edges[s].push_back(s - 1);
    }
    int64_t step = simulate({schedule, p, 1, m}, times, edges).step;
    if (step == 0)
      continue;
    double max = maxMixedThroughput(schedule, m, p, kinds);
    EXPECT_LE(work / step, max * (1 + 1e-9)) << trial;
    close += work / step > 0.95 * max;
  }
  EXPECT_GT(close, 100u);
}

// Two to three device types of equal degrees: no bound is above the best plan.
TEST(MixedPipelineBound, BoundsOfMixedProblemsAreNotAboveTheirPlans) {
  size_t mixed = 0;
  for (uint64_t seed = 9'000; seed < 9'300; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 6, 8);
    problem.objective = PlacementObjective::StepTime;
    if (problem.deviceTypes.size() < 2)
      continue;
    PlacementOptions options;
    options.effort = 12;
    PlacementResult whole = place(problem, options);
    if (!whole.plan)
      continue;
    ++mixed;
    EXPECT_LE(placementLowerBound(problem), whole.value * (1 + 1e-9)) << seed;
    EXPECT_LE(whole.bound, whole.value) << seed;
  }
  EXPECT_GT(mixed, 40u);
}

// All kinds of all groups, one by one.
TEST(MixedPipelineBound, GroupsHoldNoMoreThanAnyAssignment) {
  fuzz::Random random(11);
  size_t exact = 0, trials = 0;
  for (int trial = 0; trial < 400; ++trial) {
    bool many = trial % 4 == 0; // by prices
    size_t groups = many ? 11 : 1 + random.below(6), kinds = many ? 4 : 1 + random.below(3);
    GroupAssignment all;
    for (size_t k = 0; k < kinds; ++k)
      all.limits.push_back(many ? 8 : 1 + static_cast<int64_t>(random.below(groups)));
    for (size_t g = 0; g < groups; ++g) {
      all.holds.emplace_back();
      for (size_t k = 0; k < kinds; ++k)
        all.holds.back().push_back(random.below(9) == 0 ? -INFINITY : static_cast<double>(random.below(10)));
    }
    std::map<std::vector<int64_t>, double> sums{{std::vector<int64_t>(kinds), 0.0}};
    for (const auto &mine : all.holds) {
      std::map<std::vector<int64_t>, double> next;
      for (const auto &[used, sum] : sums)
        for (size_t k = 0; k < kinds; ++k)
          if (auto with = used; ++with[k] <= all.limits[k]) {
            auto [found, isNew] = next.try_emplace(with, sum + mine[k]);
            found->second = std::max(found->second, sum + mine[k]);
          }
      sums = std::move(next);
    }
    double best = -INFINITY;
    for (const auto &[used, sum] : sums)
      if (std::ranges::find(used, 0) == used.end())
        best = std::max(best, sum);
    ++trials;
    EXPECT_GE(all.max(), best) << trial;
    exact += all.max() == best;
    std::vector<size_t> chosen = all.kinds();
    ASSERT_EQ(chosen.empty(), std::isinf(best)) << trial;
    double sum = 0;
    for (size_t g = 0; g < chosen.size(); ++g)
      sum += all.holds[g][chosen[g]];
    EXPECT_EQ(sum, chosen.empty() ? 0 : best) << trial;
  }
  EXPECT_GT(exact, trials * 9 / 10);
}

namespace {

/// A chain of equal layers between two others on two or three device types; the memory of some is tight.
PlacementProblem mixedChain(uint64_t seed, std::vector<PipelineSchedule> schedules) {
  fuzz::Random random(seed);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<size_t>(n))); };
  PlacementProblem problem;
  problem.schedules = std::move(schedules);
  problem.virtualStages = {2, 3};
  size_t types = 2 + below(2), layers = 4 + below(types == 2 ? 4 : 3);
  problem.batch = 1 << (2 + below(3));
  problem.classes = {{"first", {}}, {"block", {}}, {"last", {}}};
  int64_t bytes = 0;
  for (size_t k = 0; k < types; ++k) {
    PlacementProblem::DeviceType deviceType;
    deviceType.name = std::string(1, static_cast<char>('a' + k));
    deviceType.devices = 1 + below(3), deviceType.devicesPerNode = 2;
    bytes = 20 + below(60);
    deviceType.memory = below(2) == 0 ? 100'000 : bytes * (2 + below(5));
    problem.deviceTypes.push_back(deviceType);
    int64_t speed = 1 + below(4), configs = 1 + below(2);
    for (int64_t f = 0; f < configs; ++f) {
      PlacementProblem::ParallelConfig parallelConfig;
      parallelConfig.deviceType = k;
      parallelConfig.tensor = f == 0 ? 1 : 2;
      problem.parallelConfigs.push_back(parallelConfig);
      for (LayerClass &layer : problem.classes) {
        PlacementProblem::Cost cost;
        cost.forward = speed * (5 + below(20)) / (f + 1), cost.backward = speed * (5 + below(30)) / (f + 1);
        cost.update = below(20);
        cost.staticMemory = 1 + below(bytes);
        cost.recomputeChoices = {{"none", 0, 5 + below(20), below(5)}};
        if (below(2) == 0)
          cost.recomputeChoices.push_back({"full", cost.forward, below(5), below(20)});
        layer.costs.emplace_back(cost);
      }
    }
  }
  for (size_t i = 0; i < layers; ++i)
    problem.layers.push_back({"layer", static_cast<uint32_t>(i == 0 ? 0 : i + 1 == layers ? 2 : 1), {}, {}});
  for (uint32_t i = 1; i < layers; ++i)
    problem.edges.push_back({i - 1, i, below(20)});
  for (size_t k = 0; k < types * types; ++k)
    problem.links.push_back({{static_cast<double>(below(3)), 0.05}, {static_cast<double>(below(6)), 0.3}});
  problem.blockingTransfers = below(2) == 0;
  return problem;
}

} // namespace

// Every plan, one by one: no bound of a search that has hardly begun is above the best.
TEST(MixedPipelineBound, NoPlanOfMixedChainsIsBelowTheBound) {
  size_t mixed = 0, none = 0, proved = 0, interleaved = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    PlacementProblem problem =
        mixedChain(seed, seed % 2 ? std::vector{PipelineSchedule::Interleaved}
                                  : std::vector{PipelineSchedule::OneFOneB, PipelineSchedule::GPipe});
    ASSERT_TRUE(check(problem).empty()) << seed;
    PlacementOptions options;
    options.effort = seed % 3 == 0 ? 10 : 0;
    PlacementResult result = place(problem, options);
    test::EnumeratorOptions how;
    how.max = 3'000'000;
    if (result.plan)
      how.below = result.value * (1 + 1e-9);
    test::Enumerated all = test::enumeratePlans(problem, how);
    if (!all.complete)
      continue;
    if (!all.plan) {
      EXPECT_FALSE(result.plan) << seed;
      ++none;
      continue;
    }
    EXPECT_LE(result.bound, all.best * (1 + 1e-9)) << seed << ": " << result.proof;
    std::vector<char> types(problem.deviceTypes.size());
    for (const PlacedStage &stage : all.plan->stages)
      types[problem.parallelConfigs[stage.parallelConfig].deviceType] = 1;
    bool several = std::ranges::count(types, 1) > 1;
    mixed += several, interleaved += several && all.plan->virtualStages > 1;
    proved += result.plan && result.bound >= result.value;
  }
  EXPECT_GT(mixed, 300u);
  EXPECT_GT(interleaved, 100u);
  EXPECT_GT(none, 2u);
  EXPECT_GT(proved, 500u);
}
