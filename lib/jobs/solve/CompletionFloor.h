// Floors under the mean completion time and the makespan of rigid jobs: no schedule is below, whatever its policy.
#pragma once
#include "lib/jobs/problem/CompletionFloor.h"
#include "lib/jobs/problem/SteadyJob.h"

namespace accord::jobs {

struct FloorOptions {
  double interval = 1200; ///< seconds; shorter ones prove more
  size_t rounds = 1500;   ///< of the ascent
};

/// The best floor that a subgradient ascent on the prices finds (with target levels: Goffin, Kiwiel, Mathematical
/// Programming 85, 1999). One job or more, checked by `checkSteadyJobs`.
CompletionFloor completionFloor(const Cluster &cluster, const std::vector<SteadyJob> &jobs,
                                const FloorOptions &options = {});

/// The smallest makespan M of fluid jobs: sum_t r_jt y_jt = W_j, sum_t y_jt <= M - arrival_j and sum_j gang_j y_jt <=
/// capacity_t * M; proved by the multipliers of the program.
double makespanFloor(const Cluster &cluster, const std::vector<SteadyJob> &jobs);

} // namespace accord::jobs
