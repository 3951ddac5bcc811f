// Rules of scaling against published numbers and laws, and a verifier that has formulas of its own.
#include "lib/tuning/problem/ScaleRules.h"
#include "lib/support/SplitMix.h"
#include "lib/tuning/verify/ScaleProof.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::tuning;

namespace {

using Kind = HyperParameter::Kind;
using Rule = ScaleRule::Kind;

SearchSpace someSpace() {
  return {{.name = "rate", .kind = Kind::Real, .min = 1e-4, .max = 1, .isLog = true},
          {.name = "batch", .kind = Kind::Choice, .choices = {"16", "64", "8192"}},
          {.name = "width", .kind = Kind::Integer, .min = 64, .max = 4096, .isLog = true},
          {.name = "warmup", .kind = Kind::Integer, .min = 1, .max = 100},
          {.name = "momentum", .kind = Kind::Real, .min = 0, .max = 0.999},
          {.name = "optimizer", .kind = Kind::Choice, .choices = {"sgd", "adam"}}};
}

/// What a program gets as `name`; not a number where it gets nothing.
double passed(const ScaleRules &rules, const Configuration &configuration, const std::string &name) {
  for (const PassedValue &one : passedValues(someSpace(), rules, configuration))
    if (one.name == name)
      return one.value;
  return std::nan("");
}

TEST(ScaleRules, FactorsAreThePublishedOnes) {
  // Goyal et al., table 1: 0.1 for 256 images is 3.2 for 8,192.
  EXPECT_DOUBLE_EQ(0.1 * scaleOf({"rate", "batch", Rule::Linear, 256}, 8192), 3.2);
  // Malladi et al., definition 5.1: kappa times the batch is sqrt(kappa) times the learning rate.
  EXPECT_DOUBLE_EQ(scaleOf({"rate", "batch", Rule::SquareRoot, 64}, 64 * 16), 4);
  // Yang et al., table 8: twice the width is half of the learning rate of hidden matrices with Adam, the same with SGD.
  EXPECT_DOUBLE_EQ(scaleOf({"rate", "width", Rule::Mup, 256}, 512), 0.5);
  EXPECT_DOUBLE_EQ(scaleOf({"rate", "width", Rule::MupSgd, 256}, 512), 1);
  EXPECT_DOUBLE_EQ(scaleOf({"rate", "width", Rule::Inverse, 256}, 512), 0.5);
  // Johnson et al., section 3: the gain is from 1 to S; without noise it is 1, with nothing but noise S.
  for (double batch : {64.0, 100.0, 4096.0}) {
    const double gain = scaleOf({"rate", "batch", Rule::AdaScale, 64, 2000}, batch);
    EXPECT_GE(gain, 1);
    EXPECT_LE(gain, batch / 64);
    EXPECT_NEAR(scaleOf({"rate", "batch", Rule::AdaScale, 64, 1e-9}, batch), 1, 1e-9);
    EXPECT_NEAR(scaleOf({"rate", "batch", Rule::AdaScale, 64, 1e13}, batch), batch / 64, 1e-6);
    EXPECT_DOUBLE_EQ(scaleOf({"rate", "batch", Rule::AdaScaleRoot, 64, 2000}, batch), std::sqrt(gain));
  }
  // McCandlish et al., equation 2.6: the best step is 1 / (1 + N / B) of the largest one.
  EXPECT_NEAR(scaleOf({"rate", "batch", Rule::AdaScale, 64, 2000}, 512), (1 + 2000.0 / 64) / (1 + 2000.0 / 512), 1e-12);
  for (Rule kind : {Rule::Linear, Rule::SquareRoot, Rule::Inverse, Rule::Mup, Rule::MupSgd, Rule::AdaScale,
                    Rule::AdaScaleRoot, Rule::Ema})
    EXPECT_DOUBLE_EQ(scaleOf({"rate", "batch", kind, 64, 100}, 64), 1) << "at the base nothing changes";
}

TEST(ScaleRules, ProgramsGetProductsAndRatios) {
  const ScaleRules rules{{"rate", "batch", Rule::SquareRoot, 16},
                         {"rate", "width", Rule::Mup, 256},
                         {"warmup", "batch", Rule::Inverse, 16}};
  const Configuration one{0.01, 1, 1024, 10, 0.9, 1};
  EXPECT_DOUBLE_EQ(passed(rules, one, "rate"), 0.01 * 2 / 4);
  EXPECT_DOUBLE_EQ(passed(rules, one, "width_ratio"), 4);
  EXPECT_DOUBLE_EQ(passed(rules, one, "warmup"), 3) << "2.5 is rounded";
  EXPECT_TRUE(std::isnan(passed(rules, one, "batch"))) << "what is not scaled is passed as it is";
  EXPECT_EQ(passedValues(someSpace(), rules, one).size(), 3u);
  // Busbridge et al., section 3.1: the half-life stays the same in samples.
  const ScaleRules ema{{"momentum", "batch", Rule::Ema, 16}};
  const double scaled = passed(ema, one, "momentum");
  EXPECT_NEAR(16 * std::log(0.5) / std::log(0.9), 64 * std::log(0.5) / std::log(scaled), 1e-9);
}

TEST(ScaleRules, WhatIsInfiniteOrZeroIsFound) {
  SearchSpace space = someSpace();
  EXPECT_EQ(unboundedTarget(space, {{"rate", "width", Rule::Mup, 64}, {"warmup", "batch", Rule::Linear, 16}}),
            std::nullopt);
  EXPECT_EQ(unboundedTarget(space, {{"warmup", "batch", Rule::Inverse, 16}}), "warmup") << "1 is rounded to 0";
  EXPECT_EQ(unboundedTarget(space, {{"rate", "width", Rule::Linear, 1e-310}}), "rate") << "infinite";
  space[0].min = 1e-320;
  EXPECT_EQ(unboundedTarget(space, {{"rate", "width", Rule::Mup, 64}}), std::nullopt);
  EXPECT_EQ(unboundedTarget(space, {{"rate", "width", Rule::Mup, 1e-3}}), "rate");
}

TEST(ScaleRules, CarriesToTheNearestSizeInBaseTerms) {
  SearchSpace small = someSpace(), large = someSpace();
  large[2] = {.name = "width", .kind = Kind::Choice, .choices = {"2048", "8192"}};
  const ScaleRules rules{{"rate", "width", Rule::Mup, 256}};
  const Configuration one{0.01, 1, 512, 10, 0.9, 1};
  CarriedConfiguration made = carry(small, rules, one, large, rules);
  EXPECT_EQ(made.outside, "");
  EXPECT_EQ(made.sizes, "width 512 to 2048");
  EXPECT_EQ(made.configuration, (Configuration{0.01, 1, 0, 10, 0.9, 1}));
  // Without a rule it stays where it is, which is not in the space.
  EXPECT_EQ(carry(small, {}, one, large, {}).outside, "width");
  // Without mup it was another network, but for the base.
  made = carry(small, {}, one, large, rules);
  EXPECT_EQ(made.outside, "width");
  EXPECT_TRUE(made.isOtherMup);
  EXPECT_EQ(carry(small, {}, {0.01, 1, 256, 10, 0.9, 1}, large, rules).outside, "");
  // From an earlier tuning with another rule or base: what the program got at its own size is restated.
  SplitMix random(7);
  for (int i = 0; i < 200; ++i) {
    const ScaleRules was{{"rate", "batch", static_cast<Rule>(random.below(3)), 1 + double(random.below(100))}};
    const ScaleRules is{{"rate", "batch", Rule::AdaScale, 1 + double(random.below(100)), 500}};
    Configuration from = one;
    from[0] = 0.1, from[1] = double(random.below(2));
    SearchSpace wide = small;
    wide[0].min = 1e-9, wide[0].max = 1e9;
    made = carry(small, was, from, wide, is);
    ASSERT_EQ(made.outside, "");
    EXPECT_NEAR(passed(is, made.configuration, "rate"), passed(was, from, "rate"), 1e-12 * passed(was, from, "rate"));
  }
  // A word is no size.
  EXPECT_EQ(carry(small, {}, one, large, {{"rate", "optimizer", Rule::Linear, 1}}).outside, "optimizer");
}

TEST(ScaleProof, FindsEachValueThatIsChanged) {
  TuningProblem problem;
  problem.space = someSpace();
  SplitMix random(3);
  for (int i = 0; i < 100; ++i) {
    problem.scales = {{"rate", "batch", static_cast<Rule>(random.below(7)), 32, 1 + random.unit() * 1000},
                      {"rate", "width", Rule::MupSgd, 100},
                      {"warmup", "width", Rule::Linear, 100},
                      {"momentum", "batch", Rule::Ema, 32}};
    TuningResult result;
    result.trials.push_back({.configuration = fromCube(problem.space, drawPoint(problem.space, random))});
    std::vector<PassedValue> &values = result.trials[0].passed;
    values = passedValues(problem.space, problem.scales, result.trials[0].configuration);
    auto holds = [&] {
      Verification out;
      proveScales(problem, result, out);
      return out.holds();
    };
    ASSERT_TRUE(holds());
    for (PassedValue &one : values) {
      const double was = std::exchange(one.value, one.name == "warmup" ? one.value + 2 : one.value * 1.0001 + 1e-6);
      EXPECT_FALSE(holds()) << one.name;
      one.value = was;
    }
    const PassedValue last = values.back();
    values.pop_back();
    EXPECT_FALSE(holds());
    values.push_back(last), values.push_back({"seed", 1});
    EXPECT_FALSE(holds());
    values.pop_back();
    problem.scales[0].base = 0;
    EXPECT_FALSE(holds());
    problem.scales[0] = {"rate", "momentum", Rule::Linear, 1}; // which is scaled itself
    EXPECT_FALSE(holds());
  }
}

} // namespace
