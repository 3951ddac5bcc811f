// Proofs that no shorter schedule exists: found for every optimum by exhaustion, never for more, and never for another
// problem.
#include "lib/scheduling/verify/InfeasibilityProof.h"
#include "lib/scheduling/prove/CnfEncoder.h"
#include "lib/scheduling/prove/InfeasibilityProver.h"
#include "lib/scheduling/solve/Propagator.h"
#include "lib/scheduling/verify/InfeasibilityFormula.h"
#include "lib/scheduling/verify/RupChecker.h"
#include "test/lib/scheduling/SchedulingFamilies.h"
#include "test/support/SchedulingBruteForce.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace accord;
using namespace accord::testing;

namespace {

SchedulingBound boundOf(int64_t value, std::vector<ProofStep> steps = {}, int64_t unit = 1) {
  return {value, SchedulingBound::Kind::Solver, {}, 0, std::move(steps), "z3", unit};
}

/// The first line that a proof of `bytes` needs for this problem: what an honest prover would write.
std::string headOf(const SchedulingProblem &problem, const SchedulingBound &bound, size_t bytes) {
  auto formula = infeasibilityFormula(problem, bound);
  return fmt::format("accord-rup 1 {} {} {:016x} {}\n", formula->variables, formula->clauses, formula->hash(), bytes);
}
std::string lemmasOf(const std::string &proof) { return proof.substr(proof.find('\n') + 1); }

/// The lemmas as if they were of this problem.
bool convinces(const SchedulingProblem &problem, const SchedulingBound &bound, const std::string &lemmas) {
  return bool(replayInfeasibility(problem, bound, headOf(problem, bound, lemmas.size()) + lemmas));
}

/// So many tasks of one length on a machine that takes two at a time.
SchedulingProblem rounds(int tasks, int64_t duration = 3) {
  SchedulingProblem p;
  p.name = "rounds";
  p.addResource("machine", 2);
  for (int t = 0; t < tasks; ++t)
    p.addTask(fmt::format("t{}", t), duration, {{0, 1}});
  return p;
}

class Proofs : public ::testing::TestWithParam<Family> {};

TEST_P(Proofs, AreThereForTheOptimumAndNotForMore) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = FamilyMember(GetParam(), seed).problem;
    auto best = BruteForce(problem).best;
    int64_t value = best ? best->makespan : serialLength(problem) + 1;
    for (int64_t claimed = std::max<int64_t>(1, value - 2); claimed <= value + (best ? 2 : 0); ++claimed) {
      SCOPED_TRACE(claimed);
      InfeasibilityCertificate certificate = proveInfeasible(problem, boundOf(claimed));
      if (claimed > value) {
        EXPECT_EQ(certificate.error, "cadical finds a schedule in units of 1");
        continue;
      }
      ASSERT_EQ(certificate.error, "");
      auto replay = replayInfeasibility(problem, boundOf(claimed), certificate.proof);
      EXPECT_TRUE(replay) << replay.error().message;
      // The same lemmas prove no better bound.
      if (best)
        EXPECT_FALSE(convinces(problem, boundOf(value + 1), lemmasOf(certificate.proof)));
    }
  }
}

TEST_P(Proofs, AreAboutFormulasThatTwoWritersAgreeOn) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SchedulingProblem problem = FamilyMember(GetParam(), seed).problem;
    for (int64_t makespan = 0; makespan <= serialLength(problem); makespan += 1 + makespan / 4)
      for (bool narrowed : {false, true})
        for (int64_t unit : {1, 2, 3}) {
          solve::Instance instance(problem);
          solve::Propagator propagator(instance, makespan);
          if (narrowed && !propagator.run())
            continue;
          SchedulingBound bound = boundOf(makespan + 1, narrowed ? propagator.steps : std::vector<ProofStep>(), unit);
          auto windows = solverWindows(problem, bound);
          ASSERT_TRUE(windows);
          auto written = prove::encodeInClauses(problem, unit, *windows);
          auto read = infeasibilityFormula(problem, bound);
          ASSERT_TRUE(written && read);
          EXPECT_EQ(written->variables, read->variables);
          EXPECT_EQ(written->clauses, read->clauses);
          EXPECT_EQ(written->literals, read->literals) << seed << ", makespan " << makespan << ", unit " << unit;
        }
  }
}

TEST_P(Proofs, InUnitsHoldForEverySchedule) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    SchedulingProblem problem = FamilyMember(GetParam(), seed).problem;
    auto best = BruteForce(problem).best;
    if (!best)
      continue;
    for (int64_t unit : {2, 3})
      EXPECT_EQ(proveInfeasible(problem, boundOf(best->makespan + 1, {}, unit)).error,
                fmt::format("cadical finds a schedule in units of {}", unit))
          << seed;
  }
}

TEST_P(Proofs, OfAnotherProblemAreRefused) {
  unsigned shorter = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SchedulingProblem problem = FamilyMember(GetParam(), seed).problem;
    auto best = BruteForce(problem).best;
    if (!best || best->makespan == 0)
      continue;
    SchedulingBound bound = boundOf(best->makespan);
    InfeasibilityCertificate certificate = proveInfeasible(problem, bound);
    ASSERT_EQ(certificate.error, "");
    auto isRefused = [&](const SchedulingProblem &other) {
      if (!check(other).empty())
        return;
      auto now = BruteForce(other).best;
      if (!now || now->makespan >= best->makespan) // the bound holds, too
        return;
      ++shorter;
      EXPECT_FALSE(replayInfeasibility(other, bound, certificate.proof)) << seed;
      EXPECT_FALSE(convinces(other, bound, lemmasOf(certificate.proof))) << seed;
    };
    for (size_t r = 0; r < problem.resources.size(); ++r) {
      SchedulingProblem other = problem;
      ++other.resources[r].capacity;
      isRefused(other);
    }
    for (size_t e = 0; e < problem.precedences.size(); ++e) {
      SchedulingProblem other = problem;
      other.precedences.erase(other.precedences.begin() + ptrdiff_t(e));
      isRefused(other);
    }
    for (size_t t = 0; t < problem.tasks.size(); ++t) {
      SchedulingProblem other = problem;
      for (auto &mode : other.tasks[t].modes)
        mode.duration = std::max<int64_t>(mode.duration - 1, 0);
      isRefused(other);
    }
    for (size_t m = 0; m < problem.memories.size(); ++m) {
      SchedulingProblem other = problem;
      ++other.memories[m].capacity;
      isRefused(other);
    }
  }
  EXPECT_GT(shorter, 10u);
}
INSTANTIATE_TEST_SUITE_P(Family, Proofs, ::testing::ValuesIn(kFamilies),
                         [](const auto &info) { return nameOf(info.param); });

TEST(InfeasibilityProof, IsRefusedWhereTheProblemDiffersByOne) {
  SchedulingProblem p = rounds(5);
  p.addPrecedence(0, 1, 1);
  SchedulingBound bound = boundOf(9);
  std::string proof = proveInfeasible(p, bound).proof;
  ASSERT_TRUE(replayInfeasibility(p, bound, proof));
  auto refusal = [&](const SchedulingProblem &problem, const SchedulingBound &claimed) {
    auto replay = replayInfeasibility(problem, claimed, proof);
    return replay ? std::string("accepted") : replay.error().message;
  };
  auto expectForeign = [&](const std::string &message) {
    EXPECT_NE(message.find("is of another problem, or cut: it should begin with 'accord-rup 1 "), std::string::npos)
        << message;
  };
  SchedulingProblem capacity = p, precedence = p, duration = p;
  capacity.resources[0].capacity = 3;
  precedence.precedences[0].delay = 0;
  duration.tasks[2].modes[0].duration = 2;
  for (const SchedulingProblem &other : {capacity, precedence, duration})
    expectForeign(refusal(other, bound));
  expectForeign(refusal(p, boundOf(10)));
  expectForeign(refusal(p, boundOf(9, {}, 2)));
  bound.kind = SchedulingBound::Kind::Path;
  EXPECT_NE(refusal(p, bound).find("belongs to no bound of a solver"), std::string::npos);
}

TEST(InfeasibilityProof, IsRefusedWhereItIsCutOrChanged) {
  SchedulingProblem p = rounds(7, 2);
  SchedulingBound bound = boundOf(8);
  std::string proof = proveInfeasible(p, bound).proof, lemmas = lemmasOf(proof);
  ASSERT_TRUE(convinces(p, bound, lemmas));
  for (size_t length = 0; length < proof.size(); ++length)
    EXPECT_FALSE(replayInfeasibility(p, bound, llvm::StringRef(proof).take_front(length))) << length;
  EXPECT_FALSE(replayInfeasibility(p, bound, proof + "a"));
  auto refusal = [&](const std::string &changed) {
    auto replay = replayInfeasibility(p, bound, headOf(p, bound, changed.size()) + changed);
    return replay ? std::string("accepted") : replay.error().message;
  };
  // No lemma at all; the empty clause, which does not follow yet; a lemma that does not: "not started" of a first one.
  EXPECT_NE(refusal("").find("ends after 0 lemmas without a contradiction"), std::string::npos);
  EXPECT_NE(refusal(std::string("a\0", 2)).find("line 1 does not follow"), std::string::npos);
  EXPECT_NE(refusal(std::string("a\3\0", 3)).find("line 1 does not follow"), std::string::npos);
  // Not a proof at all.
  EXPECT_NE(refusal("x").find("line 1 neither adds nor deletes a clause"), std::string::npos);
  EXPECT_NE(refusal("a\2").find("line 1 is cut"), std::string::npos);
  EXPECT_NE(refusal(std::string("a\1\0", 3)).find("has a literal of none of the "), std::string::npos);
  EXPECT_NE(refusal("a\xff\xff\xff\xff\xff\xff\xff").find("has a literal of none of the "), std::string::npos);
  EXPECT_NE(refusal("e\2").find("line 1 is cut"), std::string::npos);
  EXPECT_NE(refusal(std::string("e\0\0\1\0", 5)).find("line 1 does not follow"), std::string::npos);
  EXPECT_NE(refusal(std::string("e\x50\0\1\0", 5)).find("line 1 does not follow"), std::string::npos);
  // Half of the lemmas.
  EXPECT_NE(refusal(lemmas.substr(0, lemmas.find('\0', lemmas.size() / 2) + 1)).find("without a contradiction"),
            std::string::npos);
}

TEST(InfeasibilityProof, OfAFalseBoundCannotBeForged) {
  // A proof of the optimum with any byte changed, of a bound that is one too good.
  SchedulingProblem p = rounds(7, 2);
  std::string lemmas = lemmasOf(proveInfeasible(p, boundOf(8)).proof);
  ASSERT_TRUE(convinces(p, boundOf(8), lemmas));
  std::mt19937_64 random(1); // NOLINT(bugprone-random-generator-seed): the same forgeries each time
  unsigned refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string forged = lemmas;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes)
      forged[random() % forged.size()] ^= char(1 << random() % 8);
    EXPECT_FALSE(convinces(p, boundOf(9), forged)) << round;
    refused += !convinces(p, boundOf(8), forged);
  }
  EXPECT_GT(refused, 1000u); // some changes leave a proof
}

TEST(InfeasibilityProof, LeavesTheBoundToTheSolverWhereItCannotBeFound) {
  SchedulingProblem p = rounds(9);
  p.tasks[0].modes.push_back(p.tasks[0].modes[0]); // with one mode each, cadical would not be asked
  ProofSearchOptions options;
  options.maxConflicts = 1;
  EXPECT_EQ(proveInfeasible(p, boundOf(15), options).error, "cadical gave up after 1 conflicts");
  options.solver = "no-such-solver";
  EXPECT_EQ(proveInfeasible(p, boundOf(15), options).error, "no-such-solver is not installed");
  // A program without an end: stopped while it runs.
  std::atomic<bool> stop = false;
  options.solver = ::testing::TempDir() + "accord-endless-solver";
  std::ofstream(options.solver) << "#!/bin/sh\nexec sleep 1000\n";
  std::filesystem::permissions(options.solver, std::filesystem::perms::owner_all);
  options.stop = &stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  EXPECT_EQ(proveInfeasible(p, boundOf(15), options).error, "the run was stopped");
  later.join();
  SchedulingProblem slow = rounds(9, 100'000'000);
  EXPECT_EQ(proveInfeasible(slow, boundOf(500'000'000)).error, "it is too large to be written as clauses");
  EXPECT_FALSE(infeasibilityFormula(slow, boundOf(500'000'000)));
  // In units it is small.
  EXPECT_EQ(proveInfeasible(slow, boundOf(500'000'000, {}, 50'000'000)).error, "");
}

TEST(RupChecker, FollowsUnitPropagation) {
  RupChecker checker(3);
  checker.add({1, 2});
  checker.add({-1, 3});
  checker.add({-2, 3});
  EXPECT_FALSE(checker.derive({1}));  // does not follow
  EXPECT_FALSE(checker.derive({-3})); // its negation does
  EXPECT_TRUE(checker.derive({3}));
  EXPECT_FALSE(checker.isRefuted());
  checker.add({-3, 1});
  checker.add({-3, -1});
  EXPECT_TRUE(checker.isRefuted());
}

TEST(RupChecker, ForgetsWhatIsRemovedUnlessItIsAReason) {
  RupChecker checker(4);
  checker.add({1, 2, 3});
  checker.add({-1, 3, 2});
  checker.remove({3, 2, 1}); // in another order
  EXPECT_FALSE(checker.derive({2, 3}));
  checker.add({3, 1, 2});
  EXPECT_TRUE(checker.derive({2, 3}));
  checker.add({4, -2});
  checker.add({2});
  checker.remove({2}); // 2 holds, and so does 4
  checker.remove({4, -2});
  EXPECT_TRUE(checker.derive({4}));
  checker.remove({1, 4}); // there is none
}

TEST(RupChecker, DerivesThatFourPigeonsNeedFourHoles) {
  // Pigeon p in hole h: 3 p + h.
  RupChecker checker(12);
  auto in = [](int p, int h) { return 3 * p + h; };
  for (int p = 0; p < 4; ++p)
    checker.add({in(p, 1), in(p, 2), in(p, 3)});
  for (int h = 1; h <= 3; ++h)
    for (int p = 0; p < 4; ++p)
      for (int q = 0; q < p; ++q)
        checker.add({-in(p, h), -in(q, h)});
  EXPECT_FALSE(checker.derive({}));
  // The first two, wherever they are, leave one hole for two.
  for (int h = 1; h <= 3; ++h) {
    for (int k = 1; k <= 3; ++k)
      if (k != h)
        EXPECT_TRUE(checker.derive({-in(0, h), -in(1, k)}));
    EXPECT_EQ(checker.isRefuted(), h == 3);
    EXPECT_TRUE(checker.derive({-in(0, h)}));
  }
  EXPECT_TRUE(checker.isRefuted());
}

} // namespace
