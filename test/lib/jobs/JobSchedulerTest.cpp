// Schedules of jobs against trying every slot of every job, and what must not change them.
#include "lib/jobs/solve/JobScheduler.h"
#include "test/lib/jobs/JobScheduleCases.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;
using namespace accord::jobs::test;

TEST(JobScheduler, EqualsTryingEverySlotOfEveryJob) {
  SplitMix random(1);
  size_t infeasible = 0;
  for (int round = 0; round < 1200; ++round) {
    const JobScheduleProblem problem = randomSchedule(random);
    auto checked = checkJobScheduleProblem(problem);
    ASSERT_TRUE(checked) << checked.error().message;
    const auto best = bestByTrying(problem);
    const JobSchedule found = solveJobSchedule(problem, {});
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
