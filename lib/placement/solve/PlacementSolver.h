// The optimizer of placements: which cut of the layers into stages, which parallel configuration, schedule and
// recomputation give a step of the least value, with a bound that no plan passes.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/search/SearchLimits.h"
#include <limits>

namespace accord {

/// Effort beyond that of `SearchLimits` by which one search looks at as much as others do in the same time: a caller
/// adds it to what a user asked for.
constexpr unsigned kPlacementEffort = 6;

struct PlacementOptions : SearchLimits {
  const Placement *known = nullptr; ///< a plan to begin with
  /// Only plans of a value below this are of use: without one the result has no plan, and a bound of at most this.
  double below = std::numeric_limits<double>::infinity();
};

/// Plans of more passes (micro-batches * stages) are not looked at, but bounded: neither is any reader of a certificate
/// willing to.
constexpr int64_t kMaxSearchedPasses = int64_t(1) << 22;

/// Least value over all plans that `findViolations` (lib/placement/evaluate/PlanEvaluator.h) lets pass, whose memory
/// fits and which `satisfiesLimits` accepts. Needs a problem that `check` passes. Deterministic unless stopped.
/// `result.plan` is empty where no plan was found: there is none if `bound` is infinite. Method: configurations
/// (micro-batches, schedule, virtual stages, groups, parallel configurations) by an increasing lower bound; within one
/// a dynamic program over down-sets of the layers from the last stage to the first bounds what each prefix of a plan
/// can still become, and a depth-first search from the first stage on evaluates what no bound rules out. See
/// lib/placement/README.md.
PlacementResult place(const PlacementProblem &problem, const PlacementOptions &options = {});

/// No plan is worth less, by bounds of configurations alone; `lowerBoundByConfig`: none with a stage of that parallel
/// configuration. Infinite: there is none. Microseconds for each parallel configuration, nothing is evaluated.
double placementLowerBound(const PlacementProblem &problem);
std::vector<double> lowerBoundByConfig(const PlacementProblem &problem);

/// Whether an evaluated plan is within the problem's limits.
bool satisfiesLimits(const PlacementProblem &problem, const PlanMetrics &metrics);

/// The best plans of other degrees (number of groups, tensor and data parallelism), at most `max`, best first: each is
/// what `place` finds with its degrees fixed (a 32nd of the work of `options`), and says how near it is to the best
/// of them. Degrees are looked at by increasing lower bound until no other can be among the best, or for 8 * `max`
/// searches; where stages of one device type may differ, only degrees of first plans that are easily made.
std::vector<RunnerUp> runnersUp(const PlacementProblem &problem, const PlacementResult &result, size_t max = 5,
                                const PlacementOptions &options = {});

/// What the best plan found is worth where one limit gives way: a tenth more memory or devices of a type (whole
/// servers), bandwidth or anything that is limited, a constraint left out. Parallel configurations are those that are
/// in the search space.
std::vector<Relaxation> whatIf(const PlacementProblem &problem, const PlacementResult &result,
                               const PlacementOptions &options);
/// This plan and those that use half as many devices at most, a quarter, …, or 3/4, half, 1/4 of its memory, without
/// those that another one beats in devices, memory, time, energy and price.
std::vector<Tradeoff> paretoFront(const PlacementProblem &problem, const PlacementResult &result,
                                  const PlacementOptions &options);

/// Of a problem without a plan: a smallest set of limits (memory and number of each device type's devices, limits,
/// constraints) that conflict, by deletion; each with the least relaxation of it alone that admits a plan. Empty: that
/// there is no plan is not proved, or the search was stopped before it knew a smallest set.
struct PlacementConflict {
  std::vector<Conflict> conflicts;
  std::vector<std::string> relaxations;
};
PlacementConflict conflictsOf(const PlacementProblem &problem, const PlacementOptions &options = {});

} // namespace accord
