// What a run reports, and what follows: share, speed, time left, configurations that were learned.
#include "lib/service/progress/LearnedTable.h"
#include "lib/service/progress/ProgressTracker.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <gtest/gtest.h>

namespace accord::testing {
namespace {
using namespace accord::service;

TEST(ProgressTracker, SaysWhatIsPlannedBeforeAnythingIsReported) {
  ProgressTracker tracker(1000, 200, 100, 10);
  EXPECT_EQ(tracker.samples(100), 200);
  EXPECT_EQ(tracker.samples(110), 300);
  EXPECT_EQ(tracker.samples(1e6), 1000);
  EXPECT_EQ(tracker.saved(), 200);
  EXPECT_NEAR(tracker.timeLeft(110).value, 70, 1e-9);
  EXPECT_EQ(tracker.deviation(), 0);
}

/// A training with noisy steps, a slow first step and checkpoints: its progress is told within 2 %, and the time that
/// was really left lies in the interval nine times in ten.
TEST(ProgressTracker, IntervalsHoldTheTimeThatIsReallyLeft) {
  unsigned inside = 0, asked = 0, near = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SplitMix random(seed);
    const double step = 0.2 + random.unit(), noise = 0.3 * random.unit(), work = 64.0 * 2000;
    const unsigned every = 50 + static_cast<unsigned>(random.below(200));
    std::vector<std::pair<double, double>> truth; // time, samples
    double time = 1000 + 20 * random.unit(), samples = 0;
    for (unsigned i = 1; samples < work; ++i) {
      time += step * (1 + noise * (2 * random.unit() - 1)) + (i % every == 0 ? 5 * step : 0);
      samples += 64;
      truth.emplace_back(time, samples);
    }
    ProgressTracker tracker(work, 0, 1000, 0);
    size_t told = 0;
    for (size_t i = 0; i < truth.size(); ++i) {
      if (truth[i].first - (told ? truth[told - 1].first : 0) < 2)
        continue; // a line each two seconds
      told = i + 1;
      ProgressReport report;
      report.samples = truth[i].second, report.time = truth[i].first;
      tracker.add(report, truth[i].first);
      const double share = truth[i].second / work;
      if (share < 0.1 || share > 0.95 || i % 7 != 0)
        continue;
      const Interval left = tracker.timeLeft(truth[i].first);
      const double really = truth.back().first - truth[i].first;
      inside += left.low <= really && really <= left.high;
      // Half a second later, between two reports.
      const double now = truth[i].first + 0.5;
      double done = truth[i].second;
      for (size_t k = i; k < truth.size() && truth[k].first <= now; ++k)
        done = truth[k].second;
      near += std::abs(tracker.samples(now) - done) <= 0.02 * work;
      ++asked;
    }
  }
  ASSERT_GT(asked, 1000u);
  EXPECT_GE(static_cast<double>(inside) / asked, 0.9);
  EXPECT_EQ(near, asked);
}

TEST(ProgressTracker, TakesLateDoubleAndBackwardReports) {
  ProgressTracker tracker(1e6, 0, 0, 10);
  auto say = [&](double time, double samples) {
    ProgressReport report;
    report.time = time, report.samples = samples;
    tracker.add(report, time);
  };
  for (int i = 1; i <= 20; ++i)
    say(i, 100 * i);
  say(5, 1e5); // late
  say(20, 2000);
  EXPECT_NEAR(tracker.rate().value, 100, 1e-6);
  EXPECT_TRUE(tracker.isSettled());
  EXPECT_NEAR(tracker.deviation(), 9, 1e-6);
  say(21, 500); // it went on from a checkpoint
  EXPECT_FALSE(tracker.isSettled());
  EXPECT_EQ(tracker.samples(21), 500);
  // A program that hangs does not go on in the report.
  for (int i = 22; i <= 40; ++i)
    say(i, 500 + 100 * (i - 21));
  EXPECT_LE(tracker.samples(4000), 2400 + 200 + 1e-6);
}

/// Reports of each second over ten hours, of which few points are kept: they are about as far from each other all
/// along, so that the interval is that of what varied in the last third, and not of the last minutes alone.
TEST(ProgressTracker, KeepsPointsOfALongRunEvenly) {
  ProgressTracker tracker(1e9, 0, 0, 0);
  double samples = 0;
  for (int i = 0; i <= 36000; ++i) {
    samples += (i / 600) % 2 == 0 ? 90 : 110; // ten minutes slower, ten faster
    ProgressReport report;
    report.time = 1000 + i, report.samples = samples;
    tracker.add(report, report.time);
  }
  const std::vector<ProgressPoint> &history = tracker.history();
  ASSERT_LE(history.size(), 512u);
  ASSERT_GE(history.size(), 200u);
  EXPECT_EQ(history.front().time, 1000);
  EXPECT_EQ(history.back().time, 37000);
  for (size_t i = 1; i < history.size(); ++i)
    EXPECT_LE(history[i].time - history[i - 1].time, 36000 / 128.0);
  const Interval rate = tracker.rate();
  EXPECT_LE(rate.low, 100);
  EXPECT_GE(rate.high, 100);
  // Two reports are two seconds, however far the points are that are kept.
  EXPECT_NEAR(tracker.samples(38000), samples + 2 * rate.value, 0.01 * rate.value);
}

TEST(ProgressTracker, LateReportsChangeNothing) {
  ProgressTracker tracker(1000, 0, 0, 10);
  auto say = [&](double time, double samples, double saved) {
    ProgressReport report;
    report.time = time, report.samples = samples, report.saved = saved;
    tracker.add(report, time);
  };
  say(10, 100, 100), say(20, 200, 200), say(15, 150, 100);
  EXPECT_EQ(tracker.saved(), 200);
  EXPECT_EQ(tracker.reported(), 200);
}

TEST(ProgressTracker, TheStartTellsNoSpeed) {
  ProgressTracker tracker(10000, 500, 100, 0);
  ProgressReport report;
  for (auto [time, samples] : {std::pair(100, 500), {130, 600}, {140, 700}, {150, 800}, {160, 900}}) {
    report.time = time, report.samples = samples;
    tracker.add(report, time);
  }
  EXPECT_NEAR(tracker.rate().value, 10, 1e-9); // not 400 samples in 60 s
}

TEST(ProgressTracker, GoesOnWhereTheClockIsSetBack) {
  ProgressTracker tracker(1e6, 0, 0, 0);
  ProgressReport report;
  for (int i = 0; i < 60; ++i) {
    report.samples = 10 * i;
    tracker.add(report, 5000 + i);
  }
  tracker.shift(-3600);
  for (int i = 60; i < 120; ++i) {
    report.samples = 10 * i;
    tracker.add(report, 1400 + i);
  }
  EXPECT_EQ(tracker.reported(), 1190);
  EXPECT_NEAR(tracker.rate().value, 10, 1e-6);
}

TEST(ProgressHistory, IsThinnedEvenlyWithBothEnds) {
  std::vector<ProgressPoint> points;
  for (int i = 0; i < 1000; ++i)
    points.push_back({static_cast<double>(i), 2.0 * i});
  const std::vector<ProgressPoint> kept = thinned(points, 11);
  ASSERT_EQ(kept.size(), 11u);
  for (int i = 0; i < 11; ++i)
    EXPECT_NEAR(kept[i].time, 99.9 * i, 1);
  EXPECT_EQ(thinned(points, 2000).size(), 1000u);
}

TEST(Progress, ReadsUnitsOfTrials) {
  auto reports = parseProgress("{\"unit\": 3, \"value\": 0.9}\n{\"unit\": 4, \"samples\": 7}\n");
  ASSERT_TRUE(reports);
  EXPECT_EQ(reports->at(0).samples, 3);
  EXPECT_EQ(reports->at(0).saved, 3);
  EXPECT_EQ(reports->at(1).samples, 7); // what it says itself counts
  EXPECT_EQ(reports->at(1).saved, -1);
  EXPECT_FALSE(parseProgress("{\"unit\": -1}\n"));
}

TEST(ProgressTracker, ReadsLinesStrictly) {
  auto reports = parseProgress("{\"samples\": 12, \"loss\": -1.5, \"epoch\": 3}\n\n{\"saved\": 10}\n");
  ASSERT_TRUE(reports);
  ASSERT_EQ(reports->size(), 2u);
  EXPECT_EQ((*reports)[0].samples, 12);
  EXPECT_EQ((*reports)[1].samples, -1);
  for (const char *text : {"{\"samples\": \"many\"}", "[1]", "{", "{\"samples\": -1}", "{\"samples\": 1e999}"}) {
    auto wrong = parseProgress(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error().code, Code::WrongProgress);
  }
}

TEST(LearnedSpeeds, FitsAmdahlAndGoesOnToTwiceAsMany) {
  jobs::Cluster cluster;
  cluster.types = {"a100", "k80"};
  const std::vector<std::vector<int64_t>> counts{{1, 2, 4, 8, 16}, {1, 2, 4}};
  auto rateOf = [](double n) { return 30 * n / (1 + 0.1 * (n - 1)); };
  std::vector<SeenSpeed> seen{{"a100", 1, rateOf(1), 60}};
  auto speeds = learnedSpeeds(cluster, counts, {{"a100", 4}, {"k80", 1}}, seen);
  ASSERT_EQ(speeds.size(), 4u); // 1 and 2 of each type
  EXPECT_EQ(speeds[0].rate, 30);
  EXPECT_NEAR(speeds[1].rate, 60 / 1.05, 1e-9);
  EXPECT_NEAR(speeds[2].rate, 7.5, 1e-9);
  seen.push_back({"a100", 4, rateOf(4), 60});
  speeds = learnedSpeeds(cluster, counts, {}, seen);
  ASSERT_EQ(speeds.size(), 7u);
  EXPECT_NEAR(speeds[3].rate, rateOf(8), 1e-6);
  EXPECT_NEAR(speeds[4].rate, rateOf(1), 1e-6); // as fast as the other, where nothing is known
  EXPECT_TRUE(learnedSpeeds(cluster, counts, {}, {}).empty());
}

} // namespace
} // namespace accord::testing
