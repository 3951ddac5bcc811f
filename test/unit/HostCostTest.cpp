// What the host and the start of operations add: to the step as declared, in the plan and its
// proof.
#include "RandomPlan.h"
#include "lib/verify/Verify.h"
#include <gtest/gtest.h>

namespace accord {
namespace {
using namespace accord::testing;

TEST(HostCost, IsAddedToEachMicrobatchAndToTheStep) {
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

TEST(HostCost, ForgottenInAPlanIsFound) {
  RandomGraph draw(3, {});
  Plan plan = planFor(draw.graph, smallMachine());
  ASSERT_TRUE(verify(plan).holds());
  plan.machine.host.microbatch = Seconds(3e-3);
  EXPECT_FALSE(verify(plan).holds());
}

TEST(HostCost, KernelFloorForgottenInAPlanIsFound) {
  RandomGraph draw(3, {});
  Plan plan = planFor(draw.graph, smallMachine());
  plan.machine.host.kernel = Seconds(1);
  EXPECT_FALSE(verify(plan).holds());
}

} // namespace
} // namespace accord
