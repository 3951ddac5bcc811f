// Runners-up against every plan of small random problems, one by one.
#include "lib/placement/solve/PlacementSolver.h"
#include "test/support/PlacementRandom.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace accord;

namespace {

using Degrees = std::pair<size_t, std::set<std::pair<int64_t, int64_t>>>;

Degrees degreesOf(const PlacementProblem &problem, const Placement &plan) {
  Degrees degrees{plan.groups(), {}};
  for (const PlacedStage &stage : plan.stages) {
    const ParallelConfig &config = problem.parallelConfigs[stage.parallelConfig];
    degrees.second.insert({config.tensor, config.data});
  }
  return degrees;
}

/// The best value of each degrees.
std::map<Degrees, double> bestByDegrees(const PlacementProblem &problem) {
  std::map<Degrees, double> best;
  accord::testing::forEachPlacement(problem, [&](const Placement &plan, const PlanMetrics &metrics) {
    double &value = best.try_emplace(degreesOf(problem, plan), INFINITY).first->second;
    value = std::min(value, metrics.value);
  });
  return best;
}

} // namespace

/// Each is the best of its degrees, they are the best degrees but the answer's, in order, and what bounds them is no
/// more than the best.
TEST(RunnersUp, AreTheBestOfTheirDegrees) {
  size_t compared = 0, problems = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    PlacementProblem problem = accord::testing::randomPlacementProblem(seed, 4);
    if (!check(problem).empty() || !problem.uniformConfigPerDeviceType)
      continue;
    PlacementResult result = place(problem);
    if (!result.plan)
      continue;
    std::map<Degrees, double> best = bestByDegrees(problem);
    best.erase(degreesOf(problem, *result.plan));
    constexpr size_t kMax = 3;
    std::vector<RunnerUp> others = runnersUp(problem, result, kMax);
    bool isMemory = problem.objective == PlacementObjective::Memory; // degrees are those of first plans
    if (!isMemory) {
      ASSERT_EQ(others.size(), std::min(kMax, best.size())) << "seed " << seed;
    }
    std::vector<double> values;
    for (const auto &[degrees, value] : best)
      values.push_back(value);
    std::sort(values.begin(), values.end());
    for (size_t i = 0; i < others.size(); ++i) {
      double lowest = best.at(degreesOf(problem, others[i].plan));
      EXPECT_NEAR(others[i].metrics.value, lowest, 1e-9 * lowest) << "seed " << seed;
      EXPECT_LE(others[i].bound, lowest * (1 + 1e-9)) << "seed " << seed;
      EXPECT_LE(others[i].gap(), 1e-9) << "seed " << seed;
      if (!isMemory)
        EXPECT_NEAR(others[i].metrics.value, values[i], 1e-9 * values[i]) << "seed " << seed;
      ++compared;
    }
    ++problems;
  }
  EXPECT_GT(problems, 60u);
  EXPECT_GT(compared, 60u);
}

/// At the size of a real job, each has what `place` finds where no other degrees are in the space.
TEST(RunnersUp, AreThePlansOfTheirDegreesAlone) {
  PlacementProblem problem = test::languageModelPlacement(24);
  problem.schedules = {PipelineSchedule::OneFOneB};
  PlacementResult result = place(problem);
  std::vector<RunnerUp> others = runnersUp(problem, result, 3);
  ASSERT_EQ(others.size(), 3u);
  for (const RunnerUp &other : others) {
    const ParallelConfig &its = problem.parallelConfigs[other.plan.stages.front().parallelConfig];
    PlacementProblem alone = problem;
    alone.parallelConfigs.clear();
    for (LayerClass &one : alone.classes)
      one.costs.clear();
    for (size_t id = 0; id < problem.parallelConfigs.size(); ++id)
      if (problem.parallelConfigs[id].tensor == its.tensor && problem.parallelConfigs[id].data == its.data) {
        alone.parallelConfigs.push_back(problem.parallelConfigs[id]);
        for (size_t c = 0; c < alone.classes.size(); ++c)
          alone.classes[c].costs.push_back(problem.classes[c].costs[id]);
      }
    auto groups = static_cast<int64_t>(other.plan.groups());
    alone.groups = {{groups, groups}};
    PlacementResult found = place(alone);
    ASSERT_TRUE(found.plan);
    EXPECT_LE(other.metrics.value, found.value);
    EXPECT_LE(other.bound, found.value);
  }
}
