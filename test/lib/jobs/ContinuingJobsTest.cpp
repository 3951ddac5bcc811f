// Jobs that continue after the schedule: by hand, what holds of them and what is refused.
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

/// One job that may continue, in 4 slots of 10 seconds; 1 device of 2 speeds, of which the fast one does 9 a second.
JobScheduleProblem oneJob() {
  JobScheduleProblem problem;
  problem.slot = 10, problem.slots = 4;
  problem.resources = {{"device", {1, 1, 1, 1}}};
  ScheduledJob job;
  job.name = "a", job.work = 1000, job.restart = 3, job.mayContinue = true;
  job.configurations = {{"slow", 4, {{0, 1}}, 5, 2}, {"fast", 9, {{0, 1}}, 20, 7}};
  problem.jobs = {job};
  problem.objectives = {JobMeasure::Completion};
  return problem;
}

std::string refusalOf(const JobScheduleProblem &problem, const JobSchedule &schedule) {
  auto verified = verifyJobSchedule(problem, schedule);
  return verified ? "" : verified.error().message;
}

} // namespace

TEST(ContinuingJobs, WhatContinuesLeavesNoMoreThanItMay) {
  JobScheduleProblem problem = oneJob();
  problem.objectives = {JobMeasure::Unfinished, JobMeasure::Restarts, JobMeasure::Completion};
  JobSchedule schedule; // 3 seconds of restart, 37 * 9 of work
  schedule.status = AllocationStatus::Feasible;
  schedule.jobs = {{{{0, 4, 1}}, 40, true}};
  schedule.values = {667'000, 1, 40};
  schedule.proofs = {{0, {}, {0, 0, 0, 0}, 1}, {0, {}, {0, 0, 0, 0, 0}, 1}, {40, {}, {0, 0, 0, 0, 0, 0}, 1}};
  EXPECT_EQ(refusalOf(problem, schedule), "");
  schedule.proofs[0].bound = 667'000;
  EXPECT_EQ(refusalOf(problem, schedule), "") << "no path does more";
  auto refused = [&](auto change, const std::string &message) {
    JobScheduleProblem other = problem;
    JobSchedule wrong = schedule;
    change(other, wrong);
    EXPECT_EQ(refusalOf(other, wrong), message);
  };
  refused([](JobScheduleProblem &p, JobSchedule &) { p.jobs[0].mayContinue = false; },
          "job 'a': it continues after the schedule with 667 of its work 1000, and may not");
  refused([](JobScheduleProblem &, JobSchedule &s) { s.jobs[0].completion = 39; },
          "job 'a': it continues after the schedule at 40, but completion 39 is said");
  refused([](JobScheduleProblem &, JobSchedule &s) { s.jobs[0].continues = false; },
          "job 'a': 667 of its work 1000 is left");
  refused([](JobScheduleProblem &, JobSchedule &s) { s.jobs[0] = {{}, -1, true}; },
          "job 'a': it has 0 runs and completion -1");
  refused([](JobScheduleProblem &p, JobSchedule &) { p.jobs[0].work = 300; },
          "job 'a': it continues after the schedule, and is complete");
  refused([](JobScheduleProblem &p,
             JobSchedule &s) { p.jobs[0].elasticity = Elasticity::Moldable, s.jobs[0].runs[0].end = 3; },
          "job 'a': it is moldable, and pauses in slot 3");
  refused([](JobScheduleProblem &p, JobSchedule &) { p.jobs[0].deadline = 114; }, // 74 * 9 = 666
          "job 'a': 667 of its work is left at 40, and at most 666 can be done by its deadline 114");
  refused([](JobScheduleProblem &, JobSchedule &s) { s.values[0] = 666'999; },
          "'goodput' is 667000, but 666999 is said");
  refused([](JobScheduleProblem &, JobSchedule &s) { s.values[1] = 0; }, "'restarts' is 1, but 0 is said");
  refused([](JobScheduleProblem &p, JobSchedule &) { p.limits = {{JobMeasure::Restarts, 0}}; },
          "'restarts' is 1, above its limit 0");
  refused([](JobScheduleProblem &p, JobSchedule &) { p.jobs[0].maxRestarts = 0; },
          "job 'a': it has 1 restarts, and may have 0");
  refused([](JobScheduleProblem &p, JobSchedule &) { p.limits = {{JobMeasure::Makespan, 39}}; },
          "'makespan' is 40, above its limit 39");
  problem.jobs[0].deadline = 115;
  EXPECT_EQ(refusalOf(problem, schedule), "");
  problem.jobs[0].deadline = -1, problem.jobs[0].arrival = 50; // after the horizon
  schedule.jobs = {{{}, 50, true}};
  schedule.values = {1'000'000, 0, 0}, schedule.proofs[0].bound = 1'000'000, schedule.proofs[2].bound = 0;
  schedule.status = AllocationStatus::Optimal;
  EXPECT_EQ(refusalOf(problem, schedule), "");
}

TEST(ContinuingJobs, NothingBeginsAfterWhatContinues) {
  JobScheduleProblem problem = oneJob();
  problem.resources[0].capacity.assign(4, 2);
  problem.jobs.push_back(problem.jobs[0]);
  problem.jobs[1].name = "b", problem.jobs[1].after = {0}, problem.jobs[1].work = 100;
  problem.jobs[1].mayBeRejected = true, problem.jobs[1].mayContinue = false;
  JobSchedule schedule;
  schedule.status = AllocationStatus::Feasible;
  schedule.jobs = {{{{0, 2, 1}}, 40, true}, {{{2, 4, 1}}, 35}};
  schedule.values = {75}, schedule.proofs = {{0, {}, {}, 1}};
  schedule.proofs[0].prices.assign(8, 0);
  EXPECT_EQ(refusalOf(problem, schedule), "job 'b' begins at 20, but job 'a' before it completes at 40");
  schedule.jobs[1] = {}, schedule.values = {40};
  EXPECT_EQ(refusalOf(problem, schedule), "");
  problem.jobs[1].mayBeRejected = false, problem.jobs[1].mayContinue = true;
  schedule.jobs[1] = {{}, 40, true}, schedule.values = {80};
  EXPECT_EQ(refusalOf(problem, schedule), "");
}
