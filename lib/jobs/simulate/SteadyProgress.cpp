#include "lib/jobs/simulate/SteadyProgress.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

/// Below this share of a step nothing is left: what rounding leaves of a last step.
constexpr double kNothing = 1e-9;

} // namespace

void SteadyProgress::place(const Cluster &cluster, const JobPlacement &placement) {
  now = rates[typeOf(cluster, placement)];
}

std::optional<double> SteadyProgress::run(double seconds) {
  if (now <= 0)
    return std::nullopt;
  const double needed = left / now;
  if (needed <= seconds * (1 + 1e-12)) {
    left = 0;
    return std::min(needed, seconds);
  }
  const double done = now * seconds;
  left -= wholeSteps ? std::floor(done + kNothing) : done;
  return std::nullopt;
}

std::vector<SimulatedJob> simulatedJobs(const std::vector<SteadyJob> &jobs, bool wholeSteps) {
  std::vector<SimulatedJob> simulated;
  for (const SteadyJob &job : jobs) {
    simulated.push_back({job.name, job.arrival, job.gang, job.gang, job.restartSeconds,
                         [job, wholeSteps] { return std::make_unique<SteadyProgress>(job, wholeSteps); }});
    simulated.back().weight = job.weight;
  }
  return simulated;
}

} // namespace accord::jobs
