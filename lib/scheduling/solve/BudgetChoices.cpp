#include "lib/scheduling/solve/BudgetChoices.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord::solve {
namespace {

using Amounts = std::vector<int64_t>; ///< by budget

/// So many are compared with one another, where more than two budgets leave no shorter way; and so many without.
constexpr size_t kMaxCompared = 2000, kMaxAmounts = 500'000;
/// Sums that are formed in all: about half a second.
constexpr size_t kMaxSums = 5'000'000;

bool isAtMost(const Amounts &a, const Amounts &b) {
  return llvm::all_of(llvm::zip(a, b), [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); });
}

/// Leaves those that no other one undercuts.
void keepMinimal(std::vector<Amounts> &all) {
  llvm::sort(all);
  std::vector<Amounts> kept;
  for (Amounts &amounts : all) {
    bool undercut = amounts.size() <= 2
                        ? !kept.empty() && isAtMost(kept.back(), amounts)
                        : llvm::any_of(kept, [&](const Amounts &one) { return isAtMost(one, amounts); });
    if (!undercut)
      kept.push_back(std::move(amounts));
  }
  all = std::move(kept);
}

} // namespace

std::optional<bool> budgetsSuffice(const SchedulingProblem &problem) {
  size_t budgets = problem.budgets.size();
  if (budgets == 0)
    return true;
  std::vector<std::vector<Amounts>> modes; // by task with something to spend
  std::vector<__int128> rest;              // of each budget, beside what all tasks spend at least
  for (const auto &budget : problem.budgets)
    rest.push_back(budget.capacity);
  for (const auto &task : problem.tasks) {
    std::vector<Amounts> choices;
    for (const auto &mode : task.modes)
      if (problem.fits(mode)) {
        Amounts &amounts = choices.emplace_back(budgets);
        for (const auto &use : mode.spends)
          amounts[use.of] += use.amount;
      }
    if (choices.empty())
      return std::nullopt; // there is no schedule for another reason
    // What each mode spends of a budget counts from the least of the task's modes on.
    for (size_t b = 0; b < budgets; ++b) {
      int64_t min = INT64_MAX;
      for (const Amounts &amounts : choices)
        min = std::min(min, amounts[b]);
      for (Amounts &amounts : choices)
        amounts[b] -= min;
      rest[b] -= min;
    }
    keepMinimal(choices);
    if (choices.size() > 1)
      modes.push_back(std::move(choices));
  }
  if (llvm::any_of(rest, [](__int128 left) { return left < 0; }))
    return false;
  std::vector<Amounts> spent{Amounts(budgets)};
  size_t sums = 0;
  for (const std::vector<Amounts> &choices : modes) {
    if ((sums += spent.size() * choices.size()) > kMaxSums)
      return std::nullopt;
    std::vector<Amounts> next;
    for (const Amounts &before : spent)
      for (const Amounts &more : choices) {
        Amounts sum = before;
        for (size_t b = 0; b < budgets; ++b)
          sum[b] += more[b];
        if (llvm::all_of(llvm::zip(sum, rest), [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); }))
          next.push_back(std::move(sum));
      }
    if (next.size() > (budgets <= 2 ? kMaxAmounts : kMaxCompared))
      return std::nullopt;
    keepMinimal(next);
    spent = std::move(next);
    if (spent.empty())
      return false;
  }
  return true;
}

} // namespace accord::solve
