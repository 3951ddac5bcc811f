// Shares of variance: against indices that are published, against values that follow from a formula, how often the
// intervals hold the truth, and from the trials of a tuning.
#include "lib/tuning/solve/ParameterImportance.h"
#include <gtest/gtest.h>
#include <numbers>

using namespace accord;
using namespace accord::tuning;

namespace {

using Kind = HyperParameter::Kind;
constexpr double kPi = std::numbers::pi;

HyperParameter number(const char *name, double min = 0, double max = 1) {
  return {.name = name, .kind = Kind::Real, .min = min, .max = max};
}

std::vector<Configuration> evenly(const SearchSpace &space, size_t count, SplitMix &random) {
  std::vector<Configuration> out;
  while (out.size() < count)
    out.push_back(fromCube(space, drawPoint(space, random)));
  return out;
}

/// Sum of 12 even numbers less 6: mean 0, variance 1.
double noise(SplitMix &random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += random.unit();
  return sum;
}

TEST(ParameterImportance, HasTheIndicesOfIshigamisFunction) {
  // Ishigami and Homma 1990 with a = 7, b = 0.1: 0.3139, 0.4424 and 0. The second is not monotone, and no correlation
  // sees it; the third acts together with the first only.
  const SearchSpace space{number("x", -kPi, kPi), number("y", -kPi, kPi), number("z", -kPi, kPi)};
  SplitMix random(3);
  const auto points = evenly(space, 4000, random);
  std::vector<double> responses;
  for (const Configuration &p : points)
    responses.push_back(std::sin(p[0]) + 7 * std::sin(p[1]) * std::sin(p[1]) +
                        0.1 * std::pow(p[2], 4) * std::sin(p[0]));
  const auto shares = explainedShares(space, points, responses);
  const double known[] = {0.3139, 0.4424, 0};
  for (size_t p = 0; p < 3; ++p) {
    EXPECT_NEAR(shares[p].share, known[p], 0.06) << p;
    EXPECT_LT(shares[p].low, known[p]) << p;
    EXPECT_GT(shares[p].high, known[p]) << p;
  }
  EXPECT_TRUE(shares[0].isShown() && shares[1].isShown());
  EXPECT_FALSE(shares[2].isShown());
}

TEST(ParameterImportance, ChoicesAndWholeNumbersAreGroups) {
  // Of three choices with the effects -3, 0 and 3 and noise of variance 1: 6 / 7. A whole number 1..4: 0.
  const SearchSpace space{{.name = "rule", .kind = Kind::Choice, .choices = {"a", "b", "c"}},
                          {.name = "depth", .kind = Kind::Integer, .min = 1, .max = 4},
                          {.name = "same", .kind = Kind::Integer, .min = 2, .max = 2}};
  SplitMix random(4);
  const auto points = evenly(space, 3000, random);
  std::vector<double> responses;
  for (const Configuration &p : points)
    responses.push_back(3 * (p[0] - 1) + noise(random));
  const auto shares = explainedShares(space, points, responses);
  EXPECT_NEAR(shares[0].share, 6.0 / 7, 0.01);
  EXPECT_NEAR(shares[1].share, 0, 0.01);
  EXPECT_FALSE(shares[1].isShown());
  EXPECT_EQ(shares[2].share, 0);
  EXPECT_EQ(shares[2].high, 0);
}

TEST(ParameterImportance, IntervalsHoldTheTruth) {
  // f = sqrt(12) (x - 1/2) has variance 1, so that x explains a half and y nothing.
  const SearchSpace space{number("x"), number("y")};
  SplitMix random(5);
  int holds = 0, wrong = 0;
  constexpr int kRuns = 150;
  for (int run = 0; run < kRuns; ++run) {
    const auto points = evenly(space, 60, random);
    std::vector<double> responses;
    for (const Configuration &p : points)
      responses.push_back(std::sqrt(12) * (p[0] - 0.5) + noise(random));
    const auto shares = explainedShares(space, points, responses);
    holds += shares[0].low <= 0.5 && shares[0].high >= 0.5;
    wrong += shares[1].isShown();
  }
  EXPECT_GE(holds, 135); // 95 % are 142
  EXPECT_LE(wrong, 10);  // 2.5 % are 4
}

TEST(ParameterImportance, ComparesRanksAtEachRung) {
  TuningProblem problem;
  problem.space = {number("rate"), number("other")};
  problem.maximizes = false, problem.minUnits = 1, problem.maxUnits = 9, problem.reduction = 3;
  TuningResult result;
  SplitMix random(6);
  for (int i = 0; i < 90; ++i) {
    Trial trial{.configuration = {random.unit(), random.unit()}};
    const double loss = trial.configuration[0];
    if (loss > 0.9) { // these diverge: worse than all that have a value
      trial.reports = {{1, std::numeric_limits<double>::infinity(), 1}};
      trial.state = Trial::State::Diverged;
    } else {
      for (int64_t unit = 1; unit <= (i % 4 ? 1 : 3); ++unit)
        trial.reports.push_back({unit, std::exp(20 * loss), static_cast<double>(unit)});
    }
    result.trials.push_back(trial);
  }
  const auto found = parameterImportance(problem, result);
  ASSERT_EQ(found.size(), 2u); // 9 units: no trial
  EXPECT_EQ(found[0].unit, 1);
  EXPECT_EQ(found[0].trials, 90);
  EXPECT_EQ(found[1].unit, 3);
  EXPECT_LT(found[1].trials, 24);
  EXPECT_GT(found[0].parameters[0].low, 0.9); // by ranks, whatever the scale of the loss
  EXPECT_FALSE(found[0].parameters[1].isShown());
  // The same numbers whatever monotone scale values have, and which way is better.
  for (Trial &trial : result.trials)
    for (Report &report : trial.reports)
      if (std::isfinite(report.value))
        report.value = -std::sqrt(report.value);
  problem.maximizes = true;
  EXPECT_EQ(parameterImportance(problem, result)[0].parameters[0].share, found[0].parameters[0].share);
  problem.space[0].from = 1; // it acts behind the first rung alone
  EXPECT_EQ(parameterImportance(problem, result)[0].parameters[0].high, 0);
  EXPECT_NE(parameterImportance(problem, result)[1].parameters[0].share, 0);
  problem.population.emplace();
  EXPECT_TRUE(parameterImportance(problem, result).empty());
}

TEST(ParameterImportance, SaysNothingOfFewTrialsOrEqualOnes) {
  const SearchSpace space{number("x")};
  EXPECT_EQ(explainedShares(space, {{0.1}, {0.2}, {0.3}}, {1, 2, 3})[0].share, 0);
  const auto alike = explainedShares(space, std::vector<Configuration>(30, {0.5}), std::vector<double>(30, 1));
  EXPECT_EQ(alike[0].share, 0);
  EXPECT_FALSE(alike[0].isShown());
}

} // namespace
