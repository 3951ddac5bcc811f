// Failures, drains, steps of capacity and power, noise, checkpoints and limits of restarts, by hand and by properties.
#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/simulate/GoodputPolicies.h"
#include "lib/jobs/simulate/OrderedPolicies.h"
#include "lib/jobs/simulate/Seeds.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include "lib/jobs/simulate/Tiresias.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

Cluster servers(unsigned count, unsigned devices) {
  Cluster cluster{{"a"}, {}};
  cluster.servers.assign(count, {0, devices});
  return cluster;
}

std::vector<SimulatedJob> randomJobs(SplitMix &random, size_t count, unsigned maxGang, double restart) {
  std::vector<SteadyJob> jobs;
  for (size_t i = 0; i < count; ++i)
    jobs.push_back({"job" + std::to_string(i),
                    "app",
                    static_cast<double>(random.below(20'000)),
                    static_cast<double>(1 + random.below(5000)),
                    1u << random.below(maxGang),
                    1,
                    restart,
                    {1.0}});
  return simulatedJobs(jobs);
}

TEST(SimulationEvents, AFailureUndoesTheWorkSinceTheCheckpoint) {
  // 500 s of work; the only server fails at 250 s until 300 s. Checkpoints are each 100 s of running.
  const std::vector<SimulatedJob> jobs = simulatedJobs({{"job", "app", 0, 500, 1, 1, 10, {1.0}}});
  SimulationOptions options;
  options.events.outages = {{0, 250, 300, true}};
  for (double checkpoint : {100.0, 0.0}) {
    options.checkpoint = checkpoint;
    ShortestRemainingTime policy;
    auto result = simulate(servers(1, 1), jobs, policy, options);
    ASSERT_TRUE(result);
    const SimulatedOutcome &job = result->jobs[0];
    EXPECT_EQ(job.failures, 1u);
    EXPECT_EQ(job.restarts, 1u);
    // It ran 240 s after its restart, of which 40 s are lost, and goes on at 300 s.
    EXPECT_EQ(job.lostSeconds, checkpoint > 0 ? 40 : 0);
    EXPECT_EQ(job.completion, 300 + 10 + 500 - (checkpoint > 0 ? 200 : 240));
    EXPECT_EQ(result->busy, 250 + *job.completion - 300);
  }
}

TEST(SimulationEvents, ADrainLosesNothing) {
  const std::vector<SimulatedJob> jobs = simulatedJobs({{"job", "app", 0, 500, 1, 1, 10, {1.0}}});
  SimulationOptions options;
  options.events.outages = {{0, 250, 300, false}};
  options.checkpoint = 100;
  ShortestRemainingTime policy;
  auto result = simulate(servers(1, 1), jobs, policy, options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->jobs[0].failures, 0u);
  EXPECT_EQ(result->jobs[0].restarts, 0u); // the drain ends before the next round starts
  EXPECT_EQ(result->jobs[0].completion, 510);
  options.events.outages = {{0, 200, 400, false}};
  auto longer = simulate(servers(1, 1), jobs, policy, options);
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->jobs[0].restarts, 1u);
  EXPECT_EQ(longer->jobs[0].completion, 420 + 10 + 500 - 230); // it ran to 240, and goes on at 420
}

TEST(SimulationEvents, CapacityAndPowerStepsTakeDevices) {
  std::vector<SteadyJob> steady(4, SteadyJob{"job", "app", 0, 600, 1, 1, 0, {1.0}});
  const std::vector<SimulatedJob> jobs = simulatedJobs(steady);
  SimulationOptions capacity, power;
  capacity.events.capacity = {{0, 1, 0}, {600, 1, 2}}; // the second server comes at 600 s
  power.events.power = {{0, 700}, {600, 1300}};        // 2 devices of 300 W, then 4
  power.events.deviceWatts = {300};
  for (const SimulationOptions &options : {capacity, power}) {
    ShortestRemainingTime policy;
    auto result = simulate(servers(2, 2), jobs, policy, options);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->jobs[0].completion, 600);
    EXPECT_EQ(result->jobs[1].completion, 600);
    EXPECT_EQ(result->jobs[2].start, 600);
    EXPECT_EQ(result->jobs[3].completion, 1200);
  }
}

TEST(SimulationEvents, NoServerHoldsMoreThanIsThere) {
  SplitMix random(1);
  for (int trial = 0; trial < 8; ++trial) {
    const Cluster cluster = servers(4, 4);
    const std::vector<SimulatedJob> jobs = randomJobs(random, 40, 4, trial % 2 * 30.0);
    SimulationOptions options;
    options.events.meanTimeBetweenFailures = 8000;
    options.events.repairSeconds = 900;
    options.events.power = {{0, 4800}, {4000, 2000}, {9000, 4800}};
    options.events.deviceWatts = {300};
    options.checkpoint = 200;
    options.noise = {0.1, 0.1};
    options.seed = static_cast<uint64_t>(trial);
    options.maxRestartsPerHour = trial % 3;
    std::vector<std::unique_ptr<Policy>> policies;
    policies.push_back(std::make_unique<Tiresias>());
    policies.push_back(std::make_unique<ShortestRemainingTime>());
    policies.push_back(std::make_unique<AttainedServiceOrder>());
    policies.push_back(std::make_unique<SiaPolicy>());
    policies.push_back(std::make_unique<AllocationPolicy>(AllocationOptions{}));
    unsigned failures = 0;
    for (const auto &policy : policies) {
      auto result = simulate(cluster, jobs, *policy, options);
      ASSERT_TRUE(result) << result.error().message;
      double lost = 0;
      for (const SimulatedOutcome &job : result->jobs) {
        ASSERT_TRUE(job.completion);
        EXPECT_LE(job.lostSeconds, options.checkpoint * job.failures);
        failures += job.failures;
        lost += job.lostSeconds;
      }
      EXPECT_GT(lost, 0);
      ClusterTimeline timeline(cluster, options.events, options.seed);
      for (double now = 0; now < 9000; now += 60) { // spans that hold devices at the start of a round fit the servers
        const Cluster &there = timeline.at(now);
        std::vector<unsigned> used(4, 0);
        for (const SimulatedSpan &span : result->spans)
          if (span.start <= now && now < span.end)
            for (const ServerShare &share : span.placement)
              used[share.server] += share.devices;
        for (unsigned server = 0; server < 4; ++server)
          EXPECT_LE(used[server], there.servers[server].devices) << now;
      }
    }
    EXPECT_GT(failures, 0u);
  }
}

TEST(SimulationEvents, FailuresAreAsFrequentAsSaid) {
  const Cluster cluster = servers(20, 1);
  SimulationEvents events;
  events.meanTimeBetweenFailures = 9000;
  events.repairSeconds = 1000;
  ClusterTimeline timeline(cluster, events, 7);
  double down = 0;
  const int samples = 20'000;
  for (int i = 0; i < samples; ++i)
    down += static_cast<double>(20 - timeline.at(i * 100.0).devices());
  EXPECT_NEAR(down / (20.0 * samples), 0.1, 0.01);
}

TEST(SimulationEvents, SeedsReproduceAndDiffer) {
  SplitMix random(2);
  const std::vector<SimulatedJob> jobs = randomJobs(random, 30, 3, 30);
  SimulationOptions options;
  options.events.meanTimeBetweenFailures = 20'000;
  options.noise = {0.1, 0.1};
  options.checkpoint = 600;
  auto make = [] { return std::make_unique<AttainedServiceOrder>(); };
  auto first = simulateSeeds(servers(4, 4), jobs, make, options, 5);
  auto again = simulateSeeds(servers(4, 4), jobs, make, options, 5);
  ASSERT_TRUE(first && again);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ((*first)[i].seed, i);
    EXPECT_EQ((*first)[i].meanCompletion, (*again)[i].meanCompletion);
    EXPECT_EQ((*first)[i].lostSeconds, (*again)[i].lostSeconds);
    if (i > 0) {
      EXPECT_NE((*first)[i].meanCompletion, (*first)[i - 1].meanCompletion);
    }
  }
}

TEST(SimulationEvents, NoiseIsOneInTheMean) {
  const SpeedNoise noise{0.2, 0.3};
  double sum = 0, squares = 0;
  const int count = 40'000;
  for (int i = 0; i < count; ++i) {
    const double factor = noise.factor(3, i % 200, i / 200);
    sum += factor;
    squares += std::log(factor) * std::log(factor);
  }
  EXPECT_NEAR(sum / count, 1, 0.03);
  const double variance = 0.2 * 0.2 + 0.3 * 0.3;
  EXPECT_NEAR(squares / count, variance + variance * variance / 4, 0.015);
  EXPECT_EQ((SpeedNoise{0.2, 0}.factor(3, 5, 1)), (SpeedNoise{0.2, 0}.factor(3, 5, 2)));
}

TEST(SimulationEvents, RestartsAreLimited) {
  // Least attained service changes jobs in each round; with a limit it does not.
  const std::vector<SimulatedJob> jobs =
      simulatedJobs({{"a", "app", 0, 20'000, 1, 1, 5, {1.0}}, {"b", "app", 0, 20'000, 1, 1, 5, {1.0}}});
  std::vector<unsigned> restarts;
  for (unsigned limit : {0u, 3u}) {
    SimulationOptions options;
    options.maxRestartsPerHour = limit;
    AttainedServiceOrder policy;
    auto result = simulate(servers(1, 1), jobs, policy, options);
    ASSERT_TRUE(result);
    restarts.push_back(result->jobs[0].restarts);
    if (limit > 0) {
      EXPECT_LE(result->jobs[0].restarts, 3 * (*result->jobs[0].completion / 3600 + 1));
    }
  }
  EXPECT_GT(restarts[0], 100u);
  EXPECT_LT(restarts[1], 40u);
}

TEST(SimulationEvents, AClusterWithoutDevicesEnds) {
  const std::vector<SimulatedJob> jobs = simulatedJobs({{"job", "app", 100, 500, 1, 1, 10, {1.0}}});
  SimulationOptions options;
  options.events.capacity = {{0, 0, 0}};
  for (bool endsEarly : {false, true}) {
    options.endsEarly = endsEarly;
    ShortestRemainingTime policy;
    auto result = simulate(servers(1, 1), jobs, policy, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::JobNeverCompletes);
  }
  options.events.capacity = {{0, 1, 0}};
  ShortestRemainingTime policy;
  EXPECT_FALSE(simulate(servers(1, 1), jobs, policy, options));
  options.events = {};
  options.events.outages = {{0, -5, 10}};
  EXPECT_FALSE(simulate(servers(1, 1), jobs, policy, options));
}

TEST(SimulationEvents, TimesThatAreTooShortAreRefused) {
  const std::vector<SimulatedJob> jobs = simulatedJobs({{"job", "app", 0, 500, 1, 1, 10, {1.0}}});
  auto refused = [&](const SimulationOptions &options) {
    ShortestRemainingTime policy;
    auto result = simulate(servers(1, 1), jobs, policy, options);
    return !result && result.error().code == Code::WrongJobSchedule;
  };
  SimulationOptions options;
  for (double checkpoint : {1e-12, -1.0, std::nan("")}) {
    options.checkpoint = checkpoint;
    EXPECT_TRUE(refused(options)) << checkpoint;
  }
  options = {};
  options.events.meanTimeBetweenFailures = 1e-9;
  EXPECT_TRUE(refused(options));
  options.events = {};
  options.events.meanTimeBetweenFailures = 1e6;
  EXPECT_FALSE(refused(options));
  options.events.repairSeconds = 0;
  EXPECT_TRUE(refused(options));
}

TEST(SimulationEvents, AJobAfterManyFailuresRuns) { // ten thousand failures before it arrives
  const std::vector<SimulatedJob> jobs = simulatedJobs({{"job", "app", 1e7, 500, 1, 1, 10, {1.0}}});
  SimulationOptions options;
  options.events.meanTimeBetweenFailures = 900;
  options.events.repairSeconds = 100;
  ShortestRemainingTime policy;
  auto result = simulate(servers(4, 1), jobs, policy, options);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->jobs[0].completion);
}

TEST(Seeds, QuantilesOfStudentsDistribution) { // tables of Student's t
  EXPECT_NEAR(studentQuantile(0.95, 1), 6.313752, 1e-5);
  EXPECT_NEAR(studentQuantile(0.95, 4), 2.131847, 1e-5);
  EXPECT_NEAR(studentQuantile(0.95, 9), 1.833113, 1e-5);
  EXPECT_NEAR(studentQuantile(0.975, 30), 2.042272, 1e-5);
  EXPECT_NEAR(studentQuantile(0.95, 100'000), 1.644854, 1e-4);
  EXPECT_NEAR(studentQuantile(0.5, 3), 0, 1e-12);
  EXPECT_NEAR(studentQuantile(0.05, 4), -2.131847, 1e-5);
}

TEST(Seeds, IntervalsHoldTheMeanAsOftenAsTheySay) {
  SplitMix random(5);
  int student = 0, bootstrap = 0;
  const int trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 12; ++i)
      values.push_back(10 + drawNormal(random));
    const MeanInterval one = studentInterval(values), other = bootstrapInterval(values, 0.9, 500, trial);
    student += one.low <= 10 && 10 <= one.high;
    bootstrap += other.low <= 10 && 10 <= other.high;
  }
  EXPECT_NEAR(student / double(trials), 0.9, 0.04);
  EXPECT_NEAR(bootstrap / double(trials), 0.87, 0.06); // it is a little narrow for few values
  EXPECT_EQ(studentInterval({}).mean, 0);
  EXPECT_EQ(studentInterval({3}).high, 3);
  EXPECT_EQ(bootstrapInterval({3, 3, 3}).low, 3);
}

} // namespace
