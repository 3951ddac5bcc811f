// What two plans for clusters say differently.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/planning/output/PlanDifference.h"

namespace accord {

/// Figures, parts of the step as the mean over all devices, stages and why. Without a plan on a side the sides alone.
PlanDifference differenceOf(const PlacementPlan &before, const PlacementPlan &after);

} // namespace accord
