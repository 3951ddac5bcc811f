// Strategies of hardware mining: what holds of all of them, and how near they come.
#include "lib/exploration/solve/MiningRandom.h"
#include "test/lib/exploration/MineProblems.h"
#include "test/support/Random.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace accord;
using namespace accord::test;

namespace {

class MineEvery : public testing::TestWithParam<std::string> {
protected:
  MiningResult mine(MiningProblem &problem, const MiningOptions &options = {}) {
    return miningStrategy(GetParam())(problem, options);
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

} // namespace

TEST_P(MineEvery, ReturnsADesignOfTheSpaceWithinLimits) {
  for (uint64_t seed = 0; seed < (GetParam() == "bayes" ? 5 : 60); ++seed) {
    TableProblem problem(seed);
    double min = *std::min_element(problem.table.begin(), problem.table.end());
    for (uint64_t limit : {0, 1, 3, 20, 60}) {
      MiningOptions options;
      options.evaluations = limit;
      options.seed = seed;
      problem.values = problem.bounds = 0;
      MiningResult result = mine(problem, options);
      EXPECT_EQ(result.strategy, GetParam());
      EXPECT_LE(problem.values, limit);
      EXPECT_EQ(problem.values, result.evaluations);
      EXPECT_EQ(problem.bounds, result.bounds);
      EXPECT_LE(result.bound, min);
      EXPECT_GE(result.value, min);
      EXPECT_EQ(result.best.has_value(), std::isfinite(result.value));
      if (result.best) {
        ASSERT_EQ(result.best->size(), problem.all.size());
        for (size_t i = 0; i < problem.all.size(); ++i)
          EXPECT_LT((*result.best)[i], problem.all[i].labels.size());
        EXPECT_EQ(result.value, problem.valueOf(*result.best));
      }
      ASSERT_FALSE(result.convergence.empty());
      EXPECT_EQ(result.convergence.back().incumbent, result.value);
      EXPECT_EQ(result.convergence.back().bound, result.bound);
      for (size_t i = 1; i < result.convergence.size(); ++i)
        EXPECT_LE(result.convergence[i].incumbent, result.convergence[i - 1].incumbent);
    }
  }
}

TEST_P(MineEvery, IsTheSameAgainAndWithThreads) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    MiningOptions options;
    options.evaluations = 70;
    options.seed = seed;
    HardwareProblem a(seed), b(seed);
    MiningResult one = mine(a, options);
    options.threads = 3;
    MiningResult three = mine(b, options);
    EXPECT_EQ(one.value, three.value);
    EXPECT_EQ(one.best, three.best);
    EXPECT_EQ(one.evaluations, three.evaluations);
    EXPECT_EQ(one.bounds, three.bounds);
    EXPECT_EQ(one.convergence.size(), three.convergence.size());
  }
}

TEST_P(MineEvery, FindsNothingWhereNothingMayBe) {
  class Impossible : public TableProblem {
  public:
    using TableProblem::TableProblem;
    double boundIn(const DesignBox &) override { return reported ? INFINITY : 1; }
    bool reported = false;
  } problem(5, 200);
  for (double &value : problem.table)
    value = INFINITY;
  for (bool reported : {false, true}) {
    problem.reported = reported;
    MiningResult result = mine(problem);
    EXPECT_FALSE(result.best);
    EXPECT_EQ(result.value, INFINITY);
    EXPECT_EQ(result.gap(), 0);
    EXPECT_TRUE(result.bound == 1 || result.bound == INFINITY);
  }
}

TEST_P(MineEvery, OneDesignAndVastlyMany) {
  TableProblem one(1);
  one.all = {numbers("a.count", {2}), numbers("b.rows", {2}), numbers("c", {2})};
  one.table = {5};
  MiningResult only = mine(one);
  EXPECT_EQ(only.best, (Design{0, 0, 0}));
  EXPECT_EQ(only.value, 5);
  EXPECT_EQ(only.evaluations, 1u);
  EXPECT_EQ(only.bound, 5);

  VastProblem vast;
  MiningOptions options;
  options.evaluations = 150;
  MiningResult result = mine(vast, options);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.value, vast.sum(*result.best));
  EXPECT_EQ(result.bound, 1);
  EXPECT_LE(result.evaluations, 150u);
  if (GetParam() == "exhaustive") {
    options.evaluations = UINT64_MAX;
    EXPECT_TRUE(mine(vast, options).refused);
  }
}

TEST_P(MineEvery, EndsWithoutALimit) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    TableProblem problem(seed, 300);
    MiningResult result = mine(problem);
    if (result.evaluations == problem.table.size())
      EXPECT_EQ(result.bound, result.value);
  }
}

TEST_P(MineEvery, StopsWhenTold) {
  HardwareProblem problem(1);
  std::atomic<bool> stop = true;
  MiningOptions options;
  options.stop = &stop;
  MiningResult result = mine(problem, options);
  EXPECT_LE(result.evaluations, 64u);
}

INSTANTIATE_TEST_SUITE_P(Strategies, MineEvery, testing::ValuesIn(miningStrategies()),
                         [](const auto &info) { return info.param; });

TEST(Mine, NamesOfStrategies) {
  EXPECT_EQ(miningStrategies().size(), 8u);
  for (const std::string &name : miningStrategies()) {
    TableProblem problem(1);
    EXPECT_EQ(miningStrategy(name)(problem, {}).strategy, name);
  }
  EXPECT_EQ(miningStrategy("Exact"), nullptr);
}

TEST(Mine, RandomOrderIsAPermutation) {
  for (uint64_t size : {1, 2, 3, 4, 5, 16, 17, 1000, 4097}) {
    Shuffled order(size, size);
    std::set<uint64_t> seen;
    size_t fixed = 0;
    for (uint64_t i = 0; i < size; ++i) {
      seen.insert(order.at(i));
      fixed += order.at(i) == i;
    }
    EXPECT_EQ(seen.size(), size);
    EXPECT_LT(*seen.rbegin(), size);
    if (size > 100)
      EXPECT_LT(fixed, 12u); // one on average
  }
  Shuffled large(uint64_t(1) << 63, 1);
  std::set<uint64_t> seen;
  uint64_t upper = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    seen.insert(large.at(i));
    upper += large.at(i) >= uint64_t(1) << 62;
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_NEAR(static_cast<double>(upper), 500, 80); // 5 deviations
}

TEST(Mine, RandomDrawsNoDesignTwice) {
  class Once : public TableProblem {
  public:
    using TableProblem::TableProblem;
    double valueOf(const Design &design) override {
      if (!bounding)
        EXPECT_TRUE(seen.insert(design).second);
      return TableProblem::valueOf(design);
    }
    double boundIn(const DesignBox &box) override {
      bounding = true;
      double bound = TableProblem::boundIn(box);
      bounding = false;
      return bound;
    }
    std::set<Design> seen;
    bool bounding = false;
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Once problem(seed, 1500);
    MiningResult result = mineAtRandom(problem);
    size_t possible = 0;
    problem.bounding = true;
    for (size_t point = 0; point < problem.table.size(); ++point) {
      Design design = problem.at(point);
      bool may = problem.boundIn({design, design}) < INFINITY;
      possible += may;
      problem.bounding = true;
      EXPECT_EQ(problem.seen.contains(design), may); // all, and no evaluation for what may not be
    }
    EXPECT_EQ(problem.seen.size(), possible);
    EXPECT_EQ(result.evaluations, possible);
    EXPECT_EQ(result.bound, result.value);
  }
}

namespace {

/// Of each design the value and the area (in bins) are given.
class BinnedProblem : public CountingProblem {
public:
  explicit BinnedProblem(std::vector<std::pair<double, double>> given) : given(std::move(given)) {
    std::vector<double> values;
    for (size_t i = 0; i < this->given.size(); ++i)
      values.push_back(static_cast<double>(i + 1));
    all = {numbers("p", values)};
  }
  double boundIn(const DesignBox &box) override { return box.one() && std::isinf(valueOf(box.low)) ? INFINITY : 1; }
  double valueOf(const Design &design) override { return given[design[0]].first; }
  std::vector<std::string> costNames() override { return {"area"}; }
  std::vector<double> costs(const DesignBox &box) override { return {(given[box.low[0]].second + 0.5) * 1e-8}; }
  std::vector<std::pair<double, double>> given;
};

} // namespace

TEST(Mine, AreaBinsEndAfterFiveThatAreNoBetter) {
  // By area: 9, better 8, 8 again (of two designs the better counts), 8.5, a bin of nothing, 9, 10:
  // the fifth in a row. What comes after is never seen.
  BinnedProblem problem({{1, 1}, {10, 2}, {9, 3}, {INFINITY, 4}, {8.5, 5}, {8, 6}, {12, 6}, {8, 7}, {9, 8}});
  MiningResult result = mineByAreaBins(problem, {});
  EXPECT_EQ(result.value, 8);
  EXPECT_EQ(result.best, (Design{5}));
  EXPECT_EQ(result.evaluations, 7u);
  EXPECT_EQ(result.bound, 1);
  // One better bin begins the count anew.
  problem.given[2].first = 8.4;
  result = mineByAreaBins(problem, {});
  EXPECT_EQ(result.value, 1);
  EXPECT_EQ(result.evaluations, 8u);
  EXPECT_EQ(result.bound, 1);
}

TEST(Mine, NearTheOptimumOfWhatLooksLikeHardware) {
  std::map<std::string, std::vector<double>> above;
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(cases(12)); ++seed) {
    HardwareProblem problem(seed);
    MiningResult exact = mineExactly(problem);
    ASSERT_TRUE(exact.best) << seed;
    EXPECT_EQ(exact.gap(), 0) << seed;
    for (const char *name : {"annealing", "wham", "genetic"}) {
      MiningResult result = miningStrategy(name)(problem, {});
      EXPECT_GE(result.value, exact.value);
      EXPECT_LE(result.bound, exact.value);
      above[name].push_back(result.value / exact.value - 1);
    }
    if (seed < 16) // with as many evaluations the process does better than chance
      for (const char *name : {"bayes", "random"}) {
        MiningOptions options;
        options.evaluations = 80;
        options.seed = seed;
        above[name].push_back(miningStrategy(name)(problem, options).value / exact.value - 1);
      }
  }
  for (const auto &[name, values] : above)
    RecordProperty(name, fmt::format("{:.4f} above in the median, {:.4f} at most", median(values),
                                     *std::max_element(values.begin(), values.end())));
  EXPECT_LE(median(above["wham"]), 0.05);
  EXPECT_LE(median(above["annealing"]), 0.05);
  EXPECT_LE(median(above["genetic"]), 0.05);
  EXPECT_LT(median(above["bayes"]), median(above["random"]));
}
