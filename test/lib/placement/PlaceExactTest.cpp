// The optimizer of placements against every plan of problems of up to eight layers and devices.
#include "lib/placement/solve/Place.h"
#include "lib/placement/verify/PlacementWorth.h"
#include "test/lib/placement/PlacementEnumerator.h"
#include "test/lib/placement/PlacementProblems.h"
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
    for (auto &form : problem.forms)
      if (form.data > 1)
        form.zero = 3, form.gather = {{1, 0.2}, {4, 0.05}};
  return problem;
}

/// Of each answer, that no plan is better, and that its bound is none above the best.
struct Against {
  size_t compared = 0, none = 0, skipped = 0, open = 0, limited = 0, again = 0, mixed = 0, deep = 0;
  uint64_t plans = 0, sampled = 0;
  std::set<PipelineSchedule> schedules;
  std::set<PlacementObjective> objectives;

  std::optional<PlacementResult> compare(const PlacementProblem &problem, uint64_t seed) {
    PlaceOptions effort;
    effort.effort = 14;
    PlacementResult result = place(problem, effort);
    test::EnumeratorOptions options;
    options.most = 20'000'000, options.sampleEvery = 997;
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
    EXPECT_TRUE(misfits(problem, *result.plan).empty()) << "seed " << seed;
    auto worth = worthAgain(problem, *result.plan);
    EXPECT_TRUE(worth && worth->fits && meets(problem, *worth)) << "seed " << seed;
    if (!all.complete || !worth)
      return {};
    EXPECT_TRUE(all.plan) << "seed " << seed;
    EXPECT_NEAR(worth->value, result.value, 1e-9 * result.value) << "seed " << seed;
    EXPECT_LE(result.bound, all.best * (1 + 1e-9)) << "seed " << seed << ": " << result.proof;
    if (result.bound < result.value * (1 - 1e-9))
      ++open;
    else {
      EXPECT_NEAR(result.value, all.best, 2e-9 * all.best) << "seed " << seed;
      EXPECT_EQ(result.worth.step, all.step) << "seed " << seed; // of equal plans the shortest
    }
    count(problem, *result.plan);
    return result;
  }

private:
  void count(const PlacementProblem &problem, const Placement &plan) {
    schedules.insert(plan.schedule), objectives.insert(problem.objective);
    std::set<uint32_t> kinds;
    bool keeps = false;
    for (const PlacedStage &stage : plan.stages) {
      kinds.insert(problem.forms[stage.form].kind);
      for (size_t i = 0; i < stage.layers.size(); ++i)
        keeps |= problem.cost(stage.layers[i], stage.form)->keeps[stage.keeps[i]].again > 0;
    }
    again += keeps, mixed += kinds.size() > 1, deep += plan.stages.size() > 3;
  }
};

} // namespace

/// ACCORD_PLACE_PROBLEMS=FROM:TO looks at other seeds than 1 to 900.
TEST(PlaceExact, NoPlanOfEightLayersOnEightDevicesIsBetter) {
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
      problem.limits.watts =
          free->worth.joules / (static_cast<double>(free->worth.step) * 1e-12) * 0.9;
      break;
    case 1:
      problem.limits.devices = std::max<int64_t>(1, free->worth.devices - 1);
      break;
    case 2:
      problem.limits.joules = free->worth.joules * 0.93;
      break;
    case 3:
      problem.limits.price = free->worth.price * 0.93;
      break;
    case 4:
      problem.limits.step = std::max<int64_t>(1, free->worth.step * 19 / 20);
      break;
    default:
      for (auto &kind : problem.kinds)
        kind.memory = kind.memory * 4 / 5;
    }
    all.limited += all.compare(problem, seed).has_value();
  }
  RecordProperty("plans", static_cast<int>(all.plans / 1000));
  if (from != 1) {
    std::printf("%zu problems, %zu without a plan, %zu not proved, %zu skipped, %zu plans with "
                "recomputation, %zu on two kinds, %zu of four stages or more, %llu million plans\n",
                all.compared, all.none, all.open, all.skipped, all.again, all.mixed, all.deep,
                static_cast<unsigned long long>(all.plans / 1'000'000));
    return;
  }
  EXPECT_EQ(all.open, 0u);
  EXPECT_EQ(all.skipped, 0u);
  EXPECT_EQ(all.schedules.size(), 4u);
  EXPECT_EQ(all.objectives.size(), 5u);
  EXPECT_GT(all.none, 100u);
  EXPECT_GT(all.limited, 200u);
  EXPECT_GT(all.again, 70u);
  EXPECT_GT(all.mixed, 20u);
  EXPECT_GT(all.deep, 100u);
  EXPECT_GT(all.sampled, 1000u);
}
