// Where an operation shows on a timeline of core instances.
#pragma once
#include "lib/machine/model/Plan.h"
#include <algorithm>
#include <utility>
#include <vector>

namespace accord {

using Track = std::pair<int, int>; ///< core, instance

/// The instances of its core that a slot holds; none of a view or a repeat. A core over which every
/// operation is spread is one track, whatever its count.
inline std::vector<Track> tracksOf(const Plan &plan, const Slot &slot) {
  if (slot.core < 0)
    return {};
  const Core &core = plan.machine.cores[slot.core];
  const OperationCost &cost = plan.costs.operations[slot.operation];
  bool all = core.anyMapping && occupiedInstances(plan.machine, cost, slot.core) == core.count;
  std::vector<Track> tracks;
  for (int i = all ? 0 : slot.instance, last = all ? static_cast<int>(core.count) - 1 : i; i <= last; ++i)
    tracks.push_back({slot.core, i});
  return tracks;
}

} // namespace accord
