// What makes a chip hard to build or to cool.
#include "lib/machine/energy/Buildability.h"
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
  EXPECT_THAT(codesOf(chip(231, 637)), ElementsAre(Code::PowerDensityAboveLimit));
  EXPECT_THAT(codesOf(chip(0, 637)), IsEmpty()); // no area is known
  EXPECT_THAT(codesOf(chip(231, 0)), IsEmpty());
}

TEST(Buildability, Reticle) {
  EXPECT_THAT(codesOf(chip(858, 1)), IsEmpty());
  EXPECT_THAT(codesOf(chip(859, 1)), ElementsAre(Code::DieAboveReticle));
  EXPECT_THAT(codesOf(chip(1000, 2000)), ElementsAre(Code::PowerDensityAboveLimit, Code::DieAboveReticle));
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
