// What budgets alone decide, in search and verifier, against all choices of modes.
#include "lib/scheduling/solve/BudgetChoices.h"
#include "lib/scheduling/solve/Solve.h"
#include "lib/scheduling/verify/Scheduling.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

/// Tasks of up to three modes, some of which no resource has room for.
SchedulingProblem drawn(std::mt19937 &random, size_t tasks, size_t budgets, int64_t capacity) {
  auto draw = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  SchedulingProblem problem;
  problem.name = "drawn";
  problem.addResource("R", 2);
  for (size_t b = 0; b < budgets; ++b)
    problem.budgets.push_back({"N" + std::to_string(b + 1), std::max<int64_t>(6, draw(capacity / 2, capacity))});
  for (size_t t = 0; t < tasks; ++t) {
    SchedulingProblem::Id task = problem.addTask("t" + std::to_string(t), draw(1, 5), {});
    auto &modes = problem.tasks[task].modes;
    modes.resize(draw(1, 3), modes[0]);
    for (auto &mode : modes) {
      mode.usage = {{0, draw(0, 4) == 0 ? 3 : 1}};
      for (SchedulingProblem::Id b = 0; b < budgets; ++b)
        if (int64_t amount = draw(0, 6); amount > 0)
          mode.spends.push_back({b, amount});
    }
    modes[0].usage = {{0, 1}};
  }
  return problem;
}

bool anyChoice(const SchedulingProblem &problem, size_t task, std::vector<int64_t> &left) {
  if (task == problem.tasks.size())
    return true;
  for (const auto &mode : problem.tasks[task].modes) {
    if (!problem.fits(mode))
      continue;
    std::vector<int64_t> after = left;
    bool holds = true;
    for (const auto &use : mode.spends)
      holds &= (after[use.of] -= use.amount) >= 0;
    if (holds && anyChoice(problem, task + 1, after))
      return true;
  }
  return false;
}

TEST(Budgets, AreDecidedAsByAllChoices) {
  std::mt19937 random(7);
  size_t without = 0;
  for (unsigned trial = 0; trial < 600; ++trial) {
    SCOPED_TRACE(trial);
    SchedulingProblem problem = drawn(random, 1 + trial % 8, 1 + trial % 3, 4 * (1 + trial % 8));
    std::vector<int64_t> left;
    for (const auto &budget : problem.budgets)
      left.push_back(budget.capacity);
    bool some = anyChoice(problem, 0, left);
    without += !some;
    ASSERT_EQ(solve::budgetsSuffice(problem), some);
    ASSERT_EQ(budgetsAdmitNothing(problem), !some);
    SchedulingResult result = schedule(problem);
    std::vector<std::string> trusted;
    ASSERT_TRUE(verify(problem, result, &trusted).empty());
    ASSERT_EQ(result.status == SchedulingResult::Status::Infeasible, !some);
    if (!some) {
      EXPECT_EQ(result.bound.kind, SchedulingBound::Kind::Budgets);
      EXPECT_TRUE(trusted.empty());
      continue;
    }
    // Whoever says so of a problem with a schedule is refused.
    SchedulingResult forged;
    forged.status = SchedulingResult::Status::Infeasible;
    forged.conflict = {"budget 'N1'"};
    forged.bound = {1000, SchedulingBound::Kind::Budgets, {}, 0, {}, "budgets"};
    EXPECT_FALSE(verify(problem, forged).empty());
  }
  EXPECT_GT(without, 100u);
  EXPECT_LT(without, 500u);
}

// Thirty tasks have a thousand million choices.
TEST(Budgets, OfManyTasksAreDecidedToo) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int64_t> draw(1, 9);
  for (unsigned trial = 0; trial < 20; ++trial) {
    SchedulingProblem problem;
    problem.budgets = {{"N1", 0}, {"N2", 0}};
    std::vector<int64_t> minSecond(300, INT64_MAX / 2); // of N2 by what is spent of N1
    minSecond[0] = 0;
    for (unsigned t = 0; t < 30; ++t) {
      SchedulingProblem::Id task = problem.addTask("t" + std::to_string(t), 1, {});
      auto &modes = problem.tasks[task].modes;
      modes.resize(2, modes[0]);
      std::vector<int64_t> next(minSecond.size(), INT64_MAX / 2);
      for (auto &mode : modes) {
        int64_t first = draw(random), second = draw(random);
        mode.spends = {{0, first}, {1, second}};
        for (size_t spent = 0; spent + first < minSecond.size(); ++spent)
          next[spent + first] = std::min(next[spent + first], minSecond[spent] + second);
      }
      minSecond = next;
    }
    problem.budgets[0].capacity = 110 + trial;
    int64_t needed = *std::min_element(minSecond.begin(), minSecond.begin() + 111 + trial);
    if (needed > 1000) // N1 alone is too small
      continue;
    problem.budgets[1].capacity = needed;
    EXPECT_EQ(solve::budgetsSuffice(problem), true);
    EXPECT_FALSE(budgetsAdmitNothing(problem));
    problem.budgets[1].capacity = needed - 1;
    EXPECT_EQ(solve::budgetsSuffice(problem), false);
    EXPECT_TRUE(budgetsAdmitNothing(problem));
  }
}

} // namespace
