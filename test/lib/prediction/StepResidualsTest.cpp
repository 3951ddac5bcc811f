// Residuals of steps: what one part of them takes more is carried to steps that have more or less of it, and intervals
// hold for models that were left out, on steps that are drawn.
#include "lib/machine/residuals/StepResiduals.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numbers>

namespace accord::calibrate {
namespace {

double normal(SplitMix &random) {
  const double u = 1 - random.unit(), v = random.unit();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// A step of products and host alone; the host takes `hostFactor` times its computed time.
ComputedStep stepOf(const std::string &model, double host, double hostFactor, double noise = 0) {
  ComputedStep step;
  step.id = model;
  step.computed = 2;
  step.measured = 2 * (1 - host + host * hostFactor) * std::exp(noise);
  step.features.shares[0] = 1 - host;
  step.features.shares[3] = host;
  step.features.scales = {15, 4, 2, 0, 14, 12};
  step.features.precision = "bf16";
  step.features.accelerator = "a";
  step.features.source = "s";
  step.features.family = "f";
  step.features.model = model;
  return step;
}

TEST(StepResidualsTest, CarriesAPartToOtherShares) {
  std::vector<ComputedStep> steps;
  for (int i = 0; i < 12; ++i)
    steps.push_back(stepOf(fmt::format("m{}", i), 0.05 * (i % 6), 1.5));
  const StepResiduals residuals(steps);
  const auto predicted = residuals.predict({stepOf("new", 0.05, 1), stepOf("new", 0.4, 1)}, StepResiduals::Unit::Model);
  // The host took half as long again: the logarithm of a step is near its share times that.
  EXPECT_NEAR(predicted[0].median / 2, 1.025, 0.02);
  EXPECT_NEAR(predicted[1].median / 2, 1.2, 0.07);
  EXPECT_TRUE(predicted[0].isLearned);
  for (const auto &one : predicted) {
    EXPECT_LT(one.low, one.median);
    EXPECT_GT(one.high, one.median);
  }
  // What is farther from all that was measured is less sure.
  EXPECT_GT(predicted[1].high / predicted[1].low, predicted[0].high / predicted[0].low);
  // One family says nothing of others: the data sheet stands, with its interval.
  const auto other = residuals.predict({steps[0]}, StepResiduals::Unit::Family)[0];
  EXPECT_FALSE(other.isLearned);
  EXPECT_EQ(other.median, 2);
  EXPECT_EQ(other.high, 2 * kPriorStepTime.other.high);
  // Nor do nine models whose residuals have nothing in common.
  std::vector<ComputedStep> alternating;
  for (int i = 0; i < 9; ++i)
    alternating.push_back(stepOf(fmt::format("m{}", i), 0, 1, i % 2 ? 0.4 : -0.4));
  EXPECT_FALSE(StepResiduals(alternating).predict({steps[0]}, StepResiduals::Unit::Model)[0].isLearned);
}

TEST(StepResidualsTest, KnowsNothingWithoutSteps) {
  const auto predicted = StepResiduals({}).predict({stepOf("new", 0.2, 1)}, StepResiduals::Unit::Model);
  ASSERT_EQ(predicted.size(), 1u);
  EXPECT_NEAR(predicted[0].median, 2, 1e-9); // the data sheet's
  EXPECT_FALSE(predicted[0].isLearned);
}

TEST(StepResidualsTest, CoversModelsThatWereLeftOut) {
  size_t covered = 0, all = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SplitMix random(seed);
    std::vector<ComputedStep> steps;
    for (int model = 0; model < 16; ++model) {
      const double effect = 0.15 * normal(random), host = 0.4 * random.unit();
      for (int row = 0; row < 2; ++row)
        steps.push_back(stepOf(fmt::format("m{:02}", model), host, 1.4, effect + 0.05 * normal(random)));
    }
    for (int model = 0; model < 16; model += 3) {
      std::vector<ComputedStep> others, own;
      for (const ComputedStep &step : steps)
        (step.features.model == fmt::format("m{:02}", model) ? own : others).push_back(step);
      const auto predicted = StepResiduals(others).predict(own, StepResiduals::Unit::Model);
      for (size_t i = 0; i < own.size(); ++i, ++all)
        covered += predicted[i].low <= own[i].measured && own[i].measured <= predicted[i].high;
    }
  }
  EXPECT_GE(static_cast<double>(covered) / static_cast<double>(all), 0.84);
}

} // namespace
} // namespace accord::calibrate
