// Steady jobs in the simulator.
#pragma once
#include "lib/jobs/problem/SteadyJob.h"
#include "lib/jobs/simulate/Simulator.h"

namespace accord::jobs {

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

  std::unique_ptr<JobProgress> copy() const override { return std::make_unique<SteadyProgress>(*this); }

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

/// The jobs as the simulator takes them. Each progress is a `SteadyProgress`.
std::vector<SimulatedJob> simulatedJobs(const std::vector<SteadyJob> &jobs, bool wholeSteps = false);

} // namespace accord::jobs
