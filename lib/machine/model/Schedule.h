// When each operation runs on which core, hierarchically: one schedule per region, repeats as units. The iterations of
// a repeat start one after the other, `length` apart; each may go on while the next runs (`overhang`).
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/support/Units.h"

namespace accord {

struct Slot {
  OperationId operation = kNone;
  int core = -1;     ///< index into Machine::cores, -1 for a view or a repeat
  int instance = 0;  ///< which of the core's `count`
  Picoseconds start; ///< relative to the start of the region's iteration; may lie beyond its length
  Picoseconds duration;
};

struct RegionSchedule {
  std::vector<Slot> slots; ///< sorted by start, then operation
  Picoseconds length;      ///< from the start of one iteration to the start of the next
  /// How long one iteration goes on after the next one has started; of a top region 0.
  Picoseconds overhang;
  Picoseconds criticalPath;  ///< longest dependence chain of one iteration (unlimited cores)
  Picoseconds resourceBound; ///< most loaded core kind or memory level
  /// Of a top region, without repeats: what the scheduler proved of one iteration in its order, without what it costs
  /// the host, where that is more than critical path and work alone. Tasks are the region's operations in their order;
  /// resources are cores, then memories, then networks by name. Of one with repeats: of kind Subsets, whose tasks are
  /// OperationIds, of bodies as well. Else of kind Nothing.
  SchedulingBound proven;

  Picoseconds iteration() const { return {length.value + overhang.value}; } ///< from its first start to its last end
  Picoseconds repeated(int64_t count) const { return {count * length.value + (count > 0 ? overhang.value : 0)}; }
  /// Which iteration after its own starts when the operation of a slot runs: 0 where iterations do not overlap.
  int64_t stage(const Slot &slot) const { return overhang.value > 0 ? slot.start.value / length.value : 0; }
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
