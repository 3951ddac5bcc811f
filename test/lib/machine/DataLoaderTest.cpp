// Loading with a bounded queue: closed form and an event simulation agree.
#include "lib/machine/cost/DataLoader.h"
#include <deque>
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

TEST(Prefetch, RefusesNonsense) {
  auto code = [](const auto &result) { return numberOf(result.error().code); };
  double infinite = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(code(dataLoaderStep({Seconds(-1), Seconds(), Seconds()}, 2, Bytes())), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(nan), Seconds(), Seconds()}, 2, Bytes())), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(1), Seconds(), Seconds()}, -1, Bytes())), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(1), Seconds(), Seconds()}, 1, Bytes(infinite))), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(1e308), Seconds(1e308), Seconds()}, 1, Bytes())), "A0486");
  EXPECT_EQ(code(dataLoaderStep({Seconds(), Seconds(infinite), Seconds()}, 1, Bytes())), "A0486");
  EXPECT_EQ(stepOf({Seconds(), Seconds(), Seconds()}, 2).gain, 1);
}

} // namespace
