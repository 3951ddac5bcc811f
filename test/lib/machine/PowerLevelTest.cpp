// Clocks, voltages and power; machines at a level; the law of voltage against published times under caps.
#include "lib/machine/energy/PowerLevel.h"
#include "lib/machine/calibration/CapFit.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::calibrate;

namespace {

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

TEST(VoltageLaw, FollowsTheClockDownToAFloor) {
  VoltageLaw law{2, 0.75};
  EXPECT_EQ(voltageAt(1, law), 1);
  EXPECT_NEAR(voltageAt(0.9, law), 0.8, 1e-12);
  EXPECT_EQ(voltageAt(0.875, law), 0.75);
  EXPECT_EQ(voltageAt(0.1, law), 0.75);
  EXPECT_NEAR(dynamicPowerAt(0.9, law), 0.576, 1e-12); // 0.9 * 0.8^2
  EXPECT_NEAR(dynamicPowerAt(0.4, law), 0.225, 1e-12); // 0.4 * 0.75^2
}

TEST(VoltageLaw, PowerGrowsWithTheClockAndTheClockIsFoundAgain) {
  double before = 0;
  for (int i = 1; i <= 100; ++i) {
    double clock = i / 100.0, power = dynamicPowerAt(clock);
    EXPECT_GT(power, before);
    EXPECT_LE(power, clock + 1e-12); // never less of power than of speed is saved
    EXPECT_NEAR(clockAt(power), clock, 1e-12);
    before = power;
  }
  EXPECT_EQ(clockAt(1), 1);
  EXPECT_EQ(clockAt(7), 1);
  EXPECT_EQ(clockAt(0), 0);
  EXPECT_EQ(clockAt(-1), 0);
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

TEST(CapFit, IsWhatIsShipped) {
  VoltageLaw fitted = fitVoltage(shippedCapRows()), shipped;
  EXPECT_EQ(fitted.slope, shipped.slope);
  EXPECT_EQ(fitted.floor, shipped.floor);
}

TEST(CapFit, FindsTheLawThatMadeTheRows) {
  std::vector<CapRow> rows = shippedCapRows();
  for (CapRow &row : rows)
    row.slowdown = slowdownOf(row, {1.25, 0.7});
  VoltageLaw fitted = fitVoltage(rows);
  EXPECT_EQ(fitted.slope, 1.25);
  EXPECT_EQ(fitted.floor, 0.7);
}

/// Zeus' published times of trainings on four boards under caps, each board unseen by the fit.
TEST(CapFit, MeetsPublishedTimesOfUnseenBoards) {
  double unseen = 0, cubic = 0;
  int rows = 0;
  for (const CapScore &score : scoreCaps(shippedCapRows())) {
    EXPECT_LT(score.unseen, 0.07) << score.board;
    unseen += score.unseen * score.rows, cubic += score.cubic * score.rows, rows += score.rows;
  }
  EXPECT_EQ(rows, 116);
  EXPECT_LT(unseen / rows, 0.06);
  EXPECT_LT(unseen, cubic / 1.7); // than with a power that goes with the cube of the clock
}

TEST(CapFit, NamesWhatATableLacks) {
  EXPECT_FALSE(readCapRows("board, workload\n", "rows.csv"));
  EXPECT_FALSE(readCapRows("board, workload, idle, tdp, limit, uncapped, power, slowdown\n", "rows.csv"));
  EXPECT_FALSE(readCapRows("board, workload, idle, tdp, limit, uncapped, power, slowdown\n"
                           "b, w, 50 W, 250 W, 100 W, 50 W, 40 W, 1.5\n",
                           "rows.csv"));
}

} // namespace
