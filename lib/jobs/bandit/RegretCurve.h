// By how much a policy that learns was behind another one, job by job, and when it was no longer behind.
#pragma once
#include "lib/jobs/simulate/Seeds.h"
#include <optional>

namespace accord::jobs {

/// Seconds from arrival to completion of each job of a seed, in the order of arrival.
using SeedCompletions = std::vector<double>;

/// What the first `jobs` jobs that arrived say.
struct RegretPoint {
  size_t jobs = 0;
  /// The sum over these jobs of their time to completion, less the same sum under the other policy, in seconds: below 0
  /// is shorter. The mean over seeds, and the percentile bootstrap of 95 %.
  MeanInterval regret;
  /// The first sum over the second, less 1: the mean over seeds of each seed's ratio, and its bootstrap likewise.
  MeanInterval change;
};

/// After how many jobs a policy has reached another one, and stays there. Nothing: never.
struct Parity {
  std::optional<size_t> jobs;      ///< of the mean over all seeds
  std::optional<size_t> low, high; ///< the percentile bootstrap of 95 % over seeds, where never is the largest
};

struct RegretCurve {
  std::vector<RegretPoint> points; ///< of some numbers of jobs, the last of all jobs
  Parity parity;
};

/// The regret of a policy against another one, of the same jobs in each seed. Jobs count in the order of their arrival,
/// and not of their completion: which jobs complete first depends on the policy, so that sums over them would compare
/// different jobs. `numPoints` numbers of jobs are evenly spread, the last is the smallest number of jobs of a seed.
/// Parity: the smallest number of jobs (of all, not of the points alone) from which on the mean change is at most
/// `tolerance`. Empty without seeds or jobs; what one of them has more than the other does not count.
RegretCurve regretCurve(const std::vector<SeedCompletions> &policy, const std::vector<SeedCompletions> &other,
                        size_t numPoints = 12, double tolerance = 0.02);

} // namespace accord::jobs
