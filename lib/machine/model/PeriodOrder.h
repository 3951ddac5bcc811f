// Who waits for whom in one period of a region whose iterations may overlap.
#pragma once
#include "lib/machine/model/Dependences.h"
#include "lib/machine/model/Schedule.h"
#include <map>

namespace accord {

/// By place in `Region::operations`: those of the region that an operation waits for in the same period. Where
/// iterations do not overlap, its predecessors; else those predecessors of its own stage, and what earlier iterations
/// made in this period. The schedule is complete.
inline std::vector<std::vector<OperationId>> waitsInPeriod(const WorkGraph &graph, const Dependences &dependences,
                                                           const RegionSchedule &schedule, RegionId region) {
  const std::vector<OperationId> &operations = graph.regions[region].operations;
  std::vector<std::vector<OperationId>> waits;
  for (OperationId id : operations)
    waits.push_back(dependences.predecessors[id]);
  if (schedule.overhang.value == 0)
    return waits;
  std::map<OperationId, int64_t> stage;
  for (const Slot &slot : schedule.slots)
    stage[slot.operation] = schedule.stage(slot);
  std::map<OperationId, size_t> place;
  for (size_t i = 0; i < operations.size(); ++i) {
    place[operations[i]] = i;
    std::erase_if(waits[i], [&](OperationId before) { return stage[before] != stage[operations[i]]; });
  }
  for (const Dependences::Carried &c : dependences.carried(graph, region))
    if (c.before != c.after && c.distance + stage[c.after] == stage[c.before])
      waits[place[c.after]].push_back(c.before);
  return waits;
}

} // namespace accord
