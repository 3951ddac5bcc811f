// Why jobs wait: small schedules of which each reason is known, and properties of large ones.
#include "JobAnswerCases.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

constexpr int64_t kSlot = 1800;

/// Sets the run of each job by hand: begin and end in slots, configuration.
JobAnswer scheduled(JobAnswer answer, const std::vector<std::vector<JobRun>> &runs, std::vector<int64_t> completions) {
  for (size_t j = 0; j < runs.size(); ++j)
    answer.schedule.jobs.push_back({runs[j], completions[j]});
  answer.waits = waitReasons(answer);
  return answer;
}

TEST(WaitReasons, NoJobsAndNoWaits) {
  EXPECT_TRUE(waitReasons(JobAnswer()).empty());
  JobAnswer answer = emptyAnswer();
  addJob(answer, "a", 1, 0, 0, {{0, 8}});
  addJob(answer, "b", 1, 1700, 100 * kSlot, {{0, 1}});
  answer = scheduled(answer, {{}, {{1, 3, 0}}}, {0, kSlot + 1860});
  EXPECT_TRUE(answer.waits.empty()) << "no work, and the begin of the next slot";
}

TEST(WaitReasons, NamesWhoHasTheDevices) {
  JobAnswer answer = emptyAnswer();
  answer.problem.resources[2].capacity.assign(48, 100'000);
  addJob(answer, "a", 1, 0, 1, {{0, 16}});
  addJob(answer, "b", 1, 0, 1, {{0, 4}});
  addJob(answer, "c", 1, 600, 1, {{0, 16}, {0, 8}});
  answer = scheduled(answer, {{{0, 4, 0}}, {{0, 6, 0}}, {{4, 5, 1}}}, {61, 61, 4 * kSlot + 61});
  ASSERT_EQ(answer.waits.size(), 1u);
  EXPECT_EQ(answer.waits[0].job, 2u);
  EXPECT_EQ(answer.waits[0].from, 600);
  EXPECT_EQ(answer.waits[0].until, 4 * kSlot);
  EXPECT_EQ(answer.waits[0].cause, WaitCause::Resource);
  EXPECT_EQ(answer.waits[0].text, "8 h100 are needed, and at most 4 of 24 are free: 'a' has 16, 'b' 4");
}

TEST(WaitReasons, PowerQuotaAndDevicesThatAreNotThere) {
  JobAnswer answer = emptyAnswer();
  answer.problem.resources[2].capacity.assign(48, 6000);
  addJob(answer, "a", 1, 0, 1, {{0, 8}});
  addJob(answer, "b", 1, 0, 1, {{0, 1}});
  answer = scheduled(answer, {{{0, 2, 0}}, {{2, 3, 0}}}, {61, 2 * kSlot + 61});
  ASSERT_EQ(answer.waits.size(), 1u);
  EXPECT_EQ(answer.waits[0].text, "700 W are needed, and at most 400 W of 6 kW are free: 'a' has 5.6 kW");

  answer = emptyAnswer();
  answer.problem.resources[3].capacity.assign(48, 8);
  addJob(answer, "a", 0, 0, 1, {{1, 8}});
  addJob(answer, "b", 0, 0, 1, {{0, 1}});
  answer = scheduled(answer, {{{0, 2, 0}}, {{2, 3, 0}}}, {61, 2 * kSlot + 61});
  ASSERT_EQ(answer.waits.size(), 1u);
  EXPECT_EQ(answer.waits[0].text, "1 of vision is needed, and none of 8 is free: 'a' has 8");

  answer = emptyAnswer();
  answer.problem.resources[0].capacity[0] = 4;
  addJob(answer, "a", 1, 0, 1, {{0, 8}});
  answer = scheduled(answer, {{{1, 2, 0}}}, {kSlot + 61});
  ASSERT_EQ(answer.waits.size(), 1u);
  EXPECT_EQ(answer.waits[0].text, "8 h100 are needed, and only 4 h100 are there");
}

TEST(WaitReasons, DependencesComeFirst) {
  JobAnswer answer = emptyAnswer();
  addJob(answer, "a", 1, 0, 1, {{0, 24}});
  addJob(answer, "b", 1, 0, 1, {{0, 24}});
  addJob(answer, "c", 1, 0, 1, {{0, 1}});
  answer.problem.jobs[2].after = {0};
  answer = scheduled(answer, {{{0, 2, 0}}, {{2, 4, 0}}, {{4, 5, 0}}}, {2 * kSlot, 4 * kSlot, 4 * kSlot + 61});
  ASSERT_EQ(answer.waits.size(), 3u);
  EXPECT_EQ(answer.waits[1].cause, WaitCause::Dependence);
  EXPECT_EQ(answer.waits[1].text, "it comes after 'a', which completes at 60 min");
  EXPECT_EQ(answer.waits[1].until, 2 * kSlot);
  EXPECT_EQ(answer.waits[2].cause, WaitCause::Resource);
  EXPECT_EQ(answer.waits[2].from, 2 * kSlot);
}

TEST(WaitReasons, GreenerAndCheaperAndLimits) {
  JobAnswer answer = emptyAnswer();
  answer.problem.carbon.assign(48, 100);
  answer.problem.carbon[0] = answer.problem.carbon[1] = 300;
  answer.problem.objectives = {JobMeasure::Makespan, JobMeasure::Carbon};
  addJob(answer, "a", 1, 0, 1, {{0, 8}});
  const JobAnswer green = scheduled(answer, {{{2, 3, 0}}}, {2 * kSlot + 61});
  ASSERT_EQ(green.waits.size(), 1u);
  EXPECT_EQ(green.waits[0].cause, WaitCause::Objective);
  EXPECT_EQ(green.waits[0].text, "a start at 0 s on 8 h100, data 8 would make the carbon worse: 3.024 kg CO2e instead "
                                 "of 1.008 kg CO2e");

  answer.problem.objectives = {JobMeasure::Completion};
  answer.problem.limits = {{JobMeasure::Carbon, 5600 * kSlot * 200}};
  const JobAnswer limited = scheduled(answer, {{{2, 3, 0}}}, {2 * kSlot + 61});
  ASSERT_EQ(limited.waits.size(), 1u);
  EXPECT_EQ(limited.waits[0].cause, WaitCause::Limit);
  EXPECT_EQ(limited.waits[0].text, "an earlier start would break the requirement 'carbon <= 2.016 kg CO2e'");

  answer.problem.limits.clear();
  const JobAnswer free = scheduled(answer, {{{2, 3, 0}}}, {2 * kSlot + 61});
  ASSERT_EQ(free.waits.size(), 1u);
  EXPECT_EQ(free.waits[0].cause, WaitCause::Other);
  EXPECT_EQ(free.waits[0].text, "8 h100, data 8 would have room at 0 s, which would improve the mean completion");
}

TEST(WaitReasons, TooShortAndTooSlow) {
  JobAnswer answer = emptyAnswer();
  answer.problem.resources[2].capacity.assign(48, 100'000);
  addJob(answer, "a", 1, 2 * kSlot, 1, {{0, 24}});
  addJob(answer, "b", 1, 0, 800 * kSlot, {{0, 8}}); // 691 speed: 2084 s and the restart
  addJob(answer, "c", 1, kSlot, 1100 * kSlot, {{0, 24}, {1, 4}});
  answer = scheduled(answer, {{{1, 3, 0}}, {{3, 5, 0}}, {{5, 6, 0}}}, {61, 3 * kSlot + 2144, 5 * kSlot + 1091});
  ASSERT_EQ(answer.waits.size(), 2u);
  EXPECT_EQ(answer.waits[0].cause, WaitCause::Duration);
  EXPECT_EQ(answer.waits[0].text, "8 h100, data 8 would have room from 0 s to 30 min only, and would take 35.73 min");
  EXPECT_EQ(answer.waits[1].cause, WaitCause::Completion);
  EXPECT_EQ(answer.waits[1].text,
            "4 a100, data 4 would have room at 30 min, but it would complete at 3.556 h instead of "
            "2.803 h");
}

TEST(WaitReasons, PausesAndLeftOut) {
  JobAnswer answer = emptyAnswer();
  answer.problem.resources[2].capacity.assign(48, 20'000);
  addJob(answer, "a", 1, 0, 1000 * kSlot, {{0, 24}});
  addJob(answer, "b", 1, 0, 1, {{0, 8}});
  addJob(answer, "c", 1, 0, 1, {{0, 100}});
  answer.problem.jobs[0].elasticity = Elasticity::Malleable;
  answer.problem.jobs[2].mayBeRejected = true;
  answer = scheduled(answer, {{{0, 1, 0}, {2, 3, 0}}, {{1, 2, 0}}, {}}, {2 * kSlot + 500, kSlot + 61, -1});
  ASSERT_EQ(answer.waits.size(), 3u);
  EXPECT_EQ(answer.waits[0].job, 0u);
  EXPECT_EQ(answer.waits[0].from, kSlot);
  EXPECT_EQ(answer.waits[0].text,
            "24 h100 are needed, and at most 16 of 24 are free: 'b' has 8; 16.8 kW are needed, and "
            "at most 14.4 kW of 20 kW are free: 'b' has 5.6 kW");
  EXPECT_EQ(answer.waits[2].text, "100 h100 are needed, and only 24 h100 are there; 70 kW are needed, and only 20 kW "
                                  "are there");
  EXPECT_EQ(answer.waits[2].until, 48 * kSlot);
}

TEST(WaitReasons, WhatContinuesWaitsUpToTheEnd) {
  JobAnswer answer = emptyAnswer();
  answer.problem.resources[2].capacity.assign(48, 100'000);
  addJob(answer, "a", 1, 0, 1000 * kSlot, {{0, 24}});
  addJob(answer, "b", 1, 0, int64_t(1) << 30, {{0, 8}});
  addJob(answer, "c", 1, 0, int64_t(1) << 30, {{0, 24}});
  for (size_t j : {1, 2}) {
    answer.problem.jobs[j].elasticity = Elasticity::Malleable;
    answer.problem.jobs[j].mayContinue = true;
  }
  answer.problem.objectives = {JobMeasure::Unfinished};
  answer.schedule.jobs = {{{{40, 41, 0}}, 40 * kSlot + 1000}, {{{0, 40, 0}}, 48 * kSlot, true}, {{}, 48 * kSlot, true}};
  answer.waits = waitReasons(answer);
  std::vector<JobWait> ofB, ofC;
  for (const JobWait &wait : answer.waits)
    (wait.job == 1 ? ofB : ofC).push_back(wait);
  std::erase_if(ofC, [](const JobWait &wait) { return wait.job == 0; });
  ASSERT_EQ(ofB.size(), 2u);
  EXPECT_EQ(ofB[0].from, 40 * kSlot);
  EXPECT_EQ(ofB[0].text, "8 h100 are needed, and none of 24 is free: 'a' has 24");
  EXPECT_EQ(ofB[1].from, 41 * kSlot);
  EXPECT_EQ(ofB[1].until, 48 * kSlot);
  EXPECT_EQ(ofB[1].text, "8 h100, data 8 would have room at 20.5 h, which would improve the unfinished work");
  ASSERT_EQ(ofC.size(), 2u);
  EXPECT_EQ(ofC[0].until, 41 * kSlot);
  EXPECT_EQ(ofC[1].until, 48 * kSlot);

  answer.problem.objectives = {JobMeasure::Price};
  answer.waits = waitReasons(answer);
  EXPECT_EQ(answer.waits.back().cause, WaitCause::Objective);
  EXPECT_EQ(answer.waits.back().text, "a start at 23.5 h on 24 h100, data 24 would make the cost worse: 38.88 $ "
                                      "instead of 0 $");
  answer.problem.objectives = {JobMeasure::Restarts};
  answer.waits = waitReasons(answer);
  EXPECT_EQ(answer.waits.back().text, "a start at 20.5 h on 24 h100, data 24 would make the restarts worse");
}

TEST(WaitReasons, CoverTheTimeBetweenArrivalAndStart) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    JobAnswer answer = manyJobs(60, seed);
    std::vector<int64_t> at(answer.problem.jobs.size(), -1);
    for (const JobWait &wait : answer.waits) {
      EXPECT_LT(wait.from, wait.until);
      EXPECT_FALSE(wait.text.empty());
      EXPECT_EQ(wait.from, at[wait.job] < 0 ? answer.problem.jobs[wait.job].arrival : at[wait.job]);
      at[wait.job] = wait.until;
      EXPECT_FALSE(wait.cause == WaitCause::Other && wait.text.find("mean completion") != std::string::npos)
          << "each job in turn has the run that completes first: " << wait.text;
    }
    for (size_t j = 0; j < at.size(); ++j) {
      const JobTrajectory &does = answer.schedule.jobs[j];
      const int64_t first = (answer.problem.jobs[j].arrival + kSlot - 1) / kSlot;
      if (!does.runs.empty() && does.runs[0].begin > first)
        EXPECT_EQ(at[j], does.runs[0].begin * kSlot) << answer.problem.jobs[j].name;
    }
  }
}

} // namespace
