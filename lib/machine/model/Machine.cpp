#include "lib/machine/model/Machine.h"
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

} // namespace accord
