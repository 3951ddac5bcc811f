#include "lib/exploration/strategies/Refinement.h"
#include <algorithm>

namespace accord {

MiningResult refineMining(MiningProblem &problem, const MiningResult &quick, const MiningOptions &options) {
  if (!quick.best || quick.refused || options.stopped() || quick.evaluations >= options.evaluations)
    return quick;
  MiningOptions search = options;
  search.known = {*quick.best};
  search.evaluations = options.evaluations - quick.evaluations;
  MiningResult refined = miningStrategy("exact")(problem, search);
  refined.evaluations += quick.evaluations, refined.bounds += quick.bounds;
  refined.seconds += quick.seconds;
  // What no schedule is below with repeats that overlap is no less a bound.
  refined.bound = std::max(refined.bound, std::min(quick.bound, refined.value));
  std::vector<ConvergencePoint> convergence = quick.convergence;
  for (ConvergencePoint moment : refined.convergence) {
    moment.evaluations += quick.evaluations, moment.bounds += quick.bounds;
    moment.seconds += quick.seconds;
    moment.incumbent = std::min(moment.incumbent, quick.value);
    moment.bound = std::max(moment.bound, std::min(quick.bound, moment.incumbent));
    convergence.push_back(moment);
  }
  refined.convergence = std::move(convergence);
  return refined;
}

} // namespace accord
