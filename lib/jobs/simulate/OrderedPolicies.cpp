#include "lib/jobs/simulate/OrderedPolicies.h"
#include "lib/jobs/simulate/RoundPolicies.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace accord::jobs {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<double> ratesOf(const Cluster &cluster, const JobView &job) {
  std::vector<double> rates;
  for (unsigned type = 0; type < cluster.types.size(); ++type)
    rates.push_back(job.progress->rate(cluster, type, job.description->devices));
  // Where no rate is known, the job runs anywhere.
  if (std::ranges::all_of(rates, [](double rate) { return rate <= 0; }))
    rates.assign(rates.size(), std::numeric_limits<double>::min());
  return rates;
}

int typeNow(const Cluster &cluster, const JobView &job) {
  return job.placement.empty() ? -1 : static_cast<int>(cluster.servers[job.placement.front().server].type);
}

/// The type with free devices on which a job is complete first; -1: none.
int chooseType(const Cluster &cluster, const JobView &job, const std::vector<int64_t> &left, bool stays) {
  const int now = typeNow(cluster, job);
  if (stays)
    return left[now] >= job.description->devices ? now : -1;
  const std::vector<double> rates = ratesOf(cluster, job);
  double best = kNever;
  int chosen = -1;
  for (int type = 0; type < static_cast<int>(left.size()); ++type) {
    if (left[type] < job.description->devices || rates[type] <= 0)
      continue;
    const double restart = type == now ? job.restartLeft : job.description->restartSeconds;
    const double seconds = std::min(job.progress->workLeft() / rates[type] + restart, 1e300);
    if (seconds < best || (seconds == best && type == now))
      best = seconds, chosen = type;
  }
  return chosen;
}

/// A job with a deadline, as far as admission looks at it.
struct DeadlineJob {
  double deadline = 0, share = 0; ///< `share`: of its work that is left, from 1 to 0
  unsigned devices = 1;
  std::vector<double> seconds; ///< until it is complete on each type; infinity: it cannot run there
};

/// Whether all jobs are complete by their deadlines when they run in their order.
bool allInTime(double now, const std::vector<int64_t> &capacity, std::vector<DeadlineJob> jobs) {
  std::ranges::sort(jobs, {}, [](const DeadlineJob &job) { return job.deadline; });
  while (!jobs.empty()) {
    std::vector<int64_t> left = capacity;
    std::vector<double> seconds(jobs.size(), kNever);
    double next = kNever;
    for (size_t i = 0; i < jobs.size(); ++i) {
      size_t chosen = left.size();
      for (size_t type = 0; type < left.size(); ++type)
        if (left[type] >= jobs[i].devices && jobs[i].seconds[type] < seconds[i])
          seconds[i] = jobs[i].seconds[type], chosen = type;
      if (chosen < left.size()) {
        left[chosen] -= jobs[i].devices;
        next = std::min(next, seconds[i] * jobs[i].share);
      }
    }
    if (next == kNever)
      return false;
    now += next;
    std::vector<DeadlineJob> later;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const bool runs = seconds[i] < kNever, complete = runs && seconds[i] * jobs[i].share <= next * (1 + 1e-12);
      if (now > jobs[i].deadline)
        return false;
      if (complete)
        continue;
      if (runs)
        jobs[i].share = std::max(0.0, jobs[i].share - next / seconds[i]);
      later.push_back(std::move(jobs[i]));
    }
    jobs = std::move(later);
  }
  return true;
}

DeadlineJob deadlineJob(const Cluster &cluster, const JobView &job, double round) {
  DeadlineJob made{*job.description->deadline, 1, job.description->devices, {}};
  const std::vector<double> rates = ratesOf(cluster, job);
  const double delay = job.placement.empty() ? job.description->restartSeconds + round : job.restartLeft;
  for (double rate : rates)
    made.seconds.push_back(rate > 0 ? std::max(job.progress->workLeft() / rate + delay, 1e-9) : kNever);
  return made;
}

} // namespace

double remainingSeconds(const Cluster &cluster, const JobView &job) {
  double fastest = 0;
  for (unsigned type = 0; type < cluster.types.size(); ++type)
    fastest = std::max(fastest, job.progress->rate(cluster, type, job.description->devices));
  return fastest > 0 ? job.progress->workLeft() / fastest : kNever;
}

std::vector<bool> OrderedPolicy::withoutProgress(const std::vector<JobView> &jobs) {
  std::map<size_t, Start> now;
  std::vector<bool> without(jobs.size(), false);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].placement.empty())
      continue;
    const auto found = starts.find(jobs[i].job);
    without[i] =
        jobs[i].restartLeft > 0 || (found != starts.end() && jobs[i].progress->workDone() <= found->second.workDone);
    if (found != starts.end())
      now.emplace(*found);
  }
  starts = std::move(now);
  return without;
}

std::vector<JobPlacement> OrderedPolicy::decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) {
  const std::vector<bool> without = withoutProgress(jobs);
  const std::vector<double> key = keys(now, cluster, jobs);
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, {}, [&](size_t i) { return std::tuple(!without[i], key[i], i); });
  std::vector<int64_t> left = cluster.capacity();
  std::vector<int> types(jobs.size(), -1);
  for (size_t i : order) {
    types[i] = chooseType(cluster, jobs[i], left, without[i]);
    if (types[i] >= 0)
      left[types[i]] -= jobs[i].description->devices;
  }
  std::vector<JobPlacement> placements = placeGangs(cluster, jobs, types);
  for (size_t i = 0; i < jobs.size(); ++i)
    if (!placements[i].empty() && placements[i] != jobs[i].placement)
      starts[jobs[i].job] = {placements[i], jobs[i].progress->workDone()};
  return placements;
}

std::vector<double> ShortestRemainingTime::keys(double, const Cluster &cluster, const std::vector<JobView> &jobs) {
  std::vector<double> keys;
  for (const JobView &job : jobs)
    keys.push_back(remainingSeconds(cluster, job));
  return keys;
}

std::vector<double> ShortestRemainingService::keys(double, const Cluster &cluster, const std::vector<JobView> &jobs) {
  std::vector<double> keys;
  for (const JobView &job : jobs)
    keys.push_back(remainingSeconds(cluster, job) * job.description->devices);
  return keys;
}

std::vector<double> AttainedServiceOrder::keys(double, const Cluster &, const std::vector<JobView> &jobs) {
  std::vector<double> keys;
  for (const JobView &job : jobs)
    keys.push_back(job.attainedService);
  return keys;
}

std::vector<double> EarliestDeadline::keys(double now, const Cluster &cluster, const std::vector<JobView> &jobs) {
  std::vector<DeadlineJob> sure;
  for (const JobView &job : jobs)
    if (const auto found = admitted.find(job.job); found != admitted.end() && found->second)
      sure.push_back(deadlineJob(cluster, job, round));
  for (const JobView &job : jobs) {
    if (!job.description->deadline || admitted.count(job.job))
      continue;
    sure.push_back(deadlineJob(cluster, job, round));
    admitted[job.job] = allInTime(now, cluster.capacity(), sure);
    if (!admitted[job.job])
      sure.pop_back();
  }
  double last = now;
  for (const DeadlineJob &job : sure)
    last = std::max(last, job.deadline);
  std::vector<double> keys;
  for (const JobView &job : jobs) {
    const auto found = admitted.find(job.job);
    const bool isSure = found != admitted.end() && found->second;
    keys.push_back(isSure ? *job.description->deadline : last + 1 + remainingSeconds(cluster, job));
  }
  return keys;
}

} // namespace accord::jobs
