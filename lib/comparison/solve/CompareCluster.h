// The plan of a cluster beside the measured steps of some or all of its ranks.
//
//   PlannedCluster plan = plannedClusterOf(placement);  // PlannedCluster.h
//   ClusterComparison both = compareCluster(std::move(plan), std::move(ranks));
//
// Every microsecond of a rank's step is in one share: computation by its part of the step, exchanges by their purpose
// (ExchangeMatcher.h) as far as nothing hides them, waiting for others, and gaps of the device. Computation comes
// first: what runs beside it is hidden.
#pragma once
#include "lib/comparison/solve/ExchangeMatcher.h"

namespace accord::comparison {

/// Takes steps of ranks of the plan, at least one, each rank once. `stages`: what each stage computes, without the
/// update and collectives; empty: it is not known, and operations are not compared. The same answer for the same input.
ClusterComparison compareCluster(PlannedCluster plan, std::vector<MeasuredRank> ranks,
                                 const std::vector<PlannedStep> &stages = {});

} // namespace accord::comparison
