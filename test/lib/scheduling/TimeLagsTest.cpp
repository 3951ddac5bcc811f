// Generalized precedences: against all starts tried one by one, and what proves the answers.
#include "lib/planning/output/Certificate.h"
#include "lib/scheduling/output/SchedulingJson.h"
#include "lib/scheduling/output/SchedulingMlir.h"
#include "lib/scheduling/output/SmtQuery.h"
#include "lib/scheduling/prove/InfeasibilityProver.h"
#include "lib/scheduling/solve/Oracle.h"
#include "lib/scheduling/solve/Solve.h"
#include "lib/scheduling/verify/InfeasibilityProof.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/support/SchedulingBruteForce.h"
#include <gtest/gtest.h>
#include <random>

namespace accord {
namespace {

using Id = SchedulingProblem::Id;
using Status = SchedulingResult::Status;

int pick(std::mt19937 &random, int low, int high) { return low + static_cast<int>(random() % (high - low + 1)); }

/// Up to five tasks on one or two resources, with lags of either sign between any two, some in cycles.
SchedulingProblem randomLags(unsigned seed, bool modes) {
  std::mt19937 random(seed);
  SchedulingProblem p;
  p.name = "lags";
  int n = pick(random, 3, modes ? 4 : 5);
  p.addResource("R", pick(random, 1, 3));
  p.addResource("S", 2);
  for (int t = 0; t < n; ++t) {
    p.addTask("t" + std::to_string(t), pick(random, 0, 3),
              {{0, pick(random, 0, static_cast<int>(p.resources[0].capacity))}, {1, pick(random, 0, 2)}});
    if (modes && pick(random, 0, 1)) {
      auto &task = p.tasks.back();
      task.modes.push_back({"b", pick(random, 1, 4), {{1, 1}}, {}, false});
      if (pick(random, 0, 2) == 0)
        task.modes.push_back({"none", 0, {}, {}, true});
    }
  }
  int lags = pick(random, 1, n + 1);
  for (int i = 0; i < lags; ++i) {
    int a = pick(random, 0, n - 1), b = pick(random, 0, n - 1);
    if (a != b)
      p.lags.push_back({Id(a), Id(b), pick(random, -4, a < b ? 4 : 0)});
  }
  if (pick(random, 0, 1))
    p.addPrecedence(0, Id(n - 1), pick(random, 0, 1));
  return p;
}

/// The shortest of all starts up to a horizon, in all modes; -1 if there is none.
int64_t shortest(const SchedulingProblem &p) {
  size_t n = p.tasks.size();
  int64_t horizon = serialLength(p), best = -1;
  SchedulingSolution s{std::vector<int64_t>(n, 0), std::vector<Id>(n, 0), 0};
  auto choose = [&](auto &&self, size_t t) -> void {
    if (t == n) {
      s.makespan = 0;
      for (size_t i = 0; i < n; ++i)
        if (!p.tasks[i].modes[s.mode[i]].absent)
          s.makespan = std::max(s.makespan, s.start[i] + p.tasks[i].modes[s.mode[i]].duration);
      if ((best < 0 || s.makespan < best) && testing::occupancyAllows(p, s))
        best = s.makespan;
      return;
    }
    for (s.mode[t] = 0; s.mode[t] < p.tasks[t].modes.size(); ++s.mode[t]) {
      const auto &mode = p.tasks[t].modes[s.mode[t]];
      int64_t last = mode.absent ? 0 : (best < 0 ? horizon : best - 1) - mode.duration;
      for (s.start[t] = 0; s.start[t] <= last; ++s.start[t])
        self(self, t + 1);
    }
    s.start[t] = 0, s.mode[t] = 0;
  };
  choose(choose, 0);
  return best;
}

void expectShortest(const SchedulingProblem &p, unsigned seed) {
  ASSERT_TRUE(check(p).empty());
  int64_t best = shortest(p);
  SchedulingResult result = schedule(p, {});
  ASSERT_EQ(result.status, best < 0 ? Status::Infeasible : Status::Feasible) << seed;
  if (best >= 0) {
    EXPECT_EQ(result.solution.makespan, best) << seed;
    EXPECT_EQ(result.bound.value, best) << seed;
    SchedulingSolution earlier = leftJustified(p, result.solution);
    EXPECT_EQ(earlier.makespan, best) << seed;
    EXPECT_TRUE(verify(p, earlier).empty()) << seed;
  }
  std::vector<std::string> trusted;
  Errors errors = verify(p, result, &trusted);
  EXPECT_TRUE(errors.empty()) << seed << ": " << errors[0].message;
  // What rests on a solver has a proof that replays, and a query that Z3 refutes.
  if (auto query = smtQueryOf(p, result)) {
    ASSERT_EQ(result.bound.kind, SchedulingBound::Kind::Solver) << seed;
    EXPECT_EQ(checkSat(query->text).answer, "unsat") << seed;
    InfeasibilityCertificate proof = proveInfeasible(p, result.bound, {});
    EXPECT_EQ(proof.error, "") << seed;
    EXPECT_TRUE(replayInfeasibility(p, result.bound, proof.proof)) << seed;
  } else {
    EXPECT_TRUE(trusted.empty()) << seed;
  }
}

TEST(TimeLags, AreAsShortAsAllStartsTried) {
  for (unsigned seed = 0; seed < 120; ++seed)
    expectShortest(randomLags(seed, false), seed);
}

TEST(TimeLags, OfTasksWithModes) {
  for (unsigned seed = 0; seed < 40; ++seed)
    expectShortest(randomLags(1000 + seed, true), seed);
}

/// Queries of both kinds answer as the solver does.
TEST(TimeLags, QueriesSayTheSame) {
  for (unsigned seed = 200; seed < 215; ++seed) {
    SchedulingProblem p = randomLags(seed, seed % 2);
    int64_t best = shortest(p), longest = serialLength(p);
    for (SmtEncoding encoding : {SmtEncoding::BitVector, SmtEncoding::LinearInteger}) {
      EXPECT_EQ(checkSat(smtQuery(p, longest, encoding)).answer, best < 0 ? "unsat" : "sat") << seed;
      if (best > 0) {
        EXPECT_EQ(checkSat(smtQuery(p, best - 1, encoding)).answer, "unsat") << seed;
      }
    }
  }
}

TEST(TimeLags, CyclesHaveAProofAndTamperedOnesNone) {
  SchedulingProblem p;
  for (const char *name : {"a", "b", "c"})
    p.addTask(name, 2, {});
  p.addPrecedence(0, 1, 1);
  p.lags = {{1, 2, 1}, {2, 0, -3}};
  SchedulingResult result = schedule(p, {});
  ASSERT_EQ(result.status, Status::Infeasible);
  ASSERT_EQ(result.bound.kind, SchedulingBound::Kind::Cycle);
  EXPECT_TRUE(verify(p, result).empty());
  auto refused = [&](SchedulingProblem problem, SchedulingResult claim) { return !verify(problem, claim).empty(); };
  SchedulingProblem looser = p;
  looser.lags[1].lag = -4; // the cycle is 0 long
  EXPECT_TRUE(refused(looser, result));
  EXPECT_EQ(schedule(looser, {}).status, Status::Feasible);
  SchedulingResult shorter = result;
  shorter.bound.tasks.pop_back();
  EXPECT_TRUE(refused(p, shorter));
  shorter.bound.tasks = {0, 1, 2, 0};
  EXPECT_TRUE(refused(p, shorter));
  SchedulingResult feasible = result;
  feasible.status = Status::Unknown, feasible.conflict.clear();
  EXPECT_TRUE(refused(p, feasible));
}

/// Two that must run at once on one machine: there is no schedule, of whatever length.
TEST(TimeLags, WhatResourcesForbidIsProved) {
  SchedulingProblem p;
  p.addResource("machine", 1);
  for (const char *name : {"a", "b"})
    p.addTask(name, 3, {{0, 1}});
  p.lags = {{0, 1, -2}, {1, 0, -2}};
  SchedulingResult result = schedule(p, {});
  ASSERT_EQ(result.status, Status::Infeasible);
  EXPECT_GT(result.bound.value, serialLength(p));
  std::vector<std::string> trusted;
  EXPECT_TRUE(verify(p, result, &trusted).empty());
  p.lags[0].lag = -3; // b may start 3 before a
  EXPECT_EQ(schedule(p, {}).solution.makespan, 6);
  EXPECT_FALSE(verify(p, result, &trusted).empty() && trusted.empty());
}

TEST(TimeLags, AreWrittenAndReadAgain) {
  SchedulingProblem p = randomLags(7, true);
  auto json = readSchedulingJson(schedulingJson(p), "p.json");
  ASSERT_TRUE(json);
  EXPECT_EQ(schedulingJson(*json), schedulingJson(p));
  SchedulingResult result = schedule(p, {});
  auto text = readSchedulingMlir(schedulingMlir(p, &result), "p.mlir");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(schedulingMlir(text->problem, &*text->result), schedulingMlir(p, &result));
  p.lags.push_back({1, 1, 0});
  EXPECT_FALSE(check(p).empty());
}

/// A start moved by one breaks a lag that is tight.
TEST(TimeLags, AreReplayed) {
  SchedulingProblem p;
  p.addTask("a", 2, {});
  p.addTask("b", 2, {});
  p.lags = {{0, 1, 1}, {1, 0, -1}}; // b exactly 1 after a
  SchedulingResult result = schedule(p, {});
  ASSERT_EQ(result.solution.makespan, 3);
  EXPECT_EQ(result.solution.start, (std::vector<int64_t>{0, 1}));
  for (int64_t start : {0, 2}) {
    SchedulingSolution moved{{0, start}, {0, 0}, start + 2};
    Errors errors = verify(p, moved);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].code, Code::DependenceViolated);
  }
}

} // namespace
} // namespace accord
