#include "lib/machine/energy/StepPower.h"
#include "lib/machine/energy/PowerLevel.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {

Machine board() {
  Machine machine;
  machine.idle = Watts(100);
  machine.tdp = Watts(500);
  machine.memories.resize(1);
  machine.memories[0].bandwidth = BytesPerSecond(1e12);
  machine.cores.resize(1);
  return machine;
}

/// One operation, executed once: 1 s, of which the tensor core needs half at its peak; 250 GB.
struct OneOperation {
  WorkGraph graph;
  Costs costs;
  OneOperation() {
    graph.operations.resize(1);
    costs.operations.resize(1);
    OperationCost &cost = costs.operations[0];
    cost.core = 0;
    cost.time = Seconds(1);
    cost.compute = Seconds(0.5);
    cost.bytes = {Bytes(250e9)};
    cost.transfer = {Seconds(0.25)};
  }
};

TEST(StepPower, CountsTheSharesOfTheStep) {
  OneOperation one;
  UnitShares shares = unitShares(one.graph, one.costs, board(), Seconds(2));
  EXPECT_NEAR(shares.busy, 0.5, 1e-12);
  EXPECT_NEAR(shares.tensor, 0.25, 1e-12);
  EXPECT_NEAR(shares.memory, 0.125, 1e-12);
  EXPECT_EQ(shares.vector + shares.link, 0);
}

TEST(StepPower, IsTheLawOverTheStep) {
  OneOperation one;
  BoardPowerLaw law;
  auto power = stepPower(one.graph, one.costs, board(), Seconds(2));
  ASSERT_TRUE(power);
  double active = std::min(1.0, (law.busy * 0.5 + law.tensor * 0.25 + law.memory * 0.125) / 0.5);
  EXPECT_NEAR(power->average.value, 100 + 400 * active * 0.5, 1e-9);
  EXPECT_FALSE(stepPower(one.graph, one.costs, board(), Seconds(0)));
}

TEST(StepPower, ChargesOperationsWithWhatTheStepDraws) {
  OneOperation one;
  Machine machine = board();
  double step = stepPower(one.graph, one.costs, machine, Seconds(2))->average.value * 2;
  chargeBoard(one.graph, machine, one.costs);
  EXPECT_NEAR(one.costs.operations[0].energy.value + machine.idle.value * 2, step, 1e-9);
}

TEST(StepPower, LeavesChipsThatStateTheirEnergies) {
  Machine machine = board();
  EXPECT_TRUE(hasBoardPower(machine));
  machine.memories[0].origins["energy"] = {"default 3.9 pJ/bit as hbm2", "", {}};
  EXPECT_TRUE(hasBoardPower(machine));
  machine.memories[0].origins["energy"] = {"3.9 pJ/bit", "", {}};
  EXPECT_FALSE(hasBoardPower(machine));
  machine = board();
  machine.origins["mac"] = {"1 pJ", "", {}};
  EXPECT_FALSE(hasBoardPower(machine));
  machine = board();
  machine.tdp = Watts();
  EXPECT_FALSE(hasBoardPower(machine));
}

Machine gpu() {
  Machine machine;
  machine.name = "gpu";
  machine.clock = Hertz(1e9);
  machine.idle = Watts(60), machine.tdp = Watts(400);
  Memory hbm, shared;
  hbm.name = "hbm", hbm.kind = "dram", hbm.bandwidth = BytesPerSecond(2e12), hbm.energy = JoulesPerByte(3e-11);
  shared.name = "shared", shared.kind = "scratchpad", shared.bandwidth = BytesPerSecond(2e13);
  shared.latency = Seconds(1e-8), shared.energy = JoulesPerByte(1e-12);
  machine.memories = {hbm, shared};
  Core tensor;
  tensor.name = "tc", tensor.peak = {{"bf16", FlopsPerSecond(3e14)}},
  tensor.origins["peak.bf16"] = {"300 TFLOP/s", "", {}};
  machine.cores = {tensor};
  machine.energyPerFlop = JoulesPerFlop(1e-12);
  return machine;
}

TEST(PowerLevel, ScalesWhatTheClockDrivesAndNothingElse) {
  Machine full = gpu(), eco = atLevel(full, {"eco", 0.5, 0.3, {}, {}});
  EXPECT_EQ(eco.cores[0].peak.at("bf16").value, 1.5e14);
  EXPECT_EQ(eco.clock.value, 5e8);
  EXPECT_EQ(eco.memories[0].bandwidth.value, 2e12);
  EXPECT_EQ(eco.memories[0].energy.value, 3e-11);
  EXPECT_EQ(eco.memories[1].bandwidth.value, 1e13);
  EXPECT_EQ(eco.memories[1].latency.value, 2e-8);
  EXPECT_NEAR(eco.energyPerFlop.value, 0.6e-12, 1e-24); // of power / clock
  EXPECT_EQ(eco.idle.value, 60);
  EXPECT_NEAR(eco.tdp.value, 60 + 0.3 * 340, 1e-9);
  EXPECT_EQ(eco.cores[0].origins["peak.bf16"].text, "300 TFLOP/s * 0.5");
  EXPECT_EQ(eco.origins["power_level"].text, "eco");
  Machine same = atLevel(full, levelAt(1));
  EXPECT_EQ(same.cores[0].peak.at("bf16").value, 3e14);
  EXPECT_EQ(same.tdp.value, 400);
  EXPECT_EQ(same.cores[0].origins["peak.bf16"].text, "300 TFLOP/s");
}

TEST(PowerLevel, PartsThatStateEnergiesKeepTheirDesignPower) {
  Machine machine = gpu();
  machine.origins["mac"] = {"2 pJ", "", {}}; // then no law of boards counts
  EXPECT_EQ(atLevel(machine, levelAt(0.5)).tdp.value, 400);
}

/// Energy of fixed work at a clock: dynamic energy falls with the square of the voltage, and idle power is drawn
/// longer.
TEST(PowerLevel, EnergyHasAMinimumBetweenFullAndSlow) {
  Machine full = gpu();
  auto energy = [&](double clock) {
    Machine at = atLevel(full, levelAt(clock));
    return at.tdp.value / clock; // all units work all the time
  };
  double best = 1;
  for (int i = 10; i <= 100; ++i)
    if (energy(i / 100.0) < energy(best))
      best = i / 100.0;
  EXPECT_GT(best, 0.5);
  EXPECT_LT(best, 0.95);
  EXPECT_LT(energy(best), 0.85 * energy(1));
  EXPECT_GT(energy(0.1), energy(1));
}

TEST(PowerLevel, CapsBoundTheClock) {
  PowerLevel level{"capped", 0, 0, Watts(230), {}};
  auto low = lowestClockUnder(level, gpu());
  ASSERT_TRUE(low);
  EXPECT_NEAR(atLevel(gpu(), levelAt(*low)).tdp.value, 230, 1e-6);
  level.cap = Watts(60);
  EXPECT_FALSE(lowestClockUnder(level, gpu()));
  level.cap = Watts(1000);
  EXPECT_EQ(*lowestClockUnder(level, gpu()), 1);
  // A step that uses half of what the board can draw: its clock is above the lowest one, and its power at the cap.
  auto watts = [](const PowerLevel &at) { return 60 + 0.8 * 340 * at.power; };
  double clock = highestClockUnder(Watts(230), *low, watts);
  EXPECT_GT(clock, *low);
  EXPECT_LE(watts(levelAt(clock)), 230);
  EXPECT_GT(watts(levelAt(clock + 1.0 / 256)), 230);
  EXPECT_EQ(highestClockUnder(Watts(400), *low, watts), 1);
  EXPECT_EQ(highestClockUnder(Watts(10), 0.25, watts), 0.25);
  EXPECT_EQ(highestClockUnder(Watts(230), 0.25, [](const PowerLevel &) { return -1.0; }), 0.25);
}

} // namespace
