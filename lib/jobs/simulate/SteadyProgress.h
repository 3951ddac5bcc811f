// Rigid jobs with a number of steps at a constant rate on each type of device.
#pragma once
#include "lib/jobs/problem/ThroughputTable.h"
#include "lib/jobs/simulate/Simulator.h"

namespace accord::jobs {

struct SteadyJob {
  std::string name, application;
  double arrival = 0;        ///< seconds
  double steps = 0;          ///< more than 0
  unsigned gang = 1;         ///< devices of one type, all at once
  double weight = 1;         ///< more than 0; twice the weight is entitled to twice the speed
  double restartSeconds = 0; ///< as in `SimulatedJob`
  std::vector<double> rates; ///< steps a second on each type of the cluster; 0: it does not fit
};

/// Progress of a `SteadyJob`. Its devices are of one type.
class SteadyProgress : public JobProgress {
public:
  /// `wholeSteps`: a job that does not complete in a run does a whole number of steps in it, as if a step that the end
  /// of a round interrupts were lost.
  explicit SteadyProgress(const SteadyJob &job, bool wholeSteps = false)
      : rates(job.rates), gang(job.gang), all(job.steps), left(job.steps), wholeSteps(wholeSteps) {}

  void place(const Cluster &cluster, const JobPlacement &placement) override;
  std::optional<double> run(double seconds) override;

  double workDone() const override { return all - left; }
  double workLeft() const override { return left; }
  double rate(const Cluster &, unsigned type, unsigned devices) const override {
    return devices == gang && type < rates.size() ? rates[type] : 0;
  }

  /// Steps that are to come.
  double remaining() const { return left; }
  /// Steps a second where it was placed last; 0 before.
  double rate() const { return now; }

private:
  std::vector<double> rates;
  unsigned gang;
  double all, left, now = 0;
  bool wholeSteps;
};

/// The type of a placement; it is not empty.
inline unsigned typeOf(const Cluster &cluster, const JobPlacement &placement) {
  return cluster.servers[placement.front().server].type;
}

/// Refuses what could never run: error A1102 for a gang larger than every type (with the job and the largest count),
/// A1103 for a rate of 0 on each type that holds the gang, A1101 for steps, weights or rates that are no such numbers.
Result<void> checkSteadyJobs(const Cluster &cluster, const std::vector<SteadyJob> &jobs);

/// The jobs as the simulator takes them. Each progress is a `SteadyProgress`.
std::vector<SimulatedJob> simulatedJobs(const std::vector<SteadyJob> &jobs, bool wholeSteps = false);

} // namespace accord::jobs
