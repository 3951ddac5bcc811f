// Schedules a whole training step, bodies first, and proves how far from the best it can be.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/Machine.h"
#include "lib/machine/model/Plan.h"
#include "lib/machine/model/Schedule.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/scheduling/solve/Solve.h"
#include "lib/support/Result.h"

namespace accord {

/// What no schedule is below in which a repeat is a unit of its iterations one after the other, and
/// holds all the while the cores, memories and networks that its body surely uses.
struct OrderedBound {
  /// By RegionId, of one iteration, of the problem in which a repeat takes count times what this
  /// says of its body: needs iterations that do not overlap. Tasks and resources as of
  /// `RegionSchedule::proven`; joint resources only in regions without repeats.
  std::vector<SchedulingBound> regions;
  Picoseconds step;
};

class ExecutionOrders;

/// For each region; progress is of the region it is in.
struct ScheduleOptions : SolveOptions {
  ScheduleOptions() { effort = kQuickEffort; }
  explicit ScheduleOptions(const SearchLimits &limits) : SolveOptions{limits} {}
  OrderedBound *ordered = nullptr;   ///< gets it; the schedule is the same
  ExecutionOrders *orders = nullptr; ///< of the graph, where it is scheduled on many machines
  /// Iterations of a repeat may start before the last one is over (`overlapIterations`).
  bool overlap = false;
  /// Told of the problem of each region, bodies first, before it is scheduled with these options. Tasks are the
  /// region's operations in their order, a repeat is one of all its iterations, and joint resources (what excludes one
  /// another) follow cores, memories and networks. Where iterations then overlap, it is told of one period as well.
  std::function<void(RegionId, const SchedulingProblem &)> observe;
};

/// One schedule per region. A repeat is one unit of all its iterations that holds the cores and
/// memories its body uses all the while. Micro-batches and the update start with what they cost
/// the host (`Machine::host`). An operation holds its core (all of its instances over which it is
/// spread, or one where each has its own) and the share transfer / time of each memory's bandwidth.
/// Where it was priced in several forms (`Costs::alternatives`), one is chosen, which then stands
/// in `costs.operations`, and what stood there among the alternatives. An exchange holds no core
/// but the links of the network that its model names ("network ib"): one exchange at a time goes
/// over them. `bound`: microbatches * bound of region 0 + bound of region 1 (micro-batches and the
/// update follow one another), whatever forms are chosen: each the largest of its critical path
/// (max-plus, iterations may overlap), each core's and each memory's total work, and what
/// `RegionSchedule::proven` has: where it has no repeats, what the scheduler proved, else what follows from what can
/// run at once (`stepSubsets`). Stopped, it is the best step so far, and says so. Without `options.bounds` there are no
/// bounds and no critical paths. Issues: A0917 costs and graph do not fit together, A0452 a step longer than 26 days.
Result<Schedule, Errors> scheduleStep(const WorkGraph &graph, const Machine &machine, Costs &costs,
                                      const ScheduleOptions &options = {});

/// Fills what a schedule tells about repeats: the time of all iterations, energy and bytes of all
/// iterations, bound "critical path".
void addRepeatCosts(const WorkGraph &graph, const Schedule &schedule, Costs &costs);

} // namespace accord
