// Layers that a user keeps on a kind of devices, in a stage or together: against all plans there
// are, by what the words say.
#include "lib/placement/evaluate/Judge.h"
#include "lib/placement/solve/Place.h"
#include "lib/placement/verify/Placement.h"
#include "lib/placement/verify/PlacementWorth.h"
#include "test/lib/placement/PlacementProblems.h"
#include "test/lib/placement/PlacementRandom.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace accord;

namespace {

bool kept(const PlacementProblem &problem, const Placement &plan) {
  for (uint32_t id = 0; id < problem.pins.size(); ++id) {
    const PlacementProblem::Pin &pin = problem.pins[id];
    std::set<int64_t> stages;
    std::set<uint32_t> kinds;
    for (size_t s = 0; s < plan.stages.size(); ++s)
      for (uint32_t layer : plan.stages[s].layers)
        for (uint32_t of : problem.layers[layer].pins)
          if (of == id) {
            stages.insert(static_cast<int64_t>(s));
            kinds.insert(problem.forms[plan.stages[s].form].kind);
          }
    for (uint32_t kind : kinds)
      if (!pin.kinds.empty() &&
          std::find(pin.kinds.begin(), pin.kinds.end(), kind) == pin.kinds.end())
        return false;
    if (pin.stage && stages != std::set<int64_t>{*pin.stage})
      return false;
    if (pin.together && stages.size() > 1)
      return false;
  }
  return true;
}

void randomPins(PlacementProblem &problem, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  for (auto &layer : problem.layers)
    layer.pins.clear();
  problem.pins.clear();
  for (uint32_t count = 1 + below(2), id = 0; id < count; ++id) {
    PlacementProblem::Pin pin;
    pin.text = "pin " + std::to_string(id);
    switch (below(3)) {
    case 0:
      pin.kinds = {below(problem.kinds.size())};
      break;
    case 1:
      pin.stage = below(3);
      break;
    default:
      pin.together = true;
    }
    std::set<uint32_t> layers{below(problem.layers.size())};
    if (below(2) || pin.together)
      layers.insert(below(problem.layers.size()));
    for (uint32_t layer : layers)
      problem.layers[layer].pins.push_back(id);
    problem.pins.push_back(pin);
  }
}

} // namespace

TEST(PlacePins, TheBestOfAllPlansThatKeepThem) {
  size_t none = 0, dearer = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    PlacementProblem problem = accord::testing::randomPlacementProblem(seed, 4);
    randomPins(problem, seed);
    PlacementProblem free = problem;
    free.pins.clear();
    for (auto &layer : free.layers)
      layer.pins.clear();
    double best = INFINITY, any = INFINITY;
    accord::testing::forEachPlacement(
        free, [&](const Placement &plan, const PlacementWorth &worth) {
          any = std::min(any, worth.value);
          bool keeps = kept(problem, plan);
          EXPECT_EQ(faults(problem, plan).empty(), keeps) << "seed " << seed;
          EXPECT_EQ(misfits(problem, plan).empty(), keeps) << "seed " << seed;
          if (keeps)
            best = std::min(best, worth.value);
        });
    PlacementResult result = place(problem);
    ASSERT_EQ(result.plan.has_value(), !std::isinf(best)) << "seed " << seed;
    EXPECT_TRUE(verify(problem, result).empty()) << "seed " << seed;
    if (!result.plan) {
      EXPECT_TRUE(std::isinf(result.bound)) << "seed " << seed;
      ++none;
      continue;
    }
    EXPECT_NEAR(result.value, best, 1e-9 * best) << "seed " << seed;
    EXPECT_NEAR(result.bound, best, 1e-9 * best) << "seed " << seed;
    dearer += best > any * (1 + 1e-9);
    // No plan is stated to be below what is above the best.
    result.bound = result.value = best * 1.01;
    EXPECT_FALSE(verify(problem, result).empty()) << "seed " << seed;
  }
  EXPECT_GT(none, 10u);
  EXPECT_GT(dearer, 10u);
}

TEST(PlacePins, OfALanguageModel) {
  PlacementProblem problem = test::languageModelPlacement(24, 512);
  problem.groups = {{1, 8}};
  problem.pins = {{"block[0..5].stage == 0", {}, 0, false, {}},
                  {"block[6].stage == block[11].stage", {}, {}, true, {}}};
  for (uint32_t layer = 1; layer <= 6; ++layer)
    problem.layers[layer].pins = {0};
  problem.layers[7].pins = problem.layers[12].pins = {1};
  PlaceOptions options;
  options.effort = 6;
  PlacementResult result = place(problem, options);
  ASSERT_TRUE(result.plan);
  EXPECT_TRUE(kept(problem, *result.plan));
  EXPECT_LE(result.bound, result.value);
}

TEST(PlacePins, ConflictsNameThem) {
  // All blocks in one stage: weights and gradients alone are 4 bytes * 174e9 / 8, above 80 GB.
  PlacementProblem problem = test::languageModelPlacement(96);
  problem.pins = {{"block.stage == 0", {}, 0, false, {"job.dnn", 7, 3}},
                  {"harmless", {}, 0, false, {"job.dnn", 8, 3}}};
  for (uint32_t layer = 1; layer <= 96; ++layer)
    problem.layers[layer].pins = {0};
  problem.layers[0].pins = {1};
  problem.kinds[0].location = {"a.accel", 5, 1};
  PlacementConflict conflict = conflictsOf(problem);
  ASSERT_EQ(conflict.conflicts.size(), 2u);
  EXPECT_EQ(conflict.conflicts[0].constraint, "memory of 'device'");
  EXPECT_EQ(conflict.conflicts[0].file, "a.accel");
  EXPECT_EQ(conflict.conflicts[1].constraint, "block.stage == 0");
  EXPECT_EQ(conflict.conflicts[1].line, 7u);
  EXPECT_EQ(conflict.conflicts[1].detail, "leaving it out would do");
}
