// The best option of each operation: a multiple-choice knapsack, solved exactly.
#pragma once
#include "lib/sparsity/problem/Selection.h"

namespace accord {

struct SelectOptions {
  uint64_t states = 1'000'000;  ///< partial choices that are kept at once
  unsigned effort = 20'000'000; ///< work of the solver of side constraints, in its own units
};

/// Minimizes the objective under budgets, groups and rules. Exact but where a limit of `SelectOptions` ends a search;
/// then `bound` is below `value`. The problem passes `check`.
///
/// Operations of a group become one. Options that another is not worse than are dropped; partial choices, an operation
/// at a time, are kept if no other one is at least as good in all that counts (dynamic programming), and if a bound of
/// what they can become is not above the best choice known. The bound is the Lagrangian of the budgets, which for one
/// budget is the linear program over convex hulls of options (Sinha and Zoltners: The multiple-choice knapsack problem,
/// Operations Research 27, 1979; Pisinger: A minimal algorithm for the multiple-choice knapsack problem, EJOR 83,
/// 1995); with integer multipliers, so that nothing is lost by rounding. The slowest stage is found by halving the list
/// of times that stages can have. The first rule is a budget of its own where a sum is made least. Other rules, and
/// groups over several stages of a pipeline, go to Z3 if the best choice without them does not keep them; that is slow
/// beyond some ten operations, and may leave a gap.
///
/// Of equal choices the slowest stage's has the least loss, then the fewest bytes. The others' are found in the order
/// of options, the same one each time.
SelectionResult select(const SelectionProblem &problem, const SelectOptions &options = {});

} // namespace accord
