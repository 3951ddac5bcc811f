// Shares of time on types of devices that make the slowest job as fast as can be, with the proof that they do.
#pragma once
#include "lib/jobs/problem/SteadyJob.h"

namespace accord::jobs {

/// Shares X that maximize the smallest speed: max min_j sum_t speed[j][t] * X[j][t] with X >= 0, sum_t X[j][t] <= 1 and
/// sum_j gang[j] * X[j][t] <= capacity[t] (Gavel, OSDI 2020, section 4.1).
struct LevelShares {
  TypeMatrix shares;
  double level = 0;            ///< the smallest speed
  double bound = 0;            ///< no shares have a larger smallest speed, by the prices and weights below
  std::vector<double> prices;  ///< of the whole time of a device, of each type
  std::vector<double> weights; ///< of each job's speed; 1 in sum
};
/// At least one job. `gangs` are at most as large as the capacity of a type on which the speed is not 0.
LevelShares maximizeLevel(const std::vector<int64_t> &capacity, const std::vector<unsigned> &gangs,
                          const TypeMatrix &speeds);

} // namespace accord::jobs
