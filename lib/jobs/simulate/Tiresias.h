// Tiresias: jobs that held few device-seconds first, in two queues.
#pragma once
#include "lib/jobs/simulate/Simulator.h"
#include <map>

namespace accord::jobs {

/// Discretized two-dimensional least attained service (Gu et al., NSDI 2019), as the artefact of Pollux (OSDI 2021)
/// sets it up. Jobs are rigid: they run on all of their devices or wait. A job starts in the first queue and moves to
/// the end of the second once its devices times the seconds of its rounds reach a threshold; it never moves back. In
/// each round the first queue is served before the second, each in its order, and a job that does not fit lets later
/// ones pass. Jobs that go on keep their devices; others are placed on the emptiest server again and again, the first
/// of equals.
class Tiresias : public Policy {
public:
  /// Devices times seconds; the default is 16 hours of a device.
  explicit Tiresias(double threshold = 16 * 3600) : threshold(threshold) {}

  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;

private:
  struct State {
    bool running = false;
    double lastRound = 0, executed = 0; ///< seconds
  };
  void updateQueues(double now, const std::vector<JobView> &jobs);

  double threshold;
  std::map<size_t, State> states; ///< by job
  std::vector<size_t> queues[2];  ///< jobs
};

/// Places `devices` on the servers with the most free devices, the first of equals, and takes them from `free`. `free`
/// has to hold as many.
JobPlacement placeOnEmptiest(std::vector<unsigned> &free, unsigned devices);

/// Devices of each server that no placement uses.
std::vector<unsigned> freeDevices(const Cluster &cluster, const std::vector<JobPlacement> &placements);

} // namespace accord::jobs
