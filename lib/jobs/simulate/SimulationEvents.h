// What happens to a cluster and to the speeds of jobs while they run: failures, drains, steps of capacity and power,
// noise.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/support/Result.h"
#include "lib/support/SplitMix.h"
#include <limits>
#include <vector>

namespace accord::jobs {

/// A server has no devices for a while. Times are seconds from the start of the simulation.
struct ServerOutage {
  unsigned server = 0;
  double from = 0, until = 0;
  /// A failure stops its jobs at once, and they lose the work since their last checkpoint. Without it, the server is
  /// drained: its jobs run to the end of the round, and lose nothing.
  bool isFailure = true;
};

/// From a time on, a server has at most so many devices.
struct CapacityStep {
  double at = 0;
  unsigned server = 0, devices = 0;
};

/// From a time on, all devices that are on draw at most so many watts together.
struct PowerStep {
  double at = 0, watts = 0;
};

/// Without any of these, nothing happens.
struct SimulationEvents {
  std::vector<ServerOutage> outages;
  std::vector<CapacityStep> capacity; ///< in any order; of the same server and time, the last counts
  std::vector<PowerStep> power;       ///< the same
  std::vector<double> deviceWatts;    ///< of one device of each type; types that are not there draw nothing
  /// Seconds from a server's repair to its next failure, in the mean of an exponential distribution: 60 or more; 0:
  /// none is drawn.
  double meanTimeBetweenFailures = 0;
  double repairSeconds = 3600; ///< of failures that are drawn, 1 or more

  bool empty() const { return outages.empty() && capacity.empty() && power.empty() && meanTimeBetweenFailures <= 0; }
};

/// Error A1106 for servers that do not exist, and for times that are out of range.
Result<void> checkEvents(const Cluster &cluster, const SimulationEvents &events);

/// The servers of a cluster over time. The failures of a server are drawn by `seed` and its number alone, so that they
/// are the same under each policy.
class ClusterTimeline {
public:
  ClusterTimeline(const Cluster &cluster, const SimulationEvents &events, uint64_t seed);

  /// The cluster at a time, which is not before that of the last call. Under a limit of power, devices are on in the
  /// order of servers as far as it suffices.
  const Cluster &at(double now);
  /// The first failure of a server after `from` and not after `until`; infinity if there is none.
  double failureOf(unsigned server, double from, double until);

private:
  /// Draws the failures of a server that begin until a time.
  void draw(unsigned server, double until);

  const Cluster &cluster;
  const SimulationEvents &events;
  Cluster now;
  std::vector<std::vector<ServerOutage>> outages; ///< of each server
  std::vector<SplitMix> random;                   ///< of each server
  std::vector<double> drawnUntil;                 ///< of each server: the repair after its last failure
  double last = 0;                                ///< time of the last `at`
};

/// Log-normal factors of the speeds of jobs, 1 in the mean. Policies do not see them.
struct SpeedNoise {
  double ofJob = 0;   ///< standard deviation of the logarithm: one factor for each job
  double ofRound = 0; ///< and one for each job in each round

  bool empty() const { return ofJob <= 0 && ofRound <= 0; }
  /// The factor of a job in a round, which is counted from 0. It depends on its arguments alone.
  double factor(uint64_t seed, size_t job, size_t round) const;
};

/// A number of the standard normal distribution (Box, Muller, Annals of Mathematical Statistics 29, 1958).
double drawNormal(SplitMix &random);

} // namespace accord::jobs
