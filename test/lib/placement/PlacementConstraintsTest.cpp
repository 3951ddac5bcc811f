// Layers that a user keeps on a kind of devices, in a stage or together: against all plans there
// are, by what the words say.
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/placement/verify/PlacementVerifier.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "test/support/PlacementProblems.h"
#include "test/support/PlacementRandom.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace accord;

namespace {

bool kept(const PlacementProblem &problem, const Placement &plan) {
  for (uint32_t id = 0; id < problem.placementConstraints.size(); ++id) {
    const PlacementProblem::PlacementConstraint &constraint = problem.placementConstraints[id];
    std::set<int64_t> stages;
    std::set<uint32_t> deviceTypes;
    for (size_t s = 0; s < plan.stages.size(); ++s)
      for (uint32_t layer : plan.stages[s].layers)
        for (uint32_t of : problem.layers[layer].placementConstraints)
          if (of == id) {
            stages.insert(static_cast<int64_t>(s));
            deviceTypes.insert(problem.parallelConfigs[plan.stages[s].parallelConfig].deviceType);
          }
    for (uint32_t deviceType : deviceTypes)
      if (!constraint.deviceTypes.empty() && std::find(constraint.deviceTypes.begin(), constraint.deviceTypes.end(),
                                                       deviceType) == constraint.deviceTypes.end())
        return false;
    if (constraint.stage && stages != std::set<int64_t>{*constraint.stage})
      return false;
    if (constraint.sameStage && stages.size() > 1)
      return false;
  }
  return true;
}

void randomConstraints(PlacementProblem &problem, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  for (auto &layer : problem.layers)
    layer.placementConstraints.clear();
  problem.placementConstraints.clear();
  for (uint32_t count = 1 + below(2), id = 0; id < count; ++id) {
    PlacementProblem::PlacementConstraint constraint;
    constraint.text = "pin " + std::to_string(id);
    switch (below(3)) {
    case 0:
      constraint.deviceTypes = {below(problem.deviceTypes.size())};
      break;
    case 1:
      constraint.stage = below(3);
      break;
    default:
      constraint.sameStage = true;
    }
    std::set<uint32_t> layers{below(problem.layers.size())};
    if (below(2) || constraint.sameStage)
      layers.insert(below(problem.layers.size()));
    for (uint32_t layer : layers)
      problem.layers[layer].placementConstraints.push_back(id);
    problem.placementConstraints.push_back(constraint);
  }
}

} // namespace

TEST(PlacementConstraints, TheBestOfAllPlansThatKeepThem) {
  size_t none = 0, moreExpensive = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    PlacementProblem problem = accord::testing::randomPlacementProblem(seed, 4);
    randomConstraints(problem, seed);
    PlacementProblem free = problem;
    free.placementConstraints.clear();
    for (auto &layer : free.layers)
      layer.placementConstraints.clear();
    double best = INFINITY, any = INFINITY;
    accord::testing::forEachPlacement(free, [&](const Placement &plan, const PlanMetrics &metrics) {
      any = std::min(any, metrics.value);
      bool recomputeChoices = kept(problem, plan);
      EXPECT_EQ(findViolations(problem, plan).empty(), recomputeChoices) << "seed " << seed;
      EXPECT_EQ(placementViolations(problem, plan).empty(), recomputeChoices) << "seed " << seed;
      if (recomputeChoices)
        best = std::min(best, metrics.value);
    });
    PlacementResult result = place(problem);
    ASSERT_EQ(result.plan.has_value(), !std::isinf(best)) << "seed " << seed;
    Errors errors = verify(problem, result);
    bool isOpen = !errors.empty() && llvm::StringRef(errors[0].message).contains("the proof is not complete");
    EXPECT_TRUE(errors.empty() || (!result.plan && isOpen)) << "seed " << seed;
    if (!result.plan) {
      EXPECT_TRUE(std::isinf(result.bound)) << "seed " << seed;
      ++none;
      continue;
    }
    EXPECT_NEAR(result.value, best, 1e-9 * best) << "seed " << seed;
    EXPECT_NEAR(result.bound, best, 1e-9 * best) << "seed " << seed;
    moreExpensive += best > any * (1 + 1e-9);
    // No plan is stated to be below what is above the best.
    result.bound = result.value = best * 1.01;
    EXPECT_FALSE(verify(problem, result).empty()) << "seed " << seed;
  }
  EXPECT_GT(none, 10u);
  EXPECT_GT(moreExpensive, 10u);
}

TEST(PlacementConstraints, OfALanguageModel) {
  PlacementProblem problem = test::languageModelPlacement(24, 512);
  problem.groups = {{1, 8}};
  problem.placementConstraints = {{"block[0..5].stage == 0", {}, 0, false, {}},
                                  {"block[6].stage == block[11].stage", {}, {}, true, {}}};
  for (uint32_t layer = 1; layer <= 6; ++layer)
    problem.layers[layer].placementConstraints = {0};
  problem.layers[7].placementConstraints = problem.layers[12].placementConstraints = {1};
  PlacementOptions options;
  options.effort = 6;
  PlacementResult result = place(problem, options);
  ASSERT_TRUE(result.plan);
  EXPECT_TRUE(kept(problem, *result.plan));
  EXPECT_LE(result.bound, result.value);
}

TEST(PlacementConstraints, ConflictsNameThem) {
  // All blocks in one stage: weights and gradients alone are 4 bytes * 174e9 / 8, above 80 GB.
  PlacementProblem problem = test::languageModelPlacement(96);
  problem.placementConstraints = {{"block.stage == 0", {}, 0, false, {"job.dnn", 7, 3}},
                                  {"harmless", {}, 0, false, {"job.dnn", 8, 3}}};
  for (uint32_t layer = 1; layer <= 96; ++layer)
    problem.layers[layer].placementConstraints = {0};
  problem.layers[0].placementConstraints = {1};
  problem.deviceTypes[0].location = {"a.accel", 5, 1};
  PlacementConflict conflict = conflictsOf(problem);
  ASSERT_EQ(conflict.conflicts.size(), 2u);
  EXPECT_EQ(conflict.conflicts[0].constraint, "memory of 'device'");
  EXPECT_EQ(conflict.conflicts[0].file, "a.accel");
  EXPECT_EQ(conflict.conflicts[1].constraint, "block.stage == 0");
  EXPECT_EQ(conflict.conflicts[1].line, 7u);
  EXPECT_EQ(conflict.conflicts[1].detail, "leaving it out would suffice");
}
