// Regret and samples to parity, against sums that are written out.
#include "lib/jobs/bandit/RegretCurve.h"
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

TEST(RegretCurve, IsTheSumOverTheFirstJobs) {
  SplitMix random(1);
  std::vector<SeedCompletions> policy(6), other(6);
  for (size_t seed = 0; seed < 6; ++seed)
    for (size_t i = 0; i < 25; ++i)
      policy[seed].push_back(100 + 50 * random.unit()), other[seed].push_back(90 + 50 * random.unit());
  const RegretCurve curve = regretCurve(policy, other, 5);
  ASSERT_EQ(curve.points.size(), 5u);
  for (size_t point = 0; point < 5; ++point) {
    const size_t jobs = 5 * (point + 1);
    EXPECT_EQ(curve.points[point].jobs, jobs);
    double regret = 0, change = 0;
    for (size_t seed = 0; seed < 6; ++seed) {
      double mine = 0, theirs = 0;
      for (size_t i = 0; i < jobs; ++i)
        mine += policy[seed][i], theirs += other[seed][i];
      regret += (mine - theirs) / 6, change += (mine / theirs - 1) / 6;
    }
    EXPECT_NEAR(curve.points[point].regret.mean, regret, 1e-9);
    EXPECT_NEAR(curve.points[point].change.mean, change, 1e-12);
    EXPECT_LE(curve.points[point].change.low, change);
    EXPECT_GE(curve.points[point].change.high, change);
  }
}

TEST(RegretCurve, ReachesParityWhereItStaysWithinTheTolerance) {
  // 10 jobs that take twice as long, then as long: after n jobs the change is 10 / n, so 3 % are reached after 334.
  SeedCompletions slow(10, 2), same(990, 1), all(1000, 1);
  slow.insert(slow.end(), same.begin(), same.end());
  const Parity parity = regretCurve({slow, slow}, {all, all}, 12, 0.03).parity;
  EXPECT_EQ(parity.jobs, 334u);
  EXPECT_EQ(parity.low, 334u);
  EXPECT_EQ(parity.high, 334u);
  // Within the tolerance at first, and not at the end: never.
  EXPECT_EQ(regretCurve({{1, 1, 1, 2}}, {{1, 1, 1, 1}}).parity.jobs, std::nullopt);
  // Shorter from the first on.
  EXPECT_EQ(regretCurve({{1, 1}}, {{2, 2}}).parity.jobs, 1u);
}

TEST(RegretCurve, HasAnIntervalOfParityWhereSeedsDiffer) {
  const SeedCompletions all(100, 1), equal(100, 1), slow(100, 1.1);
  // Of two seeds the mean change is 5 %; a resample of equal seeds alone is at parity, one of slow seeds never.
  const Parity parity = regretCurve({equal, slow}, {all, all}).parity;
  EXPECT_EQ(parity.jobs, std::nullopt);
  EXPECT_EQ(parity.low, 1u);
  EXPECT_EQ(parity.high, std::nullopt);
}

TEST(RegretCurve, IsEmptyWithoutJobs) {
  EXPECT_TRUE(regretCurve({}, {}).points.empty());
  EXPECT_TRUE(regretCurve({{}}, {{}}).points.empty());
  EXPECT_EQ(regretCurve({{1, 2, 3}}, {{1, 2}}).points.back().jobs, 2u);
  EXPECT_EQ(regretCurve({{1}}, {{0}}).points.back().change.mean, 0);
}

} // namespace
} // namespace accord::jobs
