// A solver that learns clauses: its answers against exhaustion, what it learnt against the formula of the problem, and
// against other problems.
#include "lib/scheduling/prove/LearntProof.h"
#include "lib/scheduling/solve/ClauseConstraints.h"
#include "lib/scheduling/solve/ListScheduler.h"
#include "lib/scheduling/solve/Neighbourhoods.h"
#include "lib/scheduling/verify/InfeasibilityFormula.h"
#include "lib/scheduling/verify/InfeasibilityProof.h"
#include "test/lib/scheduling/SchedulingFamilies.h"
#include "test/support/SchedulingBruteForce.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace accord;
using namespace accord::testing;
using namespace accord::solve;

namespace {

constexpr uint64_t kLimit = 50'000'000;

SchedulingBound boundOf(int64_t value, std::vector<ProofStep> steps = {}) {
  return {value, SchedulingBound::Kind::Solver, {}, 0, std::move(steps), "learnt clauses", 1};
}

/// Ten tasks that crowd two resources, with few precedences: more to learn than in the families.
SchedulingProblem crowd(unsigned seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](int64_t min, int64_t max) { return min + int64_t(random() % uint64_t(max - min + 1)); };
  SchedulingProblem problem;
  for (int r = 0; r < 2; ++r)
    problem.addResource(fmt::format("r{}", r), pick(3, 6));
  for (int t = 0; t < 10; ++t) {
    std::vector<SchedulingProblem::Usage> usage;
    for (SchedulingProblem::Id r = 0; r < 2; ++r)
      if (int64_t amount = pick(0, 3); amount > 0)
        usage.push_back({r, amount});
    problem.addTask(fmt::format("t{}", t), pick(1, 5), usage);
  }
  for (SchedulingProblem::Id a = 0; a < 10; ++a)
    for (SchedulingProblem::Id b = a + 1; b < 10; ++b)
      if (pick(1, 100) <= 12)
        problem.addPrecedence(a, b, pick(0, 1));
  return problem;
}

/// Windows without propagation: what is left to the solver.
Propagator plainWindows(const Instance &instance, int64_t horizon) { return Propagator(instance, horizon); }

/// Learnt at a horizon, said of a bound.
std::string proofOf(const SchedulingProblem &problem, const LearntClauses &learnt, const SchedulingBound &bound) {
  auto windows = solverWindows(problem, bound);
  auto formula = infeasibilityFormula(problem, bound);
  auto encoded = windows ? prove::encodeInClauses(problem, 1, *windows) : std::nullopt;
  if (!formula || !encoded)
    return "";
  std::string lemmas = prove::proofOf(learnt, *encoded);
  return fmt::format("accord-rup 1 {} {} {:016x} {}\n", formula->variables, formula->clauses, formula->hash(),
                     lemmas.size()) +
         lemmas;
}

} // namespace

TEST(ClauseOracle, FindsTheOptimumOfExhaustionAndProvesIt) {
  unsigned refuted = 0, lemmas = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = seed % 4 == 0 ? crowd(seed) : FamilyMember(Family::Projects, seed).problem;
    auto best = BruteForce(problem).best;
    ASSERT_TRUE(best);
    Instance instance(problem);
    Propagator windows = plainWindows(instance, serialLength(problem));
    ASSERT_TRUE(ClauseOracle::supports(instance, windows));
    ClauseOracle oracle(instance, windows);
    SchedulingSolution found;
    // From above, each schedule one better.
    for (int64_t makespan = serialLength(problem); makespan >= best->makespan; makespan = found.makespan - 1) {
      ASSERT_EQ(oracle.ask(makespan, kLimit, found), ClauseOracle::Answer::Yes) << makespan;
      EXPECT_TRUE(occupancyAllows(problem, found));
      ASSERT_LE(found.makespan, makespan);
    }
    EXPECT_EQ(found.makespan, best->makespan);
    if (best->makespan == 0)
      continue;
    ASSERT_EQ(oracle.ask(best->makespan - 1, kLimit, found), ClauseOracle::Answer::No);
    ++refuted;
    // What it learnt under longer horizons, too, is a proof of the formula that the verifier writes.
    auto learnt = oracle.refutation();
    ASSERT_TRUE(learnt);
    auto replay =
        replayInfeasibility(problem, boundOf(best->makespan), proofOf(problem, *learnt, boundOf(best->makespan)));
    EXPECT_TRUE(replay) << replay.error().message;
    lemmas += learnt->lastUse.size();
    // It proves no better bound.
    EXPECT_FALSE(replayInfeasibility(problem, boundOf(best->makespan + 1),
                                     proofOf(problem, *learnt, boundOf(best->makespan + 1))));
  }
  EXPECT_GT(refuted, 390u);
  EXPECT_GT(lemmas, 400u);
}

TEST(ClauseOracle, ProvesWithinWindowsThatFollow) {
  unsigned replayed = 0;
  for (unsigned seed = 401; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = crowd(seed);
    auto best = BruteForce(problem).best;
    Instance instance(problem);
    instance.tightenPrecedences(instance.size());
    Propagator windows(instance, best->makespan - 1);
    if (best->makespan == 0 || !windows.run())
      continue;
    SchedulingBound bound = boundOf(best->makespan, windows.steps);
    auto proved = solverWindows(problem, bound);
    ASSERT_TRUE(proved);
    auto learnt = prove::refute(problem, bound, *proved, nullptr);
    ASSERT_TRUE(learnt);
    auto replay = replayInfeasibility(problem, bound, proofOf(problem, *learnt, bound));
    EXPECT_TRUE(replay) << replay.error().message;
    ++replayed;
  }
  EXPECT_GT(replayed, 20u);
}

TEST(ClauseOracle, ProvesByTheWorkInIntervals) {
  unsigned refuted = 0, overloads = 0, refused = 0;
  for (unsigned seed = 501; seed <= 560; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = seed % 4 == 0 ? FamilyMember(Family::Projects, seed).problem : crowd(seed);
    auto best = BruteForce(problem).best;
    ASSERT_TRUE(best);
    Instance instance(problem);
    ClauseOracle oracle(instance, plainWindows(instance, serialLength(problem)), /*energetic=*/true);
    SchedulingSolution found;
    for (int64_t makespan = serialLength(problem); makespan >= best->makespan; makespan = found.makespan - 1) {
      ASSERT_EQ(oracle.ask(makespan, kLimit, found), ClauseOracle::Answer::Yes) << makespan;
      EXPECT_TRUE(occupancyAllows(problem, found));
    }
    EXPECT_EQ(found.makespan, best->makespan);
    if (best->makespan == 0)
      continue;
    ASSERT_EQ(oracle.ask(best->makespan - 1, kLimit, found), ClauseOracle::Answer::No);
    auto learnt = oracle.refutation();
    ASSERT_TRUE(learnt);
    SchedulingBound bound = boundOf(best->makespan), better = boundOf(best->makespan + 1);
    auto replay = replayInfeasibility(problem, bound, proofOf(problem, *learnt, bound));
    EXPECT_TRUE(replay) << replay.error().message;
    EXPECT_FALSE(replayInfeasibility(problem, better, proofOf(problem, *learnt, better)));
    ++refuted;
    // Intervals in which nothing is too much: a proof may only hold where unit propagation shows the lemma.
    for (auto &overload : learnt->overloads) {
      if (overload.resource == SchedulingProblem::kNoTask)
        continue;
      ++overloads;
      for (LearntClauses::Overload wrong : {LearntClauses::Overload{7, overload.from, overload.to},
                                            LearntClauses::Overload{overload.resource, overload.to, overload.from},
                                            LearntClauses::Overload{overload.resource, 1'000'000, 1'000'001}}) {
        std::swap(overload, wrong);
        refused += !replayInfeasibility(problem, bound, proofOf(problem, *learnt, bound));
        EXPECT_FALSE(replayInfeasibility(problem, better, proofOf(problem, *learnt, better)));
        std::swap(overload, wrong);
      }
    }
  }
  EXPECT_GT(refuted, 40u);
  EXPECT_GT(overloads, 20u);
  EXPECT_GT(refused, 20u);
}

TEST(ClauseOracle, IsRefutedByAProblemThatHasAShorterSchedule) {
  unsigned shorter = 0, refused = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = crowd(seed);
    auto best = BruteForce(problem).best;
    if (best->makespan == 0)
      continue;
    SchedulingBound bound = boundOf(best->makespan);
    auto windows = solverWindows(problem, bound);
    auto learnt = prove::refute(problem, bound, *windows, nullptr);
    if (!learnt) // a window is closed
      continue;
    auto isRefused = [&](const SchedulingProblem &other) {
      auto now = BruteForce(other).best;
      if (!now || now->makespan >= best->makespan)
        return;
      ++shorter;
      EXPECT_FALSE(replayInfeasibility(other, bound, proofOf(other, *learnt, bound)));
      EXPECT_FALSE(prove::refute(other, bound, *solverWindows(other, bound), nullptr));
    };
    for (size_t r = 0; r < problem.resources.size(); ++r) {
      SchedulingProblem other = problem;
      ++other.resources[r].capacity;
      isRefused(other);
    }
    for (size_t e = 0; e < problem.precedences.size(); ++e) {
      SchedulingProblem other = problem;
      other.precedences.erase(other.precedences.begin() + int64_t(e));
      isRefused(other);
    }
    // A wrong step: each of the first literals turned around, once, of a bound that is one too good.
    for (size_t at = 0; at < std::min<size_t>(learnt->literals.size(), 60); ++at) {
      int32_t &literal = learnt->literals[at];
      literal = -literal;
      EXPECT_FALSE(replayInfeasibility(problem, boundOf(best->makespan + 1),
                                       proofOf(problem, *learnt, boundOf(best->makespan + 1))));
      refused += !replayInfeasibility(problem, bound, proofOf(problem, *learnt, bound));
      literal = -literal;
    }
  }
  EXPECT_GT(shorter, 5u);
  EXPECT_GT(refused, 50u); // some lemmas are true the other way around, and some are not needed
}

TEST(ClauseOracle, ChoosesModesWithinBudgets) {
  unsigned solved = 0, infeasible = 0, spending = 0;
  for (unsigned seed = 801; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = FamilyMember(Family::Modes, seed).problem;
    Instance instance(problem);
    Propagator windows = plainWindows(instance, serialLength(problem));
    if (!ClauseOracle::supports(instance, windows))
      continue;
    auto best = BruteForce(problem).best;
    ClauseOracle oracle(instance, windows, /*energetic=*/seed % 2 == 0);
    SchedulingSolution found;
    if (!best) {
      EXPECT_EQ(oracle.ask(serialLength(problem), kLimit, found), ClauseOracle::Answer::No);
      ++infeasible;
      continue;
    }
    for (int64_t makespan = serialLength(problem); makespan >= best->makespan; makespan = found.makespan - 1) {
      ASSERT_EQ(oracle.ask(makespan, kLimit, found), ClauseOracle::Answer::Yes) << makespan;
      EXPECT_TRUE(occupancyAllows(problem, found));
      EXPECT_LE(found.makespan, makespan);
    }
    EXPECT_EQ(found.makespan, best->makespan);
    EXPECT_EQ(oracle.ask(best->makespan - 1, kLimit, found), ClauseOracle::Answer::No);
    ++solved;
    spending += !problem.budgets.empty();
  }
  EXPECT_GT(solved, 60u);
  EXPECT_GT(infeasible, 2u);
  EXPECT_GT(spending, 20u);
}

/// Tasks by number, one after the other as early as they can.
SchedulingSolution firstOf(const Instance &instance) {
  SerialScheduler scheduler(instance);
  std::vector<int64_t> key(instance.size());
  for (SchedulingProblem::Id t = 0; t < key.size(); ++t)
    key[t] = t;
  std::vector<Id> modes(instance.size(), 0);
  std::vector<int64_t> start = scheduler.run(key, modes, false);
  return {start, modes, scheduler.length()};
}

TEST(Neighbourhoods, FindTheOptimumOfExhaustionWhereAllIsFree) {
  for (unsigned seed = 601; seed <= 630; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = crowd(seed);
    auto optimum = BruteForce(problem).best;
    ASSERT_TRUE(optimum);
    Instance instance(problem);
    SchedulingSolution best = firstOf(instance);
    std::mt19937_64 random(seed);
    uint64_t spent = 0;
    NeighbourhoodSearch(instance, random).improve(best, {0, 2'000'000, nullptr}, spent);
    EXPECT_TRUE(occupancyAllows(problem, best));
    EXPECT_EQ(best.makespan, optimum->makespan);
  }
}

/// Four crowds beside each other, so that most tasks keep their order.
TEST(Neighbourhoods, KeepAllConstraintsOfLargerProblems) {
  unsigned improved = 0;
  for (unsigned seed = 701; seed <= 710; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = crowd(seed);
    for (unsigned part = 1; part < 4; ++part) {
      SchedulingProblem more = crowd(seed + 1000 * part);
      SchedulingProblem::Id offset = problem.tasks.size();
      for (auto &task : more.tasks)
        problem.addTask("", task.modes[0].duration, task.modes[0].usage);
      for (auto &p : more.precedences)
        problem.addPrecedence(p.before + offset, p.after + offset, p.delay);
    }
    Instance instance(problem);
    SchedulingSolution best = firstOf(instance), first = best;
    std::mt19937_64 random(seed), same(seed);
    uint64_t spent = 0;
    bool better = NeighbourhoodSearch(instance, random).improve(best, {0, 1'000'000, nullptr}, spent);
    EXPECT_TRUE(occupancyAllows(problem, best));
    EXPECT_EQ(better, best.makespan < first.makespan);
    EXPECT_LE(spent, 1'100'000u);
    improved += better;
    SchedulingSolution again = first;
    spent = 0;
    NeighbourhoodSearch(instance, same).improve(again, {0, 1'000'000, nullptr}, spent);
    EXPECT_EQ(again.start, best.start);
  }
  EXPECT_GT(improved, 6u);
}

TEST(ClauseSolver, AnswersTheSameAgainAndStopsAtItsLimit) {
  SchedulingProblem problem;
  problem.addResource("machine", 2);
  for (int t = 0; t < 9; ++t)
    problem.addTask(fmt::format("t{}", t), 3 + t % 2, {{0, 1}});
  Instance instance(problem);
  Propagator windows = plainWindows(instance, 15);
  SchedulingSolution found;
  uint64_t work = 0;
  for (int round = 0; round < 2; ++round) {
    ClauseOracle oracle(instance, windows);
    EXPECT_EQ(oracle.ask(15, kLimit, found), ClauseOracle::Answer::No);
    EXPECT_TRUE(round == 0 || oracle.work() == work);
    work = oracle.work();
  }
  ClauseOracle limited(instance, windows), stopped(instance, windows);
  EXPECT_EQ(limited.ask(15, 1, found), ClauseOracle::Answer::Unknown);
  std::atomic<bool> stop = true;
  EXPECT_EQ(stopped.ask(15, kLimit, found, &stop), ClauseOracle::Answer::Unknown);
  // What was learnt stays: the question can be asked again.
  EXPECT_EQ(limited.ask(15, kLimit, found), ClauseOracle::Answer::No);
}
