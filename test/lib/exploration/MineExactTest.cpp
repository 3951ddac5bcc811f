// Branch and bound of hardware mining: against every design of random spaces.
#include "lib/support/documents/JsonParse.h"
#include "test/lib/exploration/MineProblems.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace accord;
using namespace accord::test;
using testing::HasSubstr;

namespace {

struct Optimum {
  double value = INFINITY;
  std::optional<Design> design; ///< the first
};

Optimum optimum(const TableProblem &problem) {
  Optimum min;
  for (size_t point = 0; point < problem.table.size(); ++point)
    if (problem.table[point] < min.value)
      min = {problem.table[point], problem.at(point)};
  return min;
}

void expectSame(const MiningResult &a, const MiningResult &b, const std::string &where) {
  EXPECT_EQ(a.value, b.value) << where;
  EXPECT_EQ(a.best, b.best) << where;
  EXPECT_EQ(a.bound, b.bound) << where;
  EXPECT_EQ(a.evaluations, b.evaluations) << where;
  EXPECT_EQ(a.bounds, b.bounds) << where;
  EXPECT_EQ(a.proof, b.proof) << where;
  ASSERT_EQ(a.convergence.size(), b.convergence.size()) << where;
  for (size_t i = 0; i < a.convergence.size(); ++i) {
    EXPECT_EQ(a.convergence[i].evaluations, b.convergence[i].evaluations) << where;
    EXPECT_EQ(a.convergence[i].bounds, b.convergence[i].bounds) << where;
    EXPECT_EQ(a.convergence[i].incumbent, b.convergence[i].incumbent) << where;
    EXPECT_EQ(a.convergence[i].bound, b.convergence[i].bound) << where;
  }
}

class MineCheckpoint : public testing::Test {
protected:
  MineCheckpoint() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mine-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    options.checkpoint = folder / "values.json";
    options.checkpointEvery = 1;
  }
  ~MineCheckpoint() override { std::filesystem::remove_all(folder); }

  std::string refusal(MiningProblem &problem, const std::filesystem::path &file) {
    MiningOptions from;
    from.resume = file;
    MiningResult result = mineExactly(problem, from);
    EXPECT_TRUE(result.refused);
    EXPECT_FALSE(result.best);
    EXPECT_EQ(result.evaluations, 0u);
    return result.error;
  }

  std::filesystem::path folder;
  MiningOptions options;
};

} // namespace

TEST(MineExact, IsTheFirstOfTheBestDesigns) {
  size_t infeasible = 0, ties = 0, saved = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    TableProblem problem(seed);
    Optimum min = optimum(problem);
    MiningResult result = mineExactly(problem);
    EXPECT_EQ(result.value, min.value) << seed;
    EXPECT_EQ(result.best, min.design) << seed;
    EXPECT_EQ(result.bound, min.value) << seed;
    EXPECT_EQ(result.evaluations, problem.values) << seed;
    EXPECT_EQ(result.bounds, problem.bounds) << seed;
    infeasible += !min.design;
    ties += std::count(problem.table.begin(), problem.table.end(), min.value) > 1;
    saved += result.evaluations < problem.table.size() / 4;
  }
  // The problems are such that these matter.
  EXPECT_GT(infeasible, 0u);
  EXPECT_GT(ties, 50u);
  EXPECT_GT(saved, 100u);
}

TEST(MineExact, TiersOfBoundsSaveValuesAndChangeNothingElse) {
  size_t saved = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    TableProblem flat(seed);
    MiningResult plain = mineExactly(flat);
    MultiLevelProblem problem(seed);
    MiningResult result = mineExactly(problem);
    EXPECT_EQ(result.value, plain.value) << seed;
    EXPECT_EQ(result.best, plain.best) << seed;
    EXPECT_EQ(result.bound, plain.bound) << seed;
    EXPECT_EQ(result.evaluations, problem.values) << seed;
    EXPECT_EQ(result.bounds, problem.bounds) << seed;
    saved += result.evaluations < plain.evaluations;
    MultiLevelProblem again(seed);
    MiningOptions threads;
    threads.threads = 3;
    expectSame(result, mineExactly(again, threads), fmt::format("seed {}", seed));
  }
  EXPECT_GT(saved, 20u);
}

TEST(MineExact, WhatADesignLeavesOpenIsInTheBound) {
  size_t open = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    MultiLevelProblem problem(seed, 0.01);
    Optimum min = optimum(problem);
    MiningResult result = mineExactly(problem);
    EXPECT_EQ(result.value, min.value) << seed;
    if (!min.design)
      continue;
    EXPECT_EQ(result.best, min.design) << seed;
    EXPECT_GE(result.bound, min.value * 0.99) << seed;
    EXPECT_LE(result.bound, min.value) << seed; // bounds of boxes may prove more
    open += result.bound < min.value;
  }
  EXPECT_GT(open, 50u);
}

TEST(MineExact, ExhaustionAgrees) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    TableProblem problem(seed);
    Optimum min = optimum(problem);
    MiningResult result = mineExhaustively(problem);
    EXPECT_EQ(result.value, min.value) << seed;
    EXPECT_EQ(result.best, min.design) << seed;
    EXPECT_EQ(result.bound, min.value) << seed;
    EXPECT_EQ(result.evaluations, problem.table.size()) << seed;
  }
}

TEST_F(MineCheckpoint, HoldsWhatADesignLeavesOpen) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    MultiLevelProblem problem(seed, 0.02);
    MiningResult whole = mineExactly(problem);
    MiningOptions part = options;
    part.evaluations = 1 + seed % 7;
    mineExactly(problem, part);
    MiningOptions rest;
    rest.resume = options.checkpoint;
    expectSame(whole, mineExactly(problem, rest), fmt::format("seed {}", seed));
  }
}

TEST(MineExact, ThreadsChangeNothing) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    MiningResult one;
    for (unsigned threads = 1; threads <= 3; ++threads) {
      TableProblem problem(seed, 1500);
      MiningOptions options;
      options.threads = threads;
      if (seed % 3 == 0)
        options.evaluations = seed;
      MiningResult result = mineExactly(problem, options);
      if (threads == 1)
        one = result;
      else
        expectSame(one, result, fmt::format("seed {} threads {}", seed, threads));
    }
  }
}

TEST(MineExact, LimitsLeaveABoundThatHolds) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    TableProblem problem(seed, 800);
    Optimum min = optimum(problem);
    for (uint64_t limit : {0, 1, 2, 5, 17, 60, 300}) {
      for (int which = 0; which < 3; ++which) {
        MiningOptions options;
        (which == 0 ? options.evaluations : which == 1 ? options.bounds : options.openNodes) = limit;
        problem.values = problem.bounds = 0;
        MiningResult result = mineExactly(problem, options);
        EXPECT_LE(problem.values, options.evaluations);
        EXPECT_LE(problem.bounds, options.bounds);
        EXPECT_LE(result.bound, min.value) << seed << " " << limit << " " << which;
        EXPECT_GE(result.value, min.value);
        EXPECT_GE(result.bound, 0);
        if (result.best)
          EXPECT_EQ(result.value, problem.valueOf(*result.best));
        double before = 0;
        for (const ConvergencePoint &moment : result.convergence) {
          EXPECT_LE(moment.bound, min.value);
          EXPECT_GE(moment.bound, before);
          before = moment.bound;
        }
      }
    }
  }
}

TEST(MineExact, StopsWithinTheGapAskedFor) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    TableProblem problem(seed);
    Optimum min = optimum(problem);
    MiningOptions options;
    options.gap = 0.05;
    MiningResult result = mineExactly(problem, options);
    EXPECT_EQ(result.best.has_value(), min.design.has_value());
    EXPECT_LE(result.bound, min.value);
    if (result.best) {
      EXPECT_LE(result.value, min.value / 0.95);
      EXPECT_LE(result.gap(), 0.05);
    }
  }
}

TEST(MineExact, StopsWhenTold) {
  HardwareProblem problem(3);
  double min = mineExactly(problem).value;
  std::atomic<bool> stop = false;
  MiningOptions options;
  options.stop = &stop;
  options.progress = [&](const SolveProgress &p) { stop = std::isfinite(p.incumbent); };
  MiningResult result = mineExactly(problem, options);
  ASSERT_TRUE(result.best);
  EXPECT_LE(result.bound, min);
  EXPECT_GE(result.value, min);
  EXPECT_LT(result.bound, result.value);
}

TEST(MineExact, SpacesOfOneOfNoneAndOfMany) {
  class Constant : public CountingProblem {
  public:
    double boundIn(const DesignBox &) override { return min; }
    double valueOf(const Design &) override { return designValue; }
    double min = 2, designValue = 3;
  } problem;
  EXPECT_EQ(mineExactly(problem).best, Design{}); // without parameters
  problem.all = {numbers("a", {4})};
  MiningResult one = mineExactly(problem);
  EXPECT_EQ(one.best, Design{0});
  EXPECT_EQ(one.value, 3);
  EXPECT_EQ(one.bound, 3);
  EXPECT_EQ(one.evaluations, 1u);
  problem.all.push_back({});
  EXPECT_FALSE(mineExactly(problem).best); // without choices
  problem.all = {numbers("a", {1, 2, 3})};
  problem.designValue = problem.min = NAN;
  MiningResult none = mineExactly(problem);
  EXPECT_FALSE(none.best);
  EXPECT_EQ(none.value, INFINITY);
  EXPECT_EQ(none.bound, INFINITY);

  VastProblem vast;
  MiningResult result = mineExactly(vast);
  ASSERT_TRUE(result.best);
  for (size_t i = 0; i < 10; ++i)
    EXPECT_EQ((*result.best)[i], 20 * i);
  EXPECT_EQ(result.bound, 1);
  EXPECT_LT(result.bounds, 10000u);
}

TEST_F(MineCheckpoint, AnySearchThatWasBrokenOffGoesOn) {
  for (uint64_t seed : {1, 4, 7, 12, 20, 23}) {
    TableProblem problem(seed, 150);
    MiningResult whole = mineExactly(problem);
    for (uint64_t limit = 0; limit <= whole.evaluations; ++limit) {
      MiningOptions broken = options;
      broken.evaluations = limit;
      EXPECT_EQ(mineExactly(problem, broken).error, "");
      MiningOptions again;
      again.resume = options.checkpoint;
      again.threads = 1 + limit % 3;
      problem.values = 0;
      expectSame(whole, mineExactly(problem, again), fmt::format("{} at {}", seed, limit));
      EXPECT_LE(problem.values, whole.evaluations - limit + 1); // one to see that it is the same
    }
  }
}

TEST_F(MineCheckpoint, AKilledSearchGoesOn) {
  class Dying : public TableProblem {
  public:
    explicit Dying(uint64_t seed) : TableProblem(seed, 800) {}
    double valueOf(const Design &design) override {
      if (left-- == 0)
        _exit(7);
      return TableProblem::valueOf(design);
    }
    double boundIn(const DesignBox &box) override {
      int before = std::exchange(left, -1);
      double bound = TableProblem::boundIn(box);
      left = before;
      return bound;
    }
    int left = -1;
  };
  uint64_t seed = 0; // of a problem that takes some hundred values
  for (; seed < 1000; ++seed)
    if (Dying problem(seed); mineExactly(problem).evaluations > 100)
      break;
  Dying problem(seed);
  MiningResult whole = mineExactly(problem);
  ASSERT_GT(whole.evaluations, 100u);
  size_t killed = 0;
  options.resume = options.checkpoint;
  // Killed again and again, each time somewhat further on.
  for (int round = 0; round < 100; ++round) {
    if (!std::filesystem::exists(options.checkpoint)) {
      options.evaluations = 0;
      options.resume.clear();
      mineExactly(problem, options);
      options.evaluations = UINT64_MAX;
      options.resume = options.checkpoint;
    }
    pid_t child = fork();
    if (child == 0) {
      problem.left = 40;
      mineExactly(problem, options);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 0)
      break;
    ++killed;
  }
  EXPECT_GT(killed, 1u);
  EXPECT_LT(killed, 100u);
  problem.values = 0;
  options.checkpoint.clear();
  expectSame(whole, mineExactly(problem, options), "killed");
  EXPECT_EQ(problem.values, 1u);
}

TEST_F(MineCheckpoint, WhatIsNotOfTheProblemIsRefused) {
  class MoreExpensive : public TableProblem {
  public:
    using TableProblem::TableProblem;
    double value(const Design &design) override { return TableProblem::value(design) + 1; }
  } moreExpensive(1);
  class Named : public TableProblem {
  public:
    using TableProblem::TableProblem;
    std::string digest() override { return "other jobs"; }
  } named(1);
  TableProblem problem(1), other(2);
  mineExactly(problem, options);
  std::ifstream in(options.checkpoint);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(refusal(other, options.checkpoint), HasSubstr("another problem"));
  EXPECT_THAT(refusal(named, options.checkpoint), HasSubstr("another problem"));
  EXPECT_THAT(refusal(moreExpensive, options.checkpoint), HasSubstr("a different value"));
  EXPECT_THAT(refusal(problem, folder / "none.json"), HasSubstr("No such file"));

  auto edited = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    std::ofstream(folder / "edited.json") << changed;
    return refusal(problem, folder / "edited.json");
  };
  EXPECT_THAT(edited("\"version\":2", "\"version\":1"), HasSubstr("version 1"));
  EXPECT_THAT(edited("\"version\":2", "\"version\":\"\""), HasSubstr("not a checkpoint"));
  EXPECT_THAT(edited("\"known\":[", "\"known\":[[[0],1],"), HasSubstr("not a checkpoint"));
  EXPECT_THAT(edited("\"known\":[", "\"known\":[7,"), HasSubstr("not a checkpoint"));
  EXPECT_THAT(edited("\"best\":[", "\"best\":[99999,"), HasSubstr("not a checkpoint"));
  // Cut off anywhere it is no JSON, or none of a search.
  for (size_t size = 0; size < text.size() - 2; size += 1 + size / 50) {
    std::ofstream(folder / "cut.json") << text.substr(0, size);
    EXPECT_NE(refusal(problem, folder / "cut.json"), "") << size;
  }
}

TEST_F(MineCheckpoint, AFileThatCannotBeWrittenSpoilsNoSearch) {
  TableProblem problem(1);
  options.checkpoint = folder / "no" / "such" / "folder.json";
  MiningResult result = mineExactly(problem, options);
  EXPECT_THAT(result.error, HasSubstr("folder.json"));
  EXPECT_FALSE(result.refused);
  EXPECT_EQ(result.best, optimum(problem).design);
}

namespace {

/// Sixteen million designs. Bounds see the work and the limit of area, not what tiles make of a buffer, so that they
/// are equal along half of the parameters.
class PlateauProblem : public CountingProblem {
public:
  explicit PlateauProblem(uint64_t seed) {
    fuzz::Random random(seed);
    for (int i = 0; i < 8; ++i)
      all.push_back(powers(fmt::format("p{}", i), 0, 7));
    area = 60 + static_cast<double>(random.below(60));
    for (double &of : best)
      of = static_cast<double>(random.below(8));
    for (double &of : costs)
      of = 1 + static_cast<double>(random.below(5));
  }
  double boundIn(const DesignBox &box) override {
    double used = 0, time = 0;
    for (size_t i = 0; i < 8; ++i)
      used += costs[i] * (box.low[i] + 1);
    for (size_t i = 0; i < 4; ++i)
      time = std::max(time, costs[i] / (1 + box.high[i]));
    return used > area ? INFINITY : 10 + time;
  }
  double valueOf(const Design &design) override {
    double bound = boundIn({design, design}), more = 0;
    for (size_t i = 4; i < 8; ++i)
      more += std::abs(design[i] - best[i]);
    return bound * (1.03 + 0.01 * more);
  }

private:
  double area;
  std::array<double, 8> best{}, costs{};
};

} // namespace

/// Where bounds alone tell nothing, what values were above them tells where to look.
TEST(MineExact, IsSoonNearTheBestOfAllStrategies) {
  size_t behind = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    MiningOptions options;
    options.evaluations = 60;
    PlateauProblem problem(seed);
    MiningResult exact = mineExactly(problem, options);
    ASSERT_TRUE(exact.best) << seed;
    EXPECT_LE(exact.bound, exact.value) << seed;
    EXPECT_EQ(problem.values, exact.evaluations) << seed;
    for (const char *other : {"random", "annealing", "wham"}) {
      PlateauProblem again(seed);
      behind += exact.value > miningStrategy(other)(again, options).value * 1.01;
    }
    MiningOptions threads = options;
    threads.threads = 3;
    PlateauProblem again(seed);
    expectSame(exact, mineExactly(again, threads), fmt::format("threads, {}", seed));
  }
  EXPECT_LE(behind, 2u); // of 36: annealing has luck now and then
}
