#include "lib/jobs/verify/FloorCheck.h"
#include <algorithm>
#include <limits>

namespace accord::jobs {

double provenMean(const Cluster &cluster, const std::vector<SteadyJob> &jobs, const CompletionFloor &floor) {
  const std::vector<int64_t> capacity = cluster.capacity();
  bool shaped = !jobs.empty() && floor.values.size() == jobs.size() && floor.interval > 0;
  for (const std::vector<double> &row : floor.prices)
    shaped = shaped && row.size() == capacity.size();
  if (!shaped)
    return -std::numeric_limits<double>::infinity();

  auto price = [&](size_t k, size_t type) { return std::max(0.0, floor.prices[k][type]); };
  double total = 0;
  for (size_t k = 0; k < floor.prices.size(); ++k)
    for (size_t type = 0; type < capacity.size(); ++type)
      total -= price(k, type) * static_cast<double>(capacity[type]) * floor.interval;
  const double unlimited = floor.interval * static_cast<double>(floor.prices.size());
  for (size_t j = 0; j < jobs.size(); ++j) {
    const SteadyJob &job = jobs[j];
    const double value = std::min(floor.values[j], std::max(unlimited, job.arrival));
    double fastest = 0; // steps a second
    for (size_t type = 0; type < capacity.size(); ++type)
      if (job.gang <= capacity[type])
        fastest = std::max(fastest, job.rates[type]);
    total += value + job.steps / fastest / 2 - job.arrival;
    for (size_t k = 0; k < floor.prices.size(); ++k) {
      const double end = floor.interval * static_cast<double>(k + 1);
      const double start = std::max(end - floor.interval, job.arrival);
      double gain = 0; // of a second on the best type
      for (size_t type = 0; type < capacity.size(); ++type)
        if (job.gang <= capacity[type] && job.rates[type] > 0)
          gain = std::max(gain, job.rates[type] / job.steps * (value - start) - job.gang * price(k, type));
      total -= gain * std::max(0.0, end - start);
    }
  }
  return total / static_cast<double>(jobs.size());
}

} // namespace accord::jobs
