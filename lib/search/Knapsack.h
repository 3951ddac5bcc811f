// A multiple-choice knapsack with a few budgets: what `select` makes of its problems.
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace accord {

constexpr size_t kBudgets = 3;
using Weights = std::array<int64_t, kBudgets>;

struct KnapsackOption {
  int64_t value = 0;
  Weights weights = {};
  auto operator<=>(const KnapsackOption &) const = default;
};
/// One option of each item, with the least sum of values, whose sums of weights keep the budgets. All numbers are from
/// 0; sums are at most 2^60.
struct Knapsack {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  std::vector<std::vector<KnapsackOption>> items;
  Weights budgets = {kUnlimited, kUnlimited, kUnlimited};
};
struct KnapsackResult {
  bool feasible = false;
  std::vector<unsigned> choice;
  int64_t value = 0;
  int64_t bound = 0; ///< no choice is below; `kUnlimited`: there is none
  uint64_t states = 0;
};

/// Exact unless more than `states` partial choices would be kept in all. Of equal choices the first in the order of
/// (value, weights, options of items in the order they are taken).
KnapsackResult solve(const Knapsack &problem, uint64_t states);

/// Options that none of the others is at least as good as in everything, by ascending value; of equal ones the first.
/// The numbers of the options that are left.
std::vector<unsigned> paretoFront(const std::vector<KnapsackOption> &options);

} // namespace accord
