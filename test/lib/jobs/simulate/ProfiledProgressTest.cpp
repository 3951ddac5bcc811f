// Progress of profiled trainings, and the policies Tiresias and Optimus, on cases that are worked out by hand.
#include "lib/jobs/simulate/ProfiledProgress.h"
#include "lib/jobs/simulate/Optimus.h"
#include "lib/jobs/simulate/Tiresias.h"
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

/// Two epochs. One device takes 2 s for 8 samples and 1 s for 4; more devices as in the rows.
TrainingProfile smallProfile() {
  TrainingProfile profile;
  profile.name = "small";
  profile.placements = {{{1}, 4, {1, 0}},     {{1}, 8, {2, 0.5}},    {{1, 2, 4}, 4, {3, 1}},  {{1, 2, 4}, 8, {5, 2}},
                        {{2}, 4, {1.25, .5}}, {{2}, 8, {2.25, .75}}, {{2, 2}, 4, {1.5, .75}}, {{2, 2}, 8, {2.5, 1}}};
  profile.scalability = {{6, 12, 4, {4, 2}}, {6, 12, 8, {6, 3}}};
  profile.curves = {{8, {{10.25, 10, 1, 1, 3}, {21, 20, 1, 1, 3}}}, {16, {{10.25, 8, 1, 1, 3}, {21, 16, 1, 1, 3}}}};
  profile.initialBatch = 8;
  profile.maxBatch = 16;
  profile.minLocalBatch = 4;
  profile.maxLocalBatch = 8;
  profile.epochs = 2;
  return profile;
}

std::shared_ptr<const ProfiledApplication> smallApplication() {
  auto made = ProfiledApplication::make(smallProfile());
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

TEST(ProfiledApplication, LooksUpRotationsAndInterpolatesLocalBatches) {
  const auto app = smallApplication();
  for (const std::vector<unsigned> &rotation : {std::vector<unsigned>{1, 2, 4}, {2, 4, 1}, {4, 1, 2}})
    EXPECT_EQ(app->stepTime(rotation, 6), (StepTime{4, 1.5}));
  EXPECT_EQ(app->stepTime({1}, 4), (StepTime{1, 0}));
  EXPECT_EQ(app->stepTime({1}, 8), (StepTime{2, 0.5}));
  EXPECT_FALSE(app->stepTime({1}, 3));
  EXPECT_FALSE(app->stepTime({1}, 9));
  EXPECT_FALSE(app->stepTime({}, 4));
  // 1, 4, 2 is no rotation of 1, 2, 4, but has as many servers and devices.
  const auto other = app->stepTime({1, 4, 2}, 6);
  ASSERT_TRUE(other);
  EXPECT_NEAR(other->step, 4, 1e-9);
  EXPECT_FALSE(app->stepTime(std::vector<unsigned>(7, 4), 6)); // beyond all that was measured
}

TEST(ProfiledApplication, RejectsProfilesThatAreNotWellFormed) {
  auto rejects = [](auto change) {
    TrainingProfile profile = smallProfile();
    change(profile);
    auto made = ProfiledApplication::make(profile);
    return !made && made.error().code == Code::WrongJobsFile;
  };
  EXPECT_TRUE(rejects([](TrainingProfile &p) { p.placements.clear(); }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { std::swap(p.placements[0], p.placements[1]); }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { std::swap(p.placements[1], p.placements[2]); }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { p.placements[0].placement = {1, 0}; }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { p.scalability[0].devices = 5; }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { p.curves.pop_back(), p.curves.pop_back(); }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { p.epochs = 3; }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { p.curves[0].epochs[1].progress = 10; }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { p.maxBatch = 7; }));
  EXPECT_TRUE(rejects([](TrainingProfile &p) { p.maxLocalBatch = 3; }));
}

TEST(SplitBatch, CoversTheBatchWithoutExceedingADevice) {
  TrainingProfile profile = smallProfile();
  profile.maxBatch = 1000;
  for (int64_t batch = 1; batch <= 400; ++batch)
    for (unsigned devices = 1; devices <= 20; ++devices) {
      const BatchSplit split = splitBatch(profile, batch, devices, false);
      const int64_t steps = split.accumulation + 1;
      EXPECT_LE(split.atomic, profile.maxLocalBatch);
      EXPECT_GE(split.atomic * steps * devices, batch);
      // One step fewer, or one sample fewer in each, is not enough.
      EXPECT_LT(profile.maxLocalBatch * (steps - 1) * devices, batch);
      EXPECT_LT((split.atomic - 1) * steps * devices, batch);
    }
  EXPECT_EQ(splitBatch(profile, 8, 1, true), (BatchSplit{4, 1}));
  profile.maxBatch = 16;
  EXPECT_EQ(splitBatch(profile, 16, 3, false).atomic, 5); // 6 would be 18 of 16
}

TEST(ProfiledProgress, EndsEpochsInWholeSecondsHalfToEven) {
  // 10.25 steps of 2 s are 20.5 s, rounded to 20; 10.75 are 21.5 s, rounded to 22.
  ProfiledProgress job(smallApplication(), 8);
  const Cluster cluster{{"t4"}, {{0, 4}}};
  job.place(cluster, {{0, 1}});
  EXPECT_EQ(job.split(), (BatchSplit{8, 0}));
  EXPECT_EQ(job.remainingIterations(), 10); // from the end of the first epoch, as the curves are numbered
  EXPECT_FALSE(job.run(19));
  EXPECT_EQ(job.epoch(), 0u);
  EXPECT_EQ(job.progress(), 9.5);
  EXPECT_FALSE(job.run(2)); // 1.5 s are left, rounded to 2
  EXPECT_EQ(job.epoch(), 1u);
  EXPECT_EQ(job.remainingIterations(), 1);
  EXPECT_EQ(job.run(60), 22);
  EXPECT_EQ(job.epoch(), 2u);
  ProfiledProgress whole(smallApplication(), 8);
  whole.place(cluster, {{0, 1}});
  EXPECT_EQ(whole.run(60), 42);
}

TEST(ProfiledProgress, GainsByNoiseAndPaysForAccumulation) {
  // Batch 16 on one device: two steps of 8, 2 + 1.5 s. Gain with S = 2: (3 + 1) / (1.5 + 1) = 1.6.
  ProfiledProgress job(smallApplication(), 16);
  job.place({{"t4"}, {{0, 4}}}, {{0, 1}});
  EXPECT_EQ(job.split(), (BatchSplit{8, 1}));
  EXPECT_FALSE(job.run(7));
  EXPECT_DOUBLE_EQ(job.progress(), 1.6 * 2);
}

TEST(ProfiledProgress, StaysWhereItsStepsAreNotKnown) {
  ProfiledProgress job(smallApplication(), 16);
  job.place({{"t4"}, {{0, 64}}}, {{0, 64}});
  EXPECT_FALSE(job.run(1e6));
  EXPECT_EQ(job.progress(), 0);
}

/// Views of jobs that ask for so many devices and wait.
struct Views {
  std::vector<SimulatedJob> jobs;
  std::vector<JobView> views;
  explicit Views(const std::vector<unsigned> &devices) : jobs(devices.size()) {
    for (size_t i = 0; i < devices.size(); ++i) {
      jobs[i].devices = jobs[i].maxDevices = devices[i];
      views.push_back({i, &jobs[i], nullptr, {}, 0, 0, 0});
    }
  }
  void place(const std::vector<JobPlacement> &placements) {
    for (size_t i = 0; i < placements.size(); ++i)
      views[i].placement = placements[i];
  }
};

TEST(Tiresias, LetsJobsThatHeldLittlePassAndKeepsDevices) {
  const Cluster cluster{{"t4"}, {{0, 4}, {0, 4}}};
  Views views({8, 2, 7});
  Tiresias policy(480); // 60 s of 8 devices
  auto alone = policy.decide(0, cluster, {views.views[0]});
  EXPECT_EQ(alone[0], (JobPlacement{{0, 4}, {1, 4}}));
  views.views[0].placement = alone[0];
  // Job 0 reached the threshold; 1 runs; 2 does not fit beside it, nor does 0.
  auto next = policy.decide(60, cluster, views.views);
  EXPECT_EQ(next, (std::vector<JobPlacement>{{}, {{0, 2}}, {}}));
  views.place(next);
  EXPECT_EQ(policy.decide(120, cluster, views.views), next); // job 1 stays where it is
  // When job 1 is complete, 2 goes before 0.
  EXPECT_EQ(policy.decide(180, cluster, {views.views[0], views.views[2]}),
            (std::vector<JobPlacement>{{}, {{0, 4}, {1, 3}}}));
}

TEST(Tiresias, PlacesOnTheEmptiestServerTheFirstOfEquals) {
  std::vector<unsigned> free{1, 3, 4, 4};
  EXPECT_EQ(placeOnEmptiest(free, 6), (JobPlacement{{2, 4}, {3, 2}}));
  EXPECT_EQ(free, (std::vector<unsigned>{1, 3, 0, 2}));
  EXPECT_EQ(placeOnEmptiest(free, 6), (JobPlacement{{1, 3}, {3, 2}, {0, 1}}));
}

TEST(Optimus, GivesDevicesWhereTheySaveMost) {
  const Cluster cluster{{"t4"}, {{0, 3}, {0, 3}}};
  Views views({6, 6, 2});
  // Seconds of a job on d devices: 120 / d, 60 / d and 120 / d. Job 2 can use two.
  Optimus policy({[](const JobView &job) { return job.job == 1 ? 60.0 : 120.0; },
                  [](const JobView &, unsigned devices) -> std::optional<double> { return 1.0 / devices; }});
  // One each; then 60 s are saved by jobs 0 and 2, and 30 s by job 1.
  auto placed = policy.decide(0, cluster, views.views);
  EXPECT_EQ(devicesOf(placed[0]), 2u);
  EXPECT_EQ(devicesOf(placed[1]), 2u);
  EXPECT_EQ(devicesOf(placed[2]), 2u);
  views.place(placed);
  EXPECT_EQ(policy.decide(60, cluster, views.views), placed);
  // Without job 1: job 0 gets four, job 2 keeps its devices.
  const auto fewer = policy.decide(120, cluster, {views.views[0], views.views[2]});
  EXPECT_EQ(devicesOf(fewer[0]), 4u);
  EXPECT_EQ(fewer[1], placed[2]);
}

TEST(Optimus, LetsLateJobsWaitWhereThereAreMoreJobsThanDevices) {
  const Cluster cluster{{"t4"}, {{0, 2}}};
  Views views({1, 1, 1});
  Optimus policy({[](const JobView &) { return 1.0; }, [](const JobView &, unsigned) { return std::nullopt; }});
  EXPECT_EQ(policy.decide(0, cluster, views.views), (std::vector<JobPlacement>{{{0, 1}}, {{0, 1}}, {}}));
}

} // namespace
} // namespace accord::jobs
