// Floors under schedules of rigid jobs: against optima that formulas give, simulated schedules, and published values.
#include "lib/jobs/solve/CompletionFloor.h"
#include "lib/jobs/simulate/FairnessPolicies.h"
#include "lib/jobs/verify/FloorCheck.h"
#include "lib/support/SplitMix.h"
#include "test/support/GavelTraces.h"
#include <algorithm>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

SteadyJob jobOf(double arrival, double steps, unsigned gang, std::vector<double> rates) {
  return {"job", "LM", arrival, steps, gang, 1, 0, std::move(rates)};
}

/// On one device with all jobs there, shortest first is optimal (Smith, Naval Research Logistics Quarterly 3, 1956),
/// and the program with mean times is exact but for the length of intervals.
TEST(CompletionFloorTest, OneDeviceIsShortestFirst) {
  SplitMix random(21);
  for (int trial = 0; trial < 5; ++trial) {
    std::vector<SteadyJob> jobs;
    std::vector<double> times;
    for (int j = 0; j < 8; ++j) {
      times.push_back(static_cast<double>(100 + random.below(900)));
      jobs.push_back(jobOf(0, times.back() * 2, 1, {2}));
    }
    std::sort(times.begin(), times.end());
    double end = 0, mean = 0;
    for (double time : times)
      mean += (end += time) / 8;
    const CompletionFloor floor = completionFloor(accord::testing::gavelCluster({1}), jobs, {20, 3000});
    EXPECT_LE(floor.mean, mean);
    EXPECT_GE(floor.mean, mean - 20 - 0.01 * mean);
    EXPECT_NEAR(makespanFloor(accord::testing::gavelCluster({1}), jobs), end, 1e-6 * end);
  }
}

TEST(CompletionFloorTest, AJobAloneIsItsTime) {
  const std::vector<SteadyJob> jobs = {jobOf(500, 3000, 2, {1, 3, 9})};
  const Cluster cluster = accord::testing::gavelCluster({2, 2, 1}); // the fastest type does not hold the gang
  EXPECT_NEAR(makespanFloor(cluster, jobs), 1500, 1e-6);
  const CompletionFloor floor = completionFloor(cluster, jobs, {10, 300});
  EXPECT_LE(floor.mean, 1000 + 1e-6);
  EXPECT_GE(floor.mean, 985);
}

/// Two fluid jobs on two types: each has its own fast type, and both end at once.
TEST(CompletionFloorTest, MakespanOfTwoTypes) {
  const std::vector<SteadyJob> jobs = {jobOf(0, 100, 1, {10, 1}), jobOf(0, 400, 1, {1, 10})};
  // The second needs 40 s of its type; the first helps by no more than that.
  EXPECT_NEAR(makespanFloor(accord::testing::gavelCluster({1, 1}), jobs), 40, 1e-6);
}

std::vector<SteadyJob> randomJobs(SplitMix &random, size_t count) {
  std::vector<SteadyJob> jobs;
  double arrival = 0;
  for (size_t i = 0; i < count; ++i) {
    arrival += static_cast<double>(random.below(300));
    jobs.push_back(jobOf(arrival, static_cast<double>(100 + random.below(3000)), 1u << random.below(3),
                         {1 + random.unit() * 4, 0.5 + random.unit(), random.below(3) ? 0.3 : 0}));
  }
  return jobs;
}

/// No simulated schedule is below, and neither is what any prices and values prove.
TEST(CompletionFloorTest, SchedulesAreAboveWhateverThePrices) {
  SplitMix random(22);
  const Cluster cluster = accord::testing::gavelCluster({4, 5, 4});
  for (int trial = 0; trial < 6; ++trial) {
    const std::vector<SteadyJob> jobs = randomJobs(random, 15);
    const std::vector<SimulatedJob> simulated = simulatedJobs(jobs);
    CompletionFloor floor = completionFloor(cluster, jobs, {120, 400});
    EXPECT_NEAR(provenMean(cluster, jobs, floor), floor.mean, 1e-9 * floor.mean);
    double best = 1e30, shortest = 1e30;
    for (int kind = 0; kind < 3; ++kind) {
      SimulationOptions options;
      options.round = 30;
      RoundOptions rounds;
      rounds.refresh = 0;
      std::unique_ptr<Policy> policy;
      if (kind == 0)
        policy = std::make_unique<MaxMinFairnessPolicy>(cluster, jobs, false, rounds);
      else if (kind == 1)
        policy = std::make_unique<MinTotalDurationPolicy>(cluster, jobs, rounds);
      else
        policy = std::make_unique<FifoPolicy>(cluster, jobs, rounds);
      const auto result = simulate(cluster, simulated, *policy, options);
      ASSERT_TRUE(result);
      best = std::min(best, result->meanCompletion(simulated));
      shortest = std::min(shortest, result->makespan());
    }
    EXPECT_LE(floor.mean, best);
    EXPECT_GT(floor.mean, 0.3 * best);
    EXPECT_LE(makespanFloor(cluster, jobs), shortest);
    const double proved = floor.mean;
    for (int change = 0; change < 20; ++change) {
      floor.prices[random.below(floor.prices.size())][random.below(3)] = random.unit() * 20 - 5;
      floor.values[random.below(jobs.size())] *= random.unit() * 3;
      EXPECT_LE(provenMean(cluster, jobs, floor), best);
    }
    EXPECT_NE(provenMean(cluster, jobs, floor), proved);
    floor.values.pop_back();
    EXPECT_LT(provenMean(cluster, jobs, floor), 0);
  }
}

/// The program with 16,071 variables has the value 9,424 s, and the one of the makespan 16.20 h (solved by HiGHS).
TEST(CompletionFloorTest, MaxMinFairnessTraceHasTheValuesOfItsPrograms) {
  const Cluster cluster = accord::testing::gavelCluster({8, 16, 24});
  const std::vector<SteadyJob> jobs = accord::testing::gavelJobs(cluster, "max_min_fairness");
  if (jobs.empty())
    GTEST_SKIP() << accord::testing::kNoGavel;
  const CompletionFloor floor = completionFloor(cluster, jobs);
  EXPECT_NEAR(floor.mean, 9424, 2);
  EXPECT_NEAR(provenMean(cluster, jobs, floor), floor.mean, 1e-6);
  EXPECT_NEAR(makespanFloor(cluster, jobs) / 3600, 16.20, 0.005);
}

} // namespace
} // namespace accord::jobs
