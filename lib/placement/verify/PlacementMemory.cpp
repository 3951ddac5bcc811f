// Bounds of the least memory: what does not fit into less.
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include <cmath>

namespace accord {

BoundProof proveBound(const PlacementProblem &problem, double bound, uint64_t effort, double passes,
                      const std::vector<PathBound> &paths) {
  if (!ruleOf(problem.objective).isMemory)
    return proveTimedBound(problem, bound, effort, passes, paths);
  if (bound <= 0)
    return {};
  PlacementProblem less = problem;
  less.objective = PlacementObjective::StepTime;
  for (auto &deviceType : less.deviceTypes)
    if (deviceType.memory >= bound)
      deviceType.memory = static_cast<int64_t>(std::ceil(bound)) - 1;
  BoundProof proof = proveTimedBound(less, INFINITY, effort, passes);
  if (proof.better)
    if (auto metrics = reevaluate(problem, *proof.better, passes))
      proof.value = metrics->value;
  return proof;
}

} // namespace accord
