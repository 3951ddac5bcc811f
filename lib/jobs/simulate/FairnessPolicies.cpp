#include "lib/jobs/simulate/FairnessPolicies.h"
#include "lib/jobs/solve/LevelShares.h"
#include "lib/support/StableSort.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace accord::jobs {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

RoundOptions shuffled(RoundOptions options, bool shuffle) {
  options.shuffleTypes = shuffle;
  return options;
}

/// The job that needs the speed needs[j] has the speed rates / needs.
TypeMatrix relativeSpeeds(const TypeMatrix &rates, const std::vector<double> &needs) {
  TypeMatrix speeds = rates;
  for (size_t j = 0; j < speeds.size(); ++j)
    for (double &speed : speeds[j])
      speed /= needs[j];
  return speeds;
}

} // namespace

MaxMinFairnessPolicy::MaxMinFairnessPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs, bool typeBlind,
                                           const RoundOptions &options)
    : FractionPolicy(cluster, jobs, shuffled(options, typeBlind)), typeBlind(typeBlind) {}

/// The devices that each job is entitled to, weight * level, and at most its gang: the level at which all are given.
TypeMatrix MaxMinFairnessPolicy::blindShares(const std::vector<ActiveJob> &active) const {
  double left = static_cast<double>(std::accumulate(capacity.begin(), capacity.end(), int64_t(0)));
  const double all = left;
  double weights = 0, level = 0;
  std::vector<const SteadyJob *> order;
  for (const ActiveJob &one : active) {
    order.push_back(&jobs[one.job]);
    weights += jobs[one.job].weight;
  }
  stableSort(order, [](const SteadyJob *a, const SteadyJob *b) { return a->gang / a->weight < b->gang / b->weight; });
  for (const SteadyJob *job : order) { // the first to have all of its gang are left out of the division
    level = left / weights;
    if (level * job->weight < job->gang)
      break;
    left -= job->gang;
    weights -= job->weight;
    level = kUnlimited;
  }
  TypeMatrix result;
  for (const ActiveJob &one : active) {
    const SteadyJob &job = jobs[one.job];
    const double time = std::min(1.0, level * job.weight / job.gang);
    std::vector<double> row;
    for (int64_t devices : capacity)
      row.push_back(time * static_cast<double>(devices) / all);
    result.push_back(std::move(row));
  }
  return result;
}

TypeMatrix MaxMinFairnessPolicy::shares(const std::vector<ActiveJob> &active) {
  if (typeBlind)
    return blindShares(active);
  const double all = static_cast<double>(std::accumulate(capacity.begin(), capacity.end(), int64_t(0)));
  std::vector<unsigned> gangs;
  TypeMatrix speeds;
  for (const ActiveJob &one : active) {
    const SteadyJob &job = jobs[one.job];
    std::vector<double> rates = job.rates;
    double equal = 0; // with an equal part of all devices
    for (size_t t = 0; t < rates.size(); ++t)
      equal += rates[t] * static_cast<double>(capacity[t]) / all;
    for (double &rate : rates)
      rate *= job.gang / (equal * job.weight);
    gangs.push_back(job.gang);
    speeds.push_back(std::move(rates));
  }
  return maximizeLevel(capacity, gangs, speeds).shares;
}

FinishTimeFairnessPolicy::FinishTimeFairnessPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs,
                                                   const RoundOptions &options)
    : FractionPolicy(cluster, jobs, options) {}

TypeMatrix FinishTimeFairnessPolicy::shares(const std::vector<ActiveJob> &active) {
  const double count = static_cast<double>(active.size());
  std::vector<unsigned> gangs;
  std::vector<double> expected; // seconds from arrival to completion with the equal part
  TypeMatrix rates;
  std::map<size_t, Alone> next;
  for (const ActiveJob &one : active) {
    const SteadyJob &job = jobs[one.job];
    Alone state;
    if (const auto found = alone.find(one.job); found != alone.end()) {
      state = found->second;
      state.seconds += (state.remaining - one.remaining) / state.speed;
    }
    double parts = 0;
    state.speed = 0;
    for (size_t t = 0; t < capacity.size(); ++t) {
      const double part = static_cast<double>(capacity[t]) / (count * job.gang);
      parts += part;
      state.speed += job.rates[t] * part;
    }
    state.speed /= std::max(1.0, parts);
    state.remaining = one.remaining;
    next[one.job] = state;
    expected.push_back(state.seconds + one.remaining / state.speed);
    gangs.push_back(job.gang);
    rates.push_back(job.rates);
    for (size_t t = 0; t < capacity.size(); ++t)
      if (job.gang > capacity[t])
        rates.back()[t] = 0;
  }
  alone = std::move(next);

  // The ratio grows from what is needed even with all devices until the program says that it is enough.
  double ratio = 0;
  for (size_t i = 0; i < active.size(); ++i) {
    const double fastest = *std::max_element(rates[i].begin(), rates[i].end());
    ratio = std::max(ratio, (active[i].age + active[i].remaining / fastest) / expected[i]);
  }
  LevelShares level;
  for (int step = 0; step < 30; ++step) {
    auto needs = [&](double rho) {
      std::vector<double> result;
      for (size_t i = 0; i < active.size(); ++i)
        result.push_back(active[i].remaining / (rho * expected[i] - active[i].age));
      return result;
    };
    const std::vector<double> now = needs(ratio);
    level = maximizeLevel(capacity, gangs, relativeSpeeds(rates, now));
    if (level.level >= 1 - 1e-6)
      break;
    // The weighted sum of speeds over needs is at most `bound` for all shares; at a larger ratio the needs shrink.
    auto enough = [&](double rho) {
      const std::vector<double> then = needs(rho);
      double sum = 0;
      for (size_t i = 0; i < then.size(); ++i)
        sum += level.weights[i] * then[i] / now[i];
      return sum <= level.bound;
    };
    double low = ratio, high = 2 * ratio;
    while (!enough(high) && high < kUnlimited)
      high *= 2;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (enough(middle) ? high : low) = middle;
    }
    ratio = high;
  }
  return level.shares;
}

TypeMatrix MinTotalDurationPolicy::shares(const std::vector<ActiveJob> &active) {
  std::vector<unsigned> gangs;
  std::vector<double> needs;
  TypeMatrix rates;
  double longest = 0;
  for (const ActiveJob &one : active) {
    gangs.push_back(jobs[one.job].gang);
    rates.push_back(jobs[one.job].rates);
    needs.push_back(one.remaining);
    longest = std::max(longest, one.remaining / *std::max_element(rates.back().begin(), rates.back().end()));
  }
  for (double &need : needs)
    need /= longest; // the level is then of the size of 1
  return maximizeLevel(capacity, gangs, relativeSpeeds(rates, needs)).shares;
}

} // namespace accord::jobs
