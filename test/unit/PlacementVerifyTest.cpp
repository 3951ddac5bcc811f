// The verifier of placements: right answers hold, every kind of corruption is found, and its bound is none that a plan passes.
#include "lib/verify/Placement.h"
#include "PlacementRandom.h"
#include "lib/verify/PlacementBound.h"
#include "lib/verify/PlacementWorth.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

std::string texts(const std::vector<Issue> &issues) {
  std::string all;
  for (const Issue &issue : issues)
    all += issue.code + ": " + issue.message + "\n";
  return all;
}

/// Of all plans of small problems: none is refused, none is better than the least bound, and a bound above the best is never proved.
TEST(PlacementVerify, EveryPlanOfSmallProblems) {
  size_t plans = 0, solved = 0, proved = 0, refuted = 0, infeasible = 0, provedInfeasible = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    PlacementProblem p = randomPlacementProblem(seed, 4);
    ASSERT_EQ(texts(check(p)), "") << seed;
    size_t every = 0;
    forEachPlacement(p, [&](const Placement &plan, const PlacementWorth &worth) {
      if (++every % 5 != 0)
        return;
      ++plans;
      PlacementResult result{plan, worth, worth.value, 0, "", 0, 0};
      ASSERT_EQ(texts(verify(p, result)), "") << seed;
    });
    PlacementResult best = bruteForcePlacement(p);
    std::vector<std::string> trusted;
    ASSERT_EQ(texts(verify(p, best, &trusted)), "") << seed;
    if (!best.plan) {
      ++infeasible, provedInfeasible += trusted.empty();
      continue;
    }
    ++solved, proved += trusted.empty();
    BoundProof above = proveBound(p, best.value * 1.001, 20'000'000, 2e7);
    if (above.better) {
      ++refuted;
      ASSERT_GE(above.value, best.value * (1 - 1e-9)) << seed;
      ASSERT_TRUE(faults(p, *above.better).empty()) << seed;
      ASSERT_DOUBLE_EQ(judge(p, *above.better).value, above.value) << seed;
    } else {
      ASSERT_FALSE(above.trusted.empty()) << seed << " proved " << best.value * 1.001;
    }
  }
  std::printf("%zu plans; %zu solved: %zu proved, %zu refuted above; %zu infeasible: %zu proved\n", plans,
              solved, proved, refuted, infeasible, provedInfeasible);
  EXPECT_GT(plans, 1000u);
  EXPECT_GT(proved * 10, solved * 8);
  EXPECT_GT(refuted * 10, solved * 8);
}

} // namespace
