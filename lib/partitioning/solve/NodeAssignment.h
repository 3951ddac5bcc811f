// Which device holds which nodes, where a stage may be any set of nodes. Internal to lib/partitioning.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"
#include "lib/partitioning/solve/GraphPartitioner.h"

namespace accord::partitioning {

/// Of a problem whose stages need not be contiguous (rule Sum): first the best contiguous stages, with an eighth of the
/// work; then simulated annealing of single nodes (Kirkpatrick, Gelatt, Vecchi 1983) with half; then branch and
/// bound over the nodes, which has a sixteenth before that. A branch ends where a device is at the best load already,
/// where all that is left, divided evenly, is too much, or where memory is. A transfer that costs as much as the best
/// load is not cut, so its ends are one node. Optimal where nothing was left out by the work; else the bound is that of
/// `assignmentLowerBound`.
PartitioningResult assignNodes(const PartitioningProblem &problem, const PartitioningOptions &options);

} // namespace accord::partitioning
