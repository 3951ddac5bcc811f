// Optimus: devices go where the remaining time of a job shrinks by most.
#pragma once
#include "lib/jobs/simulate/Simulator.h"

namespace accord::jobs {

/// What Optimus predicts of a job.
struct OptimusForecast {
  /// Updates until the job is complete.
  std::function<double(const JobView &)> iterations;
  /// Seconds of an update on so many devices that fill servers; nothing if that is not known.
  std::function<std::optional<double>(const JobView &, unsigned devices)> updateSeconds;
};

/// Of jobs whose progress is a `ProfiledProgress` (all of them), on servers with `devicesOfServer` each: what their
/// profile says, as exact as the simulation.
OptimusForecast profiledForecast(unsigned devicesOfServer);

/// Optimus (Peng et al., EuroSys 2018), as the artefact of Pollux (OSDI 2021) sets it up. Each job gets one device in
/// their order; then each further device goes to the job for which it saves the most seconds, the first of equals,
/// until none saves any. Jobs whose number of devices stays keep them. The others are placed in the order of their
/// numbers on the emptiest servers. Jobs use at most `SimulatedJob::maxDevices`.
class Optimus : public Policy {
public:
  explicit Optimus(OptimusForecast forecast) : forecast(std::move(forecast)) {}

  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;

private:
  double gain(const JobView &job, double iterations, unsigned devices) const;
  std::vector<unsigned> share(int64_t devices, const std::vector<JobView> &jobs) const;

  OptimusForecast forecast;
};

} // namespace accord::jobs
