// Schedules of jobs against trying every slot of every job, and what must not change them.
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/TrajectoryGenerator.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "test/lib/jobs/JobScheduleCases.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;
using namespace accord::jobs::test;

static void expectVerified(const JobScheduleProblem &problem, const JobSchedule &schedule, int round) {
  auto verified = verifyJobSchedule(problem, schedule);
  EXPECT_TRUE(verified) << round << ": " << verified.error().message;
}

TEST(JobScheduler, EqualsTryingEverySlotOfEveryJob) {
  SplitMix random(1);
  size_t infeasible = 0;
  for (int round = 0; round < 1200; ++round) {
    const JobScheduleProblem problem = randomSchedule(random);
    auto checked = checkJobScheduleProblem(problem);
    ASSERT_TRUE(checked) << checked.error().message;
    const auto best = bestByTrying(problem);
    const JobSchedule found = solveJobSchedule(problem, {});
    expectVerified(problem, found, round);
    if (!best) {
      ++infeasible;
      EXPECT_EQ(found.status, AllocationStatus::Infeasible) << round;
      continue;
    }
    ASSERT_EQ(found.status, AllocationStatus::Optimal) << round;
    EXPECT_EQ(found.values, *best) << round << " " << nameOf(problem.objectives[0]);
    for (size_t i = 0; i < found.proofs.size(); ++i)
      EXPECT_EQ(found.proofs[i].bound, found.values[i]) << round;
  }
  EXPECT_GT(infeasible, 50u);
  EXPECT_LT(infeasible, 600u);
}

TEST(JobScheduler, GeneratedTrajectoriesKeepBoundsAndNearlyAlwaysFindTheBest) {
  SplitMix random(5);
  size_t feasible = 0, best = 0;
  for (int round = 0; round < 1200; ++round) {
    const JobScheduleProblem problem = randomSchedule(random);
    const auto optimum = bestByTrying(problem);
    const JobSchedule found = generateJobSchedule(problem, {});
    expectVerified(problem, found, round);
    if (!optimum) {
      EXPECT_TRUE(found.status == AllocationStatus::Infeasible || found.status == AllocationStatus::Unknown) << round;
      continue;
    }
    ++feasible;
    ASSERT_NE(found.status, AllocationStatus::Infeasible) << round;
    if (found.values.empty())
      continue;
    EXPECT_GE(found.values[0], (*optimum)[0]) << round;
    EXPECT_LE(found.proofs[0].bound, (*optimum)[0]) << round;
    best += found.values[0] == (*optimum)[0];
  }
  EXPECT_GT(best, feasible * 95 / 100);
}

TEST(JobScheduler, OrderOfJobsChangesNoValue) {
  SplitMix random(9);
  for (int round = 0; round < 200; ++round) {
    JobScheduleProblem problem = randomSchedule(random);
    const JobSchedule before = solveJobSchedule(problem, {});
    std::reverse(problem.jobs.begin(), problem.jobs.end());
    for (ScheduledJob &job : problem.jobs) {
      for (unsigned &other : job.after)
        other = static_cast<unsigned>(problem.jobs.size()) - 1 - other;
      std::reverse(job.after.begin(), job.after.end());
    }
    const JobSchedule after = solveJobSchedule(problem, {});
    EXPECT_EQ(before.status, after.status) << round;
    EXPECT_EQ(before.values, after.values) << round;
  }
}

/// Trainings of a night on three types of devices with a power cap that falls at midnight.
static JobScheduleProblem night(size_t jobs, int64_t slots, Elasticity elasticity) {
  SplitMix random(3);
  JobScheduleProblem problem;
  problem.slots = slots;
  for (const auto &[name, count] : {std::pair("h100", 16), std::pair("a100", 16), std::pair("v100", 32)})
    problem.resources.push_back({name, std::vector<int64_t>(slots, count)});
  problem.resources.push_back({"power", std::vector<int64_t>(slots, 30'000)});
  std::fill(problem.resources[3].capacity.begin() + slots / 2, problem.resources[3].capacity.end(), 20'000);
  for (size_t j = 0; j < jobs; ++j) {
    ScheduledJob job;
    job.name = "job" + std::to_string(j);
    job.arrival = static_cast<int64_t>(random.below(slots * problem.slot / 3));
    job.weight = 1 + static_cast<int64_t>(random.below(3));
    job.restart = 120, job.elasticity = elasticity;
    const double hours = 0.3 + 6 * random.unit() * random.unit();
    job.isolated = static_cast<int64_t>(3600 * hours) + 1;
    job.work = static_cast<int64_t>(hours * 3600 * 6000);
    for (unsigned type = 0; type < 3; ++type)
      for (int64_t devices = 1; devices <= 16; devices *= 2) {
        JobConfiguration one;
        one.speed = static_cast<int64_t>(1000 * (3 - type) * std::pow(static_cast<double>(devices), 0.85));
        one.watts = devices * (700 - 200 * type), one.price = devices * 100 * (3 - type);
        one.uses = {{type, devices}, {3, one.watts}};
        job.configurations.push_back(one);
      }
    if (j % 3 == 0)
      job.deadline = slots * problem.slot;
    problem.jobs.push_back(job);
  }
  problem.objectives = {JobMeasure::Completion};
  return problem;
}

TEST(JobScheduler, NightsAreNearTheirBounds) {
  for (const JobScheduleProblem &problem : {night(8, 24, Elasticity::Malleable), night(12, 56, Elasticity::Malleable),
                                            night(20, 56, Elasticity::Moldable)}) {
    ASSERT_TRUE(checkJobScheduleProblem(problem));
    SearchLimits limits;
    limits.effort = kQuickEffort;
    const JobSchedule found = solveJobSchedule(problem, limits);
    expectVerified(problem, found, 0);
    ASSERT_EQ(found.values.size(), 1u);
    EXPECT_LE(found.proofs[0].bound, found.values[0]);
    EXPECT_GE(found.proofs[0].bound, found.values[0] * 98 / 100);
  }
}

/// A configuration that fits into no slot would be the fastest of each job.
TEST(JobScheduler, ConfigurationsAboveACapacityDoNotWeakenBounds) {
  JobScheduleProblem problem = night(8, 24, Elasticity::Malleable);
  SearchLimits limits;
  limits.effort = kQuickEffort;
  const JobSchedule before = generateJobSchedule(problem, limits);
  for (ScheduledJob &job : problem.jobs) {
    JobConfiguration large = job.configurations.front();
    large.speed *= 100, large.uses = {{0, 17}, {3, 10}};
    job.configurations.push_back(large);
  }
  const JobSchedule found = generateJobSchedule(problem, limits);
  expectVerified(problem, found, 0);
  ASSERT_EQ(found.values.size(), 1u);
  EXPECT_GE(found.proofs[0].bound, found.values[0] * 98 / 100);
  EXPECT_GE(found.proofs[0].bound, before.proofs[0].bound * 98 / 100);
}

/// Where each job has to take one of its cheapest trajectories, faster ones have no part in the second bound.
TEST(JobScheduler, BoundsObjectivesOfMalleableJobsUnderATightLimit) {
  for (JobMeasure first : {JobMeasure::Price, JobMeasure::Slowdown}) {
    JobScheduleProblem problem = night(6, 24, Elasticity::Malleable);
    problem.objectives = {first, JobMeasure::Completion};
    SearchLimits limits;
    limits.effort = kQuickEffort;
    const JobSchedule found = generateJobSchedule(problem, limits);
    expectVerified(problem, found, 0);
    ASSERT_EQ(found.values.size(), 2u);
    for (size_t i = 0; i < found.values.size(); ++i)
      EXPECT_GE(found.proofs[i].bound, found.values[i] * 90 / 100) << nameOf(first) << " " << i;
  }
}

/// Under the limit of the first objective, a device in a slot has a price far above all values.
TEST(JobScheduler, ProvesASecondObjectiveUnderATightLimitOfTheFirst) {
  JobScheduleProblem problem = night(30, 96, Elasticity::Moldable);
  for (SlotResource &resource : problem.resources)
    for (int64_t &capacity : resource.capacity)
      capacity *= resource.name == "power" ? 100 : 2;
  for (JobMeasure second : {JobMeasure::Price, JobMeasure::Energy}) {
    problem.objectives = {JobMeasure::Completion, second};
    SearchLimits limits;
    limits.effort = kQuickEffort;
    const JobSchedule found = solveJobSchedule(problem, limits);
    expectVerified(problem, found, 0);
    ASSERT_EQ(found.values.size(), 2u);
    for (size_t i = 0; i < found.values.size(); ++i) {
      EXPECT_LE(found.proofs[i].bound, found.values[i]) << i;
      EXPECT_GE(found.proofs[i].bound, found.values[i] * 98 / 100) << i;
    }
  }
}
