// Plans one training job on one accelerator: tries each micro-batch size, keeps the best plan that
// meets the constraints.
#pragma once
#include "lib/machine/collectives/Collective.h"
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/Machine.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/planning/problem/Objective.h"
#include "lib/scheduling/solve/Solve.h"
#include "lib/support/Result.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// Limits are those of the scheduler: at the gap no more is asked of a region's schedule. Stopped, no better schedules
/// are looked for, and candidates that were not begun get a first one. Progress is in picoseconds of one iteration of a
/// region, from all threads.
struct SingleDeviceRequest : SearchLimits {
  SingleDeviceRequest() { effort = kQuickEffort; }

  std::string job;
  int64_t batch = 1;
  std::vector<int64_t> microbatches;           ///< candidates; those that do not divide the batch are left out
  std::vector<std::string> recomputes{"none"}; ///< candidates: which activations are computed again
  Objective objective = Objective::Throughput;
  std::vector<Requirement> requirements;
  std::string costModel; ///< empty: chosen by what the machine states
  /// Of a step that several devices share: what connects them, and the axes of devices, innermost
  /// first. See `EstimateOptions`. Without a fabric, operations that exchange data are refused.
  const Fabric *fabric = nullptr;
  std::vector<Axis> axes;
  /// Iterations of a repeat may start before the last one is over, where that is shorter and the plan then keeps its
  /// memory and requirements (`ScheduleOptions::overlap`). Not where the objective is memory.
  bool overlap = true;
  bool subsets = false; ///< see `SolveOptions`
  unsigned threads = 1;
  /// Told of the scheduling problems of the regions of each step that is scheduled; see `ScheduleOptions`.
  std::function<void(RegionId, const SchedulingProblem &)> observe;
  /// The training step of one candidate; called once for each, possibly from several threads.
  std::function<Result<WorkGraph>(int64_t microbatch, int64_t microbatches, const std::string &recompute)> instantiate;
};

/// The best feasible plan; when no candidate is feasible, the one that needs least memory, with
/// `feasible` false and its conflicts. Issues only when the work cannot be costed or scheduled at
/// all. The same result whatever `threads`. Candidates whose memory cannot fit are costed and
/// scheduled all the same: the conflict is stated with numbers. `Schedule::stopped` says where it
/// was stopped before its work was done.
Result<Plan, Errors> planSingleDevice(const SingleDeviceRequest &, const Machine &);

/// Costs, schedule, memory, critical path and headline numbers of one given work graph: a plan
/// without any search.
Result<Plan, Errors> planFor(WorkGraph graph, const Machine &, const SingleDeviceRequest &);
/// The same with given costs of the operations, of a graph and a machine that pass `check`.
Result<Plan, Errors> planWith(Costs costs, WorkGraph graph, const Machine &machine, const SingleDeviceRequest &);

} // namespace accord
