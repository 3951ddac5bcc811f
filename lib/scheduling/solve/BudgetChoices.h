// Whether budgets alone leave a choice of modes.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include <optional>

namespace accord::solve {

/// Whether some choice of modes that fit the resources keeps all budgets, whatever pairings allow: a multiple-choice
/// knapsack of as many dimensions as there are budgets, by dynamic programming over amounts that no other choice
/// undercuts in all budgets (Kellerer, Pferschy, Pisinger, Knapsack Problems, 2004, chapters 9 and 11). Nothing where
/// too many amounts remain, or a task has no such mode.
std::optional<bool> budgetsSuffice(const SchedulingProblem &problem);

} // namespace accord::solve
