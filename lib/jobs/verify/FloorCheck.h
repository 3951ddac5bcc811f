// What a floor under the mean completion time proves, computed anew.
#pragma once
#include "lib/jobs/problem/CompletionFloor.h"
#include "lib/jobs/problem/SteadyJob.h"

namespace accord::jobs {

/// The floor that prices and values prove, computed from them alone; `mean` is not read. Negative prices count as 0,
/// and values are at most the start of the last interval or the arrival behind it. Minus infinity where the proof does
/// not have the shape of the jobs and the cluster.
double provenMean(const Cluster &cluster, const std::vector<SteadyJob> &jobs, const CompletionFloor &floor);

} // namespace accord::jobs
