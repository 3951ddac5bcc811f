#include "lib/jobs/simulate/Optimus.h"
#include "lib/jobs/simulate/ProfiledProgress.h"
#include "lib/jobs/simulate/Tiresias.h"
#include <algorithm>
#include <numeric>

namespace accord::jobs {

OptimusForecast profiledForecast(unsigned devicesOfServer) {
  auto of = [](const JobView &job) { return static_cast<const ProfiledProgress *>(job.progress); };
  return {[of](const JobView &job) { return of(job)->remainingIterations(); },
          [of, devicesOfServer](const JobView &job, unsigned devices) {
            return of(job)->application().updateSeconds(of(job)->targetBatch(), devices, devicesOfServer);
          }};
}

/// Seconds that one more device than `devices` saves.
double Optimus::gain(const JobView &job, double iterations, unsigned devices) const {
  if (devices + 1 > job.description->maxDevices)
    return 0;
  const auto now = forecast.updateSeconds(job, devices), more = forecast.updateSeconds(job, devices + 1);
  return now && more ? (*now - *more) * iterations : 0;
}

std::vector<unsigned> Optimus::share(int64_t devices, const std::vector<JobView> &jobs) const {
  std::vector<unsigned> counts(jobs.size(), 0);
  std::vector<double> iterations(jobs.size(), 0), gains(jobs.size(), 0);
  for (size_t i = 0; i < jobs.size() && devices > 0; ++i) {
    counts[i] = 1;
    --devices;
    iterations[i] = forecast.iterations(jobs[i]);
    if (devices > 0)
      gains[i] = gain(jobs[i], iterations[i], 1);
  }
  for (; devices > 0; --devices) {
    const auto best = std::ranges::max_element(gains); // the first of equals
    if (best == gains.end() || *best <= 0)
      break;
    const auto i = static_cast<size_t>(best - gains.begin());
    ++counts[i];
    gains[i] = gain(jobs[i], iterations[i], counts[i]);
  }
  return counts;
}

std::vector<JobPlacement> Optimus::decide(double, const Cluster &cluster, const std::vector<JobView> &jobs) {
  const std::vector<unsigned> counts = share(cluster.devices(), jobs);
  std::vector<JobPlacement> placements(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i)
    if (devicesOf(jobs[i].placement) == counts[i])
      placements[i] = jobs[i].placement;
  std::vector<unsigned> free = freeDevices(cluster, placements);
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(counts[i], i); });
  for (size_t i : order)
    if (counts[i] > 0 && placements[i].empty())
      placements[i] = placeOnEmptiest(free, counts[i]);
  return placements;
}

} // namespace accord::jobs
