// One option of each layer under several budgets, with the shortest interval: what a device's multipliers, memories and
// bandwidth allow.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace accord {

/// Multipliers, look-up tables, block RAMs, UltraRAMs, losses of accuracy.
constexpr size_t kFabricBudgets = 5;

struct AllocationOption {
  double cycles = 0;
  std::array<int64_t, kFabricBudgets> weights = {}; ///< from 0
  int64_t bits = 0;                                 ///< through the memory beside the chip
};

/// The interval of a choice: the cycles of its slowest option, or those that its bits take, whichever are more.
struct AllocationProblem {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  std::vector<std::vector<AllocationOption>> kinds; ///< options of each kind of item
  std::vector<size_t> items;                        ///< by item its kind; of each item one option is taken
  std::array<int64_t, kFabricBudgets> budgets = {kUnlimited, kUnlimited, kUnlimited, kUnlimited, kUnlimited};
  double cyclesPerBit = 0; ///< 0: bits take no time
  int64_t fixedBits = 0;   ///< which are moved whatever is chosen
};

struct AllocationResult {
  bool feasible = false;
  std::vector<unsigned> choice; ///< by item
  double interval = 0;
  /// No choice has a shorter interval (to 10^-9 of it). Where there is none at all and that is proven: infinite.
  double minInterval = 0;
  bool proven() const { return feasible ? minInterval >= interval : minInterval == kNever; }
  static constexpr double kNever = std::numeric_limits<double>::infinity();
};

/// The shortest interval, by halving what lies between one that is found and one that is excluded. Whether some choice
/// has at most an interval is decided so: prices of budgets (multiplicative weights: Arora, Hazan, Kale: Theory of
/// Computing 8, 2012) for which the cheapest options together cost more than the budgets exclude it; choices that are
/// cheapest at some prices, and what single changes make of them, show it; else a search in depth with those prices as
/// its bound. Work is counted in prices of options that are looked at; where `effort` of them end, the interval is not
/// called the shortest, and `minInterval` is what was excluded. Of what has the interval, options that take smaller
/// shares of the budgets are taken, one item after another. Deterministic.
AllocationResult allocate(const AllocationProblem &problem, uint64_t effort = 400'000'000);

/// Whether some choice has at most this interval, with the budgets of the problem; nothing where `effort` did not
/// suffice.
std::optional<bool> isReachable(const AllocationProblem &problem, double interval, uint64_t effort = 20'000'000);

/// Options that none of the others is at least as good as in everything, by ascending cycles; of equal ones the first.
std::vector<unsigned> allocationFront(const std::vector<AllocationOption> &options);

} // namespace accord
