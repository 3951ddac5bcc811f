// Where an operation shows on a timeline of core instances.
#pragma once
#include "lib/machine/model/Plan.h"
#include <map>
#include <string>
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
  for (int i = all ? 0 : slot.instance, last = all ? core.count - 1 : i; i <= last; ++i)
    tracks.push_back({slot.core, i});
  return tracks;
}

/// All that the plan's slots hold, numbered from `first` on.
inline std::map<Track, int> numberTracks(const Plan &plan, int first) {
  std::map<Track, int> numbers;
  for (const RegionSchedule &region : plan.schedule.regions)
    for (const Slot &slot : region.slots)
      for (Track track : tracksOf(plan, slot))
        numbers.try_emplace(track, 0);
  for (auto &[track, number] : numbers)
    number = first++;
  return numbers;
}

inline std::string nameOf(const Plan &plan, Track track) {
  const Core &core = plan.machine.cores[track.first];
  return core.count > 1 ? core.name + " " + std::to_string(track.second) : core.name;
}

} // namespace accord
