#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/jobs/solve/ServerPacking.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

/// Values of an allocation are whole numbers from 0 to this.
constexpr double kValueScale = 1e9;

struct Option {
  unsigned type = 0, devices = 0;
  double rate = 0;  ///< work in a second, more than 0
  double value = 0; ///< completions in a second
};

std::vector<Option> optionsOf(const JobView &job, const Cluster &cluster, const std::vector<int64_t> &capacity) {
  std::vector<Option> options;
  for (unsigned type = 0; type < cluster.types.size(); ++type)
    for (unsigned devices :
         deviceCounts(*job.description, cluster.largestServer(type), static_cast<unsigned>(capacity[type])))
      if (double rate = job.progress->rate(cluster, type, devices); rate > 0)
        options.push_back({type, devices, rate, 0});
  return options;
}

/// The most that a job of each application has done.
std::map<std::string, double> frontiers(const std::vector<JobView> &jobs) {
  std::map<std::string, double> maxDone;
  for (const JobView &job : jobs)
    if (double &done = maxDone[job.description->application]; job.progress->knowsSpeed())
      done = std::max(done, job.progress->workDone());
  return maxDone;
}

/// The work that a job is expected to have left.
double expectedWork(const JobView &job, double bestRate, const AllocationOptions &options, const WorkHistory &history,
                    const std::map<std::string, double> &frontiers) {
  const bool knowsSpeed = job.progress->knowsSpeed();
  if (options.knows == KnownWork::Left && knowsSpeed)
    return job.progress->workLeft();
  const double done = job.progress->workDone(), minWork = options.minExpected * bestRate;
  if (options.knows != KnownWork::Learned || !knowsSpeed)
    return std::max(done, minWork);
  const std::string &application = job.description->application;
  const double frontier = application.empty() ? done : frontiers.at(application);
  return history.left({application, done, frontier, bestRate, std::max(frontier, minWork)});
}

/// Seconds until the job is complete on these devices, if it runs there from now on.
double secondsLeft(const JobView &job, const Cluster &cluster, const Option &option, double work, double moveCharge) {
  const bool stays = !job.placement.empty() && devicesOf(job.placement) == option.devices &&
                     cluster.servers[job.placement.front().server].type == option.type;
  return work / option.rate + (stays ? job.restartLeft : job.description->restartSeconds * moveCharge);
}

} // namespace

std::vector<unsigned> deviceCounts(const SimulatedJob &job, unsigned serverDevices, unsigned max) {
  if (job.devices == job.maxDevices)
    return job.devices <= max ? std::vector<unsigned>{job.devices} : std::vector<unsigned>{};
  std::vector<unsigned> counts;
  const unsigned limit = std::min(job.maxDevices, max);
  for (unsigned count = 1; count < serverDevices && count <= limit; count *= 2)
    counts.push_back(count);
  for (unsigned count = serverDevices; serverDevices > 0 && count <= limit; count += serverDevices)
    counts.push_back(count);
  return counts;
}

double fastestRate(const Cluster &cluster, const SimulatedJob &job) {
  const auto progress = job.progress();
  const std::vector<int64_t> capacity = cluster.capacity();
  double fastest = 0;
  for (unsigned type = 0; type < cluster.types.size(); ++type)
    for (unsigned devices : deviceCounts(job, cluster.largestServer(type), static_cast<unsigned>(capacity[type])))
      fastest = std::max(fastest, progress->rate(cluster, type, devices));
  return fastest;
}

std::vector<JobPlacement> AllocationPolicy::decide(double, const Cluster &cluster, const std::vector<JobView> &jobs) {
  AllocationProblem problem;
  problem.capacity = cluster.capacity();
  std::vector<std::vector<Option>> choices;
  double best = 0;
  const std::map<std::string, double> maxDone = frontiers(jobs);
  for (const JobView &job : jobs) {
    choices.push_back(optionsOf(job, cluster, problem.capacity));
    double bestRate = 0;
    for (const Option &option : choices.back())
      bestRate = std::max(bestRate, option.rate);
    if (bestRate <= 0)
      continue;
    bestRates[job.job] = bestRate;
    const double work = expectedWork(job, bestRate, options, history, maxDone);
    for (Option &option : choices.back()) {
      option.value = 1 / std::max(secondsLeft(job, cluster, option, work, options.moveCharge), 1.0);
      best = std::max(best, option.value);
    }
  }
  for (const std::vector<Option> &ofJob : choices) {
    AllocationJob &job = problem.jobs.emplace_back();
    for (const Option &option : ofJob)
      job.configurations.push_back({static_cast<int64_t>(std::llround(option.value / best * kValueScale)),
                                    {{option.type, static_cast<int64_t>(option.devices)}}});
  }
  SearchLimits limits;
  limits.effort = options.effort;
  limits.gap = 1e-3;
  AllocationSolution solution = solveAllocation(problem, limits);
  if (solution.bound > 0)
    worstGap = std::max(worstGap, 1 - static_cast<double>(solution.value) / static_cast<double>(solution.bound));

  std::vector<PackingRequest> requests;
  for (size_t i = 0; i < jobs.size(); ++i) {
    PackingRequest request{0, 0, jobs[i].placement};
    if (i < solution.choice.size() && solution.choice[i] >= 0) {
      const Option &chosen = choices[i][static_cast<size_t>(solution.choice[i])];
      request.type = chosen.type;
      request.devices = chosen.devices;
    }
    requests.push_back(std::move(request));
  }
  return packServers(cluster, requests);
}

void AllocationPolicy::completed(const JobView &job, double work) {
  if (job.progress->knowsSpeed())
    history.add({job.description->application, work, bestRates[job.job]});
  bestRates.erase(job.job);
}

} // namespace accord::jobs
