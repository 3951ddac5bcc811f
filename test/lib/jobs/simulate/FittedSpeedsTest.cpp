// What is taken for the speeds of a job of which only some steps were seen, on applications whose times are those of a
// known model; and jobs on several device types, with measured speeds and with estimates.
#include "lib/jobs/simulate/FittedSpeeds.h"
#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/simulate/GoodputPolicies.h"
#include <cmath>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

constexpr unsigned kServerDevices = 4;

/// Times with a constant, a slope and an overlap each, `slower` times as long.
GoodputModel knownModel(double slower = 1) {
  GoodputModel model;
  model.compute = {0.05 * slower, 0.002 * slower};
  model.withinServer = {0.03 * slower, 0.002 * slower};
  model.betweenServers = {0.08 * slower, 0.004 * slower};
  model.gamma = 1.6;
  model.noise = {1, 40};
  model.initialBatch = 32;
  return model;
}

/// Steps of all local batches from 8 to 128 on 1, 2 and 4 devices of a server and on up to 8 servers.
std::shared_ptr<const ProfiledApplication> application(const GoodputModel &model, int64_t maxLocal = 128) {
  TrainingProfile profile;
  profile.name = "known";
  for (const std::vector<unsigned> &placement :
       {std::vector<unsigned>{1}, {2}, {4}, {4, 4}, {4, 4, 4}, {4, 4, 4, 4}, std::vector<unsigned>(8, 4)})
    for (int64_t batch = 8; batch <= maxLocal; ++batch) {
      unsigned devices = 0;
      for (unsigned one : placement)
        devices += one;
      const double step = updateSeconds(model, {static_cast<unsigned>(placement.size()), devices}, {batch, 0});
      const double compute = model.compute.constant + model.compute.slope * static_cast<double>(batch);
      profile.placements.push_back({placement, batch, {step, step - compute}});
    }
  for (int64_t batch : {int64_t(32), int64_t(4096)}) {
    ValidationCurve curve{batch, {}};
    for (int epoch = 1; epoch <= 40; ++epoch)
      curve.epochs.push_back({5000.0 * epoch, 4000.0 * epoch, 0, model.noise.square, model.noise.variance});
    profile.curves.push_back(curve);
  }
  profile.initialBatch = model.initialBatch;
  profile.maxBatch = 4096;
  profile.minLocalBatch = 8;
  profile.maxLocalBatch = maxLocal;
  profile.epochs = 40;
  auto made = ProfiledApplication::make(std::move(profile));
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

std::vector<unsigned> filled(unsigned devices) {
  std::vector<unsigned> placement(devices / kServerDevices, kServerDevices);
  if (devices % kServerDevices)
    placement.push_back(devices % kServerDevices);
  return placement;
}

Cluster cluster(unsigned servers) {
  Cluster made{{"gpu"}, {}};
  made.servers.assign(servers, {0, kServerDevices});
  return made;
}

JobPlacement on(unsigned devices) {
  JobPlacement placement;
  for (unsigned server = 0; devices > 0; ++server) {
    placement.push_back({server, std::min(devices, kServerDevices)});
    devices -= placement.back().devices;
  }
  return placement;
}

TEST(FittedSpeeds, KnowNothingBeforeTheFirstStep) {
  const auto known = application(knownModel());
  const FittedSpeeds speeds({known});
  EXPECT_FALSE(speeds.isKnown());
  EXPECT_EQ(speeds.maxDevices(), 1u);
  EXPECT_EQ(speeds.rate(0, {1}), 1);
  EXPECT_EQ(speeds.rate(0, {2}), 0); // more than it may have
  EXPECT_EQ(speeds.split(0, {1}), (BatchSplit{32, 0}));
}

TEST(FittedSpeeds, ScalePerfectlyUntilMoreDevicesWereSeen) {
  const GoodputModel model = knownModel();
  const auto known = application(model);
  ProfiledProgress job({known}, std::make_shared<FittedSpeeds>(ApplicationTypes{known}));
  const Cluster eight = cluster(8);
  EXPECT_FALSE(job.knowsSpeed());
  for (unsigned devices = 1; devices <= 16; devices *= 2) {
    job.place(eight, on(devices));
    for (int round = 0; round < 6; ++round)
      ASSERT_FALSE(job.run(30));
    ASSERT_TRUE(job.knowsSpeed());
    for (unsigned seen = 1; seen <= devices; seen *= 2) // what was seen is known well
      EXPECT_NEAR(job.rate(eight, 0, seen) / known->bestRate(seen, kServerDevices, 0), 1, 0.06)
          << seen << " of " << devices;
    if (devices >= 32)
      break;
    EXPECT_GT(job.rate(eight, 0, 2 * devices), 0);
    EXPECT_EQ(job.rate(eight, 0, 4 * devices), 0); // at most twice as many as before
    // Nothing is known of links that were not seen: they cost no time, or 1.1 times those within a server.
    if (devices == 1 || devices == 4)
      EXPECT_GT(job.rate(eight, 0, 2 * devices), known->bestRate(2 * devices, kServerDevices, 0));
  }
}

TEST(FittedSpeeds, ProgressIsMeasuredAndKnowledgeIsNotLost) {
  const auto known = application(knownModel());
  ProfiledProgress job({known}, std::make_shared<FittedSpeeds>(ApplicationTypes{known}));
  const Cluster eight = cluster(8);
  job.place(eight, on(4));
  const auto checkpoint = job.copy();
  for (int round = 0; round < 12; ++round) {
    const double before = job.progress(), rate = known->progressRate({4}, job.split(), job.epoch());
    ASSERT_FALSE(job.run(7));
    EXPECT_NEAR(job.progress() - before, 7 * rate, 1e-9 * rate);
    EXPECT_GT(rate, 0);
  }
  EXPECT_EQ(checkpoint->workDone(), 0);
  EXPECT_TRUE(checkpoint->knowsSpeed());
  // The estimate chooses a batch that is nearly as good as the best.
  EXPECT_GT(known->progressRate({4}, job.split(), 0), 0.95 * known->bestRate(4, kServerDevices, 0));
}

TEST(FittedSpeeds, AllJobsCompleteUnderEachPolicy) {
  const auto known = application(knownModel());
  std::vector<SimulatedJob> jobs;
  for (int i = 0; i < 12; ++i)
    jobs.push_back(adaptiveJob("job" + std::to_string(i), 200.0 * i, {known}, 30, KnownSpeeds::Fitted));
  AllocationOptions knowsWork, knowsNone;
  knowsNone.knows = KnownWork::Done;
  AllocationPolicy exact(knowsWork), exactLas(knowsNone);
  SiaPolicy sia;
  PolluxObjective pollux;
  for (Policy *policy : std::initializer_list<Policy *>{&exact, &exactLas, &sia, &pollux}) {
    const auto first = simulate(cluster(4), jobs, *policy, {});
    ASSERT_TRUE(first) << first.error().message;
    for (const SimulatedOutcome &outcome : first->jobs)
      EXPECT_TRUE(outcome.completion);
    // No job has more than twice the devices that it had before.
    std::vector<unsigned> max(jobs.size(), 0);
    for (const SimulatedSpan &span : first->spans) {
      const unsigned devices = devicesOf(span.placement);
      EXPECT_LE(devices, std::max(1u, 2 * max[span.job]));
      max[span.job] = std::max(max[span.job], devices);
    }
  }
}

/// 2 servers of 4 slow devices, then 1 of 4 devices that are 4 times as fast and hold half of the samples.
Cluster twoTypes() { return {{"slow", "fast"}, {{0, 4}, {0, 4}, {1, 4}}}; }

TEST(SeveralTypes, JobsHaveTheSpeedAndTheBatchOfEach) {
  const auto slow = application(knownModel(4)), fast = application(knownModel(), 64);
  const Cluster both = twoTypes();
  ProfiledProgress job(ApplicationTypes{slow, fast}, std::nullopt);
  for (unsigned devices : {1u, 2u, 4u}) {
    EXPECT_EQ(job.rate(both, 0, devices), slow->bestRate(devices, 4, 0));
    EXPECT_EQ(job.rate(both, 1, devices), fast->bestRate(devices, 4, 0));
  }
  job.place(both, {{2, 4}});
  EXPECT_EQ(job.split(), *fast->bestSplit({4}, 0));
  EXPECT_LE(job.split().atomic, 64);
  ASSERT_FALSE(job.run(10));
  EXPECT_NEAR(job.progress(), 10 * fast->bestRate(4, 4, 0), 1e-9);
  job.place(both, {{0, 4}, {1, 4}});
  EXPECT_EQ(job.split(), *slow->bestSplit({4, 4}, 0));
  ASSERT_FALSE(job.run(10));
  EXPECT_NEAR(job.progress(), 10 * (fast->bestRate(4, 4, 0) + slow->bestRate(8, 4, 0)), 1e-9);
}

TEST(SeveralTypes, WhereAnApplicationCannotRunNoJobOfItIsPlaced) {
  const auto slow = application(knownModel(4)), fast = application(knownModel(), 64);
  for (KnownSpeeds speeds : {KnownSpeeds::Measured, KnownSpeeds::Fitted}) {
    std::vector<SimulatedJob> jobs = {adaptiveJob("anywhere", 0, {slow, fast}, 30, speeds),
                                      adaptiveJob("fast", 0, {nullptr, fast}, 30, speeds),
                                      adaptiveJob("slow", 0, {slow, nullptr}, 30, speeds)};
    AllocationPolicy exact({});
    SiaPolicy sia;
    PolluxObjective pollux;
    for (Policy *policy : std::initializer_list<Policy *>{&exact, &sia, &pollux}) {
      const auto result = simulate(twoTypes(), jobs, *policy, {});
      ASSERT_TRUE(result) << result.error().message;
      bool usesFast = false;
      for (const SimulatedSpan &span : result->spans) {
        const bool isFast = span.placement.front().server == 2;
        for (const ServerShare &share : span.placement) // one type at a time
          EXPECT_EQ(share.server == 2, isFast);
        EXPECT_TRUE(span.job != 1 || isFast);
        EXPECT_TRUE(span.job != 2 || !isFast);
        usesFast |= span.job == 0 && isFast;
      }
      EXPECT_TRUE(usesFast);
      EXPECT_LT(*result->jobs[1].completion, *result->jobs[2].completion);
    }
  }
}

TEST(SeveralTypes, ATypeThatWasNotSeenIsAsMuchFasterAsOnOneDevice) {
  const auto slow = application(knownModel(4)), fast = application(knownModel());
  FittedSpeeds speeds({slow, fast});
  EXPECT_EQ(speeds.rate(0, {1}), speeds.rate(1, {1})); // alike before the first step
  const auto time = slow->stepTime({1}, 32);
  ASSERT_TRUE(time);
  speeds.observe(0, {1, 1}, 32, *time, {1, 40});
  for (unsigned devices : {1u, 2u})
    EXPECT_NEAR(speeds.rate(1, filled(devices)) / speeds.rate(0, filled(devices)), 4, 1e-9);
  EXPECT_EQ(speeds.split(1, {2}), speeds.split(0, {2}));
  // The number of devices that a job may have counts on all types.
  EXPECT_GT(speeds.rate(1, {2}), 0);
  EXPECT_EQ(speeds.rate(1, {4}), 0);
}

} // namespace
} // namespace accord::jobs
