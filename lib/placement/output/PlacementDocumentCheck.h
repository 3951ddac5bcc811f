// What a placement from a file must not contain before anybody computes on it.
#pragma once
#include "lib/placement/problem/Placement.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// Ids within range, a cost or nothing for each form, a link for each pair of kinds; layers in
/// order. Sums of times and sizes stay below 2^61 whatever the plan. Reports at `path`.
bool checkIndices(const PlacementProblem &problem, llvm::json::Path path);

/// A plan without faults and with few enough passes to look at, and a worth of its shape.
bool checkPlan(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics,
               llvm::json::Path path);

} // namespace accord
