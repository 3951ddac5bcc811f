#include "lib/solve/JointResources.h"
#include <algorithm>

namespace accord {
namespace {

using Id = SchedulingProblem::Id;
using Mode = SchedulingProblem::Mode;

int64_t amountOf(const Mode &mode, Id resource) {
  for (const SchedulingProblem::Usage &use : mode.usage)
    if (use.of == resource)
      return use.amount;
  return 0;
}

bool clash(const SchedulingProblem &problem, const Mode &a, const Mode &b) {
  return std::any_of(a.usage.begin(), a.usage.end(), [&](const auto &use) {
    return use.amount > problem.resources[use.of].capacity - amountOf(b, use.of);
  });
}

bool exclude(const SchedulingProblem &problem, Id a, Id b) {
  for (const Mode &one : problem.tasks[a].modes)
    for (const Mode &two : problem.tasks[b].modes)
      if (!clash(problem, one, two))
        return false;
  return true;
}

/// By task, then by task: the first precedes the other, directly or not.
std::vector<std::vector<char>> closure(const SchedulingProblem &problem) {
  size_t n = problem.tasks.size();
  std::vector<std::vector<Id>> after(n);
  std::vector<size_t> waiting(n);
  for (const auto &edge : problem.precedences)
    if (!problem.optional(edge.before) && !problem.optional(edge.after)) {
      after[edge.before].push_back(edge.after);
      ++waiting[edge.after];
    }
  std::vector<Id> order;
  for (Id t = 0; t < n; ++t)
    if (waiting[t] == 0)
      order.push_back(t);
  for (size_t i = 0; i < order.size(); ++i)
    for (Id next : after[order[i]])
      if (--waiting[next] == 0)
        order.push_back(next);
  std::vector<std::vector<char>> precedes(n, std::vector<char>(n));
  for (size_t i = order.size(); i-- > 0;)
    for (Id next : after[order[i]]) {
      std::vector<char> &mine = precedes[order[i]];
      mine[next] = 1;
      for (size_t t = 0; t < n; ++t)
        mine[t] |= precedes[next][t];
    }
  return precedes;
}

int64_t leastTime(const SchedulingProblem &problem, Id task) {
  int64_t least = INT64_MAX;
  for (const Mode &mode : problem.tasks[task].modes)
    least = std::min(least, mode.duration);
  return least;
}

} // namespace

void addJointResources(SchedulingProblem &problem, size_t count) {
  std::vector<std::vector<char>> precedes = closure(problem);
  auto apart = [&](Id a, Id b) {
    return precedes[a][b] || precedes[b][a] || exclude(problem, a, b);
  };
  std::vector<Id> byTime;
  for (Id t = 0; t < problem.tasks.size(); ++t)
    if (leastTime(problem, t) > 0)
      byTime.push_back(t);
  std::sort(byTime.begin(), byTime.end(), [&](Id a, Id b) {
    int64_t one = leastTime(problem, a), two = leastTime(problem, b);
    return one != two ? one > two : a < b;
  });
  std::vector<std::vector<Id>> joining(count);
  for (Id r = 0; r < count; ++r) {
    std::vector<Id> together; // those that use it, then those that join
    for (Id t : byTime)
      if (std::any_of(problem.tasks[t].modes.begin(), problem.tasks[t].modes.end(),
                      [&](const Mode &mode) { return amountOf(mode, r) > 0; }))
        together.push_back(t);
    if (together.empty())
      continue;
    // What was not apart from the last one is often not from the next: looked at first.
    auto bars = [&](Id t, Id other) { return other == t || !apart(t, other); };
    Id last = together.front();
    for (Id t : byTime) {
      if (bars(t, last))
        continue;
      auto barrier = std::find_if(together.begin(), together.end(),
                                  [&](Id other) { return bars(t, other); });
      if (barrier != together.end()) {
        last = *barrier;
        continue;
      }
      together.push_back(t);
      joining[r].push_back(t);
    }
  }
  for (Id r = 0; r < count; ++r) {
    if (joining[r].empty())
      continue;
    int64_t capacity = problem.resources[r].capacity;
    Id joint = problem.addResource(problem.resources[r].name + " with what excludes it", capacity);
    for (SchedulingProblem::Task &task : problem.tasks)
      for (Mode &mode : task.modes)
        if (int64_t amount = amountOf(mode, r); amount > 0)
          mode.usage.push_back({joint, amount});
    for (Id t : joining[r])
      for (Mode &mode : problem.tasks[t].modes)
        mode.usage.push_back({joint, capacity});
  }
}

} // namespace accord
