#include "lib/placement/verify/PlacementWorkBound.h"
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/ScheduleRules.h"
#include "lib/placement/verify/StageMinCosts.h"
#include <algorithm>
#include <cmath>

namespace accord {

double lowerBoundByWork(const PlacementProblem &p, const Configuration &c, bool chain) {
  using Id = PlacementProblem::Id;
  double pass = 0, joules = 0, paid = 0, m = c.microbatches;
  for (Id l = 0; l < p.layers.size(); ++l) {
    double min = INFINITY, minJoules = INFINITY, minPaid = INFINITY;
    for (Id f : c.parallelConfigs) {
      const auto &cost = p.cost(l, f);
      if (!cost || !mayBeOn(p, l, p.parallelConfigs[f].deviceType))
        continue;
      int64_t recomputeTime = INT64_MAX;
      for (const auto &recomputeChoice : cost->recomputeChoices)
        recomputeTime = std::min(recomputeTime, recomputeChoice.recomputeTime);
      double takes = cost->forward + cost->backward + cost->weight + recomputeTime;
      min = std::min(min, takes);
      minJoules = std::min(minJoules, cost->joules + cost->recomputeJoules * recomputeTime);
      minPaid = std::min(minPaid, takes * ratePerSecond(p, f));
    }
    pass += min, joules += minJoules, paid += minPaid;
  }
  if (std::isinf(pass) || (p.limits.joules > 0 && joules > p.limits.joules * (1 + 1e-9)))
    return INFINITY;
  double step = INFINITY;
  for (int64_t groups = maxGroups(p, c); groups > 0; --groups) {
    if (!mayHave(p, c, groups))
      continue;
    double n = static_cast<double>(groups);
    double all = pass + n * static_cast<double>(c.virtualStages) * static_cast<double>(p.hostOverheadPerMicrobatch);
    bool fills = chain && c.virtualStages == 1 && !ruleOf(c.schedule).splitsWeights;
    bool closes = fills && (ruleOf(c.schedule).turnsAtEnd || c.microbatches > groups);
    step = std::min(step, closes  ? (m + n - 1) / n * all
                          : fills ? all / -std::expm1(n * std::log1p(-1 / m))
                                  : m * all / n);
  }
  step = std::max(step + p.hostOverheadPerStep, static_cast<double>(p.minStep));
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
