#include "lib/machine/model/Machine.h"
#include "lib/machine/model/FallbackTypes.h"
#include "lib/microarchitecture/problem/Microarchitecture.h"

namespace accord {

double flopsPerCycle(const Core &core) {
  if (core.microarchitecture)
    return microarchitecture::flopsPerCycle(*core.microarchitecture);
  return core.rows > 0 && core.cols > 0 ? 2.0 * core.rows * core.cols : static_cast<double>(core.lanes);
}

FlopsPerSecond peakOfOne(const Machine &machine, const Core &core, const std::string &type) {
  if (auto stated = core.peak.find(type); stated != core.peak.end() && stated->second.value > 0)
    return stated->second;
  return FlopsPerSecond(flopsPerCycle(core) * machine.clock.value);
}

bool overlapsTransfers(const Memory &memory) { return memory.doubleBuffered || memory.kind == "cache"; }

size_t levelsOf(const Machine &machine, const Core &core) {
  return core.reads < 0 ? machine.memories.size() : static_cast<size_t>(core.reads) + 1;
}

JoulesPerFlop energyPerFlop(const Machine &machine, const std::string &type) {
  auto found = machine.energyPerFlopOf.find(type);
  return found == machine.energyPerFlopOf.end() ? machine.energyPerFlop : found->second;
}

std::vector<std::string> fallbackTypes(const std::string &type) {
  static const std::map<std::string, std::vector<std::string>> wider = {
      {"fp4", {"fp8", "fp16", "bf16", "tf32", "fp32", "fp64"}},
      {"fp8", {"fp16", "bf16", "tf32", "fp32", "fp64"}},
      {"bf16", {"fp16", "tf32", "fp32", "fp64"}},
      {"fp16", {"bf16", "tf32", "fp32", "fp64"}},
      {"tf32", {"fp32", "fp64"}},
      {"fp32", {"fp64"}},
      {"int4", {"int8", "int16", "int32", "int64", "fp32"}},
      {"int8", {"int16", "int32", "int64", "fp32"}},
      {"int16", {"int32", "int64", "fp32"}},
      {"int32", {"int64", "fp32"}},
      {"int64", {"fp32"}},
  };
  std::vector<std::string> order{type};
  if (auto more = wider.find(type); more != wider.end())
    order.insert(order.end(), more->second.begin(), more->second.end());
  return order;
}

} // namespace accord
