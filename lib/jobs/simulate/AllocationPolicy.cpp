#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/jobs/solve/ServerPacking.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

/// Values of an allocation are whole numbers from 0 to this.
constexpr double kValueScale = 1e9;

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

std::vector<AllocationPolicy::Option> AllocationPolicy::optionsOf(const JobView &job, const Cluster &cluster,
                                                                  const std::vector<int64_t> &capacity) {
  std::vector<Option> options;
  for (unsigned type = 0; type < cluster.types.size(); ++type)
    for (unsigned devices :
         deviceCounts(*job.description, cluster.largestServer(type), static_cast<unsigned>(capacity[type])))
      if (double rate = job.progress->rate(cluster, type, devices); rate > 0)
        options.push_back({type, devices, rate, 0});
  return options;
}

/// Seconds until the job is complete on these devices, if it runs there from now on.
double AllocationPolicy::secondsLeft(const JobView &job, const Cluster &cluster, const Option &option,
                                     double work) const {
  const bool stays = !job.placement.empty() && devicesOf(job.placement) == option.devices &&
                     cluster.servers[job.placement.front().server].type == option.type;
  return work / option.rate + (stays ? job.restartLeft : job.description->restartSeconds * options.moveCharge);
}

/// Whole numbers in proportion to weight times value.
AllocationProblem AllocationPolicy::problemOf(const Cluster &cluster, const std::vector<double> &weights) const {
  AllocationProblem problem;
  problem.capacity = cluster.capacity();
  double best = 0;
  for (size_t i = 0; i < choices.size(); ++i)
    for (const Option &option : choices[i])
      best = std::max(best, weights[i] * option.value);
  for (size_t i = 0; i < choices.size(); ++i) {
    AllocationJob &job = problem.jobs.emplace_back();
    for (const Option &option : choices[i])
      job.configurations.push_back({static_cast<int64_t>(std::llround(weights[i] * option.value / best * kValueScale)),
                                    {{option.type, static_cast<int64_t>(option.devices)}}});
  }
  return problem;
}

AllocationSolution AllocationPolicy::solve(const AllocationProblem &problem) {
  SearchLimits limits;
  limits.effort = options.effort;
  limits.gap = 1e-3;
  AllocationSolution solution = solveAllocation(problem, limits);
  if (solution.bound > 0)
    worstGap = std::max(worstGap, 1 - static_cast<double>(solution.value) / static_cast<double>(solution.bound));
  return solution;
}

/// The weighed allocation, or that of the planner's own values where the shield asks for it.
AllocationSolution AllocationPolicy::shielded(const AllocationProblem &planned, AllocationSolution weighed) {
  int64_t value = 0;
  for (size_t i = 0; i < weighed.choice.size(); ++i)
    if (weighed.choice[i] >= 0)
      value += planned.jobs[i].configurations[static_cast<size_t>(weighed.choice[i])].value;
  auto isEnough = [&](const AllocationSolution &solution) {
    return static_cast<double>(value) >= (1 - options.shield) * static_cast<double>(solution.bound);
  };
  // One set of prices often proves enough, in a fraction of the time.
  SearchLimits quick;
  quick.effort = 0;
  if (isEnough(solveAllocation(planned, quick)))
    return weighed;
  AllocationSolution solution = solve(planned);
  if (isEnough(solution))
    return weighed;
  ++shieldCount.shielded;
  return solution;
}

RoundView AllocationPolicy::look(double now, const Cluster &cluster, const std::vector<JobView> &jobs) {
  choices.clear(), estimates.clear();
  const std::vector<int64_t> capacity = cluster.capacity();
  const std::map<std::string, double> maxDone = frontiers(jobs);
  for (const JobView &job : jobs) {
    choices.push_back(optionsOf(job, cluster, capacity));
    JobEstimate &estimate = estimates.emplace_back();
    estimate.typeRates.resize(cluster.types.size(), 0);
    for (const Option &option : choices.back()) {
      estimate.bestRate = std::max(estimate.bestRate, option.rate);
      estimate.typeRates[option.type] = std::max(estimate.typeRates[option.type], option.rate);
    }
    if (estimate.bestRate <= 0)
      continue;
    bestRates[job.job] = estimate.bestRate;
    estimate.work = expectedWork(job, estimate.bestRate, options, history, maxDone);
    for (Option &option : choices.back())
      option.value = 1 / std::max(secondsLeft(job, cluster, option, estimate.work), 1.0);
  }
  return {now, cluster, jobs, estimates, history.size()};
}

std::vector<JobPlacement> AllocationPolicy::decide(double now, const Cluster &cluster,
                                                   const std::vector<JobView> &jobs) {
  const RoundView round = look(now, cluster, jobs);
  if (!options.weigher)
    return place(round, std::vector<double>(jobs.size(), 1));
  auto weights = options.weigher->weigh(round);
  if (!weights)
    return error = weights.takeError(), std::vector<JobPlacement>();
  return place(round, *weights);
}

std::vector<JobPlacement> AllocationPolicy::place(const RoundView &round, const std::vector<double> &weights) {
  ++shieldCount.rounds;
  AllocationSolution solution = solve(problemOf(round.cluster, weights));
  if (options.shield < 1)
    solution = shielded(problemOf(round.cluster, std::vector<double>(weights.size(), 1)), std::move(solution));
  std::vector<PackingRequest> requests;
  for (size_t i = 0; i < round.jobs.size(); ++i) {
    PackingRequest request{0, 0, round.jobs[i].placement};
    if (i < solution.choice.size() && solution.choice[i] >= 0) {
      const Option &chosen = choices[i][static_cast<size_t>(solution.choice[i])];
      request.type = chosen.type;
      request.devices = chosen.devices;
    }
    requests.push_back(std::move(request));
  }
  return packServers(round.cluster, requests);
}

void AllocationPolicy::completed(const JobView &job, double work) {
  if (job.progress->knowsSpeed())
    history.add({job.description->application, work, bestRates[job.job]});
  bestRates.erase(job.job);
}

} // namespace accord::jobs
