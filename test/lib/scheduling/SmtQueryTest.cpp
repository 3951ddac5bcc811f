// Claims against the shortest schedule by exhaustion: satisfiable at it, not one below.
#include "lib/scheduling/output/SmtQuery.h"
#include "lib/planning/output/Certificate.h"
#include "lib/scheduling/solve/Propagator.h"
#include "lib/scheduling/solve/Solve.h"
#include "test/lib/scheduling/SchedulingFamilies.h"
#include "test/support/Random.h"
#include "test/support/SchedulingBruteForce.h"
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <z3++.h>

using namespace accord;
using namespace accord::testing;

namespace {

z3::check_result answer(const std::string &text) {
  z3::context context;
  z3::solver solver(context);
  solver.from_string(text.substr(0, text.rfind("(check-sat)")).c_str());
  return solver.check();
}

class Claims : public ::testing::TestWithParam<Family> {};

TEST_P(Claims, holdAtTheOptimumAndNotBelow) {
  for (unsigned seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = FamilyMember(GetParam(), seed).problem;
    auto best = BruteForce(problem).best;
    for (SmtEncoding encoding : {SmtEncoding::BitVector, SmtEncoding::LinearInteger}) {
      SCOPED_TRACE(static_cast<int>(encoding));
      if (!best) {
        EXPECT_EQ(answer(smtQuery(problem, 40, encoding)), z3::unsat);
        continue;
      }
      EXPECT_EQ(answer(smtQuery(problem, best->makespan, encoding)), z3::sat);
      EXPECT_EQ(answer(smtQuery(problem, best->makespan + 3, encoding)), z3::sat);
      EXPECT_EQ(answer(smtQuery(problem, best->makespan - 1, encoding)), z3::unsat);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Family, Claims, ::testing::ValuesIn(kFamilies),
                         [](const auto &info) { return nameOf(info.param); });

/// Two tasks on one machine, one of which waits.
SchedulingProblem two(int64_t long1, int64_t long2, int64_t delay) {
  SchedulingProblem p;
  p.name = "two";
  p.addResource("machine", 1);
  auto a = p.addTask("a", long1, {{0, 1}}), b = p.addTask("b", long2, {{0, 1}});
  p.addTask("c", long1, {{0, 1}});
  p.addPrecedence(a, b, delay);
  return p;
}

TEST(SmtQuery, IsExactForTimesNear2To61) {
  int64_t one = (int64_t{1} << 59) - 1, other = (int64_t{1} << 59) - 3;
  SchedulingProblem p = two(one, other, 0);
  EXPECT_EQ(answer(smtQuery(p, 2 * one + other)), z3::sat);
  EXPECT_EQ(answer(smtQuery(p, 2 * one + other - 1)), z3::unsat);
}

TEST(SmtQuery, CountsInTheLargestUnitThatDividesAll) {
  SchedulingProblem p = two(3'000'000, 5'000'000, 1'000'000);
  std::string text = smtQuery(p, 10'999'999);
  EXPECT_NE(text.find("is 1000000 of the problem's, which divides all"), std::string::npos);
  EXPECT_EQ(answer(text), z3::unsat);
  EXPECT_EQ(answer(smtQuery(p, 11'000'000)), z3::sat);
}

TEST(SmtQuery, RoundsOnlyDown) {
  for (unsigned seed = 1; seed <= cases(8); ++seed) {
    SchedulingProblem p = FamilyMember(Family::Mixtures, seed).problem;
    auto best = BruteForce(p).best;
    if (!best)
      continue;
    for (auto &task : p.tasks) // now 9973 times as long
      for (auto &mode : task.modes)
        mode.duration *= 9973;
    for (auto &edge : p.precedences)
      edge.delay = edge.delay * 9973 + (edge.delay > 0);
    int64_t more = static_cast<int64_t>(p.precedences.size());
    EXPECT_EQ(answer(smtQuery(p, best->makespan * 9973 + more, SmtEncoding::RoundedBitVector)), z3::sat) << seed;
  }
}

TEST(SmtQuery, WithinWindowsIsMetByEverySchedule) {
  // Steps that hold at the optimum leave it, in any unit; one below, all that is left is refuted.
  for (Family family : kFamilies)
    for (unsigned seed = 1; seed <= cases(5); ++seed) {
      SchedulingProblem p = FamilyMember(family, seed).problem;
      auto best = BruteForce(p).best;
      if (!best)
        continue;
      for (int below : {0, 1}) {
        int64_t makespan = best->makespan - below;
        solve::Instance instance(p);
        solve::Propagator propagator(instance, makespan);
        if (!propagator.run())
          continue;
        SchedulingBound bound{makespan + 1, SchedulingBound::Kind::Solver, {}, 0, propagator.steps, "z3", 1};
        auto found = solverWindows(p, bound);
        ASSERT_TRUE(found) << nameOf(family) << seed;
        for (SmtEncoding encoding : {SmtEncoding::BitVector, SmtEncoding::LinearInteger})
          for (int64_t unit : {1, 2, 3, 5})
            if (below == 0 || unit == 1)
              EXPECT_EQ(answer(smtQuery(p, makespan, encoding, unit, &*found)), below ? z3::unsat : z3::sat)
                  << nameOf(family) << seed << " unit " << unit;
      }
    }
}

TEST(SmtQuery, IsWhatTheSolverRefutedInUnits) {
  int inUnits = 0;
  for (unsigned seed = 1; seed <= 1; ++seed) {
    std::mt19937_64 random(seed);
    SchedulingProblem p;
    p.addResource("core", 2);
    // An odd number of tasks of about one length: half of their work is not enough.
    for (SchedulingProblem::Id t = 0; t < 5; ++t)
      p.addTask("t" + std::to_string(t), 500'000'000 + int64_t(random() % 1000), {{0, 1}});
    p.addTask("last", 1000 + seed, {});
    p.addPrecedence(0, SchedulingProblem::Id(p.tasks.size() - 1), 7);
    SolveOptions options;
    options.effort = 6;
    SchedulingResult result = schedule(p, options);
    if (result.bound.kind != SchedulingBound::Kind::Solver)
      continue;
    EXPECT_TRUE(verify(p, result).empty());
    auto claimed = smtQueryOf(p, result);
    ASSERT_TRUE(claimed);
    inUnits += result.bound.unit > 1;
    EXPECT_EQ(answer(claimed->text), z3::unsat) << seed;
    // And it comes back from the text of the plan dialect.
    auto read = readSchedulingMlir(schedulingMlir(p, &result), "problem.mlir");
    ASSERT_TRUE(read) << read.error().message;
    auto &[problem, again] = *read;
    EXPECT_EQ(smtQueryOf(problem, *again)->text, claimed->text);
  }
  EXPECT_GE(inUnits, 1);
}

TEST(SmtQuery, AddsInBinaryWhereSumsAreMany) {
  // Pairs whose bytes fill a memory to the last byte are the only way to be done in two rounds.
  SchedulingProblem p;
  const int64_t all = 1'000'000'000'007;
  p.memories.push_back({"hbm", all});
  std::mt19937_64 random(7);
  for (int pair = 0; pair < 5; ++pair) {
    int64_t part = static_cast<int64_t>(random() % 400'000'000'000) + 100'000'000'000;
    for (int64_t bytes : {part, all - part}) {
      auto task = p.addTask("t", 2, {});
      p.buffers.push_back({"b", bytes, 0, task, {}, false});
    }
  }
  EXPECT_EQ(answer(smtQuery(p, 10)), z3::sat);
  EXPECT_EQ(answer(smtQuery(p, 9)), z3::unsat);
  p.memories[0].capacity = all - 1;
  EXPECT_EQ(answer(smtQuery(p, 10)), z3::unsat);
}

TEST(SmtQuery, SaysWhatItClaims) {
  SchedulingProblem p = two(3, 5, 1);
  p.name = "line\nbreak";
  p.tasks[0].name = "a|b (c";
  std::string text = smtQuery(p, 10);
  EXPECT_EQ(text.find("; Query: does the problem 'line break' have a schedule of makespan at most 10?"), 0u);
  EXPECT_NE(text.find("started_a_b__c"), std::string::npos);
  EXPECT_EQ(text, smtQuery(p, 10));
  EXPECT_EQ(answer(text), z3::unsat);
}

TEST(SmtQuery, OfNothingAndOfNegativeTimes) {
  SchedulingProblem nothing;
  EXPECT_EQ(answer(smtQuery(nothing, 0)), z3::sat);
  EXPECT_EQ(answer(smtQuery(nothing, -1)), z3::unsat);
  EXPECT_EQ(answer(smtQuery(two(3, 5, 1), INT64_MIN)), z3::unsat);
  EXPECT_EQ(answer(smtQuery(two(3, 5, 1), INT64_MAX)), z3::sat);
}

TEST(SmtQuery, ConvincesAnotherSolver) {
  ASSERT_EQ(std::system("cvc5 --version > /dev/null 2>&1"), 0) << "scripts/packages.sh lists cvc5";
  std::string file = ::testing::TempDir() + "accord-claim.smt2";
  for (Family family : kFamilies)
    for (unsigned seed = 1; seed <= 3; ++seed) {
      SchedulingProblem p = FamilyMember(family, seed).problem;
      auto best = BruteForce(p).best;
      if (!best)
        continue;
      for (SmtEncoding encoding : {SmtEncoding::BitVector, SmtEncoding::LinearInteger})
        for (int below : {0, 1}) {
          std::string text = smtQuery(p, best->makespan - below, encoding), command;
          std::ofstream(file) << text;
          for (const std::string &word : solverCommand("cvc5", text))
            command += word + " ";
          command += "'" + file + "' | grep -qx " + (below ? "unsat" : "sat");
          EXPECT_EQ(std::system(command.c_str()), 0) << nameOf(family) << seed;
        }
    }
}

} // namespace
