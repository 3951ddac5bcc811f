// Tunings with prices: what breaks a limit never runs, times are those of the prices, and a verifier that shares
// nothing with the tuner looks at each.
#include "lib/tuning/solve/PricedTrials.h"
#include "lib/tuning/verify/PriceVerifier.h"
#include "lib/tuning/verify/TuningVerifier.h"
#include "test/support/Random.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace accord;
using namespace accord::tuning;

namespace {

using Kind = HyperParameter::Kind;

SearchSpace someSpace() {
  return {{.name = "rate", .kind = Kind::Real, .min = 1e-4, .max = 1, .isLog = true},
          {.name = "width", .kind = Kind::Integer, .min = 1, .max = 40},
          {.name = "batch", .kind = Kind::Choice, .choices = {"16", "32"}}};
}

/// A network whose time, memory and latency grow with its width, on a device with 100 bytes.
class WidthPricer : public Pricer {
public:
  std::vector<int64_t> devices{1};
  double maxLatency = 30;
  Result<Price, Errors> price(const Configuration &configuration) override {
    const double width = configuration[1];
    if (width == 13)
      return Error{Code::ShapeMismatch, "no such network"};
    Price out;
    out.inference = InferencePrice{.latency = width, .memory = width, .energy = 2 * width};
    if (width > maxLatency)
      out.inference->broken.push_back({"latency <= 30 s", "deployed", "too slow"});
    for (int64_t count : devices) {
      const auto n = static_cast<double>(count);
      DevicePrice one{count, width * (0.1 + 0.9 / n), width / n, 8 * width / n, 1, false, {}};
      if (one.memory > 100)
        one.broken.push_back({kDeviceMemory, "trained", "needs too much"});
      one.fits = one.broken.empty();
      out.training.push_back(one);
    }
    out.parameters = static_cast<int64_t>(width);
    return out;
  }
};

class SmoothRunner : public TrialRunner {
public:
  std::optional<Configuration> accept(Configuration proposed) override { return proposed; }
  Result<TrialValue> value(unsigned /*trial*/, const Configuration &configuration, int64_t unit) override {
    const double far = std::log10(configuration[0]) + 2;
    return TrialValue{std::round(100 - far * far - 20 / configuration[1] - 5 / static_cast<double>(unit))};
  }
};

struct Case {
  TuningProblem problem;
  PricedTuning priced;
  WidthPricer pricer;
};

Case someCase(SplitMix &random) {
  Case out;
  TuningProblem &problem = out.problem;
  problem.name = "t", problem.space = someSpace();
  problem.minUnits = 1, problem.maxUnits = 1 + static_cast<int64_t>(random.below(20));
  problem.trials = 1 + static_cast<int64_t>(random.below(30));
  problem.devices = 1 + static_cast<int64_t>(random.below(6));
  problem.devicesPerNode = problem.devices;
  problem.widths = {{1, 1}};
  if (random.below(2)) {
    problem.slotsPerDevice = 2;
    problem.widths = {{1, 0.7}, {2, 1}};
  }
  if (problem.devices >= 2 && random.below(2)) {
    problem.widths.push_back({2 * problem.slotsPerDevice, 1.5});
    out.priced.devices = out.pricer.devices = {1, 2};
  }
  problem.restart = random.unit();
  problem.sharing = random.below(3) ? Sharing::Joint : Sharing::Fixed;
  problem.fixedSlots = problem.widths[random.below(problem.widths.size())].slots;
  problem.seed = random.next();
  out.priced.training = "trained", out.priced.inference = "deployed", out.priced.capacity = 100;
  return out;
}

TuningResult run(Case &one) {
  SmoothRunner runner;
  PricedTrials trials(one.problem, runner, one.pricer, one.priced, /*knowsAll=*/false);
  auto result = tune(one.problem, trials);
  EXPECT_TRUE(result);
  priceResult(one.problem, *result, one.pricer, one.priced);
  return *result;
}

TEST(Prices, LimitsAreKeptAndTimesAreThoseOfPrices) {
  SplitMix random(3);
  int64_t rejected = 0, wide = 0, part = 0;
  for (int i = 0; i < accord::cases(200); ++i) {
    Case one = someCase(random);
    const TuningResult result = run(one);
    const Verification times = verifyTuning(one.problem, result, &one.priced);
    EXPECT_TRUE(times.holds()) << times.findings.front().message;
    const Verification prices =
        verifyPrices(one.problem, result, one.priced, [&](const Configuration &c) { return one.pricer.price(c); });
    EXPECT_TRUE(prices.holds()) << prices.findings.front().message;
    EXPECT_EQ(static_cast<int64_t>(result.trials.size()), one.problem.trials);
    EXPECT_EQ(one.priced.proposed - one.priced.rejected, one.problem.trials);
    rejected += one.priced.rejected;
    for (const Trial &trial : result.trials) {
      EXPECT_NE(trial.configuration[1], 13);
      EXPECT_LE(trial.configuration[1], one.pricer.devices.size() > 1 ? 25 : 12);
    }
    for (const Segment &segment : result.segments) {
      wide += segment.devices.size() > 1, part += segment.slots < one.problem.slotsPerDevice;
      if (segment.slots < one.problem.slotsPerDevice) // half of the memory of a device
        EXPECT_LE(result.trials[segment.trial].configuration[1], 6);
    }
    Case again = one;
    again.priced = {};
    again.priced.training = "trained", again.priced.inference = "deployed", again.priced.capacity = 100;
    again.priced.devices = one.priced.devices;
    const TuningResult same = run(again);
    EXPECT_EQ(same.seconds, result.seconds);
    EXPECT_EQ(again.priced.front, one.priced.front);
  }
  EXPECT_GT(rejected, 0);
  EXPECT_GT(wide, 0);
  EXPECT_GT(part, 0);
}

TEST(Prices, WhatIsNeverAllowedEndsTheProposals) {
  SplitMix random(5);
  Case one = someCase(random);
  one.pricer.maxLatency = 0;
  const TuningResult result = run(one);
  EXPECT_TRUE(result.trials.empty());
  EXPECT_EQ(one.priced.rejected, 1000);
  EXPECT_TRUE(one.priced.front.empty());
}

TEST(Prices, ChangesAreRefused) {
  SplitMix random(11);
  Case one = someCase(random);
  while (one.problem.trials < 10)
    one = someCase(random);
  const TuningResult result = run(one);
  auto refuses = [&](auto change, bool again) {
    PricedTuning changed = one.priced;
    change(changed);
    PriceAgain pricing;
    if (again)
      pricing = [&](const Configuration &c) { return one.pricer.price(c); };
    return !verifyPrices(one.problem, result, changed, pricing).holds();
  };
  EXPECT_FALSE(refuses([](PricedTuning &) {}, true));
  EXPECT_TRUE(refuses([](PricedTuning &p) { p.front.pop_back(); }, false));
  EXPECT_TRUE(refuses([](PricedTuning &p) { p.rejectedBy["latency"] += 1; }, false));
  EXPECT_TRUE(refuses([](PricedTuning &p) { p.trials.pop_back(); }, false));
  EXPECT_TRUE(refuses([](PricedTuning &p) { p.capacity = 1; }, false));
  EXPECT_TRUE(refuses([](PricedTuning &p) { p.trials[0].training[0].unitSeconds *= 2; }, false));
  EXPECT_TRUE(refuses([](PricedTuning &p) { p.trials[3].inference->energy *= 1.01; }, true));
  EXPECT_TRUE(refuses([](PricedTuning &p) { p.trials[3].training[0].memory += 1; }, true));
  EXPECT_TRUE(refuses([](PricedTuning &p) { p.trials[2].parameters += 1; }, true));
}

/// A trial beside others has its part of the memory, whoever the others are; alone in its part of the time, too.
TEST(Prices, APartHoldsItsTrial) {
  SplitMix random(13);
  Case one = someCase(random);
  TuningResult result;
  while (result.segments.empty() || result.segments.front().slots >= one.problem.slotsPerDevice) {
    one = someCase(random);
    result = run(one);
  }
  auto holds = [&](double memory) {
    PricedTuning changed = one.priced;
    const unsigned trial = result.segments.front().trial;
    changed.trials[trial].training[0].memory = memory; // of 100 bytes
    // Nobody is beside it, so that the sums of devices say nothing.
    TuningResult alone = result;
    std::erase_if(alone.segments, [&](const Segment &other) { return other.trial != trial; });
    for (Segment &segment : alone.segments)
      segment.slots = 1, segment.devices.resize(1);
    return verifyPrices(one.problem, alone, changed, {}).holds();
  };
  EXPECT_TRUE(holds(50));
  EXPECT_FALSE(holds(50.1));
}

TEST(Prices, AllConfigurationsAreEachOnce) {
  const SearchSpace space = someSpace();
  const auto all = allConfigurations(space, {"width", "batch"}, 80);
  ASSERT_TRUE(all);
  EXPECT_EQ(std::set<Configuration>(all->begin(), all->end()).size(), 80U);
  for (const Configuration &one : *all) {
    EXPECT_EQ(one[0], 1e-4);
    EXPECT_TRUE(one[1] >= 1 && one[1] <= 40 && one[2] >= 0 && one[2] <= 1);
  }
  EXPECT_FALSE(allConfigurations(space, {"width", "batch"}, 79));
  EXPECT_FALSE(allConfigurations(space, {"rate"}, 1000)); // no end to them
  EXPECT_EQ(allConfigurations(space, {}, 1)->size(), 1U);
  const auto sample = sampleConfigurations(space, 20);
  EXPECT_EQ(sample.size(), 20U);
  EXPECT_NEAR(sample[0][0], 1e-4, 1e-12);
  EXPECT_TRUE(sample[0][1] == 1 && sample[0][2] == 0 && sample[1][1] == 40 && sample[1][2] == 1);
}

} // namespace
