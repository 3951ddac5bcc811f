#include "lib/exploration/solve/FollowUpSearch.h"
#include <algorithm>

namespace accord {
namespace {

/// `next` began when `all` had ended.
void append(MiningResult &all, MiningResult next) {
  for (ConvergencePoint &moment : next.convergence) {
    moment.evaluations += all.evaluations, moment.bounds += all.bounds;
    moment.seconds += all.seconds;
    moment.bound = std::max(moment.bound, all.bound);
    if (moment.incumbent < all.value)
      all.convergence.push_back(moment);
  }
  if (next.value < all.value)
    all.value = next.value, all.best = next.best;
  all.bound = std::min(std::max(all.bound, next.bound), all.value);
  all.evaluations += next.evaluations, all.bounds += next.bounds;
  all.seconds += next.seconds;
  all.convergence.push_back({all.evaluations, all.bounds, all.value, all.bound, all.seconds});
}

} // namespace

MiningResult mineWithEqualEffort(const std::string &strategy, MiningProblem &problem, const MiningResult &with,
                                 bool time, const MiningOptions &options) {
  MiningStrategy search = miningStrategy(strategy);
  MiningOptions equal = options;
  equal.checkpoint.clear(), equal.resume.clear();
  if (!time) {
    equal.evaluations = std::max<uint64_t>(1, with.evaluations);
    return search(problem, equal);
  }
  double left = std::max(with.seconds, 1e-3);
  bool again = strategy == "annealing";
  equal.timed = true, equal.seconds = left;
  equal.evaluations = again ? UINT64_MAX : uint64_t(1) << 40;
  MiningResult all = search(problem, equal);
  while (again && all.best && all.bound < all.value && all.seconds < left && !equal.stopped()) {
    ++equal.seed;
    equal.seconds = left - all.seconds;
    append(all, search(problem, equal));
  }
  return all;
}

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
