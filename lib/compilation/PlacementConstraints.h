// Requirements about where layers may be, on the layers and devices of a placement problem.
#pragma once
#include "lib/language/program/Elaborate.h"
#include "lib/placement/problem/Placement.h"

namespace accord {

/// Puts the job's pins into its problem. False after errors: layers that there are none of (A0962),
/// devices that the cluster has none of (A0963).
bool addPlacementConstraints(PlacementProblem &problem, const TrainingJob &job, Diagnostics &diags);

} // namespace accord
