#include "lib/scheduling/solve/Instance.h"
#include <algorithm>

namespace accord::solve {

bool Instance::fits(const SchedulingProblem::Mode &mode) const {
  for (const auto &use : mode.usage)
    if (use.amount > problem.resources[use.of].capacity)
      return false;
  for (const auto &use : mode.spends)
    if (use.amount > problem.budgets[use.of].capacity)
      return false;
  return true;
}

Instance::Instance(const SchedulingProblem &problem) : problem(problem) {
  size_t n = problem.tasks.size();
  minDuration.assign(n, INT64_MAX), mandatory.assign(n, 1);
  for (Id t = 0; t < n; ++t) {
    single &= problem.tasks[t].modes.size() == 1 && !problem.tasks[t].modes[0].absent;
    for (const auto &mode : problem.tasks[t].modes) {
      if (mode.absent)
        mandatory[t] = 0;
      if (fits(mode))
        minDuration[t] = std::min(minDuration[t], mode.duration);
    }
    if (minDuration[t] == INT64_MAX) // no mode fits
      minDuration[t] = 0;
  }
  afterOf.assign(n + 1, 0), beforeOf.assign(n + 1, 0);
  for (const auto &p : problem.precedences)
    ++afterOf[p.before + 1], ++beforeOf[p.after + 1];
  for (size_t t = 0; t < n; ++t)
    afterOf[t + 1] += afterOf[t], beforeOf[t + 1] += beforeOf[t];
  afters.resize(problem.precedences.size()), befores.resize(problem.precedences.size());
  std::vector<uint32_t> a(afterOf.begin(), afterOf.end() - 1), b(beforeOf.begin(), beforeOf.end() - 1);
  for (const auto &p : problem.precedences)
    afters[a[p.before]++] = {p.after, p.delay}, befores[b[p.after]++] = {p.before, p.delay};

  std::vector<uint32_t> waiting(n);
  for (Id t = 0; t < n; ++t)
    if ((waiting[t] = beforeOf[t + 1] - beforeOf[t]) == 0)
      order.push_back(t);
  for (size_t i = 0; i < order.size(); ++i)
    for (const Edge &e : after(order[i]))
      if (--waiting[e.task] == 0)
        order.push_back(e.task);

  position.resize(n);
  for (size_t i = 0; i < n; ++i)
    position[order[i]] = i;
  heads.assign(n, 0), tails.assign(n, 0);
  for (Id t : order)
    if (mandatory[t])
      for (const Edge &e : after(t))
        heads[e.task] = std::max(heads[e.task], heads[t] + minDuration[t] + e.delay);
  for (size_t i = n; i-- > 0;)
    if (Id t = order[i]; mandatory[t])
      for (const Edge &e : before(t))
        tails[e.task] = std::max(tails[e.task], tails[t] + minDuration[t] + e.delay);
}

int64_t Instance::path() const {
  int64_t longest = 0;
  for (Id t = 0; t < size(); ++t)
    if (mandatory[t])
      longest = std::max(longest, heads[t] + minDuration[t] + tails[t]);
  return longest;
}

} // namespace accord::solve
