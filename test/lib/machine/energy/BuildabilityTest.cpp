// What makes a chip hard to build or to cool.
#include "lib/machine/energy/Buildability.h"
#include "lib/machine/energy/Cooling.h"
#include <gmock/gmock.h>

using namespace accord;
namespace {

Machine chip(double mm2, double watts) {
  Machine machine;
  machine.name = "c";
  machine.area = {mm2 * 1e-6};
  machine.tdp = Watts(watts);
  return machine;
}

std::vector<Code> codesOf(const Machine &machine) {
  std::vector<Code> codes;
  for (const Buildability &one : buildabilityOf(machine)) {
    EXPECT_FALSE(one.help.empty());
    EXPECT_NE(one.error.message.find("'c'"), std::string::npos);
    codes.push_back(one.error.code);
  }
  return codes;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Buildability, PowerDensity) {
  EXPECT_THAT(codesOf(chip(814, 700)), IsEmpty()); // H100
  EXPECT_THAT(codesOf(chip(100, 100)), IsEmpty()); // exactly
  EXPECT_THAT(codesOf(chip(231, 637)), ElementsAre(Code::PowerDensityAboveLimit, Code::JunctionAboveLimit));
  EXPECT_THAT(codesOf(chip(0, 637)), IsEmpty()); // no area is known
  EXPECT_THAT(codesOf(chip(231, 0)), IsEmpty());
}

// A die of 200 mm2 has 0.05 + 20 / 200 K/W to air of 35 degrees: 105 degrees at 466.7 W, of which 200 W are coolable.
TEST(Buildability, Temperature) {
  Machine machine = chip(200, 200);
  EXPECT_NEAR(junctionOf(machine), 308.15 + 0.15 * 200, 1e-9);
  EXPECT_THAT(codesOf(machine), IsEmpty());
  machine.origins["thermal_resistance"] = {"0.4 K/W", "", {}};
  EXPECT_NEAR(junctionOf(machine), 308.15 + 0.4 * 200, 1e-9);
  EXPECT_THAT(codesOf(machine), ElementsAre(Code::JunctionAboveLimit));
  machine.origins["ambient"] = {"290 K", "", {}};
  EXPECT_THAT(codesOf(machine), IsEmpty());
  machine.origins["junction_limit"] = {"358 K", "", {}};
  EXPECT_THAT(codesOf(machine), ElementsAre(Code::JunctionAboveLimit));
  EXPECT_EQ(junctionOf(chip(0, 200)), 0);
  EXPECT_EQ(junctionOf(chip(200, 0)), 0);
}

// Leakage doubles with 20 K, and heat and leakage agree, or the die is at its limit.
TEST(Buildability, LeakageSettles) {
  EXPECT_DOUBLE_EQ(leakageFactor(298.15), 1);
  EXPECT_DOUBLE_EQ(leakageFactor(338.15), 4);
  Cooling cooling;
  EXPECT_DOUBLE_EQ(settledJunction(cooling, 0, 100, 10), cooling.ambient);
  double kelvins = settledJunction(cooling, 0.1, 200, 5);
  EXPECT_NEAR(kelvins, cooling.ambient + 0.1 * (200 + 5 * leakageFactor(kelvins)), 1e-6);
  EXPECT_DOUBLE_EQ(settledJunction(cooling, 0.5, 200, 50), cooling.limit); // it would run away
  for (double watts = 0, before = 0; watts < 1000; watts += 50) {
    double now = settledJunction(cooling, 0.06, watts, 5);
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(Buildability, Reticle) {
  EXPECT_THAT(codesOf(chip(858, 1)), IsEmpty());
  EXPECT_THAT(codesOf(chip(859, 1)), ElementsAre(Code::DieAboveReticle));
  EXPECT_THAT(codesOf(chip(1000, 2000)),
              ElementsAre(Code::PowerDensityAboveLimit, Code::JunctionAboveLimit, Code::DieAboveReticle));
}

TEST(Buildability, EdgeAndClock) {
  Machine machine = chip(100, 10); // a perimeter of 40 mm
  machine.origins["interfaces"] = {"40 mm", "", {}};
  EXPECT_THAT(codesOf(machine), IsEmpty());
  machine.origins["interfaces"] = {"42 mm", "", {}};
  EXPECT_THAT(codesOf(machine), ElementsAre(Code::InterfacesBeyondEdge));
  machine.origins.clear();
  machine.clock = Hertz(1.3e9);
  EXPECT_THAT(codesOf(machine), IsEmpty()); // no process is known
  machine.origins["technology"] = {"65 nm", "", {}};
  EXPECT_THAT(codesOf(machine), ElementsAre(Code::ClockAboveProcess));
  machine.clock = Hertz(1.2e9);
  EXPECT_THAT(codesOf(machine), IsEmpty());
  machine.origins["technology"] = {"no length", "", {}};
  EXPECT_THAT(codesOf(machine), IsEmpty());
}

} // namespace
