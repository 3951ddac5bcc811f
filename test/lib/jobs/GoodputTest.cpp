// The goodput model against published numbers, brute force and properties; rules of learning rates.
#include "lib/jobs/problem/Goodput.h"
#include "lib/jobs/problem/LearningRate.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

/// A worked example whose values were computed with the published implementation of Pollux.
GoodputModel example() { return {{.1, .01}, {.5, .02}, {.2, .01}, 1.5, {1, 9}, 128}; }

TEST(Goodput, HasTheValuesOfTheWorkedExample) {
  const GoodputModel model = example();
  ASSERT_TRUE(checkGoodputModel(model));
  const DeviceCount on{1, 4};
  EXPECT_EQ(batchOf(on, {64, 0}), 256);
  EXPECT_NEAR(throughput(model, on, {64, 0}), 312.976882, 5e-7);
  EXPECT_NEAR(efficiency(model, 256), .909091, 5e-7);
  EXPECT_NEAR(goodput(model, on, {64, 0}), 284.524438, 5e-7);
}

TEST(Goodput, OfTheInitialBatchIsThroughputAndFallsOnlyInEfficiency) {
  const GoodputModel model = example();
  EXPECT_EQ(efficiency(model, 128), 1);
  for (int64_t batch = 128; batch < 4096; batch += 64) {
    EXPECT_LT(efficiency(model, batch + 64), efficiency(model, batch));
    // Of noise alone each sample is worth the same.
    GoodputModel noisy = model;
    noisy.noise.square = 0;
    EXPECT_EQ(efficiency(noisy, batch), 1);
    // Without noise a larger batch is worth no more than the initial one.
    noisy.noise = {1, 0};
    EXPECT_DOUBLE_EQ(efficiency(noisy, batch), 128.0 / static_cast<double>(batch));
  }
}

TEST(Goodput, OverlapsComputeAndSynchronization) {
  GoodputModel model = example();
  const DeviceCount on{2, 8};
  const double compute = .1 + .01 * 32, sync = .5 + .02 * 6;
  model.gamma = 1;
  EXPECT_DOUBLE_EQ(updateSeconds(model, on, {32, 0}), compute + sync);
  EXPECT_DOUBLE_EQ(updateSeconds(model, on, {32, 3}), 4 * compute + sync);
  model.gamma = 10;
  EXPECT_GT(updateSeconds(model, on, {32, 0}), sync);
  EXPECT_LT(updateSeconds(model, on, {32, 0}), sync * std::pow(2, .1));
  EXPECT_NEAR(updateSeconds(model, {1, 1}, {32, 0}), compute, 1e-7); // nothing to synchronize
}

TEST(Goodput, ChoosesTheBestSplitOfAll) {
  SplitMix random(11);
  auto real = [&](double low, double high) { return low + (high - low) * random.unit(); };
  for (int round = 0; round < 300; ++round) {
    GoodputModel model{{real(.001, .2), real(.0001, .02)}, {real(.01, 1), real(0, .05)},
                       {real(.01, .5), real(0, .02)},      real(1, 10),
                       {real(.01, 2), real(0, 40)},        int64_t(1 + random.below(64))};
    const auto devices = unsigned(1 + random.below(8));
    const DeviceCount on{unsigned(1 + random.below(devices)), devices};
    BatchLimits limits{int64_t(model.initialBatch + random.below(600)), int64_t(1 + random.below(6)), 0,
                       random.below(4) != 0};
    limits.maxAtomicBatch = limits.minAtomicBatch + int64_t(random.below(60));
    double best = 0;
    for (int64_t s = 0; s <= (limits.accumulate ? 700 : 0); ++s)
      for (int64_t b = limits.minAtomicBatch; b <= limits.maxAtomicBatch; ++b) {
        const int64_t batch = int64_t(devices) * b * (s + 1);
        if (batch > limits.maxBatch)
          break;
        if (batch >= model.initialBatch && !(limits.accumulate && devices == 1 && s == 0 && batch > model.initialBatch))
          best = std::max(best, goodput(model, on, {b, s}));
      }
    const auto chosen = chooseBatch(model, on, limits);
    ASSERT_EQ(chosen.has_value(), best > 0);
    if (!chosen)
      continue;
    EXPECT_NEAR(chosen->goodput, best, 1e-9 * best);
    EXPECT_EQ(chosen->goodput, goodput(model, on, chosen->split));
    const auto sampled = sampleBatch(model, on, limits);
    if (sampled && batchOf(on, sampled->split) <= limits.maxBatch)
      EXPECT_LE(sampled->goodput, chosen->goodput * (1 + 1e-9));
  }
}

/// Goes through all splits.
double bestOfAll(const GoodputModel &model, DeviceCount on, const BatchLimits &limits) {
  double best = 0;
  for (int64_t s = 0; int64_t(on.devices) * (s + 1) * limits.minAtomicBatch <= limits.maxBatch; ++s)
    for (int64_t b = limits.minAtomicBatch; b <= limits.maxAtomicBatch; ++b) {
      const int64_t batch = batchOf(on, {b, s});
      if (batch > limits.maxBatch)
        break;
      if (batch >= model.initialBatch && !(on.devices == 1 && s == 0 && batch > model.initialBatch))
        best = std::max(best, goodput(model, on, {b, s}));
    }
  return best;
}

TEST(Goodput, ChoosesAmongManyStepsLikeALoopOverAll) {
  SplitMix random(12);
  auto real = [&](double low, double high) { return low + (high - low) * random.unit(); };
  for (int round = 0; round < 40; ++round) {
    const double constant = round % 3 == 0 ? 0 : round % 3 == 1 ? real(1e-6, 1e-4) : real(.001, .2);
    GoodputModel model{{constant, real(.0001, .02)},   {real(.01, 50), real(0, .05)},
                       {real(.01, 50), real(0, .02)},  real(1, 10),
                       {real(1e-4, 2), real(0, 4000)}, int64_t(1 + random.below(2000))};
    const auto devices = unsigned(1 + random.below(4));
    const DeviceCount on{unsigned(1 + random.below(devices)), devices};
    BatchLimits limits{int64_t(model.initialBatch + random.below(8000)), int64_t(1 + random.below(3)), 0, true};
    limits.maxAtomicBatch = limits.minAtomicBatch + int64_t(random.below(20));
    const double best = bestOfAll(model, on, limits);
    const auto chosen = chooseBatch(model, on, limits);
    ASSERT_EQ(chosen.has_value(), best > 0);
    if (chosen)
      EXPECT_NEAR(chosen->goodput, best, 1e-9 * best) << round;
  }
}

TEST(Goodput, ChoosesOfABillionSteps) {
  GoodputModel model{{1e-3, 1e-4}, {30, .05}, {20, .02}, 1.5, {1e-3, 1e9}, 64};
  const BatchLimits limits{int64_t(1) << 40, 1, 16, true};
  for (unsigned devices : {1U, 7U, 64U}) {
    const auto chosen = chooseBatch(model, {1, devices}, limits);
    ASSERT_TRUE(chosen);
    EXPECT_GT(chosen->split.accumulation, 100);
    for (int64_t steps = 1; int64_t(devices) * steps * 16 <= limits.maxBatch; steps += 1 + steps / 64)
      for (int64_t atomic : {1, 2, 15, 16})
        EXPECT_LE(goodput(model, {1, devices}, {atomic, steps}), chosen->goodput * (1 + 1e-9)) << steps;
  }
}

TEST(Goodput, SamplesTheBatchesThatThePublishedImplementationChooses) {
  struct Case {
    GoodputModel model;
    DeviceCount on;
    BatchLimits limits;
    BatchSplit split;
    double goodput;
  };
  // Computed with the published implementation of Pollux.
  const Case cases[] = {
      {{{.1, .01}, {.5, .02}, {.2, .01}, 1.5, {1, 9}, 128}, {1, 4}, {1024, 16, 64, true}, {64, 0}, 284.524438},
      {{{.1, .01}, {.5, .02}, {.2, .01}, 1.5, {1, 9}, 128}, {4, 16}, {4096, 16, 64, true}, {63, 0}, 498.269274},
      {{{.02, .004}, {.3, .01}, {.1, .005}, 2.5, {.5, 30}, 64}, {1, 1}, {2048, 8, 256, true}, {64, 0}, 231.884058},
      {{{.02, .004}, {.3, .01}, {.1, .005}, 2.5, {.5, 30}, 64}, {2, 7}, {2048, 8, 256, true}, {155, 0}, 1240.63299},
      {{{.05, .002}, {.9, .03}, {.4, .02}, 1, {2, 5}, 256}, {8, 32}, {8192, 4, 32, true}, {32, 2}, 346.179851},
      {{{.05, .002}, {.9, .03}, {.4, .02}, 8, {.1, 40}, 20}, {2, 2}, {640, 10, 20, true}, {20, 15}, 264.032922},
  };
  for (const Case &one : cases) {
    const auto chosen = sampleBatch(one.model, one.on, one.limits);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->split, one.split) << one.goodput;
    EXPECT_NEAR(chosen->goodput, one.goodput, 1e-8 * one.goodput);
  }
}

TEST(Goodput, SamplesBatchesFromTheInitialToTheMaximum) {
  const GoodputModel model = example();
  // One batch only: split over 4 devices that hold 20 samples each, 32 are two steps of 16.
  const auto one = sampleBatch(model, {1, 4}, {128, 1, 20, true});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->split, (BatchSplit{16, 1}));
  // Above the initial batch a single device accumulates, although it could hold all.
  GoodputModel noisy = model;
  noisy.noise = {0, 1};
  noisy.compute = {1, .001};
  const auto alone = sampleBatch(noisy, {1, 1}, {1024, 1, 2048, true});
  ASSERT_TRUE(alone);
  EXPECT_GE(alone->split.accumulation, 1);
  EXPECT_FALSE(sampleBatch(model, {1, 4}, {100, 1, 20, true}));  // the initial batch is larger
  EXPECT_FALSE(sampleBatch(model, {1, 4}, {128, 1, 20, false})); // no device holds its share
}

TEST(Goodput, RejectsModelsThatAreNotWellFormed) {
  auto rejects = [](auto change) {
    GoodputModel model = example();
    change(model);
    auto checked = checkGoodputModel(model);
    return !checked && checked.error().code == Code::WrongJobsFile;
  };
  EXPECT_TRUE(rejects([](GoodputModel &m) { m.gamma = .9; }));
  EXPECT_TRUE(rejects([](GoodputModel &m) { m.gamma = std::nan(""); }));
  EXPECT_TRUE(rejects([](GoodputModel &m) { m.compute = {0, 0}; }));
  EXPECT_TRUE(rejects([](GoodputModel &m) { m.withinServer.slope = -1; }));
  EXPECT_TRUE(rejects([](GoodputModel &m) { m.noise = {0, 0}; }));
  EXPECT_TRUE(rejects([](GoodputModel &m) { m.initialBatch = 0; }));
}

TEST(LearningRate, FollowsItsRule) {
  auto scaled = [](LearningRateRule rule, Optimizer optimizer) { return *scaleLearningRate(rule, optimizer, 4, 2.25); };
  EXPECT_EQ(scaled(LearningRateRule::Linear, Optimizer::Sgd).rate, 4);
  EXPECT_EQ(scaled(LearningRateRule::SquareRoot, Optimizer::AdamW).rate, 2);
  EXPECT_EQ(scaled(LearningRateRule::AdaScale, Optimizer::Momentum).rate, 2.25);
  EXPECT_EQ(scaled(LearningRateRule::AdaScaleRoot, Optimizer::Adam).rate, 1.5);
  EXPECT_EQ(scaled(LearningRateRule::Legw, Optimizer::Momentum).rate, 2);
  EXPECT_EQ(scaled(LearningRateRule::Legw, Optimizer::Momentum).warmup, 4);
  EXPECT_EQ(scaled(LearningRateRule::Linear, Optimizer::Sgd).warmup, 1);
}

TEST(LearningRate, IsScaledOnlyWhereTheRuleWasDerived) {
  for (const char *ruleName : {"linear", "square-root", "ada-scale", "ada-scale-root", "legw"}) {
    const auto rule = learningRateRule(ruleName);
    ASSERT_TRUE(rule) << ruleName;
    EXPECT_EQ(nameOf(*rule), ruleName);
    const std::vector<Optimizer> legal = optimizersOf(*rule);
    for (const char *name : {"sgd", "momentum", "lars", "adam", "adamw", "rmsprop", "lamb"}) {
      const auto one = optimizer(name);
      ASSERT_TRUE(one) << name;
      const bool expected = std::find(legal.begin(), legal.end(), *one) != legal.end();
      EXPECT_EQ(static_cast<bool>(scaleLearningRate(*rule, *one, 2, 1.5)), expected) << ruleName << ' ' << name;
    }
  }
  auto wrong = scaleLearningRate(LearningRateRule::AdaScale, Optimizer::Adam, 2, 1.5);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "learning-rate rule 'ada-scale' was not derived for optimizer 'adam', but for 'sgd', 'momentum'");
  EXPECT_FALSE(scaleLearningRate(LearningRateRule::Linear, Optimizer::Sgd, 0, 1));
  EXPECT_FALSE(learningRateRule("cubic"));
  EXPECT_FALSE(optimizer("sgd2"));
}

} // namespace
} // namespace accord::jobs
