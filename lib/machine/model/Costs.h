// What each operation of a work graph costs on a machine, with the bound that binds.
#pragma once
#include "lib/machine/model/Machine.h"
#include <map>
#include <memory>

namespace accord::microarchitecture {
struct InstructionTiming;
}

namespace accord {

/// What one part of a fused operation costs.
struct PartCost {
  int core = -1;    ///< index into Machine::cores
  std::string type; ///< arithmetic whose peak was used
  Seconds compute;
};

/// The tile of an operation that one memory holds at a time.
struct Tile {
  int memory = 0; ///< index into Machine::memories, at least 1
  /// Loops of `Operation::domain` that are cut as one, so that a tile is a run of their iterations.
  std::vector<std::vector<unsigned>> groups;
  std::vector<int64_t> extents; ///< by group
  std::vector<unsigned> order;  ///< the groups as they step from tile to tile, the outermost first
};

struct OperationCost {
  int core = -1; ///< index into Machine::cores; -1: no core needed (view) or a repeat
  /// Of `core` that it runs on, while it runs; 0: as the core says (`instancesPerOperation`). A fused operation holds
  /// all instances of each core that its parts use.
  int64_t instances = 0;
  Seconds time;                  ///< of one execution
  Cycles cycles;                 ///< time in the machine's clock, 0 when it states none
  Seconds compute;               ///< at the core's peak
  std::vector<Bytes> bytes;      ///< per memory level, as in Machine::memories
  std::vector<Seconds> transfer; ///< per memory level
  std::vector<Tile> tiles;       ///< by memory, of an operation whose traffic follows from a mapping
  /// No mapping takes less than (1 - gap) of this one's time: above 0 where the search for tiles
  /// ended at its work limit.
  double gap = 0;
  Seconds floor; ///< no execution takes less: what starting it takes
  Joules energy;
  std::string model;   ///< the cost model that priced it: "peak", "array", …; "schedule" for a repeat
  std::string type;    ///< arithmetic whose peak was used; differs from the operation's type after a fallback
  std::string bound;   ///< "compute", "bandwidth hbm", "kernel floor", "view", or "critical path" for
                       ///< a repeat
  std::string formula; ///< in symbols and with the numbers substituted, for `accord explain`
  /// Of a fused operation, one per `Operation::parts`: `compute` is the largest of the cores' sums.
  std::vector<PartCost> parts;
  /// Of one execution on a core that is described at the level of instructions; null: it is not.
  std::shared_ptr<const microarchitecture::InstructionTiming> timing = {};
};

/// The cost model of times that were fitted to measured steps: kernels run one after the other.
constexpr const char *kCalibratedModel = "calibrated";

/// Whether an operation holds a core while it runs: its own, and those that parts of it compute on; every one where
/// kernels run one after the other.
inline bool usesCore(const OperationCost &cost, int core) {
  if (cost.core >= 0 && cost.model == kCalibratedModel)
    return true;
  for (const PartCost &part : cost.parts)
    if (part.core == core && part.compute.value > 0)
      return true;
  return cost.core == core;
}

/// Of the instances of a core, how many an operation holds while it runs: 0 where it does not use the core.
inline int64_t occupiedInstances(const Machine &machine, const OperationCost &cost, int core) {
  if (!usesCore(cost, core))
    return 0;
  const Core &of = machine.cores[core];
  if (cost.core != core || !cost.parts.empty())
    return of.count;
  return cost.instances > 0 ? cost.instances : instancesPerOperation(of);
}

struct Costs {
  std::vector<OperationCost> operations; ///< by OperationId; a repeat's is filled from its body's schedule
  /// Other forms of an operation that were priced, where the scheduler may choose (`Core::either`): on another number
  /// of instances. What stands in `operations` is one that is not here.
  std::map<OperationId, std::vector<OperationCost>> alternatives;
  std::vector<std::string> assumptions; ///< every default that changes a number, in words
};

} // namespace accord
