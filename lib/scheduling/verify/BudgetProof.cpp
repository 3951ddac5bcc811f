#include "lib/scheduling/verify/BudgetProof.h"
#include <map>
#include <vector>

namespace accord {
namespace {

constexpr size_t kMaxAmounts = 1'000'000;

/// What is spent of all budgets but the last, and the least of the last one beside it.
using Spent = std::map<std::vector<int64_t>, int64_t>;

/// What a mode takes of a budget.
int64_t amountOf(const SchedulingProblem::Mode &mode, size_t budget) {
  int64_t sum = 0;
  for (const auto &use : mode.spends)
    sum += use.of == budget ? use.amount : 0;
  return sum;
}

/// Whether `spent` and what `mode` takes stay within all budgets; then it goes into `into`.
bool add(const SchedulingProblem &problem, const std::pair<const std::vector<int64_t>, int64_t> &spent,
         const SchedulingProblem::Mode &mode, Spent &into) {
  std::vector<int64_t> all = spent.first;
  size_t last = all.size();
  for (size_t b = 0; b < last; ++b)
    if ((all[b] += amountOf(mode, b)) > problem.budgets[b].capacity)
      return false;
  int64_t rest = spent.second + amountOf(mode, last);
  if (rest > problem.budgets[last].capacity)
    return false;
  auto [at, isNew] = into.try_emplace(std::move(all), rest);
  at->second = std::min(at->second, rest);
  return true;
}

} // namespace

bool budgetsAdmitNothing(const SchedulingProblem &problem) {
  if (problem.budgets.empty())
    return false;
  Spent spent{{std::vector<int64_t>(problem.budgets.size() - 1), 0}};
  for (const auto &task : problem.tasks) {
    Spent next;
    for (const auto &mode : task.modes)
      if (problem.fits(mode))
        for (const auto &one : spent)
          add(problem, one, mode, next);
    if (next.size() > kMaxAmounts)
      return false;
    spent = std::move(next);
    if (spent.empty())
      return true;
  }
  return false;
}

} // namespace accord
