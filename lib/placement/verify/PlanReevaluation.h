// Whether a placement is one of its problem, and what it is worth, computed a second time.
#pragma once
#include "lib/placement/problem/Placement.h"

namespace accord {

/// The least of several ways for so many bytes, rounded up; 0 for no bytes or no ways.
int64_t minReplayTime(const std::vector<AlphaBetaModel> &alternatives, double bytes);

/// Replicas of a stage that are in one server, in a plan of so many device groups.
int64_t recountReplicasPerNode(const PlacementProblem &problem, PlacementProblem::Id parallelConfig, int64_t groups);

/// Why the plan is none of the problem: A0909 a layer in no stage or in two · A0902 an edge that points to an earlier
/// stage · A0915 samples of the stages are not the batch · A0950 all else: a schedule, virtual stages, parallel
/// configuration, recomputation choice or device type that is not in the search space, more stages or devices than
/// there are. At most 20. Of a problem that `check` passes, and of any plan.
Errors placementViolations(const PlacementProblem &problem, const Placement &plan);

/// Of a plan without violations, as Placement.h and the comment of `evaluate` (lib/placement/evaluate/PlanEvaluator.h)
/// state it. Steps come from `replay`; nothing where it would have to look at more than `passes` passes and transfers.
std::optional<PlanMetrics> reevaluate(const PlacementProblem &problem, const Placement &plan, double passes = 2e7);

} // namespace accord
