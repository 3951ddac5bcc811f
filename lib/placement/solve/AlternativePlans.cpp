// Good plans of other degrees than the answer's.
#include "lib/placement/solve/Configurations.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/search/BestFirstQueue.h"
#include <algorithm>
#include <set>
#include <tuple>

namespace accord {
using namespace placing;

namespace {

using Degrees = std::pair<size_t, std::set<std::pair<int64_t, int64_t>>>;

Degrees degreesOf(const PlacementProblem &problem, const Placement &plan) {
  Degrees degrees{plan.stages.size() / static_cast<size_t>(plan.virtualStages), {}};
  for (const PlacedStage &stage : plan.stages)
    degrees.second.insert(
        {problem.parallelConfigs[stage.parallelConfig].tensor, problem.parallelConfigs[stage.parallelConfig].data});
  return degrees;
}

/// Values that differ by no more of them are equal; then the shorter step is better.
constexpr double Equal = 1e-9;
bool better(const PlanMetrics &a, const PlanMetrics &b) {
  return a.value < b.value * (1 - Equal) || (a.value <= b.value * (1 + Equal) && a.step < b.step);
}

/// The best of each degrees, best first.
std::vector<RunnerUp> sorted(std::map<Degrees, RunnerUp> &best, size_t max) {
  std::vector<RunnerUp> left, list;
  for (auto &[degrees, one] : best)
    left.push_back(std::move(one));
  while (!left.empty() && list.size() < max) {
    auto min = left.begin(); // of the least value, and of those as good the shortest step
    for (auto one = left.begin(); one != left.end(); ++one)
      if (one->metrics.value < min->metrics.value)
        min = one;
    double value = min->metrics.value * (1 + Equal);
    for (auto one = left.begin(); one != left.end(); ++one)
      if (one->metrics.value <= value && one->metrics.step < min->metrics.step)
        min = one;
    list.push_back(std::move(*min));
    left.erase(min);
  }
  return list;
}

/// Plans of other degrees that take little memory: short steps with room for a little more than the
/// answer takes, then more.
std::vector<RunnerUp> ofLittleMemory(const PlacementProblem &problem, const PlacementResult &result, size_t max,
                                     const PlacementOptions &options) {
  std::map<Degrees, RunnerUp> best;
  PlacementProblem room = problem;
  room.objective = PlacementObjective::StepTime;
  for (double share : {1.0, 1.1, 1.3, 1.7, 2.5, 5.0}) {
    auto bytes = static_cast<int64_t>(std::min(result.value * share, 0x1p61));
    for (size_t k = 0; k < room.deviceTypes.size(); ++k)
      room.deviceTypes[k].memory = std::min(problem.deviceTypes[k].memory, bytes);
    for (RunnerUp &one : runnersUp(room, result, max, options)) {
      one.metrics = evaluate(problem, one.plan);
      auto [found, added] = best.try_emplace(degreesOf(problem, one.plan), one);
      if (!added && better(one.metrics, found->second.metrics))
        found->second = std::move(one);
    }
    if (best.size() >= max)
      break;
  }
  return sorted(best, max);
}

} // namespace

std::vector<RunnerUp> runnersUp(const PlacementProblem &problem, const PlacementResult &result, size_t max,
                                const PlacementOptions &options) {
  std::map<Degrees, RunnerUp> best;
  if (!result.plan || max == 0)
    return {};
  if (problem.objective == PlacementObjective::Memory)
    return ofLittleMemory(problem, result, max, options);
  // Equal values do not matter where they are the step's time.
  double slack = problem.objective == PlacementObjective::StepTime ? 0 : 2 * Equal;
  DownSetLattice lattice(problem, 40'000);
  RecomputeSolver recomputeChoices(lattice);
  Configurations all(lattice);
  Degrees mine = degreesOf(problem, *result.plan);
  BestFirstQueue open(later, std::move(all.list));
  // By increasing bound; a good many more than asked for, as bounds do not tell all.
  for (size_t tried = 0, steps = 0; !open.empty() && tried < 16 * max && steps < 100'000; ++steps) {
    if (options.stopped())
      break;
    Configuration one = open.pop();
    if (one.min < one.max) {
      for (Configuration &half : all.halvesOf(one))
        if (!std::isinf(half.bound))
          open.push(std::move(half));
      continue;
    }
    if (best.size() >= max) { // worse than all of them
      double worst = 0;
      for (const auto &[degrees, other] : best)
        worst = std::max(worst, other.metrics.value);
      if (one.bound >= worst)
        break;
    }
    SearchState searchState;
    searchState.budget = 2'000'000;
    searchState.stop = options.stop;
    if (one.parallelConfigs.size() == 1) { // degrees are known: only what beats their best
      const PlacementProblem::ParallelConfig &parallelConfig = problem.parallelConfigs[one.parallelConfigs[0]];
      Degrees degrees{static_cast<size_t>(one.min), {{parallelConfig.tensor, parallelConfig.data}}};
      if (degrees == mine)
        continue;
      if (auto found = best.find(degrees); found != best.end()) {
        searchState.value = found->second.metrics.value * (1 + slack);
        if (one.bound >= searchState.value)
          continue;
      }
    }
    ++tried;
    ConfigurationSearch(lattice, recomputeChoices, one, searchState).seed(false);
    if (!searchState.plan)
      continue;
    Degrees degrees = degreesOf(problem, *searchState.plan);
    if (degrees == mine)
      continue;
    auto [found, added] = best.try_emplace(degrees, RunnerUp{*searchState.plan, searchState.metrics});
    if (!added && better(searchState.metrics, found->second.metrics))
      found->second = {*searchState.plan, searchState.metrics};
  }
  return sorted(best, max);
}

} // namespace accord
