#include "lib/placement/problem/DeviceMemory.h"
#include "lib/placement/verify/DeviceMemoryRules.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace accord {
namespace {

/// By hand: 18 bytes a parameter of 10^9, Megatron-LM's state, on a device of 24 GiB.
TEST(DeviceMemory, WhatIsOnTheDeviceByHand) {
  DeviceMemory with;
  with.reservedRatio = 1.05, with.context = 600, with.communication = 1000, with.buckets = 50;
  EXPECT_EQ(with.allocated(18'000), 18'050);
  EXPECT_EQ(with.reserved(18'000), 18'953); // 18952.5
  EXPECT_EQ(with.onDevice(18'000), 20'553);
}

/// The budget is the largest number of bytes that fits, found by trying all of them.
TEST(DeviceMemory, BudgetIsTheMostThatFits) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    auto upTo = [&](int max) { return std::uniform_int_distribution<int>(0, max)(random); };
    DeviceMemory with;
    with.reservedRatio = 1 + upTo(50) / 100.0;
    with.context = upTo(100), with.communication = upTo(100), with.buckets = upTo(50);
    with.margin = upTo(30) / 100.0;
    DeviceMemory::Type type{1000 + upTo(2000), upTo(1) ? 500 + upTo(2000) : 0};
    int64_t max = -1;
    for (int64_t tensors = 0; tensors <= type.capacity; ++tensors) {
      double bytes = std::ceil(with.reservedRatio * static_cast<double>(tensors + with.buckets)) + with.context +
                     with.communication;
      if (bytes <= std::floor(type.capacity / (1 + with.margin)) && (type.limit == 0 || bytes <= type.limit))
        max = tensors;
    }
    if (max >= 0)
      EXPECT_EQ(with.budget(type), max) << round;
    else
      EXPECT_LT(with.budget(type), 0) << round;
  }
}

TEST(DeviceMemory, NothingBesidesTensorsIsTheCapacity) {
  DeviceMemory with;
  EXPECT_EQ(with.budget({85'899'345'920, 0}), 85'899'345'920);
  EXPECT_EQ(with.budget({85'899'345'920, 1'000}), 1'000);
}

PlacementPlan planOf(int64_t memory, int64_t used) {
  PlacementPlan plan;
  plan.deviceMemory.emplace();
  plan.deviceMemory->framework = "megatron";
  plan.deviceMemory->reservedRatio = 1.25, plan.deviceMemory->context = 100, plan.deviceMemory->margin = 0.25;
  plan.deviceMemory->types = {{1000, 0}}; // 800 with the margin, 700 without the context: 560
  plan.problem.deviceTypes.emplace_back();
  plan.problem.deviceTypes.back().memory = memory;
  plan.problem.parallelConfigs.emplace_back();
  plan.result.plan.emplace().stages.push_back({{0}, 0, {0}});
  plan.result.metrics.memory = {used};
  return plan;
}

TEST(DeviceMemory, TheVerifierFindsTheBudgetItself) {
  EXPECT_TRUE(deviceMemoryViolations(planOf(560, 560)).empty());
  for (int64_t wrong : {559, 561, 800, 1000}) {
    Errors errors = deviceMemoryViolations(planOf(wrong, 10));
    ASSERT_EQ(errors.size(), 1u) << wrong;
    EXPECT_EQ(errors.front().code, Code::WrongMemory);
  }
  Errors errors = deviceMemoryViolations(planOf(560, 561));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors.front().code, Code::MemoryExceeded);
}

} // namespace
} // namespace accord
