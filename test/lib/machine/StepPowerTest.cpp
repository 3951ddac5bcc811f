#include "lib/machine/energy/StepPower.h"
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

} // namespace
