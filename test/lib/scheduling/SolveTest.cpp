// The scheduler on problems that exhaustion cannot reach: determinism, limits, interruption,
// conflicts, sizes.
#include "lib/scheduling/solve/Solve.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/scheduling/solve/Oracle.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/support/DocumentSchema.h"
#include "test/support/SchedulingTransformer.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

std::string wrong(const SchedulingProblem &problem, const SchedulingResult &result) {
  std::string text;
  for (const Error &error : verify(problem, result))
    text += error.message + "\n";
  return text;
}

SchedulingResult at(const SchedulingProblem &problem, unsigned effort, double gap = 0) {
  SolveOptions options;
  options.effort = effort, options.gap = gap;
  return schedule(problem, options);
}

struct Shape {
  unsigned layers;
  int64_t tensor, vector;
  double gap; ///< at most
};
class Transformers : public ::testing::TestWithParam<Shape> {};

/// About 200, 1,000 and 5,000 operations.
TEST_P(Transformers, GapsAreSmallAndProved) {
  auto [layers, tensor, vector, gap] = GetParam();
  SchedulingProblem problem = transformer(layers, tensor, vector, false);
  ASSERT_TRUE(check(problem).empty());
  SchedulingResult result = at(problem, 5);
  ASSERT_EQ(result.status, SchedulingResult::Status::Feasible);
  EXPECT_EQ(wrong(problem, result), "");
  EXPECT_LE(result.gap(), gap);
  EXPECT_EQ(at(problem, 5).solution.start, result.solution.start); // deterministic
}

INSTANTIATE_TEST_SUITE_P(Solve, Transformers,
                         ::testing::Values(Shape{5, 1, 1, 0.001}, Shape{5, 2, 1, 0.005}, Shape{5, 2, 2, 0.005},
                                           Shape{5, 4, 4, 0.001}, Shape{25, 1, 1, 0.001}, Shape{25, 2, 1, 0.005},
                                           Shape{25, 6, 2, 0.001}, Shape{122, 1, 1, 0.001}, Shape{122, 2, 1, 0.02},
                                           Shape{122, 2, 2, 0.02}, Shape{122, 4, 4, 0.001}));

TEST(Solve, ModesOfOneLayer) {
  for (auto [tensor, vector] : {std::pair<int64_t, int64_t>{4, 2}, {8, 2}, {16, 16}}) {
    SchedulingProblem problem = transformer(1, tensor, vector, true);
    SchedulingResult result = at(problem, 5);
    EXPECT_EQ(wrong(problem, result), "");
    EXPECT_LE(result.gap(), 0.025);
  }
}

TEST(Solve, EffortIsMonotoneOnOneProblem) {
  SchedulingProblem problem = transformer(2, 3, 1, true);
  double last = 1;
  for (unsigned effort : {0u, 2u, 5u}) {
    SchedulingResult result = at(problem, effort);
    EXPECT_EQ(wrong(problem, result), "");
    EXPECT_LE(result.gap(), last);
    last = result.gap();
  }
}

TEST(Solve, StoppedAtOnceItHasAScheduleAndAGap) {
  SchedulingProblem problem = transformer(25, 2, 1, true);
  std::atomic<bool> stop = true;
  SolveOptions options;
  options.stop = &stop;
  SchedulingResult result = schedule(problem, options);
  ASSERT_EQ(result.status, SchedulingResult::Status::Feasible);
  EXPECT_EQ(wrong(problem, result), "");
  EXPECT_EQ(result.stopped, "interrupted");
}

TEST(Solve, StoppedWhileItSearches) {
  SchedulingProblem problem = transformer(5, 3, 1, true);
  std::atomic<bool> stop = false;
  SolveOptions options;
  options.effort = 30; // would take hours
  options.stop = &stop;
  options.progress = [&](const SolveProgress &p) { stop = p.incumbent > 0; };
  SchedulingResult result = schedule(problem, options);
  ASSERT_EQ(result.status, SchedulingResult::Status::Feasible);
  EXPECT_EQ(wrong(problem, result), "");
  EXPECT_GE(result.gap(), 0);
}

TEST(Solve, AnyEffortIsOne) {
  SchedulingProblem problem;
  problem.addResource("r", 2);
  for (int i = 0; i < 5; ++i)
    problem.addTask("", 3 + i % 2, {{0, 1}});
  for (unsigned effort : {11u, 1000u})
    EXPECT_TRUE(at(problem, effort).optimal()) << effort;
}

TEST(Solve, NothingIsAskedWithoutWork) {
  // Six tasks in pairs on one machine: a schedule of this length is found at once, if it is sought.
  SchedulingProblem problem;
  problem.addResource("machine", 1);
  for (int i = 0; i < 6; ++i)
    problem.addTask("t" + std::to_string(i), 2 + i % 3, {{0, 1}});
  solve::Instance in(problem);
  solve::Propagator windows(in, 30);
  ASSERT_TRUE(windows.run());
  solve::Oracle oracle(in, windows, 30);
  SchedulingSolution found;
  EXPECT_EQ(oracle.ask(30, 0, found), solve::Oracle::Answer::Unknown);
  EXPECT_EQ(oracle.ask(30, 1'000'000, found), solve::Oracle::Answer::Yes);
}

TEST(Solve, TheSchemaDescribesTheDocument) {
  using Status = SchedulingResult::Status;
  SchedulingProblem problem = transformer(1, 2, 1, true);
  SchedulingResult result = at(problem, 1);
  for (Status status : {Status::Feasible, Status::Unknown, Status::Infeasible}) {
    result.status = status;
    expectDescribed(projectScheduleJson(problem, result), scheduleSchema());
  }
}

TEST(Solve, EmptyAndZero) {
  SchedulingProblem nothing;
  SchedulingResult result = schedule(nothing);
  EXPECT_EQ(result.status, SchedulingResult::Status::Feasible);
  EXPECT_EQ(result.solution.makespan, 0);
  SchedulingProblem zero;
  zero.addResource("r", 1);
  for (int i = 0; i < 40; ++i)
    zero.addTask("", 0, {{0, 1}});
  result = schedule(zero);
  EXPECT_TRUE(result.optimal());
  EXPECT_EQ(result.solution.makespan, 0);
}

TEST(Solve, LongTimesDoNotOverflow) {
  SchedulingProblem p;
  p.addResource("r", 2);
  for (int i = 0; i < 7; ++i)
    p.addTask("", (int64_t{1} << 57) + i, {{0, 1}});
  ASSERT_TRUE(check(p).empty());
  SchedulingResult result = at(p, 10);
  EXPECT_EQ(wrong(p, result), "");
  EXPECT_EQ(result.status, SchedulingResult::Status::Feasible);
  EXPECT_LE(result.gap(), 1e-12);
}

/// Keep a tensor, or make it again: with a limit below what keeping needs, and below what anything
/// needs.
TEST(Solve, HasAScheduleOfManyTasks) {
  // Layers of operations on three cores, each after one of the layer before.
  SchedulingProblem problem;
  problem.addResource("tensor", 2);
  problem.addResource("vector", 1);
  std::mt19937_64 random(1); // NOLINT(bugprone-random-generator-seed): the same problem each time
  for (SchedulingProblem::Id t = 0; t < 250'000; ++t) {
    problem.addTask("", 1 + int64_t(random() % 20), {{t % 5 == 0, 1}});
    if (t >= 20)
      problem.addPrecedence(t - 20 + SchedulingProblem::Id(random() % 10), t);
  }
  SchedulingResult result = at(problem, 2, 0.001);
  ASSERT_EQ(result.status, SchedulingResult::Status::Feasible);
  EXPECT_EQ(wrong(problem, result), "");
  EXPECT_LE(result.gap(), 0.001);
}

TEST(Solve, MakesAgainWhatDoesNotFit) {
  auto chain = [](int64_t capacity) {
    SchedulingProblem p;
    p.addResource("core", 1);
    p.memories.push_back({"hbm", capacity});
    constexpr unsigned kLayers = 4;
    std::vector<SchedulingProblem::Id> forward, again;
    for (unsigned l = 0; l < kLayers; ++l) {
      forward.push_back(p.addTask("forward" + std::to_string(l), 3, {{0, 1}}));
      if (l > 0)
        p.addPrecedence(forward[l - 1], forward[l]);
    }
    SchedulingProblem::Id last = forward.back();
    for (unsigned l = kLayers; l-- > 0;) { // the backward of a layer reads its forward's result
      auto redo = p.addTask("again" + std::to_string(l), 3, {{0, 1}});
      p.tasks[redo].modes.push_back({"not", 0, {}, {}, true});
      auto back = p.addTask("backward" + std::to_string(l), 5, {{0, 1}});
      p.addPrecedence(last, back), p.addPrecedence(last, redo), p.addPrecedence(redo, back);
      std::vector<SchedulingProblem::Reader> readers = {{back, redo}};
      if (l + 1 < kLayers)
        readers.push_back({forward[l + 1], SchedulingProblem::kNoTask});
      p.buffers.push_back({"kept" + std::to_string(l), 10, 0, forward[l], readers, false});
      p.buffers.push_back({"made" + std::to_string(l), 10, 0, redo, {{back, SchedulingProblem::kNoTask}}, false});
      last = back;
    }
    return p;
  };
  SchedulingProblem roomy = chain(40);
  SchedulingResult kept = schedule(roomy);
  EXPECT_TRUE(kept.optimal());
  EXPECT_EQ(kept.solution.makespan, 4 * 3 + 4 * 5);
  SchedulingProblem tight = chain(28); // 30 % less
  SchedulingResult remade = schedule(tight);
  EXPECT_EQ(wrong(tight, remade), "");
  EXPECT_TRUE(remade.optimal());
  EXPECT_GT(remade.solution.makespan, kept.solution.makespan);
  SchedulingProblem hopeless = chain(15); // two neighbours never fit
  SchedulingResult none = schedule(hopeless);
  EXPECT_EQ(none.status, SchedulingResult::Status::Infeasible);
  ASSERT_EQ(none.conflict.size(), 1u);
  EXPECT_NE(none.conflict[0].find("'hbm' of 15 B"), std::string::npos) << none.conflict[0];
  EXPECT_NE(none.conflict[0].find("20 B together"), std::string::npos) << none.conflict[0];
}

/// A flat graph of more operations than any limit of tries: a schedule with its gap, whatever the modes.
TEST(Solve, HundredsOfThousandsOfOperations) {
  for (size_t modes : {1, 2}) {
    SchedulingProblem problem;
    auto tensor = problem.addResource("tensor", 2), vector = problem.addResource("vector", 1);
    constexpr SchedulingProblem::Id kTasks = 220'000;
    for (SchedulingProblem::Id t = 0; t < kTasks; ++t) {
      problem.addTask("", 1 + t * 7919 % 97, {{t % 3 ? tensor : vector, 1}});
      if (modes > 1 && t % 2)
        problem.tasks.back().modes.push_back({"slow", 2 + t * 7919 % 97, {{vector, 1}}, {}, false});
      for (SchedulingProblem::Id back : {3u, 1 + t % 40})
        if (back <= t)
          problem.addPrecedence(t - back, t);
    }
    SchedulingResult result = at(problem, 0);
    ASSERT_EQ(result.status, SchedulingResult::Status::Feasible);
    EXPECT_GT(result.bound.value, 0);
    EXPECT_EQ(wrong(problem, result), "");
  }
}

} // namespace
