// When each operation runs on which core, hierarchically: one schedule per region, repeats as units.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/support/Units.h"

namespace accord {

struct Slot {
  OperationId operation = kNone;
  int core = -1;     ///< index into Machine::cores, -1 for a view or a repeat
  int instance = 0;  ///< which of the core's `count`
  Picoseconds start; ///< relative to the start of the region's iteration
  Picoseconds duration;
};

struct RegionSchedule {
  std::vector<Slot> slots;   ///< sorted by start, then operation
  Picoseconds length;        ///< of one iteration; a repeat takes count * length
  Picoseconds criticalPath;  ///< longest dependence chain of one iteration (unlimited cores)
  Picoseconds resourceBound; ///< most loaded core kind or memory level
  /// Of a top region, without repeats: what the scheduler proved of one iteration in its order, without what it costs
  /// the host, where that is more than critical path and work alone. Tasks are the region's operations in their order;
  /// resources are cores, then memories, then networks by name. Of one with repeats: of kind Subsets, whose tasks are
  /// OperationIds, of bodies as well. Else of kind Nothing.
  SchedulingBound proven;
};

/// Slack of one operation inside its region (hierarchical: a repeat has one slack for all its iterations).
struct Timing {
  Picoseconds earliest, latest; ///< ASAP and ALAP start, relative to the region
  Picoseconds slack() const { return latest - earliest; }
};

struct Schedule {
  std::vector<RegionSchedule> regions; ///< by RegionId
  Picoseconds step;                    ///< microbatches * regions[0].length + regions[1].length
  Picoseconds bound;                   ///< proven lower bound on `step` under the same costs
  std::string proof;                   ///< what proves it: "critical path", "core tc", "memory hbm bandwidth"
  std::string stopped;                 ///< "interrupted", "time limit" where the scheduler was stopped, else ""
};

} // namespace accord
