// Which search finds the least of an objective, and which of equal plans is the answer.
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/Configurations.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <algorithm>
#include <cfloat>
#include <fmt/format.h>

namespace accord {
using namespace placing;

namespace {

/// Plans whose objective differs by no more of it are equal.
constexpr double Equal = 1e-9;

PlacementProblem within(PlacementProblem problem, int64_t memory) {
  problem.objective = PlacementObjective::StepTime;
  for (PlacementProblem::DeviceType &deviceType : problem.deviceTypes)
    deviceType.memory = std::min(deviceType.memory, memory);
  return problem;
}

/// The least memory with which a plan fits, by bisection: there is one or there is none. A memory
/// of which neither is known within the search's work raises what is tried, but not the bound.
PlacementResult minMemory(const PlacementProblem &problem, const PlacementOptions &options) {
  PlacementOptions how = options; // the first plan will do
  how.gap = 1;
  how.progress = nullptr;
  how.below = std::numeric_limits<double>::infinity();
  PlacementResult best = solveByTimeBounds(within(problem, INT64_MAX), how);
  if (!best.plan) {
    best.bound = std::isinf(best.bound) ? best.bound : 0;
    return best;
  }
  how.effort -= std::min(how.effort, 2u); // of each trial, of which there are some dozens
  uint64_t examined = best.examined, pruned = best.pruned;
  int64_t none = -1, low = -1, high = maxDeviceMemory(best.metrics); // `none`: proved not to be enough
  size_t trials = 0;
  while (high - low > 1 && !options.stopped() && (high - 1 - low) > options.gap * high) {
    int64_t middle = low + (high - low) / 2;
    PlacementResult one = solveByTimeBounds(within(problem, middle), how);
    ++trials, examined += one.examined, pruned += one.pruned;
    if (one.plan) {
      high = std::min(middle, maxDeviceMemory(one.metrics));
      best = std::move(one);
    } else {
      low = middle;
      if (std::isinf(one.bound))
        none = middle;
    }
    if (options.progress)
      options.progress({"memory", static_cast<double>(high), static_cast<double>(none + 1)});
  }
  best.examined = examined, best.pruned = pruned;
  best.metrics = evaluate(problem, *best.plan);
  best.value = best.metrics.value;
  best.bound = std::min(static_cast<double>(none + 1), best.value);
  best.proof = fmt::format("{}by bisection of the memory in {} searches, in those below for any "
                           "plan that fits",
                           best.bound >= best.value ? "optimal: " : "", trials + 1);
  return best;
}

} // namespace

PlacementResult place(const PlacementProblem &problem, const PlacementOptions &options) {
  if (problem.objective == PlacementObjective::StepTime)
    return solveByTimeBounds(problem, options);
  PlacementResult result = problem.objective == PlacementObjective::Memory ? minMemory(problem, options)
                                                                           : solveByTimeBounds(problem, options);
  if (!result.plan || options.stopped())
    return result;
  // The shortest step of plans that are as good: the objective is a limit now.
  PlacementProblem tied = problem;
  tied.objective = PlacementObjective::StepTime;
  double max = std::max(result.value * (1 + Equal), DBL_MIN), maxTdpTime = 0;
  auto tighter = [&](double &limit, double each) {
    if (each > 0)
      limit = limit > 0 ? std::min(limit, max / each) : max / each;
  };
  if (problem.objective == PlacementObjective::Memory)
    tied = within(problem, maxDeviceMemory(result.metrics));
  else if (formulaOf(problem.objective).countsJoules)
    tighter(tied.limits.joules, problem.costPerJoule);
  else if (problem.objective == PlacementObjective::Price)
    tighter(tied.limits.price, 1);
  else
    tighter(maxTdpTime, 1);
  PlacementOptions how = options;
  how.progress = nullptr;
  how.below = std::numeric_limits<double>::infinity();
  how.known = &*result.plan;
  if (result.bound < result.value * (1 - Equal)) // a better answer would be worth more
    how.effort -= std::min(how.effort, 2u);
  PlacementResult shorter = solveByTimeBounds(tied, how, maxTdpTime);
  result.examined += shorter.examined, result.pruned += shorter.pruned;
  if (!shorter.plan || shorter.metrics.step >= result.metrics.step)
    return result;
  result.plan = std::move(shorter.plan);
  result.metrics = evaluate(problem, *result.plan);
  result.value = result.metrics.value;
  result.bound = std::min(result.bound, result.value);
  return result;
}

} // namespace accord
