// Batches that follow the noise of a training: against a choice by hand in each epoch, and on published profiles.
#include "lib/jobs/solve/BatchSchedule.h"
#include "lib/import/jobs/PolluxProfiles.h"
#include "lib/jobs/solve/GoodputFit.h"
#include "test/support/SharedData.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>

namespace accord::jobs {
namespace {

/// Two curves, whose noise grows threefold in each of four epochs.
TrainingProfile growing() {
  TrainingProfile profile;
  profile.name = "made";
  profile.placements = {{{1}, 8, {0.1, 0}}};
  for (int64_t batch : {32, 4096}) {
    ValidationCurve curve{batch, {}};
    for (int epoch = 1; epoch <= 4; ++epoch)
      curve.epochs.push_back({100.0 * epoch, 50.0 * epoch, 0, 1, std::pow(3.0, epoch)});
    profile.curves.push_back(curve);
  }
  profile.initialBatch = 32;
  profile.maxBatch = 4096;
  profile.minLocalBatch = 1;
  profile.maxLocalBatch = 512;
  profile.epochs = 4;
  return profile;
}

GoodputModel times() {
  GoodputModel model;
  model.compute = {0.05, 0.001};
  model.withinServer = {0.1, 0.005};
  model.betweenServers = {0.2, 0.01};
  model.gamma = 1.5;
  return model;
}

TEST(BatchSchedule, ChoosesTheBestOfAllSplitsInEachEpoch) {
  const TrainingProfile profile = growing();
  const DeviceCount on{2, 8};
  const BatchLimits limits{4096, 1, 512, true};
  const auto phases = batchSchedule(profile, times(), on, limits);
  ASSERT_TRUE(phases) << phases.error().message;
  ASSERT_EQ(phases->size(), 4u);
  int64_t before = 0;
  for (size_t epoch = 0; epoch < 4; ++epoch) {
    const BatchPhase &phase = (*phases)[epoch];
    EXPECT_DOUBLE_EQ(phase.progress, 0.25 * static_cast<double>(epoch));
    EXPECT_EQ(phase.batch, 8 * phase.split.atomic * (phase.split.accumulation + 1));
    EXPECT_GT(phase.batch, before); // more noise, a larger batch
    before = phase.batch;
    // Every split, by the formulas of Pollux.
    const double variance = std::pow(3.0, epoch + 1), compute = 0.05, sync = 0.2 + 0.01 * 6;
    double best = 0;
    for (int64_t steps = 1; steps <= 512; ++steps)
      for (int64_t atomic = 1; atomic <= 512; ++atomic) {
        const auto batch = static_cast<double>(8 * atomic * steps);
        if (batch < 32 || batch > 4096)
          continue;
        const double one = compute + 0.001 * static_cast<double>(atomic);
        const double seconds =
            static_cast<double>(steps - 1) * one + std::pow(std::pow(one, 1.5) + std::pow(sync, 1.5), 1 / 1.5);
        const double scale = batch / 32;
        best = std::max(best, batch / seconds * (variance + 1) / (variance / scale + 1) / scale);
      }
    EXPECT_NEAR(phase.goodput, best, 1e-9 * best);
    const double scale = static_cast<double>(phase.batch) / 32;
    EXPECT_NEAR(phase.scale.rate, (variance + 1) / (variance / scale + 1), 1e-9); // AdaScale
  }
}

TEST(BatchSchedule, StaysUntilAChangePays) {
  const BatchLimits limits{4096, 1, 64, true};
  const auto one = batchSchedule(growing(), times(), {2, 8}, limits, {LearningRateRule::Linear, Optimizer::Sgd, 1e6});
  ASSERT_TRUE(one);
  ASSERT_EQ(one->size(), 1u);
  EXPECT_DOUBLE_EQ(one->front().scale.rate, static_cast<double>(one->front().batch) / 32);
  const auto some = batchSchedule(growing(), times(), {2, 8}, limits, {LearningRateRule::Linear, Optimizer::Sgd, 1.3});
  ASSERT_TRUE(some);
  EXPECT_LE(some->size(), 4u);
}

TEST(BatchSchedule, RefusesWhatCannotBe) {
  const BatchLimits limits{4096, 1, 64, true};
  const TrainingProfile profile = growing();
  EXPECT_FALSE(batchSchedule(TrainingProfile{}, times(), {1, 1}, limits));
  EXPECT_FALSE(batchSchedule(profile, GoodputModel{}, {1, 1}, limits));
  EXPECT_FALSE(batchSchedule(profile, times(), {2, 1}, limits));
  EXPECT_FALSE(batchSchedule(profile, times(), {1, 1}, {16, 1, 64, true}));
  EXPECT_FALSE(batchSchedule(profile, times(), {1, 1}, {4096, 0, 64, true}));
  EXPECT_FALSE(batchSchedule(profile, times(), {1, 1}, {int64_t(1) << 41, 1, 64, true}));
  EXPECT_TRUE(batchSchedule(profile, times(), {1, 1}, {int64_t(1) << 40, 1, 64, true})); // however many steps
  EXPECT_FALSE(batchSchedule(profile, times(), {1, UINT32_MAX}, {4096, 1, 64, true}));
  EXPECT_FALSE(batchSchedule(profile, times(), {1, UINT32_MAX}, {int64_t(1) << 40, int64_t(1) << 40, INT64_MAX, true}));
  EXPECT_FALSE(batchSchedule(profile, times(), {1, 1}, limits, {LearningRateRule::AdaScale, Optimizer::Adam, 1}));
  EXPECT_FALSE(batchSchedule(profile, times(), {1, 1}, limits, {LearningRateRule::Linear, Optimizer::Sgd, 0.5}));
}

TEST(BatchSchedule, FollowsPublishedProfiles) {
  const std::filesystem::path folder = testing::sharedData("pollux");
  if (folder.empty())
    GTEST_SKIP() << accord::testing::kNoPollux;
  for (const char *application : {"bert", "cifar10", "deepspeech2", "imagenet", "yolov3"}) {
    const auto profile = readPolluxProfile((folder / "traces" / application).string(), polluxLimits(application));
    ASSERT_TRUE(profile) << profile.error().message;
    std::vector<MeasuredStep> rows;
    for (const PlacementTime &row : profile->placements)
      rows.push_back({{static_cast<unsigned>(row.placement.size()),
                       std::accumulate(row.placement.begin(), row.placement.end(), 0u)},
                      row.localBatch,
                      row.time.step - row.time.sync,
                      row.time.step});
    const auto fit = fitGoodput(rows);
    ASSERT_TRUE(fit) << fit.error().message;
    const BatchLimits limits{profile->maxBatch, profile->minLocalBatch, profile->maxLocalBatch, true};
    const auto phases = batchSchedule(*profile, fit->model, {4, 16}, limits, {LearningRateRule::AdaScale, {}, 1.02});
    ASSERT_TRUE(phases) << phases.error().message;
    ASSERT_FALSE(phases->empty());
    EXPECT_LE(phases->size(), profile->epochs);
    double before = -1;
    for (const BatchPhase &phase : *phases) {
      EXPECT_GT(phase.progress, before);
      EXPECT_LT(phase.progress, 1);
      EXPECT_GE(phase.batch, profile->initialBatch);
      EXPECT_LE(phase.batch, profile->maxBatch);
      EXPECT_GE(phase.scale.rate, 1);
      EXPECT_LE(phase.scale.rate, static_cast<double>(phase.batch) / static_cast<double>(profile->initialBatch) + 1e-9);
      before = phase.progress;
    }
    fmt::print("{}: {} phases of {} epochs, batch {} to {}, learning rate times {:.2f} to {:.2f}\n", application,
               phases->size(), profile->epochs, phases->front().batch, phases->back().batch, phases->front().scale.rate,
               phases->back().scale.rate);
  }
}

} // namespace
} // namespace accord::jobs
