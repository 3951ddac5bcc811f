// The policy of Accord: in each round the exact allocation of the devices, then the packing with the fewest moves.
#pragma once
#include "lib/jobs/problem/Allocation.h"
#include "lib/jobs/problem/WorkHistory.h"
#include "lib/jobs/simulate/Simulator.h"

namespace accord::jobs {

/// What the policy knows of the work that a job still has.
enum class KnownWork {
  Left,   ///< all of it
  Done,   ///< what is done alone: as much again is expected, at least `AllocationOptions::minExpected`
  Learned ///< the same, and all of it of jobs that are complete (lib/jobs/problem/WorkHistory.h)
};

struct AllocationOptions {
  KnownWork knows = KnownWork::Left;
  /// Seconds on the fastest configuration that a job is expected to need, at least; where speeds are fitted, on the
  /// fastest that it may have now. Chosen on four workloads of Pollux, and better than 600 on four others too.
  double minExpected = 1800;
  /// Restarts that one move is charged as: who moves once is likely to be moved again, and all of its devices wait for
  /// it. Chosen on four workloads of Pollux, and as good on four others (docs/jobs.md).
  double moveCharge = 16;
  WorkHistory history = {}; ///< of jobs that were complete before, elsewhere too; where the work is learned
  unsigned effort = 6;      ///< of each allocation (lib/search/SearchLimits.h)
};

/// Sizes that a job may run in on servers of `serverDevices` devices: its devices if it is rigid (min = max); else
/// powers of two below one server, then whole servers.
std::vector<unsigned> deviceCounts(const SimulatedJob &job, unsigned serverDevices, unsigned max);

/// Work a second of a job where it is fastest, of these sizes; 0 where it has no speed.
double fastestRate(const Cluster &cluster, const SimulatedJob &job);

/// Each job is worth 1 / (seconds until it is complete in a configuration): the rate at which completions arrive. The
/// sum over the jobs is maximized, so short jobs come first and devices go where they shorten most. A change of devices
/// adds the charge of a move to the seconds, so it happens only where it pays. The number of devices of each type
/// bounds the allocation; `ServerPacking` then names the servers.
class AllocationPolicy : public Policy {
public:
  explicit AllocationPolicy(const AllocationOptions &options) : options(options), history(options.history) {}
  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;

  void completed(const JobView &job, double work) override;

  std::optional<double> maxGap() const override { return worstGap; }

private:
  AllocationOptions options;
  WorkHistory history;
  std::map<size_t, double> bestRates; ///< of each job that was placed, in the last round
  double worstGap = 0;
};

} // namespace accord::jobs
