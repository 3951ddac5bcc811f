// Replays of Gavel's policies: against figures of the published program where its files are, and properties on small
// clusters made here.
#include "lib/jobs/simulate/FairnessPolicies.h"
#include "lib/jobs/solve/LevelShares.h"
#include "lib/support/SplitMix.h"
#include "test/support/GavelTraces.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace accord::jobs {
namespace {

/// The draws of Python's `random` (Mersenne Twister; Matsumoto, Nishimura, ACM TOMACS 8, 1998): as many top bits of a
/// word as the bound has, until they are below it.
class PythonRandom {
public:
  explicit PythonRandom(uint32_t seed) {
    std::vector<uint32_t> words = {19650218};
    for (uint32_t i = 1; i < 624; ++i)
      words.push_back(1812433253u * (words[i - 1] ^ words[i - 1] >> 30) + i);
    uint32_t at = 1;
    auto next = [&](uint32_t factor, uint32_t added) {
      words[at] = (words[at] ^ (words[at - 1] ^ words[at - 1] >> 30) * factor) + added;
      if (++at == 624) {
        words[0] = words[623];
        at = 1;
      }
    };
    for (int i = 0; i < 624; ++i)
      next(1664525, seed);
    for (int i = 0; i < 623; ++i)
      next(1566083941, 0u - at);
    words[0] = 0x80000000u;
    std::stringstream state; // the standard engine reads its words, oldest first
    for (uint32_t word : words)
      state << word << ' ';
    state << 624;
    state >> engine;
  }
  uint64_t below(uint64_t bound) {
    for (;;)
      if (const uint64_t word = engine() >> (32 - std::bit_width(bound)); word < bound)
        return word;
  }

private:
  std::mt19937 engine;
};

TEST(PythonRandomTest, DrawsAsPythonDoes) {
  PythonRandom random(0); // random.seed(0); [random.randrange(3) for _ in range(10)]
  for (uint64_t expected : {1, 1, 0, 1, 2, 1, 1, 1, 1, 1})
    EXPECT_EQ(random.below(3), expected);
}

/// The draws of Gavel's program with the seed 0.
RoundOptions publishedDraws() {
  RoundOptions options;
  options.typeDraws = [random = PythonRandom(0)](uint64_t below) mutable { return random.below(below); };
  options.orderDraws = [random = PythonRandom(5)](uint64_t below) mutable { return random.below(below); };
  return options;
}

std::unique_ptr<Policy> policyOf(const std::string &name, const Cluster &cluster, const std::vector<SteadyJob> &jobs,
                                 const RoundOptions &options = {}) {
  if (name == "fifo")
    return std::make_unique<PublishedFifoPolicy>(cluster, jobs, options);
  if (name == "max_min_fairness")
    return std::make_unique<MaxMinFairnessPolicy>(cluster, jobs, true, options);
  if (name == "max_min_fairness_perf")
    return std::make_unique<MaxMinFairnessPolicy>(cluster, jobs, false, options);
  if (name == "finish_time_fairness_perf")
    return std::make_unique<FinishTimeFairnessPolicy>(cluster, jobs, options);
  if (name == "min_total_duration_perf")
    return std::make_unique<MinTotalDurationPolicy>(cluster, jobs, options);
  return std::make_unique<FifoPolicy>(cluster, jobs, options);
}

SimulationResult run(const std::string &name, const Cluster &cluster, const std::vector<SteadyJob> &jobs,
                     const RoundOptions &rounds = {}) {
  SimulationOptions options;
  options.round = 360;
  options.endsEarly = true;
  auto policy = policyOf(name, cluster, jobs, rounds);
  auto result = simulate(cluster, simulatedJobs(jobs, true), *policy, options);
  EXPECT_TRUE(result) << name << ": " << (result ? "" : result.error().message);
  return result ? *result : SimulationResult();
}

struct Published {
  const char *policy;
  double mean, makespan; ///< seconds
};

void expectReplayed(const char *trace, const std::vector<unsigned> &counts, const std::vector<Published> &figures) {
  const Cluster cluster = accord::testing::gavelCluster(counts);
  const std::vector<SteadyJob> jobs = accord::testing::gavelJobs(cluster, trace);
  if (jobs.empty())
    GTEST_SKIP() << accord::testing::kNoGavel;
  ASSERT_TRUE(checkSteadyJobs(cluster, jobs));
  for (const Published &figure : figures) {
    const SimulationResult result = run(figure.policy, cluster, jobs, publishedDraws());
    const double mean = result.meanCompletion(simulatedJobs(jobs));
    EXPECT_NEAR(mean / figure.mean, 1, 0.015) << figure.policy << " " << mean;
    EXPECT_NEAR(result.makespan() / figure.makespan, 1, 0.015) << figure.policy << " " << result.makespan();
  }
}

/// Figures of the unmodified policies on 8 V100, 16 P100 and 24 K80, measured with an interior-point method.
TEST(GavelReplayTest, MaxMinFairnessTraceIsReplayed) {
  expectReplayed("max_min_fairness", {8, 16, 24},
                 {{"fifo", 35450, 53.33 * 3600},
                  {"max_min_fairness", 18918, 20.22 * 3600},
                  {"max_min_fairness_perf", 13864, 17.11 * 3600},
                  {"finish_time_fairness_perf", 14417, 17.34 * 3600}});
}

TEST(GavelReplayTest, SmallTraceIsReplayed) {
  expectReplayed("small_test", {4, 4, 4}, {{"fifo", 274.1, 504.6}, {"max_min_fairness_perf", 254.8, 667.0}});
}

/// All jobs of one gang size have equal blind shares, and most are complete after one round, so that the order of types
/// and ties decides: the published figure is one of those of many draws.
TEST(GavelReplayTest, BlindSharesOfTheSmallTraceAreInRange) {
  const Cluster cluster = accord::testing::gavelCluster({4, 4, 4});
  const std::vector<SteadyJob> jobs = accord::testing::gavelJobs(cluster, "small_test");
  if (jobs.empty())
    GTEST_SKIP() << accord::testing::kNoGavel;
  double low = 1e9, high = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RoundOptions options;
    options.seed = seed;
    const double mean = run("max_min_fairness", cluster, jobs, options).meanCompletion(simulatedJobs(jobs));
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  EXPECT_LE(low, 247.6);
  EXPECT_GE(high, 247.6);
  EXPECT_LE(high / low, 1.3);
}

/// One fluid linear program says that no schedule of the trace is shorter than 16.20 h.
TEST(GavelReplayTest, MinTotalDurationIsCloseToItsFloor) {
  const Cluster cluster = accord::testing::gavelCluster({8, 16, 24});
  const std::vector<SteadyJob> jobs = accord::testing::gavelJobs(cluster, "max_min_fairness");
  if (jobs.empty())
    GTEST_SKIP() << accord::testing::kNoGavel;
  const double makespan = run("min_total_duration_perf", cluster, jobs).makespan() / 3600;
  EXPECT_GE(makespan, 16.19);
  EXPECT_LE(makespan, 16.20 * 1.02);
}

std::vector<SteadyJob> randomJobs(SplitMix &random, size_t count, size_t types) {
  std::vector<SteadyJob> jobs;
  double arrival = 0;
  for (size_t i = 0; i < count; ++i) {
    SteadyJob job;
    job.name = "job" + std::to_string(i);
    job.arrival = arrival;
    arrival += static_cast<double>(random.below(400));
    job.steps = static_cast<double>(1 + random.below(5000));
    job.gang = 1u << random.below(3);
    job.weight = random.below(4) == 0 ? 5 : 1;
    for (size_t t = 0; t < types; ++t)
      job.rates.push_back(t > 0 && random.below(5) == 0 ? 0 : 0.5 + random.unit() * 4);
    jobs.push_back(job);
  }
  return jobs;
}

/// Every job does all of its steps, on one type at a time, with its whole gang, after it arrived.
TEST(GavelReplayTest, AllPoliciesDoAllWork) {
  SplitMix random(3);
  for (int trial = 0; trial < 6; ++trial) {
    Cluster cluster = accord::testing::gavelCluster({4, 5, 6});
    if (trial % 2 == 1) // servers of several devices
      cluster.servers = {{0, 3}, {1, 2}, {0, 1}, {2, 4}, {1, 2}, {2, 2}, {1, 1}};
    const std::vector<SteadyJob> jobs = randomJobs(random, 25, 3);
    ASSERT_TRUE(checkSteadyJobs(cluster, jobs));
    for (const char *name : {"fifo", "queue", "max_min_fairness", "max_min_fairness_perf", "finish_time_fairness_perf",
                             "min_total_duration_perf"}) {
      SimulationOptions options;
      options.round = 360;
      auto policy = policyOf(name, cluster, jobs);
      const auto result = simulate(cluster, simulatedJobs(jobs), *policy, options);
      ASSERT_TRUE(result) << name << result.getError()->message;
      std::vector<double> done(jobs.size(), 0);
      for (const SimulatedSpan &span : result->spans) {
        EXPECT_GE(span.start, jobs[span.job].arrival);
        EXPECT_EQ(devicesOf(span.placement), jobs[span.job].gang);
        for (const ServerShare &share : span.placement)
          EXPECT_EQ(cluster.servers[share.server].type, typeOf(cluster, span.placement));
        done[span.job] += (span.end - span.start) * jobs[span.job].rates[typeOf(cluster, span.placement)];
      }
      for (size_t j = 0; j < jobs.size(); ++j)
        EXPECT_NEAR(done[j] / jobs[j].steps, 1, 1e-6) << name;
    }
  }
}

/// A gang stays where it was; a new one takes the server with the fewest devices that suffice, or several.
TEST(GavelReplayTest, GangsArePlacedOnFewServers) {
  Cluster cluster;
  cluster.types = {"v100"};
  cluster.servers = {{0, 4}, {0, 2}, {0, 3}};
  std::vector<SimulatedJob> jobs(4);
  for (size_t i = 0; i < 4; ++i)
    jobs[i].devices = std::vector<unsigned>{2, 3, 1, 3}[i];
  std::vector<JobView> views(4);
  for (size_t i = 0; i < 4; ++i)
    views[i].description = &jobs[i];
  views[2].placement = {{2, 1}};
  const std::vector<JobPlacement> placed = placeGangs(cluster, views, {0, 0, 0, 0});
  EXPECT_EQ(placed[2], (JobPlacement{{2, 1}}));
  EXPECT_EQ(placed[1], (JobPlacement{{0, 3}}));
  EXPECT_EQ(placed[3], (JobPlacement{{1, 2}, {2, 1}}));
  EXPECT_EQ(placed[0], (JobPlacement{{0, 1}, {2, 1}}));
  EXPECT_TRUE(placeGangs(cluster, views, {-1, 0, 0, 0})[0].empty());
}

TEST(GavelReplayTest, LevelMeetsItsBound) {
  SplitMix random(5);
  for (int trial = 0; trial < 40; ++trial) {
    const std::vector<int64_t> capacity = {3, 5, 9};
    std::vector<unsigned> gangs;
    TypeMatrix speeds;
    for (const SteadyJob &job : randomJobs(random, 1 + random.below(30), 3)) {
      gangs.push_back(job.gang);
      speeds.push_back(job.rates);
      if (job.gang > 3)
        speeds.back()[1] = 1;
    }
    const LevelShares level = maximizeLevel(capacity, gangs, speeds);
    EXPECT_NEAR(level.bound, level.level, 1e-7 * level.level);
    std::vector<double> used(3, 0);
    for (size_t j = 0; j < gangs.size(); ++j) {
      double speed = 0, time = 0;
      for (size_t t = 0; t < 3; ++t) {
        EXPECT_GE(level.shares[j][t], 0);
        speed += speeds[j][t] * level.shares[j][t];
        time += level.shares[j][t];
        used[t] += gangs[j] * level.shares[j][t];
      }
      EXPECT_LE(time, 1 + 1e-9);
      EXPECT_GE(speed, level.level * (1 - 1e-7));
    }
    for (size_t t = 0; t < 3; ++t)
      EXPECT_LE(used[t], static_cast<double>(capacity[t]) + 1e-7);
    EXPECT_NEAR(std::accumulate(level.weights.begin(), level.weights.end(), 0.0), 1, 1e-7);
  }
}

TEST(GavelReplayTest, GangsThatNeverFitAreRefused) {
  const Cluster cluster = accord::testing::gavelCluster({4, 2, 3});
  SteadyJob job{"big", "LM", 0, 100, 8, 1, 0, {1, 1, 1}};
  auto checked = checkSteadyJobs(cluster, {job});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::GangTooLarge);
  EXPECT_EQ(checked.error().message, "job 'big' needs 8 devices of one type, and no type has more than 4");
  job.gang = 3;
  job.rates = {0, 7, 0}; // fast only where the gang does not fit
  checked = checkSteadyJobs(cluster, {job});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::JobNeverCompletes);
  EXPECT_EQ(checked.error().message, "job 'big' makes no progress on any type that has 3 devices");
  job.rates = {};
  EXPECT_EQ(checkSteadyJobs(cluster, {job}).error().code, Code::WrongJobsFile);
  job.rates = {0, 7, 1};
  EXPECT_TRUE(checkSteadyJobs(cluster, {job}));
}

/// Two equal jobs on one device have half of it each, and with weights of 3 and 1 three quarters and a quarter.
TEST(GavelReplayTest, TimeIsSharedByWeight) {
  const Cluster cluster = accord::testing::gavelCluster({1});
  for (bool blind : {true, false})
    for (double weight : {1.0, 3.0}) {
      const std::vector<SteadyJob> jobs = {{"a", "LM", 0, 360 * 300, 1, weight, 0, {1}},
                                           {"b", "LM", 0, 360 * 100, 1, 1, 0, {1}}};
      MaxMinFairnessPolicy policy(cluster, jobs, blind);
      SimulationOptions options;
      options.round = 360;
      const auto result = simulate(cluster, simulatedJobs(jobs), policy, options);
      ASSERT_TRUE(result);
      double first = 0; // seconds of the first in 200 rounds
      for (const SimulatedSpan &span : result->spans)
        if (span.job == 0)
          first += std::max(0.0, std::min(span.end, 360.0 * 200) - std::min(span.start, 360.0 * 200));
      EXPECT_NEAR(first / (360 * 200), weight / (weight + 1), 0.02) << blind;
    }
}

TEST(GavelReplayTest, StrictQueueIsNotOvertaken) {
  const Cluster cluster = accord::testing::gavelCluster({2});
  const std::vector<SteadyJob> jobs = {
      {"a", "LM", 0, 1000, 1, 1, 0, {1}}, {"b", "LM", 1, 1000, 2, 1, 0, {1}}, {"c", "LM", 2, 10, 1, 1, 0, {1}}};
  const SimulationResult result = run("queue", cluster, jobs);
  EXPECT_LT(*result.jobs[0].start, *result.jobs[1].start);
  EXPECT_LT(*result.jobs[1].completion, *result.jobs[2].start + 1e-9);
}

/// Rounds that end early start the next when the last job stops; arrivals are still seen.
TEST(GavelReplayTest, RoundsEndEarly) {
  const Cluster cluster = accord::testing::gavelCluster({1});
  const std::vector<SteadyJob> jobs = {
      {"a", "LM", 0, 100, 1, 1, 0, {1}}, {"b", "LM", 50, 30, 1, 1, 0, {1}}, {"c", "LM", 500, 40, 1, 1, 0, {1}}};
  const SimulationResult result = run("queue", cluster, jobs);
  EXPECT_NEAR(*result.jobs[0].completion, 100, 1e-9);
  EXPECT_NEAR(*result.jobs[1].completion, 130, 1e-9);
  EXPECT_NEAR(*result.jobs[2].completion, 540, 1e-9);
}

TEST(SteadyProgressTest, InterruptedStepsAreLostWhereAskedFor) {
  const Cluster cluster = accord::testing::gavelCluster({1});
  const SteadyJob job{"a", "LM", 0, 10, 1, 1, 0, {0.35}};
  for (bool whole : {false, true}) {
    SteadyProgress progress(job, whole);
    EXPECT_EQ(progress.rate(), 0);
    progress.place(cluster, {{0, 1}});
    EXPECT_FALSE(progress.run(10));
    EXPECT_NEAR(progress.remaining(), whole ? 7 : 6.5, 1e-12);
    const auto complete = progress.run(100);
    ASSERT_TRUE(complete);
    EXPECT_NEAR(*complete, (whole ? 7 : 6.5) / 0.35, 1e-9);
  }
}

} // namespace
} // namespace accord::jobs
