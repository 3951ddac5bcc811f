// What no step of a configuration is below, by the work of its layers alone.
#pragma once
#include "lib/placement/verify/PlacementConfigurations.h"

namespace accord {

/// The objective, by step 1 of `proveBound` (PlacementBound.h); infinite where nothing is allowed.
double lowerBoundByWork(const PlacementProblem &problem, const Configuration &configuration, bool chain);

/// The least of that of all configurations.
double reprovedLowerBound(const PlacementProblem &problem);

} // namespace accord
