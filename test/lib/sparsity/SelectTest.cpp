// Options of operations against trying all of them, the proof against changed claims, and laws.
#include "lib/sparsity/solve/Select.h"
#include "lib/sparsity/verify/Selection.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <set>

using namespace accord;

namespace {

/// Of all operations at most `max` take an option that is `sparse`.
SelectionRule limitSparseLayers(const SelectionProblem &problem, int64_t max) {
  SelectionRule rule;
  rule.max = max;
  for (unsigned o = 0; o < problem.operations.size(); ++o)
    for (unsigned i = 0; i < problem.operations[o].options.size(); ++i)
      if (problem.operations[o].options[i].sparse)
        rule.options.push_back({o, i});
  return rule;
}

constexpr int64_t kUnlimited = SelectionProblem::kUnlimited;

struct SelectRandom {
  std::mt19937_64 engine;
  explicit SelectRandom(uint64_t seed) : engine(seed) {}
  int64_t from(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return from(1, 100) <= percent; }

  SelectionProblem problem(size_t maxOperations, size_t maxOptions, bool constrained) {
    SelectionProblem out;
    out.objective = static_cast<SelectionObjective>(from(0, 3));
    size_t count = static_cast<size_t>(from(1, static_cast<int64_t>(maxOperations)));
    // Small numbers have many ties, large ones none.
    int64_t largest = chance(40) ? 6 : chance(50) ? 1000 : int64_t(1) << 50;
    int64_t loss = 0, bytes = 0;
    for (size_t o = 0; o < count; ++o) {
      SelectionOperation &operation = out.operations.emplace_back();
      operation.name = "o" + std::to_string(o);
      operation.stage = static_cast<unsigned>(from(0, static_cast<int64_t>(count) / 2));
      size_t options = static_cast<size_t>(from(1, static_cast<int64_t>(maxOptions)));
      for (size_t i = 0; i < options; ++i) {
        SelectionOption option;
        option.label = i == 0 ? "dense" : "s" + std::to_string(from(0, 1) * 100 + i64(i));
        option.picoseconds = from(i == 0 ? largest / 2 : 0, largest);
        option.picojoules = from(i == 0 ? largest / 2 : 0, largest);
        option.bytes = from(0, largest);
        option.loss = i == 0 ? 0 : from(0, chance(50) ? 9 : largest);
        option.sparse = i > 0;
        operation.options.push_back(option);
      }
      int64_t maxLoss = 0, maxBytes = 0;
      for (const SelectionOption &option : operation.options) {
        maxLoss = std::max(maxLoss, option.loss);
        maxBytes = std::max(maxBytes, option.bytes);
      }
      loss += maxLoss;
      bytes += maxBytes;
    }
    if (chance(80))
      out.lossBudget = from(0, loss / 2);
    if (chance(50))
      out.byteBudget = from(bytes / 4, bytes);
    if (constrained)
      constrain(out);
    return out;
  }

  void constrain(SelectionProblem &out) {
    std::vector<unsigned> order(out.operations.size());
    for (unsigned o = 0; o < order.size(); ++o)
      order[o] = o;
    std::shuffle(order.begin(), order.end(), engine);
    if (chance(60) && order.size() > 1)
      out.groups.push_back({order[0], order[1]});
    if (chance(30) && order.size() > 4)
      out.groups.push_back({order[2], order[3], order[4]});
    if (chance(50))
      out.rules.push_back(limitSparseLayers(out, from(0, 3)));
    if (chance(30)) {
      SelectionRule rule{{}, from(0, 2)};
      for (unsigned o : order)
        if (chance(50))
          rule.options.push_back({o, static_cast<unsigned>(from(0, i64(out.operations[o].options.size()) - 1))});
      out.rules.push_back(rule);
    }
  }
  static int64_t i64(size_t number) { return static_cast<int64_t>(number); }
};

/// All choices, with sums of its own.
struct SelectBruteForce {
  const SelectionProblem &problem;
  std::vector<unsigned> choice;
  std::optional<int64_t> min;

  explicit SelectBruteForce(const SelectionProblem &problem) : problem(problem) { next(); }
  void next() {
    if (choice.size() == problem.operations.size())
      return evaluate();
    for (unsigned i = 0; i < problem.operations[choice.size()].options.size(); ++i) {
      choice.push_back(i);
      next();
      choice.pop_back();
    }
  }
  const SelectionOption &taken(unsigned o) const { return problem.operations[o].options[choice[o]]; }
  void evaluate() {
    int64_t loss = 0, bytes = 0, value = 0;
    for (unsigned o = 0; o < choice.size(); ++o) {
      loss += taken(o).loss;
      bytes += taken(o).bytes;
    }
    if (loss > problem.lossBudget || bytes > problem.byteBudget)
      return;
    for (const auto &group : problem.groups) {
      std::set<std::string> labels;
      for (unsigned o : group)
        labels.insert(taken(o).label);
      if (labels.size() > 1)
        return;
    }
    for (const SelectionRule &rule : problem.rules) {
      int64_t count = 0;
      for (auto [o, i] : rule.options)
        count += choice[o] == i;
      if (count > rule.max)
        return;
    }
    for (unsigned stage = 0; stage < 20; ++stage) {
      int64_t sum = 0;
      for (unsigned o = 0; o < choice.size(); ++o)
        if (problem.objective != SelectionObjective::SlowestStage || problem.operations[o].stage == stage)
          sum += problem.objective == SelectionObjective::Energy   ? taken(o).picojoules
                 : problem.objective == SelectionObjective::Memory ? taken(o).bytes
                                                                   : taken(o).picoseconds;
      value = std::max(value, sum);
    }
    min = std::min(value, min.value_or(value));
  }
};

void compare(const SelectionProblem &problem, uint64_t seed) {
  ASSERT_EQ(check(problem), "");
  SelectionResult result = select(problem);
  SelectBruteForce all(problem);
  ASSERT_EQ(result.feasible, all.min.has_value()) << seed;
  EXPECT_TRUE(result.proven()) << seed;
  if (result.feasible) {
    EXPECT_EQ(result.value, *all.min) << seed;
    EXPECT_EQ(result.bound, *all.min) << seed;
    EXPECT_EQ(result.value, valueOf(result.sums, problem.objective));
    EXPECT_TRUE(isFeasible(problem, result.choice)) << seed;
  }
  Verification proof = verify(problem, result);
  EXPECT_TRUE(proof.holds()) << seed << ": " << proof.findings.front().message;
  EXPECT_TRUE(proof.trusted.empty()) << seed;
}

TEST(Select, AsTryingEverything) {
  unsigned impossible = 0, limited = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SelectionProblem problem = SelectRandom(seed).problem(7, 5, false);
    compare(problem, seed);
    SelectionResult result = select(problem);
    impossible += !result.feasible;
    SelectionProblem free = problem;
    free.lossBudget = free.byteBudget = kUnlimited;
    limited += result.feasible && select(free).value < result.value;
  }
  EXPECT_GT(impossible, 5U);
  EXPECT_GT(limited, 200U); // budgets that do not matter would show nothing
}

TEST(Select, SideConstraintsAsTryingEverything) {
  unsigned matter = 0;
  for (uint64_t seed = 1000; seed < 1200; ++seed) {
    SelectionProblem problem = SelectRandom(seed).problem(6, 4, true);
    compare(problem, seed);
    SelectionProblem free = problem;
    free.groups.clear();
    free.rules.clear();
    SelectionResult with = select(problem), without = select(free);
    matter += without.feasible && (!with.feasible || with.value > without.value);
    if (with.feasible) {
      EXPECT_LE(without.value, with.value) << seed;
    }
  }
  EXPECT_GT(matter, 40U);
}

/// 21 layers of 8 options, where fewer cycles cost accuracy.
SelectionProblem layers(uint64_t seed) {
  SelectRandom random(seed);
  SelectionProblem out;
  int64_t loss = 0;
  for (unsigned o = 0; o < 21; ++o) {
    SelectionOperation &operation = out.operations.emplace_back();
    operation.name = "layer" + std::to_string(o);
    int64_t time = random.from(5'000'000, 120'000'000);
    for (int64_t i = 0; i < 8; ++i)
      operation.options.push_back({"d" + std::to_string(i), time * (9 - i) / 9 + random.from(0, 99), time * (10 - i),
                                   time * (12 - i) / 7 + random.from(0, 999),
                                   i == 0 ? 0 : (i * i * i + random.from(0, 9)) * 1'000'000, i > 0});
    loss += operation.options.back().loss;
  }
  out.lossBudget = loss / 7;
  return out;
}

TEST(Select, LayersOfANetworkTakeFewPartialChoices) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SelectionProblem problem = layers(seed);
    SelectionResult result = select(problem);
    EXPECT_TRUE(result.feasible && result.proven());
    EXPECT_LT(result.states, 60'000U) << seed;
    Verification proof = verify(problem, result);
    EXPECT_TRUE(proof.holds() && proof.trusted.empty()) << seed;
    problem.byteBudget = result.sums.bytes - result.sums.bytes / 50;
    result = select(problem);
    EXPECT_TRUE(result.proven()) << seed;
    EXPECT_LT(result.states, 400'000U) << seed;
    proof = verify(problem, result);
    EXPECT_TRUE(proof.holds() && proof.trusted.empty()) << seed;
  }
}

TEST(Select, FewerSparseLayersTakeFewPartialChoices) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SelectionProblem problem = layers(seed);
    int64_t before = kUnlimited;
    for (int64_t max : {0, 3, 6, 12, 21}) {
      problem.rules = {limitSparseLayers(problem, max)};
      SelectionResult result = select(problem);
      EXPECT_TRUE(result.proven()) << seed;
      EXPECT_LT(result.states, 300'000U) << seed;
      EXPECT_LE(result.value, before);
      EXPECT_GE(std::count(result.choice.begin(), result.choice.end(), 0U), 21 - max);
      Verification proof = verify(problem, result);
      EXPECT_TRUE(proof.holds() && proof.trusted.empty()) << seed;
      before = result.value;
    }
  }
}

TEST(Select, MoreRoomIsNeverWorse) {
  SelectionProblem problem = layers(3);
  int64_t before = kUnlimited;
  for (int64_t part = 0; part <= 20; ++part) {
    SelectionProblem more = problem;
    more.lossBudget = problem.lossBudget * part / 10;
    SelectionResult result = select(more);
    ASSERT_TRUE(result.proven());
    EXPECT_LE(result.value, before);
    if (part == 0) // nothing may be lost: dense
      EXPECT_EQ(result.choice, std::vector<unsigned>(21, 0));
    before = result.value;
  }
}

TEST(Select, OrderOfOperationsDoesNotMatter) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SelectRandom random(seed);
    SelectionProblem problem = random.problem(9, 6, false);
    SelectionProblem other = problem;
    std::shuffle(other.operations.begin(), other.operations.end(), random.engine);
    SelectionResult a = select(problem), b = select(other);
    EXPECT_EQ(a.feasible, b.feasible);
    EXPECT_EQ(a.value, b.value);
  }
}

TEST(Select, DenseWinsTies) {
  SelectionProblem problem;
  for (int o = 0; o < 4; ++o)
    problem.operations.push_back({"o", 0, {{"dense", 10, 10, 10, 0, false}, {"sparse", 10, 10, 10, 0, true}}});
  for (int objective = 0; objective < 4; ++objective) {
    problem.objective = static_cast<SelectionObjective>(objective);
    EXPECT_EQ(select(problem).choice, std::vector<unsigned>(4, 0));
  }
}

TEST(Select, WhatALimitCutsIsAGap) {
  // All options have the same value for each loss, and odd losses cannot fill an even budget, so that bounds decide
  // little.
  SelectRandom random(5);
  SelectionProblem problem;
  for (int o = 0; o < 40; ++o) {
    int64_t a = random.from(1, int64_t(1) << 40);
    problem.operations.push_back({"o", 0, {{"dense", a * 2, 0, 0, 0, false}, {"sparse", 0, 0, 0, a * 2, true}}});
    problem.lossBudget = (o == 0 ? 0 : problem.lossBudget) + a;
  }
  SelectOptions few;
  few.states = 2000;
  SelectionResult cut = select(problem, few);
  ASSERT_TRUE(cut.feasible);
  EXPECT_LE(cut.bound, cut.value);
  EXPECT_TRUE(isFeasible(problem, cut.choice));
  EXPECT_LT(cut.gap(), 1e-3);
  EXPECT_FALSE(cut.proven());
  Verification proof = verify(problem, cut, 10'000);
  EXPECT_TRUE(proof.holds());
}

TEST(Select, ChangedClaimsAreFound) {
  unsigned lower = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SelectionProblem problem = SelectRandom(seed).problem(6, 4, seed % 2);
    SelectionResult result = select(problem);
    auto found = [&](const SelectionResult &claim, const char *code) {
      Verification proof = verify(problem, claim);
      return std::any_of(proof.findings.begin(), proof.findings.end(),
                         [&](const Error &error) { return numberOf(error.code) == code; });
    };
    if (!result.feasible)
      continue;
    SelectionResult claim = result;
    ++claim.value;
    EXPECT_TRUE(found(claim, "A0905"));
    claim = result;
    --claim.sums.loss;
    EXPECT_TRUE(found(claim, "A0905"));
    claim = result;
    ++claim.bound;
    EXPECT_TRUE(found(claim, "A0906"));
    claim = {};
    claim.bound = kUnlimited; // nothing keeps the limits
    EXPECT_TRUE(found(claim, "A0906")) << seed;
    claim = result;
    claim.choice.pop_back();
    EXPECT_TRUE(found(claim, "A0904"));
    claim = result;
    claim.choice[0] = 77;
    EXPECT_TRUE(found(claim, "A0904"));
    // Any other choice breaks a limit, or is not better; claimed to be the best it is found out.
    for (unsigned o = 0; o < result.choice.size(); ++o)
      for (unsigned i = 0; i < problem.operations[o].options.size(); ++i) {
        claim = result;
        claim.choice[o] = i;
        claim.sums = sums(problem, claim.choice);
        claim.value = claim.bound = valueOf(claim.sums, problem.objective);
        if (claim.value == result.value && isFeasible(problem, claim.choice))
          continue;
        EXPECT_FALSE(verify(problem, claim).holds()) << seed;
        lower += claim.value < result.value;
      }
  }
  EXPECT_GT(lower, 50U);
}

TEST(Select, LossesAreRoundedUpAndBudgetsDown) {
  EXPECT_EQ(lossUnits(Rational(1) / 3), 333333333334);
  EXPECT_EQ(lossUnits(Rational(-1) / 3), 0);
  EXPECT_EQ(budgetUnits(Rational(1) / 3, 1), 333333333333);
  EXPECT_EQ(budgetUnits(Rational(1) / 3, Rational(5) / 4), 266666666666);
  EXPECT_EQ(budgetUnits(Rational(-1) / 3, 1), -1);
  EXPECT_EQ(budgetUnits(1, 0), kUnlimited);
  for (int64_t n = 1; n < 200; ++n)
    for (int64_t k = 1; k < 5; ++k) {
      Rational loss = Rational(n) / 50000, margin = Rational(k + 4) / 4;
      Rational budget = loss * margin * Rational(k);
      // k such losses fill the budget: in units they are at most k + 1 over.
      EXPECT_LE(k * lossUnits(loss) - budgetUnits(budget, margin), k + 1);
      EXPECT_GE(k * lossUnits(loss), budgetUnits(budget, margin));
    }
}

TEST(Select, WrongProblemsAreRefused) {
  SelectionProblem good = SelectRandom(1).problem(6, 4, false);
  good.operations.resize(1);
  good.operations.push_back({"o", 0, {{"dense", 1, 1, 1, 0, false}, {"s", 1, 1, 1, 1, true}}});
  ASSERT_EQ(check(good), "");
  auto wrong = [&](auto change) {
    SelectionProblem problem = good;
    change(problem);
    SelectionResult nothing;
    return !check(problem).empty() && !verify(problem, nothing).holds();
  };
  EXPECT_TRUE(wrong([](auto &p) { p.operations.clear(); }));
  EXPECT_TRUE(wrong([](auto &p) { p.operations[1].options.clear(); }));
  EXPECT_TRUE(wrong([](auto &p) { p.operations[1].options[0].sparse = true; }));
  EXPECT_TRUE(wrong([](auto &p) { p.operations[1].options[1].label = "dense"; }));
  EXPECT_TRUE(wrong([](auto &p) { p.operations[1].options[1].bytes = -1; }));
  EXPECT_TRUE(wrong([](auto &p) { p.operations[1].options[1].loss = kUnlimited; }));
  EXPECT_TRUE(wrong([](auto &p) { p.operations[1].stage = 1u << 31; }));
  EXPECT_TRUE(wrong([](auto &p) { p.lossBudget = INT64_MIN; }));
  EXPECT_TRUE(wrong([](auto &p) { p.groups = {{0, 9}}; }));
  EXPECT_TRUE(wrong([](auto &p) { p.groups = {{0, 1}, {1}}; }));
  EXPECT_TRUE(wrong([](auto &p) { p.rules = {{{{1, 9}}, 1}}; }));
  EXPECT_TRUE(wrong([](auto &p) { p.rules = {{{{1, 1}, {1, 1}}, 1}}; }));
  EXPECT_TRUE(wrong([](auto &p) { p.rules = {{{{1, 1}}, -1}}; }));
}

TEST(Select, LargestNumbersDoNotOverflow) {
  constexpr int64_t kLargest = int64_t(1) << 57;
  for (int objective = 0; objective < 4; ++objective) {
    SelectionProblem problem;
    problem.objective = static_cast<SelectionObjective>(objective);
    for (unsigned o = 0; o < 8; ++o)
      problem.operations.push_back({"o",
                                    o / 2,
                                    {{"dense", kLargest, kLargest, kLargest - o, 0, false},
                                     {"s", o, o, kLargest, kLargest, true},
                                     {"t", kLargest / 2, 1, 1, 3, true}}});
    problem.lossBudget = 3 * kLargest + 7;
    problem.byteBudget = 6 * kLargest;
    compare(problem, static_cast<uint64_t>(objective));
  }
}

} // namespace
