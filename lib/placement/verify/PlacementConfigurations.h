// The space of placements, split into what bounds are proved of one by one.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <cmath>

namespace accord {

struct Configuration {
  int64_t microbatches, virtualStages;
  PipelineSchedule schedule;
  /// As many samples each; with `uniformConfigPerDeviceType` of distinct device types.
  std::vector<PlacementProblem::Id> parallelConfigs;
};

/// Every plan of the problem is of one of them, at least; false: there are more than a million, and some are missing.
bool configurations(const PlacementProblem &problem, std::vector<Configuration> &list);

/// Groups of devices that any plan of it has at most.
int64_t maxGroups(const PlacementProblem &problem, const Configuration &configuration);

/// Whether a plan of it may have just so many.
bool mayHave(const PlacementProblem &problem, const Configuration &configuration, int64_t groups);

/// "1F1B of 8 micro-batches, stages in parallel configuration 3".
std::string describe(const Configuration &configuration);

/// The objective, by step 1 of `proveBound` (PlacementBoundProof.h); infinite where nothing is allowed.
/// `until`: it is enough to know whether a step takes so long; of one that does, or 0, the order of groups of several
/// device types is not looked at.
/// `work`: gets more by the orders that are.
double lowerBoundByWork(const PlacementProblem &problem, const Configuration &configuration, bool chain,
                        double until = INFINITY, uint64_t *work = nullptr);

/// The least of that of all configurations.
double reprovedLowerBound(const PlacementProblem &problem);

} // namespace accord
