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

double lowerBoundByWork(const PlacementProblem &p, const Configuration &c, bool chain) {
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
    if (double room = p.limits.watts * (1 + 1e-9) - n * idle; p.limits.watts > 0)
      takes = room > 0 ? std::max(takes, joules / room * 1e12) : INFINITY;
    step = std::min(step, takes);
  }
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
