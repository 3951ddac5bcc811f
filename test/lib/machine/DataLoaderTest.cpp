// Loading with a bounded queue: closed form, recursion and an event simulation agree; what is chosen is minimal.
#include "lib/machine/cost/BoundedQueue.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace accord;
namespace {

DataLoaderStep stepOf(const DataLoaderStages &stages, int64_t prefetch, Bytes batch = Bytes(0)) {
  auto result = dataLoaderStep(stages, prefetch, batch);
  EXPECT_TRUE(result);
  return *result;
}

/// Every batch's end of computation, by stepping from event to event: who is idle and finds input
/// and a buffer starts.
std::vector<double> simulate(const std::vector<DataLoaderStages> &batches, int64_t prefetch) {
  struct Stage {
    bool busy = false;
    double until = 0;
    size_t next = 0;
  } load, copy, compute;
  std::vector<double> ends;
  int64_t hostFree = prefetch > 0 ? prefetch : 1, deviceFree = 2, loaded = 0, copied = 0;
  double now = 0;
  while (ends.size() < batches.size()) {
    for (bool changed = true; changed;) {
      changed = false;
      bool alone = !copy.busy && !compute.busy && loaded == 0 && copied == 0;
      if (!load.busy && load.next < batches.size() && hostFree > 0 && (prefetch > 0 || alone)) {
        --hostFree;
        load.until = now + batches[load.next].load.value;
        load.busy = changed = true;
      }
      if (!copy.busy && loaded > 0 && deviceFree > 0) {
        --loaded, --deviceFree;
        copy.until = now + batches[copy.next].copy.value;
        copy.busy = changed = true;
      }
      if (!compute.busy && copied > 0) {
        --copied;
        compute.until = now + batches[compute.next].compute.value;
        compute.busy = changed = true;
      }
      // What ends now frees buffers before time goes on.
      if (load.busy && load.until == now) {
        load.busy = false, ++load.next, ++loaded;
        changed = true;
      }
      if (copy.busy && copy.until == now) {
        copy.busy = false, ++copy.next, ++copied, ++hostFree;
        changed = true;
      }
      if (compute.busy && compute.until == now) {
        compute.busy = false, ++compute.next, ++deviceFree;
        ends.push_back(now);
        changed = true;
      }
    }
    double later = std::numeric_limits<double>::infinity();
    for (const Stage *stage : {&load, &copy, &compute})
      if (stage->busy)
        later = std::min(later, stage->until);
    if (ends.size() < batches.size() && !std::isfinite(later)) {
      ADD_FAILURE() << "the line is stuck";
      return ends;
    }
    now = later;
  }
  return ends;
}

TEST(Prefetch, HidesThirtyPercentWholly) {
  // (load + copy) / compute = 0.30: the overlapped step is exactly 1.30 times as fast.
  DataLoaderStages stages{Seconds(20), Seconds(10), Seconds(100)};
  EXPECT_EQ(stepOf(stages, 0).step.value, 130);
  EXPECT_EQ(stepOf(stages, 2).step.value, 100);
  EXPECT_EQ(stepOf(stages, 2).gain, 1.30);
  EXPECT_EQ(stepOf(stages, 1).gain, 1.30);
  EXPECT_STREQ(stepOf(stages, 2).bound, "compute");
}

TEST(Prefetch, StagesThatBind) {
  DataLoaderStages stages{Seconds(30), Seconds(20), Seconds(40)};
  EXPECT_EQ(stepOf(stages, 1).step.value, 50);
  EXPECT_STREQ(stepOf(stages, 1).bound, "load and copy");
  EXPECT_EQ(stepOf(stages, 2, Bytes(1024)).queue.value, 2048);
  stages.load = Seconds(400);
  EXPECT_STREQ(stepOf(stages, 3).bound, "load");
  EXPECT_EQ(stepOf(stages, 3).step.value, 400);
  stages.load = Seconds(4);
  stages.copy = Seconds(41);
  EXPECT_STREQ(stepOf(stages, 3).bound, "copy");
}

TEST(Prefetch, GainIsAtMostThree) {
  EXPECT_EQ(stepOf({Seconds(7), Seconds(7), Seconds(7)}, 2).gain, 3);
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    auto time = [&] { return Seconds(double(random() % 1000)); };
    DataLoaderStages stages{time(), time(), time()};
    double before = std::numeric_limits<double>::infinity();
    for (int64_t depth = 0; depth < 5; ++depth) {
      DataLoaderStep step = stepOf(stages, depth);
      EXPECT_LE(step.gain, 3 + 1e-12);
      EXPECT_GE(step.gain, 1);
      EXPECT_LE(step.step.value, before); // a deeper queue never hurts
      before = step.step.value;
    }
  }
}

TEST(Prefetch, ConstantTimesReachTheSteadyState) {
  std::mt19937 random(3);
  for (int run = 0; run < 200; ++run) {
    auto time = [&] { return Seconds(double(random() % 100)); };
    DataLoaderStages one{time(), time(), time()};
    std::vector<DataLoaderStages> batches(600, one);
    for (int64_t depth : {0, 1, 2, 4}) {
      std::vector<double> ends = simulate(batches, depth);
      ASSERT_EQ(ends.size(), 600u);
      double period = (ends[599] - ends[399]) / 200;
      EXPECT_DOUBLE_EQ(period, stepOf(one, depth).step.value) << "depth " << depth;
    }
  }
}

TEST(BoundedQueue, RecursionIsTheEventSimulation) {
  std::mt19937 random(5);
  for (int run = 0; run < 30; ++run) {
    std::vector<double> factors(64);
    for (double &factor : factors)
      factor = double(random() % 8); // some loads take no time
    const double load = double(1 + random() % 20), copy = double(random() % 12), compute = double(1 + random() % 40);
    std::vector<DataLoaderStages> batches;
    for (int i = 0; i < 2 * 64; ++i)
      batches.push_back({Seconds(load * factors[i % 64]), Seconds(copy), Seconds(compute)});
    for (int64_t depth : {1, 2, 3, 7, 50, 200}) {
      std::vector<double> ends = simulate(batches, depth);
      ASSERT_EQ(ends.size(), batches.size());
      auto mean = BoundedQueue(factors).mean({Seconds(load), Seconds(copy), Seconds(compute)}, depth);
      EXPECT_DOUBLE_EQ(mean.step.value, (ends[127] - ends[63]) / 64) << "depth " << depth;
    }
  }
}

TEST(BoundedQueue, FactorsAreWhatIsStated) {
  for (double variation : {0.0, 0.3, 1.0, 2.0}) {
    BoundedQueue queue(variation);
    double sum = 0, squares = 0;
    for (double factor : queue.factors()) {
      EXPECT_GT(factor, 0);
      sum += factor, squares += factor * factor;
    }
    const auto count = double(queue.factors().size());
    EXPECT_NEAR(sum / count, 1, 1e-9);
    EXPECT_NEAR(std::sqrt(squares / count - 1), variation, 0.06 * variation + 1e-6);
  }
}

TEST(BoundedQueue, NoSlowerThanOneBufferInClosedForm) {
  // One buffer, no copy: load n + 1 begins when the computation of n does, so a step is the longer of both, and its
  // mean E max(L, C), which of lognormal times is in closed form.
  const double variation = 0.8, compute = 1.3;
  const double sigma = std::sqrt(std::log1p(variation * variation)), mu = -sigma * sigma / 2;
  auto normal = [](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; };
  const double z = (std::log(compute) - mu) / sigma;
  const double expected = compute * normal(z) + normal(sigma - z);
  auto step = dataLoaderStep({Seconds(1), Seconds(), Seconds(compute)}, 1, Bytes(8), variation);
  ASSERT_TRUE(step);
  // Device buffers let one more batch wait: the line is faster than one buffer, and no faster than either stage.
  EXPECT_LE(step->step.value, expected * 1.01);
  EXPECT_GE(step->step.value, compute);
  EXPECT_GT(step->error, 0);
  EXPECT_LT(step->error, 0.01);
}

TEST(Prefetch, MoreIsNeverSlowerWhereLoadingVaries) {
  for (double variation : {0.2, 1.0})
    for (double load : {0.5, 0.95, 1.5}) {
      double before = std::numeric_limits<double>::infinity();
      for (int64_t depth : {0, 1, 2, 3, 5, 9, 40, 400}) {
        auto step = dataLoaderStep({Seconds(load), Seconds(0.1), Seconds(1)}, depth, Bytes(8), variation);
        ASSERT_TRUE(step);
        EXPECT_LE(step->step.value, before);
        EXPECT_GE(step->step.value, std::max(load, 1.0));
        EXPECT_LE(step->gain, 3);
        before = step->step.value;
      }
    }
}

DataLoader loaderOf(double rate, int64_t prefetch = DataLoader::kAuto, double variation = 0) {
  DataLoader loader;
  loader.rate = BytesPerSecond(rate);
  loader.prefetch = prefetch;
  loader.variation = variation;
  return loader;
}

TEST(LoaderChoice, DepthIsTheSmallestThatHides) {
  std::mt19937 random(7);
  for (int run = 0; run < 60; ++run) {
    const Bytes batch(1000);
    const Seconds copy(double(random() % 12)), compute(double(random() % 30));
    const double variation = run % 3 == 0 ? 0 : 0.25 * double(run % 5);
    DataLoader loader = loaderOf(1000 / double(1 + random() % 40), DataLoader::kAuto, variation);
    auto choice = chooseLoader(loader, batch, copy, compute);
    ASSERT_TRUE(choice);
    auto at = [&](int64_t depth) {
      return dataLoaderStep({choice->load, copy, compute}, depth, batch, variation)->step;
    };
    EXPECT_EQ(at(choice->prefetch), choice->step.step);
    const double slack = variation > 0 ? 1.01 : 1 + 1e-12;
    const Seconds others = std::max(copy, compute), deepest = at(1024);
    EXPECT_EQ(choice->hidden, choice->step.step <= others * slack);
    EXPECT_LE(choice->step.step, std::max(others, deepest) * slack);
    if (choice->prefetch > 0) // one less is slower than what counts as hidden, or as the best
      EXPECT_GT(at(choice->prefetch - 1), (deepest <= others * slack ? others : deepest) * slack);
    for (const LoaderChoice::Depth &depth : choice->depths)
      EXPECT_EQ(depth.step, at(depth.prefetch));
  }
}

TEST(LoaderChoice, WorkersAreTheFewestThatAreNotTheBottleneck) {
  std::mt19937 random(9);
  for (int run = 0; run < 60; ++run) {
    const Bytes batch(1000);
    const Seconds copy(double(random() % 12)), compute(double(1 + random() % 30));
    DataLoader loader = loaderOf(1000 / double(1 + random() % 200), DataLoader::kAuto, run % 2 ? 0.6 : 0);
    loader.workers = DataLoader::kAuto;
    loader.maxWorkers = 1 + int64_t(random() % 16);
    auto choice = chooseLoader(loader, batch, copy, compute);
    ASSERT_TRUE(choice);
    ASSERT_LE(choice->workers, loader.maxWorkers);
    auto hides = [&](int64_t workers) {
      DataLoader fixed = loader;
      fixed.workers = fixed.maxWorkers = workers;
      return chooseLoader(fixed, batch, copy, compute)->hidden;
    };
    EXPECT_EQ(choice->hidden, hides(choice->workers));
    if (choice->hidden && choice->workers > 1)
      EXPECT_FALSE(hides(choice->workers - 1));
    if (!choice->hidden)
      EXPECT_EQ(choice->workers, loader.maxWorkers);
  }
}

TEST(LoaderChoice, MemoryLimitsTheDepth) {
  DataLoader loader = loaderOf(1000 / 9.0, DataLoader::kAuto, 1.0); // loading takes 0.9 of computing
  auto free = chooseLoader(loader, Bytes(1000), Seconds(), Seconds(10));
  ASSERT_TRUE(free);
  EXPECT_TRUE(free->hidden);
  EXPECT_GT(free->prefetch, 3);
  loader.memory = Bytes(3500);
  auto limited = chooseLoader(loader, Bytes(1000), Seconds(), Seconds(10));
  ASSERT_TRUE(limited);
  EXPECT_LE(limited->prefetch, 3);
  EXPECT_TRUE(limited->limited);
  EXPECT_FALSE(limited->hidden);
  loader.memory = Bytes(999);
  EXPECT_EQ(numberOf(chooseLoader(loader, Bytes(1000), Seconds(), Seconds(10)).error().code), "A0302");
  loader.memory = Bytes(3500), loader.prefetch = 4;
  EXPECT_EQ(numberOf(chooseLoader(loader, Bytes(1000), Seconds(), Seconds(10)).error().code), "A0302");
}

TEST(Prefetch, RefusesNonsense) {
  auto code = [](const auto &result) { return numberOf(result.error().code); };
  double infinite = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(code(dataLoaderStep({Seconds(-1), Seconds(), Seconds()}, 2, Bytes())), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(nan), Seconds(), Seconds()}, 2, Bytes())), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(1), Seconds(), Seconds()}, -1, Bytes())), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(1), Seconds(), Seconds()}, 1, Bytes(infinite))), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(1), Seconds(), Seconds()}, 1, Bytes(), -0.5)), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(1e305), Seconds(), Seconds()}, 1, Bytes(), 0.5)), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(1e308), Seconds(1e308), Seconds()}, 1, Bytes())), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(), Seconds(infinite), Seconds()}, 1, Bytes())), "A0486");
  EXPECT_EQ(stepOf({Seconds(), Seconds(), Seconds()}, 2).gain, 1);
}

} // namespace
