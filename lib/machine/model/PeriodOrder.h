// Who waits for whom in one period of a region whose iterations may overlap.
#pragma once
#include "lib/machine/model/Dependences.h"
#include "lib/machine/model/Schedule.h"

namespace accord {

/// By place in `Region::operations`: those of the region that an operation waits for in the same period. Where
/// iterations do not overlap, its predecessors; else those predecessors of its own stage, and what earlier iterations
/// made in this period. The schedule is complete.
std::vector<std::vector<OperationId>> waitsInPeriod(const WorkGraph &graph, const Dependences &dependences,
                                                    const RegionSchedule &schedule, RegionId region);

} // namespace accord
