#include "lib/planning/solve/JointResources.h"
#include <algorithm>
#include <bit>

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

/// A set of tasks, 64 to a word.
using Set = std::vector<uint64_t>;
void insert(Set &set, Id task) { set[task / 64] |= uint64_t{1} << task % 64; }
bool contains(const Set &set, Id task) { return set[task / 64] >> task % 64 & 1; }

/// By task: those that it precedes or follows, directly or not.
std::vector<Set> closure(const SchedulingProblem &problem) {
  size_t n = problem.tasks.size(), words = (n + 63) / 64;
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
  std::vector<Set> ordered(n, Set(words)), before = ordered;
  for (size_t i = order.size(); i-- > 0;)
    for (Id next : after[order[i]]) {
      insert(ordered[order[i]], next);
      for (size_t w = 0; w < words; ++w)
        ordered[order[i]][w] |= ordered[next][w];
    }
  for (Id t : order)
    for (Id next : after[t]) {
      insert(before[next], t);
      for (size_t w = 0; w < words; ++w)
        before[next][w] |= before[t][w];
    }
  for (size_t t = 0; t < n; ++t)
    for (size_t w = 0; w < words; ++w)
      ordered[t][w] |= before[t][w];
  return ordered;
}

int64_t minTime(const SchedulingProblem &problem, Id task) {
  int64_t min = INT64_MAX;
  for (const Mode &mode : problem.tasks[task].modes)
    min = std::min(min, mode.duration);
  return min;
}

} // namespace

void addJointResources(SchedulingProblem &problem, size_t count) {
  std::vector<Set> ordered = closure(problem);
  // Whether it is apart in time from all of a set.
  auto apart = [&](Id t, const Set &all) {
    for (size_t w = 0; w < all.size(); ++w)
      for (uint64_t rest = all[w] & ~ordered[t][w]; rest; rest &= rest - 1)
        if (!exclude(problem, t, static_cast<Id>(64 * w) + static_cast<Id>(std::countr_zero(rest))))
          return false;
    return true;
  };
  std::vector<Id> byTime;
  for (Id t = 0; t < problem.tasks.size(); ++t)
    if (minTime(problem, t) > 0)
      byTime.push_back(t);
  std::sort(byTime.begin(), byTime.end(), [&](Id a, Id b) {
    int64_t one = minTime(problem, a), two = minTime(problem, b);
    return one != two ? one > two : a < b;
  });
  std::vector<std::vector<Id>> joining(count);
  for (Id r = 0; r < count; ++r) {
    Set together((problem.tasks.size() + 63) / 64); // those that use it, then those that join
    bool used = false;
    for (Id t : byTime)
      if (std::any_of(problem.tasks[t].modes.begin(), problem.tasks[t].modes.end(),
                      [&](const Mode &mode) { return amountOf(mode, r) > 0; }))
        insert(together, t), used = true;
    for (Id t : byTime)
      if (used && !contains(together, t) && apart(t, together)) {
        insert(together, t);
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
