// Which tasks make a schedule as long as it is, and schedules in which no task can start earlier.
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/solve/Solve.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/lib/scheduling/SchedulingFamilies.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

using Id = SchedulingProblem::Id;

int64_t endOf(const SchedulingProblem &problem, const SchedulingSolution &solution, Id task) {
  return solution.start[task] + problem.tasks[task].modes[solution.mode[task]].duration;
}

/// Whether the later task waits for the earlier one: as stated, or for a resource that both use.
bool waits(const SchedulingProblem &problem, const SchedulingSolution &solution, Id earlier, Id later) {
  int64_t end = endOf(problem, solution, earlier);
  for (const auto &precedence : problem.precedences)
    if (precedence.before == earlier && precedence.after == later && end + precedence.delay == solution.start[later])
      return true;
  for (const auto &use : problem.tasks[earlier].modes[solution.mode[earlier]].usage)
    if (problem.tasks[later].modes[solution.mode[later]].uses(use.of) > 0 && end == solution.start[later])
      return true;
  return false;
}

/// A late schedule: all tasks as they are, those that may wait moved to the right one by one.
SchedulingSolution moved(const SchedulingProblem &problem, SchedulingSolution solution) {
  for (Id t = solution.start.size(); t-- > 0;)
    for (int step = 0; step < 3; ++step) {
      SchedulingSolution later = solution;
      later.start[t] += 1;
      if (endOf(problem, later, t) > solution.makespan || !verify(problem, later).empty())
        break;
      solution = later;
    }
  return solution;
}

} // namespace

TEST(CriticalChain, OfTwoMachines) {
  SchedulingProblem problem;
  Id saw = problem.addResource("saw", 1), drill = problem.addResource("drill", 1);
  Id a = problem.addTask("a", 3, {{saw, 1}}), b = problem.addTask("b", 4, {{saw, 1}});
  Id c = problem.addTask("c", 2, {{drill, 1}});
  problem.addTask("d", 1, {{drill, 1}});
  problem.addPrecedence(b, c, 2); // a, then b on the saw, two periods, then c: 3 + 4 + 2 + 2
  SchedulingSolution solution{{0, 3, 9, 0}, {0, 0, 0, 0}, 11};
  ASSERT_TRUE(verify(problem, solution).empty());
  EXPECT_EQ(criticalChain(problem, solution), (std::vector<Id>{a, b, c}));
  // One period later than needed: only what follows it is explained.
  solution = {{0, 4, 10, 0}, {0, 0, 0, 0}, 12};
  EXPECT_EQ(criticalChain(problem, solution), (std::vector<Id>{b, c}));
  EXPECT_EQ(leftJustified(problem, solution).makespan, 11);
  EXPECT_TRUE(criticalChain({}, {}).empty());
}

TEST(CriticalChain, BeginsAtZeroWhereNoTaskCanStartEarlier) {
  int seen = 0;
  for (unsigned seed = 0; seed < 150; ++seed)
    for (Family family : {Family::Projects, Family::Modes}) {
      const SchedulingProblem problem = FamilyMember(family, seed).problem;
      SolveOptions options;
      options.effort = 1;
      SchedulingResult result = schedule(problem, options);
      if (result.status != SchedulingResult::Status::Feasible)
        continue;
      SchedulingSolution solution = leftJustified(problem, moved(problem, result.solution));
      ASSERT_TRUE(verify(problem, solution).empty()) << nameOf(family) << " " << seed;
      ASSERT_LE(solution.makespan, result.solution.makespan);
      for (Id t = 0; t < problem.tasks.size(); ++t) {
        SchedulingSolution earlier = solution;
        if (problem.tasks[t].modes[solution.mode[t]].absent || --earlier.start[t] < 0)
          continue;
        EXPECT_FALSE(verify(problem, earlier).empty()) << nameOf(family) << " " << seed << ": task " << t;
      }
      std::vector<Id> chain = criticalChain(problem, solution);
      if (solution.makespan == 0)
        continue;
      ASSERT_FALSE(chain.empty());
      EXPECT_EQ(solution.start[chain.front()], 0) << nameOf(family) << " " << seed;
      EXPECT_EQ(endOf(problem, solution, chain.back()), solution.makespan);
      for (size_t i = 1; i < chain.size(); ++i)
        EXPECT_TRUE(waits(problem, solution, chain[i - 1], chain[i])) << nameOf(family) << " " << seed;
      ++seen;
    }
  EXPECT_GT(seen, 100);
}

TEST(CriticalChain, SchedulesWithBuffersStayAsTheyAre) {
  const SchedulingProblem problem = FamilyMember(Family::Memory, 1).problem;
  ASSERT_FALSE(problem.buffers.empty());
  SchedulingSolution late;
  late.start.assign(problem.tasks.size(), 1000), late.mode.assign(problem.tasks.size(), 0), late.makespan = 2000;
  EXPECT_EQ(leftJustified(problem, late).start, late.start);
}
