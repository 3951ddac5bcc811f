// What a pipeline of several device types gets done at most, against pipelines that are simulated.
#include "lib/placement/solve/MixedPipelineBound.h"
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/solve/PlacementSolver.h"
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
