#include "lib/machine/energy/Cooling.h"
#include "lib/support/Quantity.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord {

Cooling Cooling::of(const Machine &machine) {
  Cooling out;
  auto read = [&](const char *key, double &into) {
    auto origin = machine.origins.find(key);
    if (origin == machine.origins.end())
      return;
    if (auto value = parseQuantity(origin->second.text); value && value->toDouble() > 0)
      into = value->toDouble();
  };
  read("ambient", out.ambient), read("thermal_resistance", out.resistance);
  read("junction_limit", out.limit), read("regulator_efficiency", out.regulator);
  return out;
}

double Cooling::resistanceOf(double area) const {
  return resistance > 0 ? resistance : area > 0 ? kSink + kInterface / area : 0;
}

double junctionOf(const Machine &machine) {
  if (!(machine.tdp.value > 0) || !(machine.area.value > 0))
    return 0;
  Cooling cooling = Cooling::of(machine);
  return cooling.ambient + cooling.resistanceOf(machine.area.value) * machine.tdp.value;
}

double leakageFactor(double kelvins) { return std::exp2((kelvins - 298.15) / 20); }

double settledJunction(const Cooling &cooling, double resistance, double watts, double leakage) {
  // The hotter the more it leaks: from below the iteration rises to the first temperature at which both agree.
  double kelvins = cooling.ambient;
  for (int i = 0; i < 200; ++i) {
    double next = std::min(cooling.limit, cooling.ambient + resistance * (watts + leakage * leakageFactor(kelvins)));
    if (std::abs(next - kelvins) < 1e-9)
      return next;
    kelvins = next;
  }
  return kelvins;
}

Watts powerAtPeak(const Machine &machine, bool min) {
  Watts sum = machine.idle;
  for (const Core &core : machine.cores) {
    std::vector<std::string> types;
    for (const auto &[type, peak] : core.peak)
      types.push_back(type);
    if (types.empty())
      types.push_back(core.kind == CoreKind::Tensor ? "bf16" : "fp32");
    double power = min ? std::numeric_limits<double>::infinity() : 0;
    for (const std::string &type : types) {
      double one = peakOfOne(machine, core, type).value * energyPerFlop(machine, type).value;
      power = min ? std::min(power, one) : std::max(power, one);
    }
    sum += Watts(power * core.count);
  }
  for (const Memory &memory : machine.memories)
    sum += Watts(memory.bandwidth.value * memory.energy.value);
  return sum;
}

} // namespace accord
