// What an operation takes of a core at least: which model, which cores and which extents, by hand.
#include "lib/exploration/verify/PartTimeBound.h"
#include "lib/exploration/verify/StepLowerBound.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {

/// 10 x 10 by 10 x 10, or 100 elements.
BoundedPart partOf(bool contraction) {
  BoundedPart part;
  part.kind = contraction ? "contract" : "gelu", part.type = "fp32";
  part.core = contraction ? CoreKind::Tensor : CoreKind::Vector;
  part.flops = contraction ? 2000 : 800, part.empty = false, part.contraction = contraction;
  part.rows = 100, part.length = contraction ? 10 : 1;
  if (contraction)
    part.product = ProductExtents{1, 10, 10, 10, {}};
  return part;
}

TEST(PartTimeBound, TheMachineOrTheCoreSaysByWhichModel) {
  // On a core of a 4 x 5 array or 8 lanes at 1 GHz, two of them.
  // Array: weights of 3 x 2 folds, each loads 4, streams 10 and fills and drains 7, two at a time; or with the stream
  // in two. Lanes: 100 elements of 8 FLOP each, 16 at a time. Peak: FLOP at what the core states.
  struct Case {
    const char *asked;
    bool array, lanes;
    double product, elements; ///< seconds on all instances; 0: nothing follows
  };
  double array = 3 * (4 + 10 + 7) * 1e-9, lanes = 7 * 8e-9;
  double peakOfProduct = 2000 / (2 * 100e9), peakOfElements = 800 / (2 * 100e9);
  for (const Case &one : {Case{"", true, false, array, peakOfElements},
                          {"", false, true, 0, lanes},
                          {"", true, true, array, peakOfElements},
                          {"", false, false, peakOfProduct, peakOfElements},
                          {"array", true, true, array, peakOfElements},
                          {"array", false, true, 0, lanes},
                          {"vector", true, true, 0, lanes},
                          {"vector", true, false, array, peakOfElements},
                          {"peak", true, true, peakOfProduct, peakOfElements},
                          {"mine", true, true, 0, 0}}) {
    Machine machine;
    machine.clock = Hertz(1e9), machine.costModel = one.asked;
    Core core;
    core.count = 2, core.dataflow = "weight_stationary";
    core.rows = one.array ? 4 : 0, core.cols = one.array ? 5 : 0, core.lanes = one.lanes ? 8 : 0;
    core.peak = {{"fp32", FlopsPerSecond(one.array || one.lanes ? flopsPerCycle(core) * 1e9 : 100e9)}};
    machine.cores = {core};
    double rate = core.peak.at("fp32").value * 2;
    auto expected = [&](double seconds, double flops) {
      return seconds == peakOfProduct || seconds == peakOfElements ? flops / rate : seconds;
    };
    SCOPED_TRACE(std::string(one.asked) + (one.array ? " array" : "") + (one.lanes ? " lanes" : ""));
    if (one.product > 0 || std::string(one.asked) == "mine")
      EXPECT_NEAR(partTimeBound(partOf(true), machine, core, "fp32").spread, expected(one.product, 2000), 1e-15);
    EXPECT_NEAR(partTimeBound(partOf(false), machine, core, "fp32").spread, expected(one.elements, 800), 1e-15);
    // Nothing is known of what has no peak.
    machine.cores[0].efficiency = core.efficiency = 0;
    EXPECT_EQ(partTimeBound(partOf(false), machine, core, "fp32").spread, 0);
  }
}

TEST(PartTimeBound, WithoutALoopOrWorkTheCoreRunsAtItsPeak) {
  Machine machine;
  machine.clock = Hertz(1e9);
  Core core;
  core.kind = CoreKind::Vector, core.count = 1, core.lanes = 8;
  machine.cores = {core};
  BoundedPart part = partOf(false);
  part.empty = true;
  EXPECT_NEAR(partTimeBound(part, machine, core, "fp32").spread, 800 / (flopsPerCycle(core) * 1e9), 1e-15);
  part.empty = false, part.flops = 0;
  EXPECT_EQ(partTimeBound(part, machine, core, "fp32").spread, 0);
  core.cyclesOf["gelu"] = 3; // whatever FLOP it has: 13 times 8 elements
  EXPECT_NEAR(partTimeBound(part, machine, core, "fp32").spread, 13 * 3e-9, 1e-15);
  part.flops = 800;
  EXPECT_NEAR(partTimeBound(part, machine, core, "fp32").spread, 13 * 3e-9, 1e-15);
}

// The first of the kind that is asked for with the type, of a vector core for a contraction, or any of either kind.
TEST(PartTimeBound, CoresThatMayRunAnOperation) {
  Machine machine;
  machine.clock = Hertz(1e9);
  auto add = [&](CoreKind kind, std::map<std::string, FlopsPerSecond> peak, int64_t lanes, double efficiency = 1) {
    Core core;
    core.kind = kind, core.peak = std::move(peak), core.lanes = lanes, core.efficiency = efficiency;
    machine.cores.push_back(core);
  };
  add(CoreKind::Tensor, {{"bf16", FlopsPerSecond(1e12)}}, 0);
  add(CoreKind::Vector, {{"fp32", FlopsPerSecond(1e11)}}, 0);
  add(CoreKind::Vector, {}, 8); // of any type
  add(CoreKind::Tensor, {{"fp16", FlopsPerSecond(1e12)}}, 0, 0);
  add(CoreKind::Tensor, {}, 0); // of no known speed
  auto found = [&](CoreKind kind, const char *type) {
    BoundedPart part = partOf(kind == CoreKind::Tensor);
    part.core = kind, part.type = type;
    EligibleCores cores = eligibleCores(part, machine);
    return std::pair(cores.cores, cores.type);
  };
  using Found = std::pair<std::vector<int>, std::string>;
  EXPECT_EQ(found(CoreKind::Tensor, "bf16"), Found({0}, "bf16"));
  EXPECT_EQ(found(CoreKind::Tensor, "fp32"), Found({1, 2}, "fp32"));
  EXPECT_EQ(found(CoreKind::Tensor, "fp16"), Found({2}, "fp16"));
  EXPECT_EQ(found(CoreKind::Vector, "bf16"), Found({2}, "bf16"));
  machine.cores.erase(machine.cores.begin() + 2);
  EXPECT_EQ(found(CoreKind::Vector, "bf16"), Found({1}, ""));
  EXPECT_EQ(found(CoreKind::Tensor, "fp64"), Found({0, 1, 2, 3}, ""));
  EXPECT_EQ(found(CoreKind::Tensor, "fp32"), Found({1}, "fp32"));
}

// All that times follow from is part of the key, and nothing else: whether there is a capacity, not which.
TEST(PartTimeBound, KeysTellMachinesOfOtherTimesApart) {
  Machine machine = accord::testing::smallMachine();
  for (Core &core : machine.cores)
    core.rows = 4, core.cols = 4, core.lanes = 8, core.dataflow = "weight_stationary";
  auto changes = [&](auto change) {
    Machine other = machine;
    change(other, other.cores[0], other.memories[0]);
    return timesKey(other) != timesKey(machine);
  };
  EXPECT_TRUE(changes([](Machine &m, Core &, Memory &) { m.clock.value *= 2; }));
  EXPECT_TRUE(changes([](Machine &m, Core &, Memory &) { m.costModel = "peak"; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { ++c.rows; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { ++c.cols; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { ++c.lanes; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { ++c.count; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { c.dataflow = "output_stationary"; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { c.overlapFill = true; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { c.overlapDrain = true; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { c.peak["bf16"] = FlopsPerSecond(1); }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { c.cyclesOf["exp"] = 3; }));
  EXPECT_TRUE(changes([](Machine &, Core &c, Memory &) { c.halfPerformanceWork.value += 1; }));
  EXPECT_TRUE(changes([](Machine &, Core &, Memory &m) { m.doubleBuffered = true; }));
  EXPECT_TRUE(changes([](Machine &, Core &, Memory &m) { m.capacity.value = 0; }));
  EXPECT_FALSE(changes([](Machine &, Core &, Memory &m) { m.capacity.value *= 2; }));
  EXPECT_FALSE(changes([](Machine &m, Core &, Memory &) { m.name += "x"; }));
}

// The host's part of a micro-batch and of a step stand beside what the device does.
TEST(StepLowerBound, TheHostAddsToEachMicrobatchAndToTheStep) {
  using namespace accord::testing;
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomGraph g(seed, {.maxIterations = 3});
    Machine machine = smallMachine(), slower = machine;
    slower.host.microbatch = Seconds(3e-3), slower.host.step = Seconds(5e-2);
    double added = 3e-3 * static_cast<double>(g.graph.microbatches) + 5e-2;
    StepLowerBound floor(g.graph);
    double without = floor.seconds(machine);
    EXPECT_NEAR(floor.seconds(slower), without + added, 1e-8 * (without + added));
    // Also of what is to be less than a value: below it, the same; above, as much or more.
    EXPECT_GE(floor.seconds(slower, nullptr, (without + added) * 1.01) * (1 + 1e-8), without + added);
  }
}

} // namespace
