#include "lib/jobs/simulate/ShockwavePolicy.h"
#include "lib/jobs/simulate/RoundPolicies.h"
#include "lib/jobs/solve/AllocationSolver.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace accord::jobs {
namespace {

constexpr double kValueScale = 1e9, kMaxWeight = 1e6, kLatePower = 100;
constexpr unsigned kEffort = 4;
constexpr double kGap = 1e-4;

} // namespace

double ShockwavePolicy::utility(const Job &job, unsigned count) const {
  const double left = std::max(0.0, job.remaining - count * options.round);
  return job.weight * std::log(std::max(1 - left / job.alone, options.minProgress));
}

void ShockwavePolicy::estimate(double now, const std::vector<Job> &active, double share) {
  std::map<size_t, Share> kept;
  for (const Job &job : active) {
    const auto found = shares.find(job.number);
    Share one = found == shares.end() ? Share{0, now, now, 0} : found->second;
    one.sum += one.last * (now - one.since);
    one.since = now;
    one.last = job.latest + job.alone / share; // `latest` is the arrival here
    kept.emplace(job.number, one);
  }
  shares = std::move(kept);
}

double ShockwavePolicy::equalShare(double now, size_t job) const {
  const Share &one = shares.at(job);
  const double span = now - one.first, mean = span > 0 ? (one.sum + one.last * (now - one.since)) / span : one.last;
  return options.momentum * mean + (1 - options.momentum) * one.last;
}

/// Rounds with which a job keeps the limits of its remaining time; infinity if it cannot.
double ShockwavePolicy::minRounds(const Job &job, const Limits &limits) const {
  const double limit = limits.isFair ? std::min(limits.longest, job.latest) : limits.longest;
  if (limit < 0)
    return std::numeric_limits<double>::infinity();
  return std::max(0.0, std::ceil((job.remaining - limit) / options.round - 1e-9));
}

/// The largest welfare under limits, in whole numbers of 1 / `unit`; nothing if that cannot be. Configuration k of a
/// job is its smallest number of rounds above 0, plus k.
std::optional<AllocationSolution> ShockwavePolicy::solve(const std::vector<Job> &active, const Limits &limits,
                                                         double unit) const {
  AllocationProblem problem;
  problem.capacity = {limits.devices * options.window};
  double needed = 0;
  for (const Job &job : active) {
    const double min = minRounds(job, limits);
    if (min > options.window)
      return std::nullopt;
    needed += min * job.devices;
    AllocationJob &one = problem.jobs.emplace_back();
    one.mayWait = min == 0;
    for (auto count = static_cast<unsigned>(std::max(min, 1.0)); count <= options.window; ++count) {
      const double value = (utility(job, count) - utility(job, 0)) * unit;
      one.configurations.push_back({std::max<int64_t>(std::llround(value), 0), {{0, int64_t(count) * job.devices}}});
      if (job.remaining <= count * options.round) // more gain nothing
        break;
    }
  }
  if (needed > static_cast<double>(problem.capacity[0]))
    return std::nullopt;
  SearchLimits search;
  search.effort = kEffort;
  search.gap = kGap;
  AllocationSolution solution = solveAllocation(problem, search);
  return solution.choice.empty() ? std::nullopt : std::optional(std::move(solution));
}

/// The finite values that the longest remaining time can have.
std::set<double> ShockwavePolicy::longestTimes(const std::vector<Job> &active) const {
  double lowest = 0;
  for (const Job &job : active)
    lowest = std::max(lowest, job.remaining - options.window * options.round);
  std::set<double> times;
  for (const Job &job : active)
    for (unsigned count = 0; count <= options.window; ++count)
      times.insert(std::max(lowest, job.remaining - count * options.round));
  return times;
}

/// The best numbers of rounds; false if the constraints exclude each other. The longest remaining time is tried in each
/// of its finite values, ascending, until even the best welfare without a limit of it could not pay for more.
bool ShockwavePolicy::planWindow(const std::vector<Job> &active, int64_t devices, bool isFair) {
  const double scale = 1 / (static_cast<double>(active.size()) * options.window);
  double largest = 0;
  for (const Job &job : active)
    largest = std::max(largest, utility(job, options.window) - utility(job, 0));
  const double unit = largest > 0 ? kValueScale / largest : 1;
  const auto unlimited = solve(active, {devices, isFair, std::numeric_limits<double>::infinity()}, unit);
  if (!unlimited)
    return false;
  const double bound = static_cast<double>(unlimited->bound) / unit * scale;
  std::optional<double> found;
  bool isLargest = false; // the welfare of the plan is that without a limit
  for (double longest : longestTimes(active)) {
    if (isLargest || (found && bound - options.k * longest <= *found))
      break;
    const Limits limits{devices, isFair, longest};
    const auto solution = solve(active, limits, unit);
    if (!solution)
      continue;
    const double value = static_cast<double>(solution->value) / unit * scale - options.k * longest;
    if (found && value <= *found)
      continue;
    found = value;
    isLargest = solution->value >= unlimited->value;
    rounds.clear();
    for (size_t i = 0; i < active.size(); ++i)
      if (solution->choice[i] >= 0)
        rounds[active[i].number] = static_cast<unsigned>(std::max(minRounds(active[i], limits), 1.0)) +
                                   static_cast<unsigned>(solution->choice[i]);
  }
  if (found)
    lastValue = valueOf(active);
  return found.has_value();
}

/// The objective of the rounds that are planned.
double ShockwavePolicy::valueOf(const std::vector<Job> &active) const {
  double welfare = 0, longest = 0;
  for (const Job &job : active) {
    const unsigned count = rounds.count(job.number) ? rounds.at(job.number) : 0;
    welfare += utility(job, count);
    longest = std::max(longest, job.remaining - count * options.round);
  }
  return welfare / (static_cast<double>(active.size()) * options.window) - options.k * longest;
}

void ShockwavePolicy::replan(double now, std::vector<Job> active, int64_t devices) {
  left = options.window;
  rounds.clear();
  if (active.empty())
    return;
  const double share = std::min(1.0, static_cast<double>(devices) / static_cast<double>(active.size()));
  estimate(now, active, share);
  const double end = now + options.window * options.round;
  for (Job &job : active)
    job.latest = (equalShare(now, job.number) * options.maxRatio - end) * share;
  if (planWindow(active, devices, true))
    return;
  for (Job &job : active) {
    const double ratio = (now + job.remaining / share) / std::max(equalShare(now, job.number), 1e-9);
    if (ratio > options.maxRatio)
      job.weight = std::min(kMaxWeight, std::pow(ratio, job.remaining < options.round ? kLatePower : options.lambda));
  }
  planWindow(active, devices, false);
}

std::vector<JobPlacement> ShockwavePolicy::decide(double now, const Cluster &cluster,
                                                  const std::vector<JobView> &jobs) {
  std::vector<Job> active;
  bool changed = false;
  for (const JobView &view : jobs) {
    const double rate = view.progress->rate(cluster, 0, view.description->devices);
    changed |= !shares.count(view.job);
    if (rate <= 0)
      continue;
    const double remaining = view.progress->workLeft() / rate, alone = remaining + view.progress->workDone() / rate;
    active.push_back(
        {view.job, view.description->devices, remaining, std::max(alone, 1e-9), 1, view.description->arrival});
  }
  int64_t devices = 0; // of type 0
  if (!cluster.types.empty())
    devices = cluster.capacity()[0];
  if (changed || active.size() != shares.size() || left == 0)
    replan(now, active, devices);
  if (left > 0)
    --left;

  std::map<size_t, double> remaining;
  for (const Job &job : active)
    remaining[job.number] = job.remaining;
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto roundsOf = [&](size_t job) { return rounds.count(job) ? rounds.at(job) : 0u; };
  // What has to run in all rounds that are left, then the fewest rounds, then what has none.
  std::ranges::sort(order, {}, [&](size_t i) {
    const size_t job = jobs[i].job;
    const unsigned planned = roundsOf(job), rank = planned > left ? 0 : planned > 0 ? 1 : 2;
    return std::tuple(rank, rank == 1 ? planned : 0, -(remaining.count(job) ? remaining.at(job) : 0), i);
  });
  std::vector<int> types(jobs.size(), -1);
  for (size_t i : order)
    if (jobs[i].description->devices <= devices) {
      devices -= jobs[i].description->devices;
      types[i] = 0;
      if (const auto planned = rounds.find(jobs[i].job); planned != rounds.end() && planned->second > 0)
        --planned->second;
    }
  return placeGangs(cluster, jobs, types);
}

} // namespace accord::jobs
