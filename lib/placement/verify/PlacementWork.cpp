#include "lib/placement/verify/PlacementWork.h"
#include "lib/placement/verify/PlacementStages.h"
#include <algorithm>
#include <cmath>

namespace accord {

double leastByWork(const PlacementProblem &p, const Configuration &c, bool chain) {
  using Id = PlacementProblem::Id;
  double pass = 0, joules = 0, paid = 0, m = static_cast<double>(c.microbatches);
  for (Id l = 0; l < p.layers.size(); ++l) {
    double least = INFINITY, leastJoules = INFINITY, leastPaid = INFINITY;
    for (Id f : c.forms) {
      const auto &cost = p.cost(l, f);
      if (!cost || !mayBeOn(p, l, p.forms[f].kind))
        continue;
      int64_t again = INT64_MAX;
      for (const auto &keep : cost->keeps)
        again = std::min(again, keep.again);
      double takes = static_cast<double>(cost->forward + cost->backward + cost->weight + again);
      least = std::min(least, takes);
      leastJoules =
          std::min(leastJoules, cost->joules + cost->joulesAgain * static_cast<double>(again));
      leastPaid = std::min(leastPaid, takes * ratePerSecond(p, f));
    }
    pass += least, joules += leastJoules, paid += leastPaid;
  }
  if (std::isinf(pass) || (p.limits.joules > 0 && joules > p.limits.joules * (1 + 1e-9)))
    return INFINITY;
  double step = INFINITY;
  for (int64_t groups = mostGroups(p, c); groups > 0; --groups) {
    if (!mayHave(p, c, groups))
      continue;
    double n = static_cast<double>(groups);
    double all = pass + n * static_cast<double>(c.chunks) * static_cast<double>(p.perMicrobatch);
    bool fills = chain && c.chunks == 1 && c.schedule != PipelineSchedule::ZeroBubble;
    bool closes = fills && (c.schedule == PipelineSchedule::GPipe || c.microbatches > groups);
    step = std::min(step, closes  ? (m + n - 1) / n * all
                          : fills ? all / -std::expm1(n * std::log1p(-1 / m))
                                  : m * all / n);
  }
  step = std::max(step + static_cast<double>(p.perStep), static_cast<double>(p.leastStep));
  if (std::isinf(step) ||
      (p.limits.step > 0 && step > static_cast<double>(p.limits.step) * (1 + 1e-9)))
    return INFINITY;
  if (p.objective == PlacementObjective::StepTime)
    return step;
  return m * paid * 1e-12 + (p.objective == PlacementObjective::Energy ? joules : 0);
}

double leastOfPlacements(const PlacementProblem &problem) {
  std::vector<Configuration> list;
  if (!configurations(problem, list))
    return 0;
  bool chain = PlacementCuts(problem).chain();
  double least = INFINITY;
  for (const Configuration &one : list)
    least = std::min(least, leastByWork(problem, one, chain));
  return least;
}

} // namespace accord
