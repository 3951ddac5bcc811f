// The cheapest trajectory of one job at given prices, as a path through its slots.
#pragma once
#include "lib/jobs/schedule/TrajectoryProblem.h"
#include "lib/jobs/solve/CompactAllocation.h"

namespace accord::jobs {

/// Prices of rows and of the measure itself, in whole numbers.
struct TrajectoryPrices {
  Prices rows;             ///< of `TrajectoryRows::capacity`; 0 or more
  int64_t denominator = 0; ///< what one unit of the measure that is minimized costs; 0: it is not counted
};

/// What a trajectory costs: its term * denominator + prices * uses.
Priced costOf(const JobScheduleProblem &problem, const ObjectiveStage &stage, const TrajectoryRows &rows,
              const TrajectoryPrices &prices, size_t job, const JobTrajectory &trajectory);

struct CheapestTrajectory {
  /// No trajectory costs less. Nothing: there is none.
  std::optional<Priced> bound;
  std::optional<JobTrajectory> trajectory; ///< one whose cost is near to it; nothing where none was met
};

/// Searches all trajectories of a job that begin in `TrajectoryRows::begins` or later and are complete, or count so, by
/// `lastCompletion`, and with `TrajectoryRows::tailOfEach` within the limits of `Tail`. Labels (work done, cost) of
/// each slot are kept without dominated ones; beyond `kMaxLabels` of a slot, neighbours are joined to one with the work
/// of the one and the cost of the other, so the bound still holds for all. With `left` (of the resources in each slot,
/// resource by resource, which may be the capacities), only trajectories that use no more of it. Quick: only the few
/// labels of each slot that may be the cheapest are followed, and the bound is no bound.
CheapestTrajectory cheapestTrajectory(const JobScheduleProblem &problem, const ObjectiveStage &stage,
                                      const TrajectoryRows &rows, const TrajectoryPrices &prices, size_t job,
                                      const std::vector<int64_t> *left = nullptr, bool isQuick = false);
constexpr size_t kMaxLabels = 300;

} // namespace accord::jobs
