// Problems and schedules of jobs written in the jobs dialect, printed, parsed and read again.
#include "lib/jobs/translate/JobsConversion.h"
#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/support/SplitMix.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace accord;
using namespace accord::jobs;

namespace {

/// Jobs one after the other on two types of devices, each in one run.
JobAnswer drawn(SplitMix &random) {
  JobAnswer answer;
  answer.name = "night";
  answer.cluster = {{"h100", "a100"}, {{0, 8}, {0, 8}, {1, 4}, {0, 8}}};
  JobScheduleProblem &problem = answer.problem;
  problem.slot = 60 * (1 + int64_t(random.below(30)));
  problem.slots = 64;
  problem.resources = {{"h100", std::vector<int64_t>(64, 24)}, {"a100", std::vector<int64_t>(64, 4)}, {"power", {}}};
  for (int slot = 0; slot < 64; ++slot)
    problem.resources[2].capacity.push_back(10'000 - int64_t(random.below(3)) * 100);
  problem.groups = {{"vision", 1 + int64_t(random.below(3))}};
  problem.objectives = {JobMeasure::Makespan, JobMeasure::Nash};
  problem.limits = {{JobMeasure::Price, int64_t(1) << 40}};
  problem.tail = int64_t(random.below(2));
  if (random.below(2))
    problem.carbon.assign(64, 70);
  answer.schedule.status = AllocationStatus::Feasible;
  for (unsigned j = 0; j < 6; ++j) {
    ScheduledJob job;
    job.name = "job[" + std::to_string(j) + "]";
    job.arrival = j * problem.slot;
    job.deadline = random.below(2) ? 64 * problem.slot : -1;
    job.due = random.below(2) ? int64_t(random.below(1000)) : -1;
    job.latePrice = job.due >= 0 ? 3 : 0;
    job.weight = int64_t(random.below(4));
    job.work = 100;
    job.elasticity = random.below(2) ? Elasticity::Malleable : Elasticity::Moldable;
    job.restart = int64_t(random.below(2));
    job.isolated = 1 + int64_t(random.below(9));
    job.mayBeRejected = j == 4;
    job.mayContinue = j == 3;
    job.maxRestarts = j == 5 ? 1 : -1;
    if (j == 3)
      job.elasticity = Elasticity::Malleable, job.deadline = -1;
    job.running = j == 0 ? 1 : -1;
    job.configurations = {{"wide", 9, {{0, 16}, {2, 300}}, 5, 7}, {"a100", 4, {{1, 4}}, 0, 0, 3}};
    if (j > 0 && random.below(2))
      job.after = {j - 1};
    if (random.below(2))
      job.groups = {0};
    problem.jobs.push_back(job);
    const unsigned configuration = random.below(2);
    const int64_t begin = int64_t(j) * 10, end = begin + 1 + int64_t(random.below(8));
    answer.schedule.jobs.push_back(
        j == 4   ? JobTrajectory{}
        : j == 3 ? JobTrajectory{{{begin, end, configuration}}, 64 * problem.slot, true}
                 : JobTrajectory{{{begin, end, configuration}}, end * problem.slot - int64_t(random.below(60))});
  }
  problem.jobs[4].after.clear(), problem.jobs[5].after.clear(); // the jobs before them continue, or are rejected
  answer.schedule.values = {int64_t(random.below(100)), -5};
  answer.schedule.proofs.resize(2);
  answer.schedule.proofs[1].bound = -7;
  return answer;
}

TEST(JobsConversion, WhatIsWrittenIsRead) {
  MLIRContext context;
  context.loadDialect<JobsDialect>();
  SplitMix random(11);
  for (int round = 0; round < 50; ++round) {
    JobAnswer answer = drawn(random);
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    auto at = UnknownLoc::get(&context);
    JobAnswer placed = answerFrom(writeProblem(builder, at, "night", answer.problem, answer.cluster), answer.schedule);
    placeJobs(placed);
    writeSchedule(builder, at, "night", answer.problem, answer.schedule, placed.placements);
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    auto parsed = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(parsed) << text;
    auto problem = *parsed->getOps<ProblemOp>().begin();
    auto schedule = *parsed->getOps<ScheduleOp>().begin();
    const JobSchedule read = scheduleFrom(schedule, problem);
    EXPECT_EQ(read.jobs, answer.schedule.jobs);
    EXPECT_EQ(read.values, answer.schedule.values);
    EXPECT_EQ(read.proofs[1].bound, -7);
    EXPECT_EQ(clusterFrom(problem).servers.size(), 4u);
    // All of the problem: written once more, it is the same text.
    OwningOpRef<ModuleOp> again = ModuleOp::create(at);
    OpBuilder second = OpBuilder::atBlockEnd(again->getBody());
    writeProblem(second, at, "night", problemFrom(problem), clusterFrom(problem));
    writeSchedule(second, at, "night", problemFrom(problem), read, placed.placements);
    std::string other;
    llvm::raw_string_ostream(other) << *again;
    EXPECT_EQ(other, text);
  }
}

TEST(JobsConversion, EachNumberOfAJob) {
  MLIRContext context;
  context.loadDialect<JobsDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
jobs.problem @p slots 4 of 60 s minimize ["cost"] tail 2 carbon 7, 9 from 2 {
  jobs.resource "power" capacity 5, 6 from 3
  jobs.resource "h100" capacity 8
  jobs.servers 1 of "h100" devices 8
  jobs.group "g" share 3
  jobs.limit "energy" at_most 4
  jobs.job "a" malleable arrival 0 waited 7 work 12 deadline 99 due 50 late_price 6 weight 2 restart 3 isolated 8 running "two" of ["g"] may_be_rejected may_continue max_restarts 4 {
    jobs.configuration "one" speed 1
    jobs.configuration "two" speed 5 watts 10 price 20 family 4 uses "h100" 2, "power" 4
  }
}
)",
                                            &context);
  ASSERT_TRUE(module);
  const JobScheduleProblem problem = problemFrom(*module->getOps<ProblemOp>().begin());
  EXPECT_EQ(problem.slot, 60);
  EXPECT_EQ(problem.tail, 2);
  EXPECT_EQ(problem.carbon, (std::vector<int64_t>{7, 7, 9, 9}));
  EXPECT_EQ(problem.resources[0].capacity, (std::vector<int64_t>{5, 5, 5, 6}));
  EXPECT_EQ(problem.objectives, std::vector{JobMeasure::Price});
  EXPECT_EQ(problem.limits[0].measure, JobMeasure::Energy);
  EXPECT_EQ(problem.groups[0].share, 3);
  const ScheduledJob &job = problem.jobs[0];
  EXPECT_EQ(job.deadline, 99);
  EXPECT_EQ(job.due, 50);
  EXPECT_EQ(job.latePrice, 6);
  EXPECT_EQ(job.weight, 2);
  EXPECT_EQ(job.restart, 3);
  EXPECT_EQ(job.isolated, 8);
  EXPECT_EQ(job.waited, 7);
  EXPECT_EQ(job.running, 1);
  EXPECT_TRUE(job.mayBeRejected && job.mayContinue);
  EXPECT_EQ(job.maxRestarts, 4);
  EXPECT_EQ(job.configurations[1].uses, (std::vector<ResourceUse>{{0, 4}, {1, 2}})) << "resources ascending";
  EXPECT_EQ(job.configurations[1].price, 20);
  EXPECT_EQ(job.configurations[1].watts, 10);
  EXPECT_EQ(job.configurations[1].family, 4u);
}

} // namespace
