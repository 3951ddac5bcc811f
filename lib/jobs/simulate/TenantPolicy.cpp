#include "lib/jobs/simulate/TenantPolicy.h"
#include "lib/jobs/simulate/GoodputPolicies.h"
#include "lib/jobs/solve/FairAllocator.h"
#include "lib/jobs/solve/ServerPacking.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

/// Rates are whole numbers of thousandths of a job's minimum rate.
constexpr double kRateScale = 1000;

int64_t whole(double number, int64_t min) {
  return std::clamp(static_cast<int64_t>(std::llround(std::clamp(number, 0.0, 1e12))), min, kMaxAllocationNumber);
}

FairJob fairJob(double now, const JobView &job, const std::vector<DeviceOption> &options, size_t tenants) {
  FairJob made;
  const double minRate = minRateOf(options);
  for (const DeviceOption &option : options) {
    if (option.stays)
      made.running = static_cast<int64_t>(made.configurations.size());
    made.configurations.push_back({whole(option.rate / minRate * kRateScale, 1), {{option.type, option.devices}}});
  }
  made.pinned = made.running >= 0 && job.restartLeft > 0;
  made.isolated = static_cast<int64_t>(kRateScale);
  made.weight = std::clamp<int64_t>(whole(job.description->weight, 1), 1, 1 << 20);
  made.tenant = job.description->tenant >= 0 && static_cast<size_t>(job.description->tenant) < tenants
                    ? job.description->tenant
                    : -1;
  const double done = job.progress->workDone(), left = job.progress->workLeft();
  made.age = std::min(whole(now - job.description->arrival, 0), int64_t(1) << 32);
  if (minRate > 0) {
    made.remaining = whole(left / minRate * kRateScale, 0);
    made.isolatedSeconds = std::min(whole((done + left) / minRate, 1), int64_t(1) << 32);
  }
  return made;
}

} // namespace

std::vector<JobPlacement> TenantPolicy::decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) {
  std::vector<JobPlacement> placements;
  std::set<size_t> here;
  for (const JobView &job : jobs) {
    placements.push_back(job.placement);
    here.insert(job.job);
  }
  const std::vector<int64_t> capacity = cluster.capacity();
  if (here == seen && capacity == lastCapacity && now < last + options.refresh)
    return placements;
  seen = std::move(here);
  lastCapacity = capacity;
  last = now;

  FairProblem problem;
  problem.tenants = options.tenants;
  problem.hierarchical = true;
  problem.objective = FairObjective::PowerMean;
  for (unsigned type = 0; type < capacity.size(); ++type)
    problem.resources.push_back({cluster.types[type], capacity[type], true});
  std::vector<std::vector<DeviceOption>> choices;
  for (const JobView &job : jobs) {
    choices.push_back(deviceOptions(cluster, job));
    problem.jobs.push_back(fairJob(now, job, choices.back(), options.tenants.size()));
  }
  SearchLimits limits;
  limits.effort = options.effort;
  const Result<FairSolution> solution = allocateFairly(problem, limits);
  if (!solution || solution->choice.size() != jobs.size())
    return placements;
  std::vector<PackingRequest> requests;
  for (size_t i = 0; i < jobs.size(); ++i) {
    PackingRequest request{0, 0, jobs[i].placement};
    if (solution->choice[i] >= 0) {
      const DeviceOption &option = choices[i][static_cast<size_t>(solution->choice[i])];
      request.type = option.type;
      request.devices = option.devices;
    }
    requests.push_back(std::move(request));
  }
  return packServers(cluster, requests);
}

} // namespace accord::jobs
