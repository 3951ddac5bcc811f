// What a plan of a cluster states of each rank, in the words of a comparison.
#pragma once
#include "lib/comparison/problem/ClusterPlan.h"
#include "lib/placement/output/PlacementFigures.h"

namespace accord::comparison {

/// Of a plan that is there. Ranks count as `rankPlaces` has them. The exchange among replicas has what a step tail has
/// of it (`PlanEvaluator.h`) and what ZeRO 2 and 3 exchange in every pass; messages have what blocks the passes, or
/// nothing where they run beside them.
PlannedCluster plannedClusterOf(const PlacementPlan &plan);

} // namespace accord::comparison
