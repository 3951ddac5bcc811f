// Zeros and placement together: against every choice and every plan of small problems, and its verifier against what is
// not so.
#include "lib/placement/output/SparsePlacementJson.h"
#include "lib/placement/solve/SparsePlacementSearch.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "lib/placement/verify/SparsePlacementVerifier.h"
#include "test/support/PlacementProblems.h"
#include "test/support/SparsePlacementProblems.h"
#include <gtest/gtest.h>
#include <set>

using namespace accord;

namespace {

using Cost = PlacementProblem::Cost;

std::string texts(const Errors &errors) {
  std::string all;
  for (const Error &error : errors)
    all += numberOf(error.code) + ": " + error.message + "\n";
  return all;
}

SparsePlacementResult solved(const SparsePlacementProblem &problem, double gap = 0) {
  PlacementOptions options;
  options.effort = 14, options.gap = gap;
  return placeWithSparsity(problem, options);
}

bool isProved(const SparsePlacementResult &result) {
  return result.placement.plan ? result.placement.bound >= result.placement.value * (1 - 1e-9)
                               : std::isinf(result.placement.bound);
}

/// A limit that the dense plan just keeps, or does not.
void addLimit(SparsePlacementProblem &problem, uint64_t seed) {
  PlacementOptions options;
  options.effort = 10;
  PlacementResult dense = place(problem.dense, options);
  if (!dense.plan)
    return;
  const PlanMetrics &metrics = dense.metrics;
  PlacementProblem::Limits &limits = problem.dense.limits;
  const double watts = metrics.joules / (static_cast<double>(metrics.step) * 1e-12);
  switch (seed % 5) {
  case 0:
    limits.watts = watts * 1.01;
    break;
  case 1:
    limits.joules = metrics.joules * 0.95;
    break;
  case 2:
    limits.price = metrics.price * 0.95;
    break;
  case 3:
    limits.step = metrics.step * 19 / 20;
    break;
  default:
    limits.watts = watts * 0.95;
  }
}

/// Answers against all choices and plans, and what the verifier says of them.
struct Against {
  size_t compared = 0, none = 0, open = 0, prices = 0, splits = 0, several = 0, bound = 0;
  size_t notRepeated = 0; ///< that no plan fits, which the verifier cannot show without a rest
  size_t trusted = 0;     ///< answers of which the verifier cannot show all within its effort

  void compare(const SparsePlacementProblem &problem, uint64_t seed, double gap = 0) {
    const test::EnumeratedZeros all = test::enumerateZeros(problem);
    ASSERT_TRUE(all.complete) << "seed " << seed;
    const SparsePlacementResult result = solved(problem, gap);
    const PlacementResult &placed = result.placement;
    ++compared;
    several += all.choices > 1;
    count(result);
    EXPECT_LE(placed.bound, all.best * (1 + 1e-9)) << "seed " << seed;
    if (placed.plan) {
      EXPECT_GE(placed.value, all.best * (1 - 1e-9)) << "seed " << seed;
      EXPECT_TRUE(test::isWithinBudgets(problem, result.choice)) << "seed " << seed;
      if (isProved(result))
        EXPECT_NEAR(placed.value, all.best, 2e-9 * all.best) << "seed " << seed;
    } else {
      EXPECT_TRUE(result.choice.empty()) << "seed " << seed;
      if (isProved(result))
        EXPECT_TRUE(all.choice.empty()) << "seed " << seed << ": no plan, but one of " << all.best;
    }
    std::vector<std::string> rest;
    const Errors errors = verify(problem, result, &rest);
    trusted += !rest.empty();
    if (!placed.plan && errors.size() == 1 && errors[0].message.find("the proof is not complete") != std::string::npos)
      ++notRepeated;
    else
      EXPECT_EQ(texts(errors), "") << "seed " << seed;
  }

private:
  void count(const SparsePlacementResult &result) {
    none += !result.placement.plan;
    open += !isProved(result);
    bool priced = false, split = false;
    for (const SparsityProofNode &node : result.proof)
      priced |= !node.prices.empty(), split |= node.splits();
    prices += priced, splits += split;
  }
};

} // namespace

/// ACCORD_PLACE_PROBLEMS=FROM:TO looks at other seeds than 0 to 299.
TEST(SparsePlacement, AnswersAreTheBestOfAllChoicesAndPlans) {
  uint64_t from = 0, to = 300;
  if (const char *seeds = std::getenv("ACCORD_PLACE_PROBLEMS"))
    from = std::strtoull(seeds, const_cast<char **>(&seeds), 10),
    to = *seeds == ':' ? std::strtoull(seeds + 1, nullptr, 10) : from + 1;
  Against all, limited, rough;
  for (uint64_t seed = from; seed < to; ++seed) {
    SparsePlacementProblem problem = test::randomSparsePlacement(seed);
    ASSERT_EQ(texts(check(problem)), "") << "seed " << seed;
    all.compare(problem, seed);
    rough.compare(problem, seed, 0.1); // prices close parts where a little may be missing
    addLimit(problem, seed);
    limited.compare(problem, seed);
  }
  for (const auto &[what, one] : {std::pair{"free", &all}, {"within 10 %", &rough}, {"with a limit", &limited}})
    std::printf("%s: %zu problems, %zu with several choices, %zu without a plan, %zu not proved, %zu with prices, %zu "
                "split, %zu partly trusted, %zu infeasible not shown again\n",
                what, one->compared, one->several, one->none, one->open, one->prices, one->splits, one->trusted,
                one->notRepeated);
  if (std::getenv("ACCORD_PLACE_PROBLEMS"))
    return;
  EXPECT_LE(all.open, 12U);
  EXPECT_GT(all.several, 150U);
  EXPECT_GT(all.none, 50U);
  EXPECT_GT(all.splits, 50U);
  EXPECT_GT(rough.prices, 10U);
  EXPECT_LE(all.notRepeated + rough.notRepeated, 6U);
  EXPECT_LE(all.trusted, 15U);
}

TEST(SparsePlacement, JointIsNoWorseThanOneAfterTheOther) {
  size_t compared = 0, better = 0, lost = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const SparsePlacementProblem problem = test::randomSparsePlacement(seed);
    PlacementOptions options;
    options.effort = 14;
    const PlacementResult dense = place(problem.dense, options);
    if (!dense.plan)
      continue;
    // Cheapest in sum of what the passes of the dense plan take.
    double min = INFINITY;
    std::vector<uint32_t> first;
    for (const auto &choice : test::allChoices(problem)) {
      if (!test::isWithinBudgets(problem, choice))
        continue;
      const PlacementProblem with = test::withSparsity(problem, choice);
      double sum = 0;
      for (const PlacedStage &stage : dense.plan->stages)
        for (uint32_t layer : stage.layers) {
          const auto &cost = with.cost(layer, stage.parallelConfig);
          sum += cost ? static_cast<double>(cost->forward + cost->backward + cost->weight) : INFINITY;
        }
      if (sum < min)
        min = sum, first = choice;
    }
    if (first.empty())
      continue;
    const PlacementResult after = place(test::withSparsity(problem, first), options);
    const SparsePlacementResult joint = solved(problem);
    ++compared;
    lost += !after.plan;
    if (!isProved(joint))
      continue;
    ASSERT_TRUE(joint.placement.plan) << seed;
    if (after.plan)
      EXPECT_LE(joint.placement.value, after.value * (1 + 1e-9)) << seed;
    better += !after.plan || joint.placement.value < after.value * (1 - 1e-9);
  }
  std::printf(
      "%zu problems with a dense plan; joint is better in %zu, of which %zu have no plan with the zeros that are "
      "chosen first\n",
      compared, better, lost);
  EXPECT_GT(compared, 100U);
  EXPECT_GT(better, 20U);
}

/// Random parts, prices and bounds above the best: none of these proofs is taken.
TEST(SparsePlacementVerify, NoForgedBoundIsTaken) {
  size_t forged = 0, taken = 0, honest = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    fuzz::Random random(seed ^ 0x51);
    SparsePlacementProblem problem = test::randomSparsePlacement(seed);
    if (seed % 2 == 0)
      addLimit(problem, seed);
    const test::EnumeratedZeros all = test::enumerateZeros(problem);
    if (all.choice.empty() || !(all.best > 0))
      continue;
    // A plan that is not the best one.
    const auto choices = test::allChoices(problem);
    SparsePlacementResult result;
    for (const auto &choice : choices) {
      if (!test::isWithinBudgets(problem, choice))
        continue;
      PlacementOptions options;
      options.effort = 12;
      PlacementResult one = place(test::withSparsity(problem, choice), options);
      if (one.plan && one.value > all.best * 1.001 && one.bound >= one.value * (1 - 1e-9))
        result.choice = choice, result.placement = one;
    }
    if (!result.placement.plan)
      continue;
    const PlacementResult other = result.placement;
    for (int trial = 0; trial < 6; ++trial) {
      const double above = trial == 0 ? all.best : all.best + (other.value - all.best) * (trial % 3 + 1) / 3;
      result.placement.bound = above;
      // Splits at random, with prices at random.
      result.proof.clear();
      std::vector<std::vector<std::vector<uint32_t>>> open(1);
      for (const SparsityUnit &unit : problem.units) {
        open[0].emplace_back();
        for (uint32_t a = 0; a < unit.alternatives.size(); ++a)
          open[0].back().push_back(a);
      }
      while (!open.empty()) {
        auto part = open.back();
        open.pop_back();
        SparsityProofNode node;
        node.unit = static_cast<uint32_t>(random.below(part.size()));
        auto &alternatives = part[node.unit];
        if (alternatives.size() > 1 && random.below(3) > 0) {
          auto half = part;
          for (uint32_t a : alternatives)
            if (random.below(2) == 0)
              node.alternatives.push_back(a);
          if (node.alternatives.empty() || node.alternatives.size() == alternatives.size())
            node.alternatives = {alternatives.front()};
          std::erase_if(alternatives, [&](uint32_t a) { return std::ranges::count(node.alternatives, a) > 0; });
          half[node.unit] = node.alternatives;
          open.push_back(part), open.push_back(half);
        } else {
          node.unit = 0;
          node.bound = random.below(4) == 0 ? INFINITY : above;
          const bool mayPrice = problem.dense.objective == PlacementObjective::StepTime ||
                                problem.dense.objective == PlacementObjective::Energy;
          if (mayPrice && random.below(2) == 0)
            for (const SparsityBudget &budget : problem.budgets)
              node.prices.push_back(all.best * static_cast<double>(random.below(300)) / 100 /
                                    static_cast<double>(std::max<int64_t>(1, budget.max)));
        }
        result.proof.push_back(std::move(node));
      }
      std::vector<std::string> rest;
      const bool holds = verify(problem, result, &rest).empty() && rest.empty();
      if (trial == 0)
        honest += holds;
      else
        ++forged, taken += holds;
      EXPECT_FALSE(holds && trial > 0) << "seed " << seed << " trial " << trial << ": " << above << " above "
                                       << all.best;
    }
  }
  std::printf("%zu forged bounds, %zu taken; %zu right ones proved by random parts\n", forged, taken, honest);
  EXPECT_GT(forged, 400U);
  EXPECT_GT(honest, 10U);
}

namespace {

/// What is changed in right answers; each has to be refused wherever it changes anything.
class Tampering {
public:
  size_t answers = 0;
  std::map<std::string, size_t> refused;

  void run(const SparsePlacementProblem &problem, const SparsePlacementResult &right, uint64_t seed) {
    seed_ = seed, problem_ = &problem;
    ++answers;
    choices(right);
    changed("joint bound above the value", right, [](SparsePlacementResult &r) {
      r.placement.bound = r.placement.value * 1.01;
      raise(r);
    });
    changed("value and bound above", right, [](SparsePlacementResult &r) {
      r.placement.value *= 1.01, r.placement.bound = r.placement.value;
      raise(r);
    });
    changed("metrics", right, [](SparsePlacementResult &r) { r.placement.metrics.step += 1; });
    changed("dense value below", right, [](SparsePlacementResult &r) { r.denseValue = r.placement.value * 0.9; });
    changed("no proof", right, [](SparsePlacementResult &r) { r.proof.clear(); });
    changed("a node more", right, [](SparsePlacementResult &r) { r.proof.push_back(r.proof.back()); });
    for (size_t i = 0; i < right.proof.size(); ++i) {
      changed("a node less", right, [&](SparsePlacementResult &r) { r.proof.erase(r.proof.begin() + long(i)); });
      if (right.proof[i].splits())
        splits(right, i);
      else
        leaves(right, i);
    }
    SparsePlacementProblem tighter = problem;
    for (size_t b = 0; b < problem.budgets.size(); ++b)
      if (int64_t taken = test::takenBy(problem, right.choice, b); taken > 0) {
        tighter.budgets[b].max = taken - 1;
        expect("budget below the choice", verify(tighter, right));
        tighter.budgets[b].max = problem.budgets[b].max;
      }
  }

private:
  static void raise(SparsePlacementResult &r) {
    for (SparsityProofNode &node : r.proof)
      if (!node.splits())
        node.bound = std::max(node.bound, r.placement.bound);
  }

  void expect(const std::string &what, const Errors &errors) {
    EXPECT_FALSE(errors.empty()) << what << ", seed " << seed_;
    ++refused[what];
  }
  template <typename Change> void changed(const std::string &what, SparsePlacementResult result, Change change) {
    change(result);
    expect(what, verify(*problem_, result));
  }

  void choices(const SparsePlacementResult &right) {
    for (const auto &choice : test::allChoices(*problem_)) {
      SparsePlacementResult other = right;
      other.choice = choice;
      const Errors errors = verify(*problem_, other);
      if (!test::isWithinBudgets(*problem_, choice)) {
        expect("choice beyond a budget", errors);
        EXPECT_EQ(errors[0].code, Code::MemoryExceeded) << seed_;
      } else if (auto metrics = metricsOf(choice, *right.placement.plan);
                 !metrics || metrics->step != right.placement.metrics.step) {
        expect("choice of other costs", errors);
      }
    }
    changed("choice of too few units", right, [](SparsePlacementResult &r) { r.choice.pop_back(); });
    changed("alternative that is none", right, [](SparsePlacementResult &r) { r.choice[0] = 1000; });
    changed("choice without a plan", right, [](SparsePlacementResult &r) { r.placement.plan.reset(); });
  }
  std::optional<PlanMetrics> metricsOf(const std::vector<uint32_t> &choice, const Placement &plan) const {
    const PlacementProblem with = test::withSparsity(*problem_, choice);
    return placementViolations(with, plan).empty() ? reevaluate(with, plan) : std::nullopt;
  }

  void splits(const SparsePlacementResult &right, size_t i) {
    const size_t all = problem_->units[right.proof[i].unit].alternatives.size();
    changed("alternative that the part has not", right,
            [&](SparsePlacementResult &r) { r.proof[i].alternatives.push_back(uint32_t(all)); });
    changed("alternative twice", right,
            [&](SparsePlacementResult &r) { r.proof[i].alternatives.push_back(r.proof[i].alternatives.back()); });
    changed("no half", right, [&](SparsePlacementResult &r) { r.proof[i].alternatives.clear(); });
    changed("split at all", right, [&](SparsePlacementResult &r) {
      r.proof[i].alternatives.clear();
      for (uint32_t a = 0; a < all; ++a)
        r.proof[i].alternatives.push_back(a);
    });
    changed("unit that is none", right, [&](SparsePlacementResult &r) { r.proof[i].unit = 1000; });
    changed("prices of a split", right,
            [&](SparsePlacementResult &r) { r.proof[i].prices.assign(problem_->budgets.size() + 1, 0); });
  }

  void leaves(const SparsePlacementResult &right, size_t i) {
    changed("bound below the joint one", right,
            [&](SparsePlacementResult &r) { r.proof[i].bound = r.placement.bound * 0.99; });
    changed("bound that is no number", right, [&](SparsePlacementResult &r) { r.proof[i].bound = NAN; });
    for (double price : {-1.0, double(INFINITY), double(NAN)})
      if (!problem_->budgets.empty())
        changed("price that is none", right,
                [&](SparsePlacementResult &r) { r.proof[i].prices.assign(problem_->budgets.size(), price); });
    changed("prices of other budgets", right,
            [&](SparsePlacementResult &r) { r.proof[i].prices.assign(problem_->budgets.size() + 1, 0); });
    if (std::isfinite(right.proof[i].bound) && !right.proof[i].prices.empty() && right.placement.bound > 0)
      changed("prices a hundred times as high", right, [&](SparsePlacementResult &r) {
        for (double &price : r.proof[i].prices)
          price *= 100;
      });
  }

  uint64_t seed_ = 0;
  const SparsePlacementProblem *problem_ = nullptr;
};

} // namespace

TEST(SparsePlacementVerify, TamperedAnswersAreRefused) {
  Tampering tampering;
  size_t priced = 0;
  for (uint64_t seed = 0; tampering.answers < 40 && seed < 2000; ++seed) {
    const SparsePlacementProblem problem = test::randomSparsePlacement(seed);
    const bool wantsPrices = tampering.answers % 2 == 1;
    const SparsePlacementResult result = solved(problem, wantsPrices ? 0.1 : 0);
    const bool prices = std::ranges::any_of(result.proof, [](const auto &node) { return !node.prices.empty(); });
    std::vector<std::string> rest;
    if (!result.placement.plan || !(result.placement.bound > 0) || (wantsPrices ? !prices : result.proof.size() < 3) ||
        !verify(problem, result, &rest).empty() || !rest.empty() || (!wantsPrices && !isProved(result)))
      continue;
    priced += prices;
    tampering.run(problem, result, seed);
  }
  size_t all = 0;
  for (const auto &[what, count] : tampering.refused)
    all += count;
  std::printf("%zu changes of %zu answers (%zu with prices) of %zu kinds\n", all, tampering.answers, priced,
              tampering.refused.size());
  EXPECT_EQ(tampering.answers, 40U);
  EXPECT_GT(tampering.refused["choice beyond a budget"], 0U);
  EXPECT_GT(tampering.refused["choice of other costs"], 0U);
  EXPECT_GT(tampering.refused["budget below the choice"], 0U);
  EXPECT_GT(tampering.refused["prices a hundred times as high"], 0U);
}

namespace {

Cost costOf(int64_t forward, int64_t backward, int64_t weight = 0) {
  Cost cost;
  cost.forward = forward, cost.backward = backward, cost.weight = weight;
  cost.recomputeChoices = {{"none", 0, 0, 0, 0}};
  return cost;
}

/// One layer on one device, of which the second alternative has zeros.
SparsePlacementProblem oneLayer(const Cost &dense, const Cost &zeros) {
  SparsePlacementProblem problem;
  PlacementProblem &p = problem.dense;
  p.deviceTypes.resize(1);
  p.deviceTypes[0].name = "device", p.deviceTypes[0].memory = 1000;
  p.parallelConfigs.resize(1);
  p.classes = {{"class", {dense}}};
  p.layers = {{"layer", 0, {}, {}}};
  p.links.resize(1);
  problem.units = {{{0}, {{{"product"}, {{"dense", {}}, {"zeros", {}}}}}, {{{0}, {{dense}}}, {{1}, {{zeros}}}}}};
  return problem;
}

} // namespace

/// Six layers on one device, of which two may have zeros that save half of each. The price of a layer is what one
/// saves: with it, one part proves the best of 15 choices to the picosecond, and nothing above.
TEST(SparsePlacementVerify, PricesProveTheBestChoiceAndNothingAbove) {
  for (bool energy : {false, true}) {
    Cost dense = costOf(1001, 2003, 999), zeros = costOf(500, 1001, 499);
    dense.joules = 8, zeros.joules = 4;
    SparsePlacementProblem problem = oneLayer(dense, zeros);
    PlacementProblem &p = problem.dense;
    p.batch = 4;
    if (energy)
      p.objective = PlacementObjective::Energy;
    const SparsityUnit first = problem.units[0];
    const LayerClass one = p.classes[0];
    p.classes.clear(), p.layers.clear(), problem.units.clear();
    problem.budgets = {{"layers with zeros", 2}};
    for (uint32_t l = 0; l < 6; ++l) {
      p.classes.push_back(one), p.layers.push_back({"layer", l, {}, {}});
      if (l > 0)
        p.edges.push_back({l - 1, l, 0});
      problem.units.push_back(first);
      problem.units[l].classes = {l};
      problem.units[l].decisions[0].options[1].takes = {1};
    }
    const double price = energy ? 4 : 4 * 2003, best = energy ? 40 : 4 * (6 * 4003 - 2 * 2003);
    const SparsePlacementResult answer = solved(problem);
    ASSERT_TRUE(answer.placement.plan);
    EXPECT_EQ(answer.placement.value, best);
    auto withOne = [&](const std::vector<uint32_t> &choice, double bound, double by) {
      SparsePlacementResult result;
      result.choice = choice, result.placement = place(test::withSparsity(problem, choice));
      result.placement.bound = bound;
      result.proof.push_back({{}, 0, {price * by}, bound, {}});
      std::vector<std::string> rest;
      const Errors errors = verify(problem, result, &rest);
      EXPECT_TRUE(rest.empty());
      return errors;
    };
    const double little = energy ? 1e-6 : 1;
    EXPECT_EQ(texts(withOne({1, 1, 0, 0, 0, 0}, best, 1)), "");
    EXPECT_FALSE(withOne({1, 1, 0, 0, 0, 0}, best, 0.9).empty());
    EXPECT_FALSE(withOne({1, 1, 0, 0, 0, 0}, best, 1.1).empty());
    EXPECT_FALSE(withOne({0, 1, 0, 0, 0, 0}, best + little, 1).empty());
    EXPECT_FALSE(withOne({0, 1, 0, 0, 0, 0}, best + little, 1.01).empty());
    EXPECT_FALSE(withOne({0, 1, 0, 0, 0, 0}, best + little, 1e6).empty());
    // Limits are not what keeps the charged steps away.
    problem.dense.limits.step = 4 * (6 * 4003 - 2 * 2003);
    SparsePlacementResult none;
    none.placement.bound = INFINITY;
    none.proof.push_back({{}, 0, {price}, INFINITY, {}});
    EXPECT_FALSE(verify(problem, none).empty());
    EXPECT_EQ(texts(withOne({1, 1, 0, 0, 0, 0}, best, 1)), "");
    problem.dense.limits.step -= 1;
    problem.dense.limits.joules = 1000;
    none.proof[0].prices.clear();
    // Without a price one part does not show that nothing fits.
    EXPECT_FALSE(verify(problem, none).empty());
    // Nor have these objectives prices.
    problem.dense.limits = {};
    problem.dense.objective = PlacementObjective::Memory;
    EXPECT_FALSE(withOne({1, 1, 0, 0, 0, 0}, 0, 1).empty());
  }
}

/// The dense layer is over the limit of power, the one with zeros takes as much energy in twice the time.
TEST(SparsePlacement, SlowerLayersMayKeepALimitOfPower) {
  Cost dense = costOf(100, 100), zeros = costOf(200, 200);
  dense.joules = zeros.joules = 400e-12;
  SparsePlacementProblem problem = oneLayer(dense, zeros);
  problem.dense.limits.watts = 1.5;
  const SparsePlacementResult result = solved(problem);
  ASSERT_TRUE(result.placement.plan);
  EXPECT_EQ(result.choice, std::vector<uint32_t>{1});
  EXPECT_EQ(result.placement.value, 400);
  EXPECT_FALSE(result.denseValue);
  EXPECT_EQ(texts(verify(problem, result)), "");
}

TEST(SparsePlacement, NoPriceWhereAJouleCostsNothing) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SparsePlacementProblem problem = test::randomSparsePlacement(seed);
    problem.dense.objective = PlacementObjective::Carbon, problem.dense.costPerJoule = 0;
    const SparsePlacementResult result = solved(problem);
    const test::EnumeratedZeros all = test::enumerateZeros(problem);
    EXPECT_EQ(result.placement.plan.has_value(), !all.choice.empty()) << seed;
    for (const SparsityProofNode &node : result.proof)
      EXPECT_TRUE(node.prices.empty()) << seed;
  }
}

/// More recomputation hides more of an exchange in these problems, so that what takes less time in each pass takes a
/// longer step.
TEST(SparsePlacement, FasterLayersMayTakeALongerStep) {
  size_t slower = 0;
  for (uint64_t seed : test::kHidingPlacements) {
    SparsePlacementProblem problem;
    problem.dense = test::hidingPlacement(seed);
    PlacementProblem &p = problem.dense;
    const test::Enumerated best = test::enumeratePlans(p);
    ASSERT_TRUE(best.plan) << seed;
    // Dense layers recompute as little as they can, those with zeros as much as in the best plan.
    const std::vector<LayerClass> classes = p.classes;
    p.classes.clear();
    SparsityUnit unit{{}, {{{"all"}, {{"dense", {}}, {"zeros", {}}}}}, {{{0}, {}}, {{1}, {}}}};
    for (const PlacedStage &stage : best.plan->stages)
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        const uint32_t layer = stage.layers[i];
        std::optional<Cost> cost = classes[p.layers[layer].of].costs[stage.parallelConfig];
        const auto choices = cost->recomputeChoices;
        auto with = [&](const RecomputeChoice &choice) {
          Cost made = *cost;
          made.backward += choice.recomputeTime;
          made.recomputeChoices = {{"none", 0, 0, 0, 0}};
          std::vector<std::optional<Cost>> costs(p.parallelConfigs.size());
          costs[stage.parallelConfig] = made;
          return costs;
        };
        const auto minCosts = with(*std::ranges::min_element(choices, {}, &RecomputeChoice::recomputeTime));
        unit.alternatives[0].costs.push_back(minCosts);
        unit.alternatives[1].costs.push_back(with(choices[stage.recomputeChoices[i]]));
        unit.classes.push_back(static_cast<uint32_t>(p.classes.size()));
        p.layers[layer].of = static_cast<uint32_t>(p.classes.size());
        p.classes.push_back({"class", minCosts});
      }
    p.uniformClass.reset();
    problem.units = {unit};
    ASSERT_EQ(texts(check(problem)), "") << seed;
    const test::EnumeratedZeros all = test::enumerateZeros(problem);
    slower += all.choice == std::vector<uint32_t>{1};
    const SparsePlacementResult result = solved(problem);
    EXPECT_EQ(result.placement.value, all.best) << seed;
    EXPECT_LE(result.placement.bound, all.best) << seed;
    EXPECT_EQ(texts(verify(problem, result)), "") << seed;
    // That nothing is better than dense layers is not so, and one part does not prove it.
    if (all.choice == std::vector<uint32_t>{1}) {
      PlacementResult dense = place(test::withSparsity(problem, {0}));
      SparsityProofNode root;
      root.bound = dense.bound;
      EXPECT_FALSE(verify(problem, {{0}, dense, {root}, {}, 1}).empty()) << seed;
    }
  }
  EXPECT_GT(slower, 0U);
}

/// The same of ZB-H1, where passes change places.
TEST(SparsePlacement, FasterLayersMayTakeALongerStepOfZeroBubble) {
  for (uint64_t seed : {2296U, 36021U, 44791U}) {
    fuzz::Random random(seed);
    SparsePlacementProblem problem;
    PlacementProblem &fast = problem.dense;
    fast = test::randomPlacement(seed, 5, 5);
    fast.limits = {}, fast.objective = PlacementObjective::StepTime, fast.minStep = 0, fast.uniformClass.reset();
    fast.schedules = {PipelineSchedule::ZeroBubble}, fast.groups = {{2, 5}};
    for (DeviceType &type : fast.deviceTypes)
      type.memory = 100'000;
    SparsityUnit unit{{}, {{{"all"}, {{"dense", {}}, {"zeros", {}}}}}, {{{0}, {}}, {{1}, {}}}};
    for (LayerClass &one : fast.classes) {
      unit.classes.push_back(static_cast<uint32_t>(unit.classes.size()));
      for (std::optional<Cost> &cost : one.costs)
        if (cost)
          cost->recomputeChoices = {{"none", 0, 0, 0, 0}};
      unit.alternatives[1].costs.push_back(one.costs);
      for (std::optional<Cost> &cost : one.costs)
        if (cost)
          for (auto field : {&Cost::forward, &Cost::backward, &Cost::weight})
            (*cost).*field = (*cost).*field * static_cast<int64_t>(70 + random.below(31)) / 100;
      unit.alternatives[0].costs.push_back(one.costs);
    }
    problem.units = {unit};
    ASSERT_EQ(texts(check(problem)), "") << seed;
    const test::EnumeratedZeros all = test::enumerateZeros(problem);
    EXPECT_EQ(all.choice, std::vector<uint32_t>{1}) << seed;
    const SparsePlacementResult result = solved(problem);
    EXPECT_EQ(result.placement.value, all.best) << seed;
    EXPECT_EQ(texts(verify(problem, result)), "") << seed;
    PlacementResult dense = place(test::withSparsity(problem, {0}));
    SparsityProofNode root;
    root.bound = dense.bound = dense.value;
    EXPECT_GT(dense.value, all.best) << seed;
    std::vector<std::string> rest;
    EXPECT_FALSE(verify(problem, {{0}, dense, {root}, {}, 1}, &rest).empty() && rest.empty()) << seed;
  }
}

TEST(SparsePlacement, ChecksItsProblem) {
  const SparsePlacementProblem right = oneLayer(costOf(10, 20, 5), costOf(5, 10, 5));
  EXPECT_EQ(texts(check(right)), "");
  auto wrong = [&](auto change) {
    SparsePlacementProblem problem = right;
    change(problem);
    const Errors errors = check(problem);
    EXPECT_FALSE(errors.empty());
    for (const Error &error : errors)
      EXPECT_EQ(error.code, Code::MalformedPlacementProblem);
    EXPECT_EQ(texts(verify(problem, {})), texts(errors));
  };
  wrong([](auto &p) { p.units[0].classes = {1}; });
  wrong([](auto &p) { p.units.push_back(p.units[0]); });
  wrong([](auto &p) { p.units[0].alternatives.clear(); });
  wrong([](auto &p) { p.units[0].alternatives[1].options = {2}; });
  wrong([](auto &p) { p.units[0].alternatives[1].options = {0}; });
  wrong([](auto &p) { p.units[0].alternatives[1].costs[0].clear(); });
  wrong([](auto &p) { p.units[0].alternatives[1].costs[0][0]->forward = -1; });
  wrong([](auto &p) { p.units[0].decisions[0].options[1].takes = {1}; });
  wrong([](auto &p) { p.budgets = {{"losses", -1}}; });
  wrong([](auto &p) { p.budgets = {{"losses", 1}}, p.units[0].decisions[0].options[0].takes = {1}; });
  // Two units that are too long together, each by itself is not.
  wrong([](auto &p) {
    p.dense.classes.push_back(p.dense.classes[0]), p.dense.layers.push_back({"other", 1, {}, {}});
    p.dense.edges = {{0, 1, 0}};
    p.units.push_back(p.units[0]), p.units[1].classes = {1};
    p.units[0].alternatives.push_back(p.units[0].alternatives[1]);
    p.units[0].alternatives[2].costs[0][0]->forward = int64_t{3} << 59;
    p.units[1].alternatives[1].costs[0][0]->forward = int64_t{3} << 59;
  });
}

namespace {

PlacementSparsity zerosOf(const SparsePlacementProblem &problem, const SparsePlacementResult &result) {
  return {problem.units, problem.budgets, result.choice, result.proof, result.denseValue, result.parts, {}};
}

/// Why a document is refused.
std::string refusal(const std::string &text) {
  auto read = placementSparsityFrom(text, "certificate/sparsity.json");
  return read ? "" : llvm::toString(read.takeError());
}

} // namespace

TEST(SparsePlacementJson, ReadsWhatItWrites) {
  size_t splits = 0, prices = 0, paths = 0, infinite = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const SparsePlacementProblem problem = test::randomSparsePlacement(seed);
    const SparsePlacementResult result = solved(problem, seed % 2 == 0 ? 0.1 : 0);
    const std::string text = placementSparsity(zerosOf(problem, result));
    auto read = placementSparsityFrom(text, "certificate/sparsity.json");
    ASSERT_TRUE(bool(read)) << seed << ": " << llvm::toString(read.takeError());
    EXPECT_EQ(placementSparsity(*read), text) << seed;
    for (const SparsityProofNode &node : read->proof)
      splits += node.splits(), prices += !node.prices.empty(), paths += !node.paths.empty(),
          infinite += std::isinf(node.bound);
    // The problem and the answer are the same, and so is what is proved of them.
    const PlacementProblem chosen = result.choice.empty() ? problem.dense : test::withSparsity(problem, result.choice);
    const SparsePlacementProblem again = problemOf(chosen, *read);
    std::vector<std::string> rest, restAgain;
    EXPECT_EQ(texts(verify(again, resultOf(result.placement, *read), &restAgain)),
              texts(verify(problem, result, &rest)))
        << seed;
    EXPECT_EQ(restAgain, rest) << seed;
  }
  std::printf("%zu splits, %zu with prices, %zu with paths, %zu infinite bounds\n", splits, prices, paths, infinite);
  EXPECT_GT(splits, 20U);
  EXPECT_GT(prices, 3U);
  EXPECT_GT(infinite, 20U);
}

TEST(SparsePlacementJson, RefusesWhatPointsNowhere) {
  SparsePlacementProblem problem = oneLayer(costOf(10, 20, 5), costOf(5, 10, 5));
  problem.budgets = {{"layers with zeros", 1}};
  problem.units[0].decisions[0].options[1].takes = {1};
  const PlacementSparsity right{
      problem.units,
      problem.budgets,
      {1},
      {{{0}, 0, {}, 0, {}}, {}, {}},
      35,
      3,
      AccuracyReport{"top1", true, Rational(77) / Rational(100), {}, "0.95", "A", {"a.csv:2"}, {"b"}}};
  ASSERT_EQ(refusal(placementSparsity(right)), "");
  PlacementSparsity withPaths = right;
  withPaths.proof[1].paths = {{2, 2, 4, 1, {{{3, 2}, {1, 1}}}, {{}}}};
  withPaths.proof[1].paths[0].parts[0].paths = {{0, 1}};
  withPaths.proof[1].paths[0].parts[0].moments = {{{1, 0.5}, {2, 0.5}}, {{1, 1}}};
  auto read = placementSparsityFrom(placementSparsity(withPaths), "certificate/sparsity.json");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->proof[1].paths[0].parts[0].moments[0][1].weight, 0.5);
  EXPECT_EQ(placementSparsity(*read), placementSparsity(withPaths));
  auto wrong = [&](const char *place, auto change) {
    PlacementSparsity zeros = right;
    change(zeros);
    const std::string error = refusal(placementSparsity(zeros));
    EXPECT_NE(error.find(place), std::string::npos) << place << ": " << error;
  };
  wrong("sparsity.choice[0]", [](auto &z) { z.choice = {2}; });
  wrong("sparsity.choice", [](auto &z) { z.choice = {1, 0}; });
  wrong("sparsity.proof[0].unit", [](auto &z) { z.proof[0].unit = 1; });
  wrong("sparsity.proof[0].alternatives[0]", [](auto &z) { z.proof[0].alternatives = {2}; });
  wrong("sparsity.proof[1].prices", [](auto &z) { z.proof[1].prices = {1, 2}; });
  wrong("sparsity.proof[2].prices", [](auto &z) { z.proof[2].prices = {-1}; });
  wrong("sparsity.budgets[0].max", [](auto &z) { z.budgets[0].max = -1; });
  wrong("sparsity.units[0].decisions[0].options[1].takes",
        [](auto &z) { z.units[0].decisions[0].options[1].takes = {1, 1}; });
  wrong("sparsity.units[0].decisions[0].layers", [](auto &z) { z.units[0].decisions[0].layers.clear(); });
  wrong("sparsity.units[0].classes", [](auto &z) { z.units[0].classes = {1, 0}; });
  wrong("sparsity.units[0].alternatives[1].options[0]", [](auto &z) { z.units[0].alternatives[1].options = {2}; });
  wrong("sparsity.units[0].alternatives[1].costs", [](auto &z) { z.units[0].alternatives[1].costs.clear(); });
  wrong("sparsity.units[0].alternatives[1].costs[0]", [](auto &z) { z.units[0].alternatives[1].costs[0].clear(); });
  wrong("sparsity.units[0].alternatives", [](auto &z) { z.units[0].alternatives.clear(); });
  EXPECT_NE(refusal("{\"schema\":2,\"kind\":\"placement\"}"), "");
  std::string unknown = placementSparsity(right);
  unknown.insert(1, "\"colour\":1,");
  EXPECT_NE(refusal(unknown).find("colour"), std::string::npos) << refusal(unknown);
}
