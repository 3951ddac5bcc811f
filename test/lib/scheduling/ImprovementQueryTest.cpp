// Questions about makespans, asked in any order, against the optimum found by exhaustion.
#include "lib/scheduling/solve/ImprovementQuery.h"
#include "SchedulingFamilies.h"
#include "lib/scheduling/solve/Solve.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/support/SchedulingBruteForce.h"
#include "test/support/SchedulingTransformer.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace accord;
using namespace accord::testing;

namespace {

using Answer = ImprovementQuery::Answer;

class ImprovementQueryFamilies : public ::testing::TestWithParam<Family> {};

TEST_P(ImprovementQueryFamilies, AnswersAreThoseOfBruteForceInAnyOrder) {
  std::mt19937 random(3);
  unsigned open = 0, asked = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = FamilyMember(GetParam(), seed).problem;
    std::optional<SchedulingSolution> best = BruteForce(problem).best;
    int64_t optimum = best ? best->makespan : 20;
    ImprovementQuery query(problem);
    std::vector<int64_t> order = {optimum - 3, optimum - 1, optimum - 1, optimum, optimum, optimum + 1, optimum + 5};
    std::shuffle(order.begin(), order.end(), random);
    for (int64_t makespan : order) {
      Answer said = query.ask(makespan);
      ++asked;
      open += said == Answer::Unknown;
      if (said == Answer::Unknown)
        continue;
      EXPECT_EQ(said == Answer::Yes, best && makespan >= optimum) << makespan;
      if (said == Answer::Yes) {
        EXPECT_LE(query.best().makespan, makespan);
        EXPECT_TRUE(verify(problem, query.best()).empty());
      } else if (best) {
        EXPECT_GT(query.bound().value, makespan);
        EXPECT_TRUE(verify(problem, query.bound()).empty());
      }
    }
  }
  EXPECT_LE(open * 20, asked); // few stay open
}

INSTANTIATE_TEST_SUITE_P(Solve, ImprovementQueryFamilies, ::testing::ValuesIn(kFamilies),
                         [](const auto &info) { return std::string(nameOf(info.param)); });

/// A layer of a transformer with modes: outside of a narrow gap all is decided.
TEST(ImprovementQuery, LayersAreDecidedOutsideOfANarrowGap) {
  for (auto [tensor, vector] : {std::pair<int64_t, int64_t>{8, 2}, {16, 16}}) {
    SchedulingProblem problem = transformer(1, tensor, vector, true);
    SolveOptions options;
    options.effort = 5;
    SchedulingResult result = schedule(problem, options);
    ImprovementQuery query(problem);
    EXPECT_EQ(query.ask(result.solution.makespan * 101 / 100), Answer::Yes);
    EXPECT_EQ(query.ask(result.bound.value * 99 / 100), Answer::No);
    EXPECT_EQ(query.ask(0), Answer::No);
    EXPECT_EQ(query.ask(INT64_MAX / 4), Answer::Yes);
    EXPECT_TRUE(verify(problem, query.best()).empty());
    EXPECT_TRUE(verify(problem, query.bound()).empty());
  }
}

TEST(ImprovementQuery, StoppedAnswersNothingNew) {
  SchedulingProblem problem = transformer(1, 3, 1, true);
  std::atomic<bool> stop = true;
  ImprovementQueryOptions options;
  options.stop = &stop;
  ImprovementQuery query(problem, options);
  EXPECT_EQ(query.ask(query.best().makespan), Answer::Yes); // known before
  EXPECT_EQ(query.ask(query.bound().value - 1), Answer::No);
}

} // namespace
