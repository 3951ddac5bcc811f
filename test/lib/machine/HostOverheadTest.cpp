// What the host and the start of operations add: to the step as declared, in the plan and its
// proof.
#include "lib/planning/verify/Verify.h"
#include "test/support/Random.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>

namespace accord {
namespace {
using namespace accord::testing;

TEST(HostOverhead, IsAddedToEachMicrobatchAndToTheStep) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomGraph draw(seed, {});
    Machine machine = smallMachine();
    Plan bare = planFor(draw.graph, machine);
    machine.host.microbatch = Seconds(3e-3), machine.host.step = Seconds(7e-3);
    Plan plan = planFor(draw.graph, machine);
    int64_t added = 3'000'000'000 * draw.graph.microbatches + 7'000'000'000;
    EXPECT_EQ(plan.schedule.step.value, bare.schedule.step.value + added);
    EXPECT_EQ(plan.schedule.bound.value, bare.schedule.bound.value + added);
    Verification proof = verify(plan);
    EXPECT_TRUE(proof.holds()) << seed << proof.findings.front().message;
  }
}

TEST(HostOverhead, ForgottenInAPlanIsFound) {
  RandomGraph draw(3, {});
  Plan plan = planFor(draw.graph, smallMachine());
  ASSERT_TRUE(verify(plan).holds());
  plan.machine.host.microbatch = Seconds(3e-3);
  EXPECT_FALSE(verify(plan).holds());
}

TEST(HostOverhead, KernelFloorForgottenInAPlanIsFound) {
  RandomGraph draw(3, {});
  Plan plan = planFor(draw.graph, smallMachine());
  plan.machine.host.kernel = Seconds(1);
  EXPECT_FALSE(verify(plan).holds());
}

TEST(PerInstanceMapping, OperationsShareTheInstancesOfACore) {
  bool shorter = false;
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomGraph draw(seed, {});
    Machine machine = smallMachine();
    for (Core &core : machine.cores)
      core.count = 1;
    Plan one = planFor(draw.graph, machine);
    for (Core &core : machine.cores)
      core.count = 3, core.perInstanceMapping = true; // an operation takes as long as before
    Plan plan = planFor(draw.graph, machine);
    Verification proof = verify(plan);
    EXPECT_TRUE(proof.holds()) << seed << proof.findings.front().message;
    EXPECT_EQ(plan.costs.operations[0].time, one.costs.operations[0].time);
    shorter |= plan.schedule.step < one.schedule.step;
  }
  EXPECT_TRUE(shorter);
}

TEST(PerInstanceMapping, AnInstanceOfASpreadCoreIsRefused) {
  RandomGraph draw(3, {});
  Machine machine = smallMachine();
  for (Core &core : machine.cores)
    core.count = 2;
  Plan plan = planFor(draw.graph, machine);
  ASSERT_TRUE(verify(plan).holds());
  for (Slot &slot : plan.schedule.regions[0].slots)
    if (slot.core >= 0)
      slot.instance = 1;
  EXPECT_FALSE(verify(plan).holds());
}

/// Cores of which each operation takes one instance or all.
Machine eitherMachine(int64_t count) {
  Machine machine = smallMachine();
  for (Core &core : machine.cores)
    core.count = count, core.anyMapping = true;
  return machine;
}

TEST(AnyMapping, PlansHoldAndAreNoLongerThanWithOneForm) {
  size_t one = 0, all = 0;
  for (unsigned seed = 0; seed < cases(60); ++seed) {
    RandomGraph draw(seed, {});
    Plan plan = planFor(draw.graph, eitherMachine(3));
    Verification proof = verify(plan);
    EXPECT_TRUE(proof.holds()) << seed << proof.findings.front().message;
    for (bool perInstanceMapping : {false, true}) {
      Machine machine = eitherMachine(3);
      for (Core &core : machine.cores)
        core.anyMapping = false, core.perInstanceMapping = perInstanceMapping;
      Plan other = planFor(draw.graph, machine);
      EXPECT_LE(plan.schedule.bound, other.schedule.step) << seed; // one of its choices
    }
    for (const auto &[id, others] : plan.costs.alternatives)
      ++(plan.costs.operations[id].instances == 1 ? one : all);
  }
  EXPECT_GT(one, 0u); // neither form is always the better one
  EXPECT_GT(all, 0u);
}

TEST(AnyMapping, WhatIsClaimedOfFormsIsProvedAgain) {
  RandomGraph draw(3, {});
  Plan plan = planFor(draw.graph, eitherMachine(4));
  ASSERT_TRUE(verify(plan).holds());
  ASSERT_FALSE(plan.costs.alternatives.empty());
  auto &[id, others] = *plan.costs.alternatives.begin();
  auto refused = [&](auto change) {
    Plan wrong = plan;
    change(wrong);
    return !verify(wrong).holds();
  };
  EXPECT_TRUE(refused([&](Plan &p) { // runs on one, as fast as on all
    OperationCost &cost = p.costs.operations[id];
    cost.instances = cost.instances == 1 ? 4 : 1;
  }));
  EXPECT_TRUE(refused([&](Plan &p) { p.costs.operations[id].instances = 2; }));
  EXPECT_TRUE(refused([&](Plan &p) { // an alternative that is too good to be true
    OperationCost &cost = p.costs.alternatives[id][0];
    cost.compute = cost.compute / 100, cost.time = cost.time / 100;
  }));
  EXPECT_TRUE(refused([&](Plan &p) {
    p.schedule.regions[0].proven.kind = SchedulingBound::Kind::Path;
    p.schedule.regions[0].proven.value = p.schedule.regions[0].length.value;
  }));
  EXPECT_TRUE(refused([&](Plan &p) { // nothing runs beside what holds all
    for (Slot &slot : p.schedule.regions[0].slots)
      if (slot.core >= 0)
        slot.instance = p.costs.operations[slot.operation].instances == 4 ? 1 : 4;
  }));
}

} // namespace
} // namespace accord
