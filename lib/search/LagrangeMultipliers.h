// Lagrangian bounds of a multiple-choice knapsack, in integers.
#pragma once
#include "lib/search/Knapsack.h"

namespace accord {

/// scale * value + multipliers * weights instead of budgets. Whatever the numbers are, a choice
/// that keeps the budgets has scale * value >= the least of that over all choices, less multipliers
/// * budgets.
struct LagrangeMultipliers {
  __int128 scale = 1;
  std::array<__int128, kBudgets> of = {};
  __int128 lagrangian(int64_t value, const Weights &weights) const {
    __int128 sum = scale * value;
    for (size_t c = 0; c < kBudgets; ++c)
      sum += of[c] * weights[c];
    return sum;
  }
  /// The option of an item that is least, the first of equal ones.
  unsigned min(const std::vector<KnapsackOption> &item) const;
};

/// Multipliers whose bounds are high, the highest first: the best of each budget alone, of each
/// two, and of three where one is added to two; empty where nothing is limited. `best` gets the
/// least choice that keeps the budgets of those met on the way; empty: there was none.
std::vector<LagrangeMultipliers> findLagrangeMultipliers(const Knapsack &problem, std::vector<unsigned> &best);

} // namespace accord
