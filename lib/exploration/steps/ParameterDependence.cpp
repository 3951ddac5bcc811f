#include "lib/exploration/steps/ParameterDependence.h"
#include "lib/machine/cost/InstructionBound.h"
#include "lib/machine/cost/PriceCache.h"
#include <algorithm>
#include <tuple>

namespace accord {
namespace {

using Omitted = StepBoundOptions::Omitted;
constexpr uint32_t kMax = 64; ///< values of a parameter that are tried

auto arrayOf(const Core &core) {
  return std::tie(core.rows, core.cols, core.dataflow, core.overlapFill, core.overlapDrain);
}
/// All that time follows from, besides the count.
auto speedOf(const Core &core) {
  return std::tie(core.lanes, core.peak, core.efficiency, core.halfPerformanceWork, core.perInstanceMapping,
                  core.anyMapping, core.cyclesOf);
}
auto speedOf(const Memory &memory) { return std::tie(memory.bandwidth, memory.latency, memory.efficiency); }

/// Whether operations on the cores may be other instructions.
bool programsDiffer(const Core &a, const Core &b) {
  if (bool(a.microarchitecture) != bool(b.microarchitecture))
    return true;
  return a.microarchitecture &&
         (a.count != b.count || programKeyOf(*a.microarchitecture) != programKeyOf(*b.microarchitecture));
}
bool instructionTimesDiffer(const Core &a, const Core &b) {
  return a.microarchitecture && b.microarchitecture &&
         PriceCache::keyOf(*a.microarchitecture) != PriceCache::keyOf(*b.microarchitecture);
}

void compare(const Machine &a, const Machine &b, ParameterDependence::Effect &of) {
  for (size_t c = 0; c < std::min(a.cores.size(), b.cores.size()); ++c) {
    const Core &one = a.cores[c], &other = b.cores[c];
    bool array = arrayOf(one) != arrayOf(other) || programsDiffer(one, other);
    if (array)
      of.arrays[c] = true;
    if (array || speedOf(one) != speedOf(other) || a.clock != b.clock || instructionTimesDiffer(one, other))
      of.cores[c] = Omitted::Time;
    else if (one.count != other.count && of.cores[c] == Omitted::Nothing)
      of.cores[c] = one.perInstanceMapping && !one.anyMapping ? Omitted::Queue : Omitted::Time;
  }
  for (size_t m = 0; m < std::min(a.memories.size(), b.memories.size()); ++m) {
    if (speedOf(a.memories[m]) != speedOf(b.memories[m]))
      of.memories[m] = Omitted::Time;
    of.capacity |= m > 0 && a.memories[m].capacity != b.memories[m].capacity;
  }
}

} // namespace

ParameterDependence::ParameterDependence(const DesignSpace &space) {
  const std::vector<DesignParameter> &parameters = space.parameters();
  std::vector<Design> from(3, Design(parameters.size()));
  auto valuesOf = [&](size_t p) -> uint32_t {
    return std::max(parameters[p].labels.size(), parameters[p].numbers.size());
  };
  for (size_t p = 0; p < parameters.size(); ++p) {
    from[1][p] = valuesOf(p) / 2;
    from[2][p] = valuesOf(p) - 1;
  }
  size_t memories = 0;
  std::vector<std::optional<Machine>> bases;
  for (const Design &design : from) {
    auto machine = space.machine(design);
    bases.push_back(machine ? std::optional(std::move(*machine)) : std::nullopt);
    if (bases.back())
      cores_ = bases.back()->cores.size(), memories = bases.back()->memories.size();
  }
  for (size_t p = 0; p < parameters.size(); ++p) {
    Effect &of = all_.emplace_back();
    of.cores.resize(cores_), of.memories.resize(memories), of.arrays.resize(cores_);
    bool compared = false;
    for (size_t i = 0; i < from.size(); ++i)
      for (uint32_t v = 0, step = std::max(1u, valuesOf(p) / kMax); v < valuesOf(p) && bases[i]; v += step) {
        Design other = from[i];
        if (other[p] == v)
          continue;
        other[p] = v;
        if (auto machine = space.machine(other))
          compare(*bases[i], *machine, of), compared = true;
      }
    if (!compared) // nothing is known
      of.arrays.assign(cores_, true);
  }
}

std::vector<bool> ParameterDependence::sameArrays(const DesignBox &box) const {
  std::vector<bool> same(cores_, true);
  for (size_t p = 0; p < all_.size(); ++p)
    if (box.low[p] != box.high[p])
      for (size_t c = 0; c < cores_; ++c)
        same[c] = same[c] && !all_[p].arrays[c];
  return same;
}

} // namespace accord
