// Schedules of jobs against trying every slot of every job, and what must not change them.
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/TrajectoryGenerator.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "test/lib/jobs/JobScheduleCases.h"
#include <fmt/format.h>
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
  size_t infeasible = 0, continuing = 0;
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
    continuing += std::ranges::count_if(found.jobs, [](const JobTrajectory &one) { return one.continues; });
  }
  EXPECT_GT(continuing, 100u);
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

TEST(JobScheduler, JobsStayInOneFamily) {
  SplitMix random(21);
  size_t feasible = 0, best = 0, differ = 0;
  for (int round = 0; round < 1500; ++round) {
    JobScheduleProblem plain = randomSchedule(random);
    for (ScheduledJob &job : plain.jobs) // changes are cheap
      job.elasticity = Elasticity::Malleable, job.restart = std::min<int64_t>(job.restart, 1), job.work *= 2;
    for (SlotResource &resource : plain.resources) // and gain something
      for (int64_t slot = 1; slot < plain.slots; slot += 2)
        resource.capacity[slot] /= 2;
    const JobScheduleProblem problem = inFamilies(plain, random);
    const auto optimum = bestByTrying(problem);
    const JobSchedule found = solveJobSchedule(problem, {}), generated = generateJobSchedule(problem, {});
    expectVerified(problem, found, round);
    expectVerified(problem, generated, round);
    if (!optimum) {
      EXPECT_EQ(found.status, AllocationStatus::Infeasible) << round;
      continue;
    }
    ++feasible;
    ASSERT_EQ(found.status, AllocationStatus::Optimal) << round;
    EXPECT_EQ(found.values, *optimum) << round;
    differ += bestByTrying(plain) != optimum;
    ASSERT_NE(generated.status, AllocationStatus::Infeasible) << round;
    if (!generated.values.empty()) {
      EXPECT_GE(generated.values[0], (*optimum)[0]) << round;
      EXPECT_LE(generated.proofs[0].bound, (*optimum)[0]) << round;
      best += generated.values[0] == (*optimum)[0];
    }
  }
  EXPECT_GT(best, feasible * 95 / 100);
  EXPECT_GT(differ, 20u); // the rule decides
}

TEST(JobScheduler, AChangeOfFamilyIsNoticed) {
  JobScheduleProblem problem;
  problem.slot = 10, problem.slots = 2;
  problem.resources = {{"type", {2, 1}}};
  ScheduledJob job;
  job.work = 30;
  job.configurations = {{"two", 2, {{0, 2}}}, {"one", 1, {{0, 1}}}};
  problem.jobs = {job};
  problem.objectives = {JobMeasure::Completion};
  const JobSchedule found = solveJobSchedule(problem, {});
  ASSERT_EQ(found.values, std::vector<int64_t>{20}); // 20 in the first slot, 10 in the second
  EXPECT_TRUE(verifyJobSchedule(problem, found));
  problem.jobs[0].configurations[1].family = 1;
  EXPECT_FALSE(verifyJobSchedule(problem, found));
  EXPECT_EQ(solveJobSchedule(problem, {}).status, AllocationStatus::Infeasible);
}

TEST(JobScheduler, OrderOfJobsChangesNoValue) {
  SplitMix random(9);
  for (int round = 0; round < 200; ++round) {
    JobScheduleProblem problem = randomSchedule(random);
    for (size_t job = 0; job < problem.jobs.size(); ++job)
      problem.jobs[job].name = fmt::format("job{}", job);
    const JobSchedule before = solveJobSchedule(problem, {}), generated = generateJobSchedule(problem, {});
    std::reverse(problem.jobs.begin(), problem.jobs.end());
    for (ScheduledJob &job : problem.jobs) {
      for (unsigned &other : job.after)
        other = static_cast<unsigned>(problem.jobs.size()) - 1 - other;
      std::reverse(job.after.begin(), job.after.end());
    }
    const JobSchedule after = solveJobSchedule(problem, {});
    EXPECT_EQ(before.status, after.status) << round;
    EXPECT_EQ(before.values, after.values) << round;
    const JobSchedule other = generateJobSchedule(problem, {});
    EXPECT_EQ(generated.values, other.values) << round;
    EXPECT_TRUE(verifyJobSchedule(problem, other)) << round;
    for (size_t i = 0; i < other.proofs.size(); ++i)
      EXPECT_EQ(generated.proofs[i].bound, other.proofs[i].bound) << round;
  }
}

TEST(JobScheduler, NoJobWaitsForNothing) {
  SplitMix random(31);
  int moved = 0;
  for (int round = 0; round < 300; ++round) {
    JobScheduleProblem problem = randomSchedule(random);
    const JobSchedule found = solveJobSchedule(problem, {});
    for (size_t job = 0; job < found.jobs.size(); ++job) {
      const JobTrajectory &one = found.jobs[job];
      if (one.runs.empty() || one.continues || problem.jobs[job].running >= 0)
        continue;
      for (int64_t sooner = 1; sooner <= one.runs.front().begin; ++sooner) {
        JobSchedule other = found;
        for (JobRun &run : other.jobs[job].runs)
          run.begin -= sooner, run.end -= sooner;
        other.jobs[job].completion -= sooner * problem.slot;
        EXPECT_FALSE(verifyJobSchedule(problem, other)) << round << " job " << job << " by " << sooner;
        ++moved;
      }
    }
  }
  EXPECT_GT(moved, 150);
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

/// Half of the trainings need longer than the horizon: as much as possible is done, then with few restarts.
TEST(JobScheduler, TrainingsThatContinueFillTheWeek) {
  for (const Elasticity elasticity : {Elasticity::Malleable, Elasticity::Moldable}) {
    JobScheduleProblem problem = night(6, 24, elasticity);
    for (size_t j = 0; j < problem.jobs.size(); j += 2) {
      problem.jobs[j].work *= 100, problem.jobs[j].deadline = -1;
      problem.jobs[j].mayContinue = true;
    }
    problem.objectives = {JobMeasure::Unfinished, JobMeasure::Restarts};
    ASSERT_TRUE(checkJobScheduleProblem(problem));
    SearchLimits limits;
    limits.effort = kQuickEffort;
    const JobSchedule found = solveJobSchedule(problem, limits);
    expectVerified(problem, found, 0);
    ASSERT_EQ(found.values.size(), 2u);
    EXPECT_GT(found.values[0], 0);
    EXPECT_GE(found.proofs[0].bound, found.values[0] * 80 / 100) << found.values[0];
    for (size_t j = 0; j < problem.jobs.size(); ++j)
      EXPECT_EQ(found.jobs[j].continues, j % 2 == 0) << j;
    problem.limits = {{JobMeasure::Restarts, 4}}; // of 6 jobs, of which 3 complete
    const JobSchedule few = solveJobSchedule(problem, limits);
    expectVerified(problem, few, 0);
    ASSERT_EQ(few.values.size(), 2u);
    EXPECT_LE(few.values[1], 4);
    EXPECT_GE(few.values[0], found.proofs[0].bound);
  }
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
