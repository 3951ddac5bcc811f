// Proves again which options operations take.
#pragma once
#include "lib/sparsity/problem/Selection.h"
#include "lib/support/Verification.h"

namespace accord {

/// The choice keeps budgets, groups and rules, its sums are those claimed, and no choice is below the bound: with the
/// limits of all that is better, each branch of the choices of one operation after another breaks a sum of limits with
/// multipliers (Farkas). What takes more than `effort` branches is trusted, and said so. Costs and losses of options
/// are proved elsewhere. A0904 what a choice must keep, A0905 its sums, A0906 the bound.
Verification verify(const SelectionProblem &problem, const SelectionResult &result, uint64_t effort = 20'000'000);

} // namespace accord
