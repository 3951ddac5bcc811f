#include "lib/placement/verify/PlacementConfigurations.h"
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/ScheduleRules.h"
#include "lib/placement/verify/StageMinCosts.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {

namespace {

using Id = PlacementProblem::Id;
constexpr size_t kMax = 1'000'000;

class ConfigurationEnumerator {
public:
  ConfigurationEnumerator(const PlacementProblem &problem, std::vector<Configuration> &list) : p(problem), list(list) {}

  bool run() {
    std::map<int64_t, std::vector<std::vector<Id>>> bySamples; // by device type
    for (Id f = 0; f < p.parallelConfigs.size(); ++f) {
      const auto &parallelConfig = p.parallelConfigs[f];
      int64_t samples = parallelConfig.data / parallelConfig.context * parallelConfig.microbatch;
      auto &deviceTypes = bySamples[samples];
      deviceTypes.resize(p.deviceTypes.size());
      if (p.batch % samples == 0 && parallelConfig.devices() <= p.deviceTypes[parallelConfig.deviceType].devices &&
          (p.limits.devices == 0 || parallelConfig.devices() <= p.limits.devices))
        deviceTypes[parallelConfig.deviceType].push_back(f);
    }
    for (const auto &[samples, deviceTypes] : bySamples) {
      std::vector<Id> chosen;
      if (!p.uniformConfigPerDeviceType) {
        for (const auto &parallelConfigs : deviceTypes)
          for (Id parallelConfig : parallelConfigs)
            if (byReplica(parallelConfig))
              add(samples, {parallelConfig});
            else
              chosen.push_back(parallelConfig);
        add(samples, chosen);
      } else if (!combine(samples, deviceTypes, 0, chosen)) {
        return false;
      }
    }
    return list.size() < kMax;
  }

private:
  bool combine(int64_t samples, const std::vector<std::vector<Id>> &deviceTypes, size_t at, std::vector<Id> &chosen) {
    if (at == deviceTypes.size())
      return add(samples, chosen);
    if (!combine(samples, deviceTypes, at + 1, chosen))
      return false;
    for (Id parallelConfig : deviceTypes[at]) {
      if (!chosen.empty() && (byReplica(parallelConfig) || byReplica(chosen[0])))
        continue; // the form of all stages, or of none
      chosen.push_back(parallelConfig);
      bool room = combine(samples, deviceTypes, at + 1, chosen);
      chosen.pop_back();
      if (!room)
        return false;
    }
    return true;
  }
  bool byReplica(Id parallelConfig) const {
    return p.parallelConfigs[parallelConfig].order == RankOrder::TensorPipelineData ||
           p.parallelConfigs[parallelConfig].oneGroup;
  }
  bool add(int64_t samples, const std::vector<Id> &parallelConfigs) {
    if (parallelConfigs.empty())
      return true;
    std::vector<PipelineSchedule> seen;
    for (PipelineSchedule schedule : p.schedules) {
      if (std::find(seen.begin(), seen.end(), schedule) != seen.end())
        continue;
      seen.push_back(schedule);
      for (int64_t v : stagesOfGroups(p, schedule))
        list.push_back({p.batch / samples, v, schedule, parallelConfigs});
    }
    return list.size() < kMax;
  }

  const PlacementProblem &p;
  std::vector<Configuration> &list;
};

/// Of groups in several parallel configurations, one of each at least, in any order: the work that they do, in shares
/// of all layers, per time of a step. `next` takes what the groups so far have summed up to, their number, and the rate
/// of the group that comes then; it never makes less of more. Numbers of groups of each kind are digits of a state, so
/// that a state comes after all that lead to it.
template <typename Next>
double maxOfOrders(const std::vector<std::pair<int64_t, double>> &kinds, int64_t groups, Next next) {
  std::vector<size_t> place{1}; // of a kind's digit; behind the last one the number of states
  for (const auto &[number, rate] : kinds)
    place.push_back(place.back() * (std::min(number, groups) + 1));
  std::vector<double> sums(place.back(), 0.0);
  double max = 0;
  for (size_t state = 0; state < sums.size(); ++state) {
    int64_t at = 0;
    bool each = true;
    for (size_t k = 0; k < kinds.size(); ++k) {
      auto used = static_cast<int64_t>(state % place[k + 1] / place[k]);
      at += used, each = each && used > 0;
    }
    if (at == groups && each)
      max = std::max(max, sums[state]);
    if (at >= groups)
      continue;
    for (size_t k = 0; k < kinds.size(); ++k)
      if (state % place[k + 1] / place[k] + 1 < place[k + 1] / place[k]) {
        double &with = sums[state + place[k]];
        with = std::max(with, next(sums[state], at, kinds[k].second));
      }
  }
  return max;
}

constexpr double kMaxMixedStates = 4'000;

/// A lower bound of the step by the order of its groups, whose layers take `times`: each group's row of `proveBound`
/// (PlacementBoundProof.h), weighed so that no time of any group counts less than its work. 0: nothing is known.
class MixedGroups {
public:
  MixedGroups(const PlacementProblem &p, const Configuration &c, bool chain) : c(c) {
    if (!chain || c.virtualStages > 1 || c.parallelConfigs.size() < 2 || !p.uniformConfigPerDeviceType ||
        ruleOf(c.schedule).splitsWeights)
      return;
    std::vector<double> min(p.classes.size(), INFINITY);
    for (Id f : c.parallelConfigs) {
      double all = 0;
      std::vector<double> takes(p.classes.size(), INFINITY);
      for (const auto &layer : p.layers)
        if (const auto &cost = p.classes[layer.of].costs[f]) {
          takes[layer.of] =
              cost->forward + cost->backward + cost->weight + cost->minOf(&RecomputeChoice::recomputeTime);
          all += takes[layer.of];
        }
      if (!(all > 0))
        return;
      for (size_t of = 0; of < takes.size(); ++of)
        min[of] = std::min(min[of], takes[of] / all);
      kinds.emplace_back(p.deviceTypeOf(f).devices / p.parallelConfigs[f].devices(), 1 / all);
    }
    for (const auto &layer : p.layers)
      work += min[layer.of];
  }

  /// At most 0 in `until`: the order matters no more. Else no more is computed than whether the bound is so much.
  /// `looked` gets a 64th of the states that are looked at.
  double step(int64_t groups, double until, uint64_t &looked) const {
    double states = 1;
    int64_t all = 0;
    for (const auto &[number, rate] : kinds)
      states *= 1.0 + std::min(number, groups), all += number;
    if (std::isinf(work) || !(work > 0) || kinds.empty() || states > kMaxMixedStates)
      return 0;
    if (groups > all || groups < static_cast<int64_t>(kinds.size()))
      return INFINITY;
    if (until <= 0)
      return 0;
    const uint64_t each = static_cast<uint64_t>(states) / 64 + 1;
    looked += each;
    double m = c.microbatches, done = maxOfOrders(kinds, groups, [&](double behind, int64_t, double rate) {
                                 return rate > behind ? behind + (rate - behind) / m : behind;
                               });
    bool turns = ruleOf(c.schedule).turnsAtEnd;
    if ((turns && m > 1) || (!turns && c.microbatches > groups)) {
      auto sumOf = [&](double whole) {
        looked += each;
        return maxOfOrders(kinds, groups, [&](double before, int64_t at, double rate) {
          double needs = turns ? rate - whole : rate - whole - before, has = turns ? m - 1 : m - groups + at;
          return needs > 0 ? before + needs / has : before;
        });
      };
      double low = 0, high = done; // a whole that is no less than its parts may be counted on
      double goal = std::isinf(until) ? evenly(groups) * (1 + 1e-9) : work / until * (1 - 1e-9);
      for (int i = 0; i < (std::isinf(until) ? 14 : 1) && high > 0; ++i) {
        double whole = i == 0 ? goal : low + (high - low) / 2;
        if (whole >= high)
          continue;
        (sumOf(whole) <= whole ? high : low) = whole;
        if (i == 0 && high == whole)
          break;
      }
      done = high;
    }
    return done > 0 ? work / done * (1 - 1e-9) : 0;
  }

private:
  /// What groups that are all busy equally long do.
  double evenly(int64_t groups) const {
    auto rates = kinds;
    std::sort(rates.begin(), rates.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
    double sum = 0;
    int64_t left = groups;
    for (const auto &[number, rate] : rates)
      sum += rate, --left;
    for (const auto &[number, rate] : rates) {
      int64_t more = std::min(left, number - 1);
      sum += static_cast<double>(more) * rate, left -= more;
    }
    return sum / static_cast<double>(c.microbatches + groups - 1);
  }

  const Configuration &c;
  std::vector<std::pair<int64_t, double>> kinds;
  double work = 0;
};

} // namespace

bool configurations(const PlacementProblem &problem, std::vector<Configuration> &list) {
  return ConfigurationEnumerator(problem, list).run();
}

int64_t maxGroups(const PlacementProblem &p, const Configuration &c) {
  int64_t groups = 0, minDevices = INT64_MAX;
  std::vector<int64_t> min(p.deviceTypes.size(), INT64_MAX);
  for (Id f : c.parallelConfigs) {
    int64_t devices = p.parallelConfigs[f].devices();
    min[p.parallelConfigs[f].deviceType] = std::min(min[p.parallelConfigs[f].deviceType], devices);
    minDevices = std::min(minDevices, devices);
  }
  for (size_t k = 0; k < min.size(); ++k)
    groups += p.deviceTypes[k].devices / min[k];
  if (p.limits.devices > 0)
    groups = std::min(groups, p.limits.devices / minDevices);
  for (Id f : c.parallelConfigs)
    if (p.parallelConfigs[f].oneGroup)
      groups = std::min<int64_t>(groups, 1);
  if (!p.groups.empty())
    groups = std::min(groups, p.groups.back().max);
  return std::min<int64_t>(groups, p.layers.size() / c.virtualStages);
}

bool mayHave(const PlacementProblem &p, const Configuration &c, int64_t groups) {
  return p.mayHaveGroups(groups) && runsOn(c.schedule, groups, c.microbatches);
}

std::string describe(const Configuration &c) {
  return fmt::format("{}{} of {} micro-batches, stages in parallel configuration {}{}", ruleOf(c.schedule).label,
                     c.virtualStages > 1 ? fmt::format(" with {} virtual stages", c.virtualStages) : "", c.microbatches,
                     c.parallelConfigs[0], c.parallelConfigs.size() > 1 ? " or others" : "");
}

double lowerBoundByWork(const PlacementProblem &p, const Configuration &c, bool chain, double until, uint64_t *work) {
  double pass = 0, joules = 0, paid = 0, m = c.microbatches;
  for (Id l = 0; l < p.layers.size(); ++l) {
    double min = INFINITY, minJoules = INFINITY, minPaid = INFINITY;
    for (Id f : c.parallelConfigs) {
      const auto &cost = p.cost(l, f);
      if (!cost || !mayBeOn(p, l, p.parallelConfigs[f].deviceType))
        continue;
      int64_t recomputeTime = cost->minOf(&RecomputeChoice::recomputeTime);
      double takes = cost->forward + cost->backward + cost->weight + recomputeTime;
      min = std::min(min, takes);
      minJoules = std::min(minJoules, cost->joules + cost->recomputeJoules * recomputeTime);
      minPaid = std::min(minPaid, takes * ratePerSecond(p, f));
    }
    pass += min, joules += minJoules, paid += minPaid;
  }
  if (std::isinf(pass) || (p.limits.joules > 0 && joules > p.limits.joules * (1 + 1e-9)))
    return INFINITY;
  double step = INFINITY, idle = INFINITY; // watts of a group
  for (Id f : c.parallelConfigs)
    idle = std::min(idle, p.deviceTypeOf(f).restWatts() * p.parallelConfigs[f].devices());
  MixedGroups mixed(p, c, chain);
  uint64_t looked = 0;
  for (int64_t groups = maxGroups(p, c); groups > 0; --groups) {
    if (!mayHave(p, c, groups))
      continue;
    double n = groups;
    double all = pass + n * c.virtualStages * p.hostOverheadPerMicrobatch;
    bool fills = chain && c.virtualStages == 1 && !ruleOf(c.schedule).splitsWeights;
    bool closes = fills && (ruleOf(c.schedule).turnsAtEnd || c.microbatches > groups);
    double takes = p.hostOverheadPerStep + (closes  ? (m + n - 1) / n * all
                                            : fills ? all / -std::expm1(n * std::log1p(-1 / m))
                                                    : m * all / n);
    if (takes < step)
      takes = std::max(takes, p.hostOverheadPerStep +
                                  mixed.step(groups, takes >= until ? 0 : until - p.hostOverheadPerStep, looked));
    if (double room = p.limits.watts * (1 + 1e-9) - n * idle; p.limits.watts > 0)
      takes = room > 0 ? std::max(takes, joules / room * 1e12) : INFINITY;
    step = std::min(step, takes);
    if (std::isfinite(until) && step < until * (1 - 1e-6))
      break; // as much as it may be is not reached
  }
  if (work)
    *work += looked;
  step = std::max<double>(step, p.minStep);
  if (std::isinf(step) || (p.limits.step > 0 && step > p.limits.step * (1 + 1e-9)))
    return INFINITY;
  if (p.objective == PlacementObjective::StepTime)
    return step;
  return m * paid * 1e-12 + (ruleOf(p.objective).countsJoules ? joules * p.costPerJoule : 0);
}

double reprovedLowerBound(const PlacementProblem &problem) {
  std::vector<Configuration> list;
  if (!configurations(problem, list))
    return 0;
  bool chain = PlacementCuts(problem).chain();
  double min = INFINITY;
  for (const Configuration &one : list)
    min = std::min(min, lowerBoundByWork(problem, one, chain));
  return min;
}

} // namespace accord
