#include "lib/exploration/solve/FollowUpSearch.h"
#include "lib/exploration/solve/MiningRun.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>

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

MiningResult tightenMining(MiningProblem &problem, MiningResult quick, const MiningOptions &options) {
  constexpr size_t kRound = 16;
  constexpr uint64_t kBoundsOfValue = 256; // take as long
  constexpr double kSmallGap = 1e-4;       // is left
  if (!problem.hasFinalBound() || !quick.best || quick.refused || options.stopped())
    return quick;
  double start = processorSeconds(), settled = INFINITY;
  uint64_t max = std::max(kMinTightened, quick.evaluations + quick.bounds / kBoundsOfValue);
  auto executor = makeThreadExecutor(options.threads, options.stop);
  const EvaluationTask task{EvaluationTask::Query::TightenBound, problem.numBoundLevels() + 1};
  std::vector<std::pair<double, Design>> &open = quick.unsettled;
  size_t next = 0;
  auto bound = [&] {
    double first = next < open.size() ? open[next].first : INFINITY;
    return std::min({first, settled, quick.unevaluatedBound, quick.value});
  };
  while (next < std::min(open.size(), max) && open[next].first <= bound() && !options.stopped() &&
         bound() < quick.value * (1 - std::max(options.gap, kSmallGap))) {
    double until = bound() + (quick.value - bound()) / 8;
    std::vector<DesignBox> round;
    for (size_t i = next; i < std::min({open.size(), max, next + kRound}) && open[i].first <= until; ++i)
      round.push_back({open[i].second, {}});
    for (const DesignEvaluation &found : executor->results(problem, task, round)) {
      double &known = open[next++].first;
      known = std::max(known, found.lowerBound);
      settled = std::min(settled, known);
    }
  }
  quick.bounds += next;
  quick.bound = std::max(quick.bound, bound());
  std::erase_if(open, [&](const auto &one) { return one.first >= quick.value; });
  llvm::sort(open);
  if (options.timed)
    quick.seconds += processorSeconds() - start;
  if (next > 0) {
    quick.convergence.push_back({quick.evaluations, quick.bounds, quick.value, quick.bound, quick.seconds});
    quick.proof += fmt::format("; {} designs bounded by what can run at once", next);
  }
  return quick;
}

MiningResult refineMining(MiningProblem &problem, const MiningResult &quick, const MiningOptions &options) {
  if (!quick.best || quick.refused || options.stopped() || quick.evaluations >= options.evaluations)
    return quick;
  MiningOptions search = options;
  search.known = {*quick.best};
  if (quick.isOptimal && quick.unevaluatedBound >= quick.value)
    search.after = &quick;
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
