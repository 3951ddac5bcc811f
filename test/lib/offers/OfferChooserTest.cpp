// The chooser and its verifier against all choices of small problems.
#include "lib/offers/solve/OfferChooser.h"
#include "lib/offers/verify/OfferVerifier.h"
#include "test/lib/offers/OfferProblems.h"
#include <cmath>
#include <gtest/gtest.h>

namespace accord::offers {
namespace {

void expectNear(double found, double expected, const std::string &what) {
  EXPECT_NEAR(found, expected, 1e-9 * std::max(1.0, std::abs(expected))) << what;
}

TEST(OfferChooser, EqualsAllChoicesOfRandomProblems) {
  SplitMix random(2024);
  unsigned feasible = 0, infeasible = 0, repaired = 0;
  for (int round = 0; round < 500; ++round) {
    const OfferProblem problem = randomProblem(random);
    const OfferChoice choice = chooseOffers(problem, {});
    const std::string what = "round " + std::to_string(round);
    const WholeChoice *best = nullptr;
    const std::vector<WholeChoice> all = allChoices(problem);
    auto better = [&](const WholeChoice &a, const WholeChoice &b) {
      return std::pair(objectiveOf(problem, a), a.price) < std::pair(objectiveOf(problem, b), b.price);
    };
    for (const WholeChoice &one : all)
      if (keeps(one, problem.limits) && (!best || better(one, *best)))
        best = &one;
    const Verification verified = verifyOffers(problem, choice);
    for (const Error &error : verified.findings)
      ADD_FAILURE() << what << ": " << error.message;
    EXPECT_TRUE(verified.solverAnswers.empty()) << what;
    if (!best) {
      ++infeasible;
      ASSERT_EQ(choice.status, OfferStatus::Infeasible) << what;
      EXPECT_FALSE(choice.conflict.empty()) << what;
      repaired += !choice.repairs.empty();
      for (const OfferRepair &repair : choice.repairs)
        EXPECT_TRUE(std::ranges::any_of(all, [&](const WholeChoice &one) { return keeps(one, repair.limits); }))
            << what << ": " << repair.text;
      continue;
    }
    ++feasible;
    ASSERT_EQ(choice.status, OfferStatus::Optimal) << what;
    expectNear(choice.value, objectiveOf(problem, *best), what);
    expectNear(choice.bound, choice.value, what);
    if (problem.objective == OfferObjective::Time) {
      double price = 0;
      for (size_t t = 0; t < choice.choice.size(); ++t)
        price += problem.trainings[t].options[choice.choice[t]].price.value;
      expectNear(price, best->price, what);
    }
  }
  EXPECT_GT(feasible, 100u);
  EXPECT_GT(infeasible, 50u);
  EXPECT_GT(repaired, 50u);
}

TEST(OfferChooser, FrontEqualsAllChoicesOfRandomProblems) {
  SplitMix random(7);
  size_t points = 0;
  for (int round = 0; round < 1000; ++round) {
    const OfferProblem problem = randomProblem(random);
    const OfferChoice choice = chooseOffers(problem, {});
    std::vector<std::pair<double, double>> expected; // price and time
    for (const WholeChoice &one : allChoices(problem))
      if (keeps(one, problem.limits))
        expected.emplace_back(one.price, one.time);
    std::ranges::sort(expected);
    std::vector<std::pair<double, double>> front;
    for (auto [price, time] : expected)
      if (front.empty() || time < front.back().second) {
        if (!front.empty() && price <= front.back().first * (1 + 1e-12)) // the same sum in another order
          front.pop_back();
        front.emplace_back(price, time);
      }
    if (front.empty())
      continue;
    EXPECT_TRUE(choice.frontIsWhole);
    ASSERT_EQ(choice.front.size(), front.size()) << round;
    for (size_t i = 0; i < front.size(); ++i) {
      // By price ascending, so the slowest first.
      expectNear(choice.front[i].price, front[i].first, "round " + std::to_string(round));
      expectNear(choice.front[i].time, front[i].second, "round " + std::to_string(round));
    }
    points += front.size();
  }
  EXPECT_GT(points, 500u);
}

TEST(OfferChooser, RepairsAreTheSmallestThatSuffice) {
  SplitMix random(99);
  unsigned checked = 0;
  for (int round = 0; round < 400; ++round) {
    const OfferProblem problem = randomProblem(random);
    const OfferChoice choice = chooseOffers(problem, {});
    if (choice.status != OfferStatus::Infeasible)
      continue;
    const std::vector<WholeChoice> all = allChoices(problem);
    for (const OfferRepair &repair : choice.repairs)
      for (double OfferLimits::*const limit : {&OfferLimits::deadline, &OfferLimits::budget, &OfferLimits::watts}) {
        if (repair.limits.*limit == problem.limits.*limit)
          continue;
        // Rounded up at the fourth digit: a thousandth less is not enough, unless other limits were changed too.
        OfferLimits less = repair.limits;
        less.*limit *= 1 - 2e-3;
        EXPECT_TRUE(std::ranges::none_of(all, [&](const WholeChoice &one) { return keeps(one, less); }))
            << round << ": " << repair.text;
        ++checked;
      }
  }
  EXPECT_GT(checked, 50u);
}

TEST(OfferChooser, ProvesManyTrainingsUnderAPower) {
  SplitMix random(5);
  OfferProblem problem;
  for (int i = 0; i < 8; ++i) {
    InstanceOffer &offer = problem.offers.emplace_back();
    offer.devices = 8, offer.price = static_cast<double>(10 + random.below(40)), offer.spotPrice = offer.price / 3;
  }
  for (int t = 0; t < 20; ++t) {
    OfferTraining &training = problem.trainings.emplace_back();
    training.name = std::to_string(t);
    const double work = 3600.0 * static_cast<double>(20 + random.below(200));
    for (unsigned offer = 0; offer < problem.offers.size(); ++offer)
      for (int64_t instances = 1; instances <= 16; instances *= 2)
        training.options.push_back(optionOf(offer, problem.offers[offer], instances, false,
                                            work / std::pow(static_cast<double>(instances), 0.5 + 0.4 * random.unit()),
                                            static_cast<double>(instances) * (4000 + 4000 * random.unit()), 0));
  }
  problem.limits.watts = 400e3;
  problem.limits.budget = 60e3;
  for (OfferObjective objective : {OfferObjective::Price, OfferObjective::Energy, OfferObjective::Time}) {
    problem.objective = objective;
    const OfferChoice choice = chooseOffers(problem, {});
    ASSERT_TRUE(choice.status == OfferStatus::Optimal || choice.status == OfferStatus::Feasible);
    EXPECT_GE(choice.bound, choice.value * 0.999);
    const Verification verified = verifyOffers(problem, choice);
    EXPECT_TRUE(verified.holds()) << verified.findings.front().message;
  }
}

TEST(OfferChooser, NamesATrainingThatFitsNowhere) {
  OfferProblem problem;
  problem.trainings.push_back({"llama", {}, {}});
  const OfferChoice choice = chooseOffers(problem, {});
  EXPECT_EQ(choice.status, OfferStatus::Infeasible);
  EXPECT_EQ(choice.conflict, "training 'llama' fits on no offer");
  EXPECT_TRUE(choice.repairs.empty());
  EXPECT_TRUE(verifyOffers(problem, choice).holds());
}

TEST(OfferChooser, RanksOtherOffersByWhatTheyLose) {
  OfferProblem problem;
  for (double price : {10, 12, 30}) {
    InstanceOffer &offer = problem.offers.emplace_back();
    offer.price = price, offer.spotPrice = -1;
  }
  OfferTraining &training = problem.trainings.emplace_back();
  training.name = "bert";
  for (unsigned offer = 0; offer < 3; ++offer)
    for (int64_t instances : {1, 2})
      training.options.push_back(
          optionOf(offer, problem.offers[offer], instances, false, 36000.0 / static_cast<double>(instances), 1000, 0));
  problem.limits.deadline = 5.5 * 3600;
  const OfferChoice choice = chooseOffers(problem, {});
  ASSERT_EQ(choice.status, OfferStatus::Optimal);
  EXPECT_EQ(choice.choice.front(), 1u);
  EXPECT_DOUBLE_EQ(choice.value, 100);
  const std::vector<RunnerUp> others = runnersUp(problem, choice, 0, 5);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].option, 3u);
  EXPECT_DOUBLE_EQ(others[0].loss, 20);
  EXPECT_DOUBLE_EQ(others[1].loss, 200);
}

TEST(OfferVerifier, RefusesTamperedAnswers) {
  SplitMix random(31);
  unsigned tampered = 0;
  for (int round = 0; round < 60; ++round) {
    const OfferProblem problem = randomProblem(random);
    const OfferChoice choice = chooseOffers(problem, {});
    auto expectRefused = [&](const OfferProblem &of, const OfferChoice &wrong, const char *how) {
      EXPECT_FALSE(verifyOffers(of, wrong).holds()) << round << ": " << how;
      ++tampered;
    };
    if (choice.status == OfferStatus::Infeasible) {
      OfferProblem looser = problem;
      looser.limits = {};
      if (!allChoices(looser).empty())
        expectRefused(looser, choice, "infeasible, but a choice is there");
      continue;
    }
    OfferChoice wrong = choice;
    wrong.value *= 0.99;
    if (choice.value > 0)
      expectRefused(problem, wrong, "a smaller value");
    wrong = choice;
    wrong.choice.front() = 99;
    expectRefused(problem, wrong, "an option that is not there");
    wrong = choice;
    wrong.status = OfferStatus::Infeasible;
    wrong.choice.clear();
    expectRefused(problem, wrong, "infeasible");
    wrong = choice;
    wrong.front.pop_back();
    expectRefused(problem, wrong, "a front without its fastest point");
    OfferProblem cheaper = problem;
    cheaper.trainings[0].options[choice.choice[0]].price.value *= 0.5;
    if (problem.trainings[0].options[choice.choice[0]].price.value > 0)
      expectRefused(cheaper, choice, "a price that does not follow from its time");
    OfferProblem tight = problem;
    tight.limits.watts = 1;
    expectRefused(tight, choice, "a power that is not kept");
    // Another choice is called optimal.
    for (const WholeChoice &one : allChoices(problem))
      if (keeps(one, problem.limits) && objectiveOf(problem, one) > choice.value * 1.01) {
        wrong = choice;
        wrong.choice = one.choice;
        wrong.value = wrong.bound = objectiveOf(problem, one);
        expectRefused(problem, wrong, "a choice that is not the best");
        break;
      }
  }
  EXPECT_GT(tampered, 150u);
}

} // namespace
} // namespace accord::offers
