#include "lib/scheduling/verify/SchedulingFacts.h"
#include <algorithm>

namespace accord {

SchedulingFacts::SchedulingFacts(const SchedulingProblem &problem)
    : problem(problem), mandatory(problem.tasks.size(), 1), minDuration(problem.tasks.size(), 0),
      modes(problem.tasks.size()), after(problem.tasks.size()), before(problem.tasks.size()),
      heads(problem.tasks.size(), 0), tails(problem.tasks.size(), 0) {
  size_t n = problem.tasks.size();
  for (Id t = 0; t < n; ++t) {
    for (const auto &mode : problem.tasks[t].modes) {
      mandatory[t] &= !mode.absent;
      bool fits = true;
      for (const auto &use : mode.usage)
        fits &= use.amount <= problem.resources[use.of].capacity;
      for (const auto &use : mode.spends)
        fits &= use.amount <= problem.budgets[use.of].capacity;
      if (fits)
        modes[t].push_back(&mode);
    }
    if (!modes[t].empty()) {
      minDuration[t] = INT64_MAX;
      for (const auto *mode : modes[t])
        minDuration[t] = std::min(minDuration[t], mode->duration);
    }
  }
  std::vector<size_t> waiting(n);
  for (const auto &edge : problem.precedences)
    if (mandatory[edge.before] && mandatory[edge.after]) {
      after[edge.before].push_back({edge.after, edge.delay});
      before[edge.after].push_back({edge.before, edge.delay});
      ++waiting[edge.after];
    }
  for (Id t = 0; t < n; ++t)
    if (waiting[t] == 0)
      order.push_back(t);
  for (size_t i = 0; i < order.size(); ++i)
    for (const Edge &edge : after[order[i]]) {
      heads[edge.task] = std::max(heads[edge.task], heads[order[i]] + minDuration[order[i]] + edge.delay);
      if (--waiting[edge.task] == 0)
        order.push_back(edge.task);
    }
  for (size_t i = order.size(); i-- > 0;)
    for (const Edge &edge : before[order[i]])
      tails[edge.task] = std::max(tails[edge.task], tails[order[i]] + minDuration[order[i]] + edge.delay);
}

int64_t SchedulingFacts::amountOf(const SchedulingProblem::Mode &mode, Id resource) {
  for (const auto &use : mode.usage)
    if (use.of == resource)
      return use.amount;
  return 0;
}

__int128 SchedulingFacts::workOf(Id task, Id resource) const {
  __int128 work = -1;
  for (const auto *mode : modes[task]) {
    __int128 here = static_cast<__int128>(mode->duration) * amountOf(*mode, resource);
    work = work < 0 ? here : std::min(work, here);
  }
  return std::max<__int128>(work, 0);
}

} // namespace accord
