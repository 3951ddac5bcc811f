// Conflicts: with any member relaxed there is a schedule, and repairs repair, by trying everything.
#include "lib/jobs/schedule/JobConflicts.h"
#include "test/lib/jobs/JobScheduleCases.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;
using namespace accord::jobs::test;

TEST(JobConflicts, AreSmallestAndTheirRepairsRepair) {
  SplitMix random(17);
  size_t conflicts = 0, repairs = 0;
  for (int round = 0; round < 500; ++round) {
    const JobScheduleProblem problem = randomSchedule(random);
    const auto conflict = explainConflict(problem, {});
    ASSERT_EQ(conflict.has_value(), !bestByTrying(problem).has_value()) << round;
    if (!conflict)
      continue;
    ++conflicts;
    EXPECT_FALSE(conflict->constraints.empty()) << round;
    EXPECT_TRUE(std::is_sorted(conflict->constraints.begin(), conflict->constraints.end())) << round;
    for (const JobRepair &repair : conflict->repairs) {
      ++repairs;
      EXPECT_TRUE(bestByTrying(repaired(problem, repair))) << round;
      if (repair.constraint.of == JobConstraint::Of::Deadline || repair.constraint.of == JobConstraint::Of::Capacity) {
        JobRepair less = repair; // a little less does not repair
        --less.value;
        EXPECT_FALSE(bestByTrying(repaired(problem, less))) << round;
      }
    }
    // All constraints of the conflict but one, and nothing else, leave a schedule.
    for (size_t without = 0; without < conflict->constraints.size(); ++without) {
      JobScheduleProblem all = problem;
      for (unsigned j = 0; j < problem.jobs.size(); ++j)
        for (auto of : {JobConstraint::Of::Deadline, JobConstraint::Of::MustRun})
          if (JobConstraint one{of, j, 0};
              !std::ranges::count(conflict->constraints, one) || one == conflict->constraints[without])
            all = relaxed(all, one);
      for (unsigned r = 0; r < problem.resources.size(); ++r)
        if (JobConstraint one{JobConstraint::Of::Capacity, r, 0};
            !std::ranges::count(conflict->constraints, one) || one == conflict->constraints[without])
          all = relaxed(all, one);
      for (unsigned l = 0; l < problem.limits.size(); ++l)
        if (JobConstraint one{JobConstraint::Of::Limit, l, 0};
            !std::ranges::count(conflict->constraints, one) || one == conflict->constraints[without])
          all = relaxed(all, one);
      for (unsigned j = 0; j < problem.jobs.size(); ++j)
        for (unsigned a = problem.jobs[j].after.size(); a-- > 0;)
          if (JobConstraint one{JobConstraint::Of::Dependence, j, a};
              !std::ranges::count(conflict->constraints, one) || one == conflict->constraints[without])
            all = relaxed(all, one);
      EXPECT_TRUE(bestByTrying(all)) << round << " without " << without;
    }
  }
  EXPECT_GT(conflicts, 60u);
  EXPECT_GT(repairs, 60u);
}
