// Lagrangian bounds of a multiple-choice knapsack, in integers.
#pragma once
#include "lib/prune/Knapsack.h"

namespace accord {

/// scale * value + multipliers * weights instead of budgets. Whatever the numbers are, a choice
/// that keeps the budgets has scale * value >= the least of that over all choices, less multipliers
/// * budgets.
struct Multipliers {
  __int128 scale = 1;
  std::array<__int128, 2> of = {0, 0};
  __int128 priced(int64_t value, const std::array<int64_t, 2> &weights) const {
    return scale * value + of[0] * weights[0] + of[1] * weights[1];
  }
  /// The option of an item that is least, the first of equal ones.
  unsigned least(const std::vector<KnapsackOption> &item) const;
};

/// Multipliers whose bounds are the highest: of both budgets, and of each alone; empty where
/// nothing is limited. `best` gets the least choice that keeps the budgets of those met on the way;
/// empty: there was none.
std::vector<Multipliers> findMultipliers(const Knapsack &problem, std::vector<unsigned> &best);

} // namespace accord
