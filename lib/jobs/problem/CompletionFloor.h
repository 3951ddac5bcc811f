// A floor under the mean completion time of jobs, with its proof: plain data.
#pragma once
#include <cstddef>
#include <vector>

namespace accord::jobs {

/// Prices that prove a floor under the mean of completion - arrival. Time is cut into intervals of one length, and the
/// last one is unlimited. A job j with W_j steps and r_jt steps a second completes no earlier than M_j + W_j / (2 max_t
/// r_jt), where M_j is the mean time at which its steps are done (Goemans, Queyranne, Schulz, Skutella, Wang, SIAM
/// Journal on Discrete Mathematics 15, 2002). The sum of M_j is at least that of a linear program over y_jtk, the
/// seconds of job j on type t in interval k, whose steps count as done at the start of the interval or at the arrival:
/// sum_j gang_j y_jtk <= capacity_t * length_k, sum_t y_jtk <= length_k and sum_tk r_jt y_jtk = W_j. Any prices and
/// values bound it by weak duality.
struct CompletionFloor {
  double mean = 0;                         ///< seconds
  double interval = 0;                     ///< seconds
  std::vector<std::vector<double>> prices; ///< of a device-second, by interval (without the last one) and type
  std::vector<double> values;              ///< of all steps of each job
  size_t rounds = 0;                       ///< of the ascent
};

} // namespace accord::jobs
