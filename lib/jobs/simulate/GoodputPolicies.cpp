#include "lib/jobs/simulate/GoodputPolicies.h"
#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/jobs/solve/ServerPacking.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord::jobs {
namespace {

/// Values of an allocation are whole numbers from 0 to this.
constexpr double kValueScale = 1e9;
constexpr unsigned kEffort = 6;
constexpr double kGap = 1e-3;

struct Chosen {
  DeviceOption option;
  double value = 0;
};

} // namespace

std::vector<DeviceOption> deviceOptions(const Cluster &cluster, const JobView &job) {
  const std::vector<int64_t> capacity = cluster.capacity();
  std::vector<DeviceOption> options;
  for (unsigned type = 0; type < cluster.types.size(); ++type)
    for (unsigned devices :
         deviceCounts(*job.description, cluster.largestServer(type), static_cast<unsigned>(capacity[type])))
      if (const double rate = job.progress->rate(cluster, type, devices); rate > 0) {
        const bool stays = !job.placement.empty() && devicesOf(job.placement) == devices &&
                           cluster.servers[job.placement.front().server].type == type;
        options.push_back({type, devices, rate, stays});
      }
  return options;
}

double minRateOf(const std::vector<DeviceOption> &options) {
  std::map<unsigned, DeviceOption> smallest; // of each type
  for (const DeviceOption &option : options)
    if (const auto [found, isNew] = smallest.try_emplace(option.type, option);
        !isNew && option.devices < found->second.devices)
      found->second = option;
  double rate = 0;
  for (const auto &[type, option] : smallest)
    rate = rate > 0 ? std::min(rate, option.rate) : option.rate;
  return rate;
}

std::vector<JobPlacement> ConfigurationPolicy::decide(double now, const Cluster &cluster,
                                                      const std::vector<JobView> &jobs) {
  AllocationProblem problem;
  problem.capacity = cluster.capacity();
  std::vector<std::vector<Chosen>> choices(jobs.size());
  double best = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::vector<DeviceOption> options = deviceOptions(cluster, jobs[i]);
    const double minRate = minRateOf(options);
    const bool pinned = jobs[i].restartLeft > 0 &&
                        std::ranges::any_of(options, [](const DeviceOption &option) { return option.stays; });
    for (const DeviceOption &option : options) {
      const double gain = value(now, jobs[i], option, minRate);
      if (pinned ? option.stays : gain > 0)
        choices[i].push_back({option, std::max(gain, 0.0)});
    }
    for (const Chosen &one : choices[i])
      best = std::max(best, one.value);
    problem.jobs.push_back({{}, !pinned});
  }
  for (size_t i = 0; i < jobs.size(); ++i)
    for (const Chosen &one : choices[i])
      problem.jobs[i].configurations.push_back(
          {best > 0 ? static_cast<int64_t>(std::llround(one.value / best * kValueScale)) : 0,
           {{one.option.type, static_cast<int64_t>(one.option.devices)}}});
  SearchLimits limits;
  limits.effort = kEffort;
  limits.gap = kGap;
  const AllocationSolution solution = solveAllocation(problem, limits);
  if (solution.bound > 0)
    worstGap = std::max(worstGap, 1 - static_cast<double>(solution.value) / static_cast<double>(solution.bound));
  std::vector<PackingRequest> requests;
  for (size_t i = 0; i < jobs.size(); ++i) {
    PackingRequest request{0, 0, jobs[i].placement};
    if (i < solution.choice.size() && solution.choice[i] >= 0) {
      const DeviceOption &option = choices[i][static_cast<size_t>(solution.choice[i])].option;
      request.type = option.type;
      request.devices = option.devices;
    }
    requests.push_back(std::move(request));
  }
  return packServers(cluster, requests);
}

double SiaPolicy::value(double now, const JobView &job, const DeviceOption &option, double minRate) const {
  double utility = std::min(std::round(option.rate / minRate * 100) / 100, 3000.0);
  if (!job.placement.empty() && !option.stays) {
    const double age = now - job.description->arrival, restart = job.description->restartSeconds;
    utility *= age + restart > 0 ? (age - job.restarts * restart) / (age + restart) : 1;
  }
  return utility > 0 ? options.waitCost - std::pow(utility, options.power) : 0;
}

double PolluxObjective::value(double, const JobView &job, const DeviceOption &option, double minRate) const {
  constexpr double kChanged = 0.9;
  return option.rate / minRate * (job.placement.empty() || option.stays ? 1 : kChanged);
}

} // namespace accord::jobs
