#include "lib/machine/energy/PowerLevel.h"
#include "lib/machine/energy/StepPower.h"
#include <fmt/format.h>

namespace accord {

/// Of what a board draws above idle at its design power: no cap leaves less.
constexpr double kMinDynamicPower = 0.01;

PowerLevel levelAt(double clock) {
  PowerLevel level;
  level.clock = clock, level.power = dynamicPowerAt(clock);
  return level;
}

Result<double> lowestClockUnder(const PowerLevel &level, const Machine &machine) {
  if (!(machine.tdp > machine.idle))
    return 1.0;
  const double dynamic = (level.cap.value - machine.idle.value) / (machine.tdp.value - machine.idle.value);
  if (!(dynamic >= kMinDynamicPower))
    return Error{
        Code::OutOfRange,
        fmt::format("the cap of power level '{}' is {:g} W: of the {:g} W that '{}' may draw, {:g} W are idle, and "
                    "at least 1 % of the rest is needed",
                    level.name, level.cap.value, machine.tdp.value, machine.name, machine.idle.value),
        level.origin.location};
  return clockAt(dynamic);
}

Machine atLevel(Machine machine, const PowerLevel &level) {
  const double energy = level.power / level.clock;
  auto note = [&](std::map<std::string, Origin> &origins, const std::string &prefix, double factor) {
    for (auto &[key, origin] : origins)
      if (factor != 1 && (key == prefix || key.starts_with(prefix + ".")))
        origin.text += fmt::format(" * {:.6g}", factor);
  };
  const bool isBoard = hasBoardPower(machine);
  machine.clock.value *= level.clock;
  note(machine.origins, "clock", level.clock);
  for (Core &core : machine.cores) {
    for (auto &[type, peak] : core.peak)
      peak.value *= level.clock;
    note(core.origins, "peak", level.clock);
  }
  for (Memory &memory : machine.memories) {
    if (memory.kind == "dram")
      continue;
    memory.bandwidth.value *= level.clock;
    memory.latency = Seconds(memory.latency.value / level.clock);
    memory.energy.value *= energy;
    note(memory.origins, "bandwidth", level.clock);
    note(memory.origins, "latency", 1 / level.clock);
    note(memory.origins, "energy", energy);
  }
  machine.energyPerFlop.value *= energy;
  for (auto &[type, perFlop] : machine.energyPerFlopOf)
    perFlop.value *= energy;
  note(machine.origins, "mac", energy);
  if (isBoard) {
    machine.tdp = machine.idle + Watts(level.power * (machine.tdp.value - machine.idle.value));
    if (level.power != 1)
      machine.origins["tdp"].text += fmt::format(", of which {:.6g} above idle", level.power);
  }
  if (!level.name.empty())
    machine.origins["power_level"] = {level.name, level.origin.source, level.origin.location};
  return machine;
}

} // namespace accord
