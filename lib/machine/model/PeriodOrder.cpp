#include "lib/machine/model/PeriodOrder.h"
#include <map>

namespace accord {

std::vector<std::vector<OperationId>> waitsInPeriod(const WorkGraph &graph, const Dependences &dependences,
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
