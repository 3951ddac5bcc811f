#include "lib/machine/energy/Buildability.h"
#include "lib/machine/energy/Components.h"
#include "lib/machine/energy/Cooling.h"
#include "lib/support/Quantity.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Of what `applyComponents` wrote down, in base units; 0: nothing.
double written(const Machine &machine, const char *key) {
  auto origin = machine.origins.find(key);
  if (origin == machine.origins.end())
    return 0;
  auto value = parseQuantity(origin->second.text);
  return value ? value->toDouble() : 0;
}

/// Around a square die, in metres.
double perimeterOf(const Machine &machine) { return 4 * std::sqrt(machine.area.value); }

} // namespace

std::vector<Buildability> buildabilityOf(const Machine &machine) {
  std::vector<Buildability> all;
  auto say = [&](Code code, std::string message, std::string help) {
    all.push_back({{code, std::move(message), machine.location}, std::move(help)});
  };
  double area = machine.area.value, mm2 = machine.area.squareMillimetres(), tdp = machine.tdp.value;
  if (area > 0 && tdp > area * kCoolableDensity * (1 + 1e-9))
    say(Code::PowerDensityAboveLimit,
        fmt::format(
            "'{}' has a design power of {:.4g} W on {:.4g} mm2: {:.3g} W/mm2 are hard to cool, products have at "
            "most 1 W/mm2",
            machine.name, tdp, mm2, tdp / mm2),
        "lower its clock, leave more area, or write `require power.tdp / area <= 1 W/mm2`");
  const Cooling cooling = Cooling::of(machine);
  if (double junction = junctionOf(machine); junction > cooling.limit * (1 + 1e-9)) {
    double resistance = cooling.resistanceOf(area), coolable = (cooling.limit - cooling.ambient) / resistance;
    say(Code::JunctionAboveLimit,
        fmt::format("the die of '{}' is at {:.0f} degrees Celsius at {:.4g} W, with {:.3g} K/W to {:.0f} degrees: its "
                    "limit is {:.0f}",
                    machine.name, junction - 273.15, tdp, resistance, cooling.ambient - 273.15, cooling.limit - 273.15),
        fmt::format("state a better `thermal_resistance` in 'power', or write `require power.tdp <= {:.4g} W`",
                    coolable));
  }
  if (area > kReticle * (1 + 1e-9))
    say(Code::DieAboveReticle,
        fmt::format("'{}' has {:.4g} mm2, but one die has at most {:.4g} mm2", machine.name, mm2, kReticle * 1e6),
        "divide it into several dies, or write `require area <= 858 mm2`");
  double edge = written(machine, "interfaces"), perimeter = perimeterOf(machine);
  if (area > 0 && edge > perimeter * (1 + 1e-9))
    say(Code::InterfacesBeyondEdge,
        fmt::format(
            "the interfaces of '{}' take {:.4g} mm of the edge of the die, but a square of {:.4g} mm2 has {:.4g} "
            "mm (lib/catalog/interfaces.csv)",
            machine.name, edge * 1e3, mm2, perimeter * 1e3),
        "take fewer interfaces or a larger die");
  double node = written(machine, "technology");
  double limit = node > 0 ? ProcessTable::shipped().clockLimit(node, 1) : INFINITY;
  if (machine.clock.value > limit * (1 + 1e-9) && !machine.origins.count("voltage"))
    say(Code::ClockAboveProcess,
        fmt::format(
            "the clock of '{}' is {:.4g} GHz, but logic at {:.3g} nm reaches {:.4g} GHz (lib/catalog/process.csv)",
            machine.name, machine.clock.value / 1e9, node * 1e9, limit / 1e9),
        "lower the clock, take a smaller node, or state the 'voltage'");
  return all;
}

} // namespace accord
