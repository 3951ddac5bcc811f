// The best placement and the best zeros of its layers together.
#pragma once
#include "lib/placement/problem/SparsePlacement.h"
#include "lib/placement/solve/PlacementSolver.h"

namespace accord {

/// Least value over all choices of an alternative for each unit that keep the budgets, and all plans of the problem
/// with these. Needs a problem that `check` passes. Deterministic unless stopped.
///
/// Best-first branch and bound: a part of the choices is bounded by `place` on its relaxed problem, with and without
/// prices of the budgets (`SparsityProofNode`), and split in two at the unit whose alternatives differ most in the plan
/// that is found there. The choice that is best for this plan by a knapsack is placed, too. Exact unless the effort,
/// which also says how many parts there may be, or the gap ends it; the bound is then that of the parts that are open.
SparsePlacementResult placeWithSparsity(const SparsePlacementProblem &problem, const PlacementOptions &options = {});

} // namespace accord
