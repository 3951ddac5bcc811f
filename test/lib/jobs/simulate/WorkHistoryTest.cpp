// What is learned of the work of jobs, and a policy that comes near to the one that knows it.
#include "lib/jobs/problem/WorkHistory.h"
#include "lib/import/jobs/TraceJobs.h"
#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/simulate/Seeds.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace accord;
using namespace accord::jobs;

namespace {

TEST(WorkHistory, SaysWhatIsExpectedWhereNothingWasLearned) {
  WorkHistory history;
  EXPECT_DOUBLE_EQ(history.left({"a", 10, 10, 2, 50}), 50);
  EXPECT_DOUBLE_EQ(history.left({"a", 4, 10, 2, 50}), 56); // another has done 6 more
  history.add({"a", 0, 2});                                // nothing to do: nothing to learn
  EXPECT_EQ(history.size(), 0u);
  history.add({"a", 8, 2});
  EXPECT_DOUBLE_EQ(history.left({"a", 10, 10, 2, 50}), 50); // none before had more work
}

TEST(WorkHistory, LearnsWhatIsLeft) {
  WorkHistory history;
  history.add({"a", 100, 5});
  history.add({"a", 50, 5});
  history.add({"a", 30, 5});
  // 20 s, 10 s and 6 s, of which 8 s are over: 12 s and 2 s are left, and 50 s are expected.
  EXPECT_NEAR(history.left({"b", 16, 16, 2, 100}), 2 * (12 + 2 + 50) / 3.0, 1e-12);
  // 60 and 10 are left of two; one more ends behind 60, which are 12 s: by (8 s + 20 s) / 2.
  EXPECT_NEAR(history.left({"a", 40, 60, 5, 100}), (60 + 10 + (20 + (40 + 100) / 2.0)) / 3, 1e-12);
  for (int i = 0; i < 2000; ++i)
    history.add({"a", 100, 5});
  EXPECT_NEAR(history.left({"a", 60, 60, 5, 9000}), 40, 0.1);
  EXPECT_NEAR(history.left({"b", 600, 600, 60, 9000}), 600, 6); // another application: 20 s each, of which 10 are over
}

TEST(WorkHistory, EarlierJobsSpeakForTheirOwnApplications) {
  WorkHistory history;
  history.addEarlier({"a", 100, 5});
  history.addEarlier({"b", 9000, 1});
  // "c" was never seen elsewhere: as if there were no history.
  EXPECT_DOUBLE_EQ(history.left({"c", 10, 10, 2, 50}), 50);
  // "a" was: 20 s and 9000 s, of which 2 s are over, and 50 s are expected; then 90 of its own.
  const double beyond = 5 * (18 + 8998 + 10) / 3.0;
  EXPECT_NEAR(history.left({"a", 10, 10, 5, 50}), (90 + beyond) / 2, 1e-9);
  history.add({"b", 30, 1}); // here
  EXPECT_NEAR(history.left({"c", 10, 10, 2, 50}), (2 * (30 - 5) + 50) / 2.0, 1e-12);
  EXPECT_EQ(history.size(), 3u);
}

TEST(WorkHistory, UnitsDoNotMatter) {
  SplitMix random(2);
  WorkHistory one, other;
  for (int i = 0; i < 60; ++i) {
    const double work = 1 + random.unit() * 100, rate = 1 + random.unit();
    one.add({i % 2 ? "a" : "b", work, rate});
    other.add({i % 2 ? "a" : "b", i % 2 ? 7 * work : work, i % 2 ? 7 * rate : rate});
  }
  for (double done : {0.0, 20.0, 70.0, 200.0})
    EXPECT_NEAR(7 * one.left({"a", done, done + 9, 1.5, 300}),
                other.left({"a", 7 * done, 7 * (done + 9), 7 * 1.5, 7 * 300}), 1e-6)
        << done;
}

/// The mean completion of jobs on one device.
double meanUnder(KnownWork knows, const std::vector<SimulatedJob> &jobs) {
  AllocationOptions options;
  options.knows = knows;
  AllocationPolicy policy(options);
  const Cluster cluster{{"a"}, {{0, 1}}};
  auto result = simulate(cluster, jobs, policy, {});
  EXPECT_TRUE(result);
  return result ? result->meanCompletion(jobs) : NAN;
}

TEST(WorkHistory, PolicyComesNearToTheOneThatKnowsTheWork) {
  double learned = 0, done = 0, left = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SplitMix random(seed);
    std::vector<SteadyJob> steady;
    double now = 0;
    for (int i = 0; i < 120; ++i) {
      const bool isLong = random.below(8) == 0;
      steady.push_back({"job", isLong ? "long" : "short", now, isLong ? 20'000.0 : 600.0, 1, 1, 0, {1.0}});
      now -= 3600 * std::log1p(-random.unit());
    }
    std::vector<SimulatedJob> jobs = simulatedJobs(steady);
    for (size_t i = 0; i < jobs.size(); ++i)
      jobs[i].application = steady[i].application;
    learned += meanUnder(KnownWork::Learned, jobs);
    done += meanUnder(KnownWork::Done, jobs);
    left += meanUnder(KnownWork::Left, jobs);
  }
  EXPECT_LE(left, learned);
  EXPECT_LT(learned, 1.02 * left);
  EXPECT_LT(learned, 0.6 * done);
}

TEST(WorkHistory, IsReadAsItWasWritten) {
  const std::vector<CompleteJob> jobs{{"a", 0.1 + 0.2, 3}, {"b \"c\", d", 7, 1e-3}, {" e", 1, 1}};
  auto again = readWorkHistory(printWorkHistory(jobs), "history.csv");
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->size(), jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ((*again)[i].application, jobs[i].application);
    EXPECT_EQ((*again)[i].work, jobs[i].work);
    EXPECT_EQ((*again)[i].rate, jobs[i].rate);
  }
}

TEST(DrawnTrace, KeepsTheRateOfItsJobs) {
  std::vector<double> arrivals;
  for (int i = 0; i < 50; ++i)
    arrivals.push_back(1000 + 60 * i);
  const auto drawn = drawTrace(arrivals, 20'000, 1.5, 3);
  ASSERT_EQ(drawn.size(), 20'000u);
  EXPECT_EQ(drawn.front().arrival, 0);
  EXPECT_TRUE(std::ranges::is_sorted(drawn, {}, &DrawnJob::arrival));
  EXPECT_NEAR(drawn.back().arrival / (20'000 - 1), 60 / 1.5, 1); // 3.5 standard errors
  std::set<size_t> jobs;
  for (const DrawnJob &one : drawn)
    jobs.insert(one.job);
  EXPECT_EQ(jobs.size(), arrivals.size());
  EXPECT_EQ(drawTrace(arrivals, 9, 1, 4).back().arrival, drawTrace(arrivals, 9, 1, 4).back().arrival);
  EXPECT_NE(drawTrace(arrivals, 9, 1, 4).back().arrival, drawTrace(arrivals, 9, 1, 5).back().arrival);
  EXPECT_EQ(drawTrace({5, 5, 5}, 4, 1, 0).back().arrival, 0); // all at once
  EXPECT_TRUE(drawTrace({}, 4, 1, 0).empty());
}

} // namespace
