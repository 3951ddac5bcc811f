// The simulator in rounds, against schedules by hand; and the policy of exact allocations.
#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

/// Says the same placements in each round, cut to the jobs that are there.
class FixedPolicy : public Policy {
public:
  explicit FixedPolicy(std::vector<JobPlacement> placements) : placements(std::move(placements)) {}
  std::vector<JobPlacement> decide(double, const Cluster &, const std::vector<JobView> &jobs) override {
    std::vector<JobPlacement> result;
    for (const JobView &job : jobs)
      result.push_back(placements[job.job]);
    return result;
  }
  std::vector<JobPlacement> placements;
};

Cluster twoServers() { return {{"a"}, {{0, 2}, {0, 2}}}; }

SteadyJob steady(double arrival, double steps, unsigned gang, double restart = 0) {
  return {"job", "app", arrival, steps, gang, 1, restart, {1.0}};
}

TEST(Simulator, ArrivalsWaitForARoundAndRestartsTakeTime) {
  // The first job has 100 steps at 1 a second and 30 s of restart; the second arrives at 10 s and is seen at 60 s.
  std::vector<SimulatedJob> jobs = simulatedJobs({steady(0, 100, 1, 30), steady(10, 20, 2)});
  FixedPolicy policy({{{0, 1}}, {{1, 2}}});
  auto result = simulate(twoServers(), jobs, policy, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->jobs[0].start, 0);
  EXPECT_EQ(result->jobs[0].completion, 130);
  EXPECT_EQ(result->jobs[1].start, 60);
  EXPECT_EQ(result->jobs[1].completion, 80);
  EXPECT_EQ(result->jobs[0].restarts, 0u);
  EXPECT_EQ(result->busy, 130 + 2 * 20);
  EXPECT_EQ(result->meanCompletion(jobs), (130 + 70) / 2.0);
  EXPECT_EQ(result->makespan(), 130);
  ASSERT_EQ(result->spans.size(), 2u);
  EXPECT_EQ(result->spans[0].end, 130);
}

TEST(Simulator, NothingHappensWithoutJobs) {
  FixedPolicy policy({});
  auto result = simulate(twoServers(), {}, policy, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->rounds, 0u);
  EXPECT_EQ(result->makespan(), 0);
}

TEST(Simulator, WrongPlacementsAreRefused) {
  std::vector<SimulatedJob> jobs = simulatedJobs({steady(0, 100, 1), steady(0, 100, 2)});
  const std::vector<JobPlacement> wrong[] = {{{{2, 1}}, {}}, {{{0, 3}}, {}}, {{{0, 1}}, {{0, 2}}}, {{{0, 0}}, {}}};
  for (const std::vector<JobPlacement> &placements : wrong) {
    FixedPolicy policy(placements);
    auto result = simulate(twoServers(), jobs, policy, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::WrongJobPlacement);
  }
}

TEST(Simulator, AJobThatNeverRunsEndsTheSimulation) {
  std::vector<SimulatedJob> jobs = simulatedJobs({steady(0, 100, 1)});
  FixedPolicy policy({{}});
  SimulationOptions options;
  options.maxSeconds = 6000;
  auto result = simulate(twoServers(), jobs, policy, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::JobNeverCompletes);
}

TEST(AllocationPolicy, ShortJobsComeFirst) {
  // Four devices; jobs of 2 devices with 1,000, 100 and 10 steps: the short ones run first, the long one follows.
  std::vector<SimulatedJob> jobs = simulatedJobs({steady(0, 1000, 2), steady(0, 100, 2), steady(0, 10, 2)});
  AllocationPolicy policy({});
  auto result = simulate(twoServers(), jobs, policy, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->jobs[2].completion, 10);
  EXPECT_EQ(result->jobs[1].completion, 100);
  EXPECT_EQ(result->jobs[0].completion, 1060);
  EXPECT_EQ(policy.maxGap(), 0.0);
}

TEST(AllocationPolicy, AMoveHasToPay) {
  // A job on a slow device has 90 s to go when the fast one becomes free: with a restart of 30 s it stays.
  Cluster cluster{{"slow", "fast"}, {{0, 1}, {1, 1}}};
  for (double restart : {30.0, 0.0}) {
    std::vector<SteadyJob> steadies{{"long", "app", 0, 600, 1, 1, restart, {1.0, 2.0}},
                                    {"short", "app", 0, 100, 1, 1, restart, {0.1, 2.0}}};
    std::vector<SimulatedJob> jobs = simulatedJobs(steadies);
    AllocationPolicy policy({});
    auto result = simulate(cluster, jobs, policy, {});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->jobs[0].restarts, restart > 0 ? 0u : 1u);
  }
}

TEST(AllocationPolicy, SizesFillServers) {
  SimulatedJob job;
  job.devices = 1;
  job.maxDevices = 13;
  EXPECT_EQ(deviceCounts(job, 4, 64), (std::vector<unsigned>{1, 2, 4, 8, 12}));
  EXPECT_EQ(deviceCounts(job, 6, 8), (std::vector<unsigned>{1, 2, 4, 6}));
  job.devices = job.maxDevices = 6;
  EXPECT_EQ(deviceCounts(job, 4, 64), (std::vector<unsigned>{6}));
  EXPECT_TRUE(deviceCounts(job, 4, 4).empty());
}

} // namespace
