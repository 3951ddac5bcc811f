// Which search finds the least of an objective, and which of equal plans is the answer.
#include "lib/placement/evaluate/Judge.h"
#include "lib/placement/solve/Place.h"
#include "lib/placement/solve/PlaceConfigurations.h"
#include <algorithm>
#include <cfloat>
#include <fmt/format.h>

namespace accord {
using namespace placing;

namespace {

/// Plans whose objective differs by no more of it are equal.
constexpr double Equal = 1e-9;

bool stopped(const PlaceOptions &options) { return options.stop && options.stop->load(); }

PlacementProblem within(PlacementProblem problem, int64_t memory) {
  problem.objective = PlacementObjective::StepTime;
  for (PlacementProblem::Kind &kind : problem.kinds)
    kind.memory = std::min(kind.memory, memory);
  return problem;
}

/// The least memory with which a plan fits, by bisection: there is one or there is none. A memory
/// of which neither is known within the search's work raises what is tried, but not the bound.
PlacementResult leastMemory(const PlacementProblem &problem, const PlaceOptions &options) {
  PlaceOptions how = options; // the first plan will do
  how.gap = 1;
  how.progress = nullptr;
  how.below = std::numeric_limits<double>::infinity();
  PlacementResult best = least(within(problem, INT64_MAX), how);
  if (!best.plan) {
    best.bound = std::isinf(best.bound) ? best.bound : 0;
    return best;
  }
  how.effort -= std::min(how.effort, 2u); // of each trial, of which there are some dozens
  uint64_t examined = best.examined, pruned = best.pruned;
  int64_t none = -1, low = -1, high = fullestOf(best.worth); // `none`: proved not to be enough
  size_t trials = 0;
  while (high - low > 1 && !stopped(options) &&
         static_cast<double>(high - 1 - low) > options.gap * static_cast<double>(high)) {
    int64_t middle = low + (high - low) / 2;
    PlacementResult one = least(within(problem, middle), how);
    ++trials, examined += one.examined, pruned += one.pruned;
    if (one.plan) {
      high = std::min(middle, fullestOf(one.worth));
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
  best.worth = judge(problem, *best.plan);
  best.value = best.worth.value;
  best.bound = std::min(static_cast<double>(none + 1), best.value);
  best.proof = fmt::format("{}by bisection of the memory in {} searches, in those below for any "
                           "plan that fits",
                           best.bound >= best.value ? "optimal: " : "", trials + 1);
  return best;
}

} // namespace

PlacementResult place(const PlacementProblem &problem, const PlaceOptions &options) {
  if (problem.objective == PlacementObjective::StepTime)
    return least(problem, options);
  PlacementResult result = problem.objective == PlacementObjective::Memory
                               ? leastMemory(problem, options)
                               : least(problem, options);
  if (!result.plan || stopped(options))
    return result;
  // The shortest step of plans that are as good: the objective is a limit now.
  PlacementProblem tied = problem;
  tied.objective = PlacementObjective::StepTime;
  double most = std::max(result.value * (1 + Equal), DBL_MIN), mostTdpTime = 0;
  auto tighter = [&](double &limit) { limit = limit > 0 ? std::min(limit, most) : most; };
  switch (problem.objective) {
  case PlacementObjective::StepTime:
    break;
  case PlacementObjective::Energy:
    tighter(tied.limits.joules);
    break;
  case PlacementObjective::Price:
    tighter(tied.limits.price);
    break;
  case PlacementObjective::TdpTime:
    tighter(mostTdpTime);
    break;
  case PlacementObjective::Memory:
    tied = within(problem, fullestOf(result.worth));
    break;
  }
  PlaceOptions how = options;
  how.progress = nullptr;
  how.below = std::numeric_limits<double>::infinity();
  how.known = &*result.plan;
  if (result.bound < result.value * (1 - Equal)) // a better answer would be worth more
    how.effort -= std::min(how.effort, 2u);
  PlacementResult shorter = least(tied, how, mostTdpTime);
  result.examined += shorter.examined, result.pruned += shorter.pruned;
  if (!shorter.plan || shorter.worth.step >= result.worth.step)
    return result;
  result.plan = std::move(shorter.plan);
  result.worth = judge(problem, *result.plan);
  result.value = result.worth.value;
  result.bound = std::min(result.bound, result.value);
  return result;
}

} // namespace accord
