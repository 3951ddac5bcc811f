// Options of a training on offers: arithmetic, and times with interruptions against a simulation.
#include "lib/offers/solve/OfferOptions.h"
#include "lib/run/problem/RunPriors.h"
#include "lib/run/solve/RunEstimator.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <gtest/gtest.h>

namespace accord::offers {
namespace {

OfferPlan planOf(int64_t devices, int64_t servers, double step) {
  OfferPlan plan;
  plan.devices = devices, plan.servers = servers, plan.fits = true;
  plan.step = {step, step * 0.9, step * 1.2};
  plan.watts = 700.0 * static_cast<double>(devices), plan.checkpoint = 20e9, plan.plan = "data 8";
  return plan;
}

InstanceOffer offerOf(double price, double spotPrice) {
  InstanceOffer offer;
  offer.provider = "cloud", offer.instance = "eight", offer.accelerator = "H100";
  offer.devices = 8, offer.price = price, offer.spotPrice = spotPrice;
  return offer;
}

/// Seconds of one training whose devices stop at exponentially distributed times: steps are made in segments, each ends
/// with a checkpoint; a failure within one makes it start again after an outage, during which another one may come.
double simulate(const RunProblem &run, double interval, SplitMix &random) {
  const double rate = run.failureRate.value * static_cast<double>(run.devices);
  const double writing = run.checkpointBytes / run.checkpointBandwidth.value;
  auto draw = [&](double mean) { return -mean * std::log(1 - random.unit()); };
  double time = 0, left = run.steps * run.step.value * (1 + run.slowdown.value);
  double next = draw(1 / rate); // until the next failure
  while (left > 0) {
    // The estimate takes part of a segment, the last one, as a part of its cost; here it is short.
    const double share = std::min(1.0, left / interval);
    const double segment = share * (interval + writing);
    if (next >= segment) {
      time += segment, next -= segment, left -= interval;
      continue;
    }
    time += next;
    double outage = draw(run.detection.value + run.restart.value);
    for (next = draw(1 / rate); next < outage; next = draw(1 / rate)) {
      time += next;
      outage = draw(run.detection.value + run.restart.value);
    }
    time += outage, next -= outage;
  }
  return time;
}

TEST(OfferOptions, TimesWithInterruptionsEqualASimulation) {
  SplitMix random(17);
  for (int number = 0; number < 20; ++number) {
    const int64_t instances = 1 + static_cast<int64_t>(random.below(16));
    const OfferPlan plan = planOf(8 * instances, instances, 0.5 + 4 * random.unit());
    const double hours = 20 + 200 * random.unit();
    const OfferedWork work{"train", std::floor(hours * 3600 / plan.step.value) * 64, 64};
    RunProblem run = runOfOffer(work, plan, instances, RunInput::exact(0.002 + 0.1 * random.unit()));
    // Everything at its median: the simulation has one set of numbers.
    for (RunInput *input : {&run.step, &run.slowdown, &run.failureRate, &run.detection, &run.restart,
                            &run.checkpointBandwidth, &run.blocking, &run.repair})
      *input = RunInput::exact(input->value);
    const RunEstimate estimate = estimateRun(run);
    const int runs = 1500;
    double sum = 0, squares = 0;
    int within = 0;
    for (int i = 0; i < runs; ++i) {
      const double time = simulate(run, estimate.interval, random);
      sum += time, squares += time * time;
      // Without a failure the time is the lower end, but for rounding.
      within += time >= estimate.time.low * (1 - 1e-6) && time <= estimate.time.high * (1 + 1e-6);
    }
    const double mean = sum / runs, deviation = std::sqrt(std::max(0.0, squares / runs - mean * mean) / runs);
    EXPECT_NEAR(estimate.time.value, mean, 4 * deviation + 2e-3 * mean) << number;
    EXPECT_GE(mean, estimate.time.low) << number;
    EXPECT_LE(mean, estimate.time.high) << number;
    // 90 % of runs lie in the interval, or more where many have no failure.
    EXPECT_GE(within, runs * 0.85) << number;
  }
}

TEST(OfferOptions, PricesFollowFromTimes) {
  const std::vector<InstanceOffer> offers = {offerOf(24, 10), offerOf(30, -1)};
  const std::vector<OfferPool> pools = {{"dgx_superpod_h100", 8, {planOf(8, 1, 4), planOf(16, 2, 2.2)}}};
  const OfferTraining training =
      optionsOf({"gpt", 64e5, 64}, offers, pools, {{0, 0, 1e-4}, {1, 0, 0}}, OptionSettings{});
  ASSERT_EQ(training.options.size(), 6u); // on demand and spot of the first, on demand of the second
  EXPECT_TRUE(training.unfit.empty());
  for (const OfferOption &option : training.options) {
    EXPECT_EQ(option.steps, 1e5);
    EXPECT_GT(option.time.value, option.steps * option.step);
    EXPECT_LE(option.time.low, option.time.value);
    EXPECT_GE(option.time.high, option.time.value);
    const double rate = option.offer == 1 ? 30 : option.spot ? 10 : 24;
    EXPECT_EQ(option.rate, rate);
    EXPECT_DOUBLE_EQ(option.price.value, option.time.value / 3600 * static_cast<double>(option.instances) * rate);
    EXPECT_DOUBLE_EQ(option.energy, option.watts * option.time.value);
    EXPECT_DOUBLE_EQ(option.carbon, option.offer == 0 ? option.energy * 1e-4 : 0);
  }
  // The same plan, on demand and as a spot instance.
  EXPECT_GT(training.options[1].time.value, training.options[0].time.value);
  EXPECT_GT(training.options[1].stops, training.options[0].stops);
}

TEST(OfferOptions, SpotAddsInterruptionsOfInstancesToFailuresOfDevices) {
  const OfferPlan plan = planOf(32, 4, 1);
  const OfferedWork work{"gpt", 1e6, 64};
  const RunProblem demand = runOfOffer(work, plan, 4, std::nullopt);
  const RunProblem spot = runOfOffer(work, plan, 4, RunInput::exact(0.1));
  EXPECT_NEAR((spot.failureRate.value - demand.failureRate.value) * 32, 4 * 0.1 / 3600, 1e-12);
  EXPECT_TRUE(check(spot).empty());
  EXPECT_EQ(spot.servers, 4);
  const RunProblem prior = runOfOffer(work, plan, 4, kInterruptionsPerHour);
  EXPECT_LT(prior.failureRate.low, prior.failureRate.value);
  EXPECT_GT(prior.failureRate.high, prior.failureRate.value);
}

TEST(OfferOptions, NamesOffersThatDoNotFit) {
  OfferPlan large = planOf(8, 1, 1);
  large.fits = false, large.reason = "memory is full";
  InstanceOffer never = offerOf(24, -1);
  never.price = -1, never.spotPrice = 5, never.interruptions = 1e5;
  InstanceOffer few = offerOf(20, -1);
  few.available = 1;
  const std::vector<OfferPool> pools = {{"dgx_superpod_h100", 8, {large, planOf(16, 2, 2)}}};
  const OfferTraining training =
      optionsOf({"gpt", 64e4, 64}, {few, never, offerOf(20, -1)}, pools, {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, {});
  ASSERT_EQ(training.unfit.size(), 2u);
  EXPECT_EQ(training.unfit[0].first, 0u);
  EXPECT_EQ(training.unfit[0].second, "memory is full");
  EXPECT_EQ(training.unfit[1].first, 1u);
  EXPECT_NE(training.unfit[1].second.find("hardly ends"), std::string::npos);
  ASSERT_EQ(training.options.size(), 1u);
  EXPECT_EQ(training.options[0].instances, 2);
  EXPECT_EQ(training.options[0].offer, 2u);
}

TEST(OfferOptions, KeepsTheCheapestOfOffersThatAreAlike) {
  std::vector<InstanceOffer> offers;
  for (int i = 0; i < 50; ++i)
    offers.push_back(offerOf(100 - i, i + 1));
  offers.push_back(offerOf(500, -1));
  offers.back().available = 3;
  std::vector<PooledOffer> pooled;
  for (unsigned i = 0; i < offers.size(); ++i)
    pooled.push_back({i, 0, 0});
  const std::vector<PooledOffer> kept = cheapestOf(offers, pooled, 2);
  std::vector<unsigned> numbers;
  for (const PooledOffer &one : kept)
    numbers.push_back(one.offer);
  EXPECT_EQ(numbers, (std::vector<unsigned>{0, 1, 48, 49, 50}));
}

} // namespace
} // namespace accord::offers
