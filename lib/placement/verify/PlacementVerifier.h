// Proves placements and their bounds again, without the code that made them.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <atomic>

namespace accord {

struct PlacementProof {
  /// Steps of the proof of the bound: cuts, stages and plans looked at.
  uint64_t effort = 60'000'000;
  /// Passes and transfers of the plan's step.
  double passes = 2e7;
  const std::atomic<bool> *stop = nullptr; ///< ends the proof of the bound early
};

/// Whether the plan is one of the problem (codes of `placementViolations`), worth what is stated, and no plan
/// is better than the bound. Codes besides: A0940 the problem is malformed · A0912 the step · A0913
/// memory of a group · A0951 times, micro-batches in flight, devices, joules or price · A0905
/// the value · A0904 more memory than a device has · A0952 a limit passed · A0906 a bound above
/// the value, or above a plan that the proof found. Numbers that are no integers may differ by
/// 1e-9 of themselves. Without a plan: none fits if the bound is infinite, which has to be proved without a rest, else
/// none was found.
///
/// The bound is proved by `proveBound` (PlacementBoundProof.h); sentences of what it could not prove,
/// and of a step too long to replay, are added to `trusted`.
Errors verify(const PlacementProblem &problem, const PlacementResult &result,
              std::vector<std::string> *trusted = nullptr, const PlacementProof &options = {});

/// Whether a plan beside the answer (a runner-up, one of the Pareto front) is one of the problem and has these metrics:
/// codes as above. What takes more than `passes` to replay is passed over.
Errors verifyMetrics(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics,
                     double passes = 2e6);

} // namespace accord
