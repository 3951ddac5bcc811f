// What all searches share, against exhaustion on small random cases.
#include "lib/search/BestFirstQueue.h"
#include "lib/search/Knapsack.h"
#include "lib/search/ParetoFront.h"
#include "lib/search/SearchLimits.h"
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace accord {
namespace {

using Numbers = std::array<int, 3>;

std::vector<Numbers> randomNumbers(std::mt19937 &random, size_t count) {
  std::vector<Numbers> all(count);
  for (Numbers &one : all)
    for (int &number : one)
      number = static_cast<int>(random() % 4);
  return all;
}

TEST(ParetoFront, KeepsWhatNothingDominatesAndTheFirstOfEquals) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<Numbers> all = randomNumbers(random, random() % 12), front, expected;
    for (const Numbers &one : all)
      addNondominated(front, one, isAtMost<Numbers>);
    for (size_t i = 0; i < all.size(); ++i) {
      bool dominated = false;
      for (size_t j = 0; j < all.size(); ++j)
        dominated |= isAtMost(all[j], all[i]) && (all[j] != all[i] || j < i);
      if (!dominated)
        expected.push_back(all[i]);
    }
    EXPECT_EQ(front, expected);
  }
}

TEST(ParetoFront, OfTwoObjectivesIsThatOfAll) {
  struct Point {
    int first, second;
    bool operator==(const Point &) const = default;
  };
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<Point> all, expected;
    for (const Numbers &one : randomNumbers(random, random() % 12))
      all.push_back({one[0], one[1]});
    for (const Point &one : all)
      addNondominated(expected, one, [](auto &a, auto &b) { return a.first <= b.first && a.second <= b.second; });
    std::ranges::sort(expected, {}, &Point::first);
    EXPECT_EQ(paretoFront(all, &Point::first, &Point::second), expected);
  }
}

TEST(ParetoFront, ComparesNothingOfDifferentLength) {
  EXPECT_FALSE(isAtMost(std::vector{1}, std::vector{2, 3}));
  EXPECT_TRUE(isAtMost(std::vector{1, 3}, std::vector{2, 3}));
}

TEST(BestFirstQueue, TakesTheFirstAndKeepsTheRest) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<int> values(random() % 20);
    std::ranges::generate(values, [&] { return static_cast<int>(random() % 9); });
    BestFirstQueue queue(std::greater<int>(), values);
    for (int more = 0; more < 5; ++more) {
      values.push_back(static_cast<int>(random() % 9));
      queue.push(values.back());
    }
    std::ranges::sort(values);
    EXPECT_TRUE(std::ranges::is_permutation(queue, values));
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(queue.size(), values.size() - i);
      EXPECT_EQ(queue.first(), values[i]);
      EXPECT_EQ(queue.pop(), values[i]);
    }
    EXPECT_TRUE(queue.empty());
  }
}

/// The least value of all choices from the item `at` on.
std::optional<int64_t> exhaust(const Knapsack &problem, size_t at, KnapsackOption sum) {
  for (size_t c = 0; c < kBudgets; ++c)
    if (sum.weights[c] > problem.budgets[c])
      return std::nullopt;
  if (at == problem.items.size())
    return sum.value;
  std::optional<int64_t> best;
  for (const KnapsackOption &option : problem.items[at]) {
    KnapsackOption next = sum;
    next.value += option.value;
    for (size_t c = 0; c < kBudgets; ++c)
      next.weights[c] += option.weights[c];
    if (auto value = exhaust(problem, at + 1, next); value && (!best || *value < *best))
      best = value;
  }
  return best;
}

TEST(Knapsack, IsTheBestOfAllChoices) {
  std::mt19937 random(4);
  size_t feasible = 0;
  for (int round = 0; round < 400; ++round) {
    Knapsack problem;
    problem.items.resize(1 + random() % 5);
    for (auto &item : problem.items) {
      item.resize(1 + random() % 4);
      for (KnapsackOption &option : item)
        option = {static_cast<int64_t>(random() % 20),
                  {static_cast<int64_t>(random() % 9), static_cast<int64_t>(random() % 9),
                   static_cast<int64_t>(random() % 3)}};
    }
    for (int64_t &budget : problem.budgets)
      if (random() % 3 > 0)
        budget = static_cast<int64_t>(random() % 25);
    KnapsackResult result = solve(problem, 1'000'000);
    std::optional<int64_t> best = exhaust(problem, 0, {});
    ASSERT_EQ(result.feasible, best.has_value());
    if (!best)
      continue;
    ++feasible;
    EXPECT_EQ(result.value, *best);
    EXPECT_EQ(result.bound, *best);
    Knapsack chosen = problem;
    for (size_t i = 0; i < chosen.items.size(); ++i)
      chosen.items[i] = {problem.items[i][result.choice[i]]};
    EXPECT_EQ(exhaust(chosen, 0, {}), best);
  }
  EXPECT_GT(feasible, 150u);
}

TEST(SearchControl, IsStoppedByItsFlag) {
  SearchLimits limits;
  EXPECT_FALSE(limits.stopped());
  std::atomic<bool> stop = false;
  limits.stop = &stop;
  EXPECT_FALSE(limits.stopped());
  stop = true;
  EXPECT_TRUE(limits.stopped());
}

} // namespace
} // namespace accord
