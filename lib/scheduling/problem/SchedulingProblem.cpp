#include "lib/scheduling/problem/SchedulingProblem.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

using Id = SchedulingProblem::Id;

Id SchedulingProblem::addResource(std::string name, int64_t capacity) {
  resources.push_back({std::move(name), capacity});
  return resources.size() - 1;
}
Id SchedulingProblem::addTask(std::string name, int64_t duration, std::vector<Usage> usage) {
  Task &task = tasks.emplace_back();
  task.name = std::move(name);
  task.modes.push_back({"", duration, std::move(usage), {}, false});
  return tasks.size() - 1;
}
void SchedulingProblem::addPrecedence(Id before, Id after, int64_t delay) {
  precedences.push_back({before, after, delay});
}
int64_t SchedulingProblem::amountOf(const std::vector<Usage> &list, Id of) {
  for (const Usage &use : list)
    if (use.of == of)
      return use.amount;
  return 0;
}
bool SchedulingProblem::fits(const Mode &mode) const {
  return llvm::all_of(mode.usage, [&](const Usage &use) { return use.amount <= resources[use.of].capacity; }) &&
         llvm::all_of(mode.spends, [&](const Usage &use) { return use.amount <= budgets[use.of].capacity; });
}
bool SchedulingProblem::clash(const Mode &a, const Mode &b) const {
  return llvm::any_of(a.usage,
                      [&](const Usage &use) { return use.amount > resources[use.of].capacity - b.uses(use.of); });
}
std::vector<Id> SchedulingProblem::topologicalOrder() const {
  std::vector<size_t> waiting(tasks.size());
  std::vector<std::vector<Id>> after(tasks.size());
  for (const Precedence &edge : precedences)
    if (edge.before < tasks.size() && edge.after < tasks.size()) {
      after[edge.before].push_back(edge.after);
      ++waiting[edge.after];
    }
  std::vector<Id> order;
  for (Id t = 0; t < tasks.size(); ++t)
    if (waiting[t] == 0)
      order.push_back(t);
  for (size_t i = 0; i < order.size(); ++i)
    for (Id next : after[order[i]])
      if (--waiting[next] == 0)
        order.push_back(next);
  return order;
}
bool SchedulingProblem::optional(Id task) const {
  return llvm::any_of(tasks[task].modes, [](const Mode &mode) { return mode.absent; });
}
bool SchedulingProblem::singleMode() const {
  return llvm::all_of(tasks, [](const Task &task) { return task.modes.size() == 1 && !task.modes[0].absent; });
}
std::string SchedulingProblem::nameOf(Id task) const {
  return task < tasks.size() && !tasks[task].name.empty() ? tasks[task].name : fmt::format("#{}", task);
}

int64_t serialLength(const SchedulingProblem &problem) {
  int64_t sum = 0; // at most 2^61: see check
  std::vector<int64_t> longest(problem.tasks.size(), 0);
  for (const auto &lag : problem.lags)
    longest[lag.before] = std::max(longest[lag.before], lag.lag);
  for (Id t = 0; t < problem.tasks.size(); ++t) {
    for (const auto &mode : problem.tasks[t].modes)
      longest[t] = std::max(longest[t], mode.duration);
    sum += longest[t];
  }
  for (const auto &p : problem.precedences)
    sum += p.delay;
  return sum;
}

namespace {

constexpr int64_t kMaxTime = INT64_MAX / 4;

class Checker {
public:
  explicit Checker(const SchedulingProblem &problem) : p(problem) {}

  Errors run() {
    capacities(p.resources, "resource");
    capacities(p.budgets, "budget");
    capacities(p.memories, "memory");
    for (Id t = 0; t < p.tasks.size(); ++t)
      task(t);
    for (const auto &b : p.buffers)
      buffer(b);
    for (const auto &pairing : p.pairings)
      pair(pairing);
    precedences();
    lags();
    if (longest > kMaxTime)
      report({}, "the sum of durations and delays passes 2^61");
    if (bytes > kMaxTime)
      report({}, "the sum of all buffers passes 2^61 bytes");
    if (amounts > kMaxTime)
      report({}, "the sum of all amounts that fit a resource or a budget passes 2^61");
    return std::move(issues);
  }

private:
  void report(const SourceLocation &at, std::string text) {
    if (issues.size() < 20)
      issues.push_back({Code::MalformedSchedulingProblem, std::move(text), at, {}});
  }

  template <typename Kind> void capacities(const std::vector<Kind> &kinds, const char *what) {
    for (const Kind &kind : kinds)
      if (kind.capacity < 0)
        report({}, fmt::format("{} '{}' has capacity {}", what, kind.name, kind.capacity));
  }

  void task(Id t) {
    const auto &task = p.tasks[t];
    if (task.modes.empty())
      return report(task.location, fmt::format("task '{}' has no mode", p.nameOf(t)));
    unsigned absent = 0, fitting = 0;
    int64_t max = 0;
    std::string error;
    for (const auto &mode : task.modes) {
      absent += mode.absent;
      if (mode.duration < 0)
        report(task.location, fmt::format("task '{}' takes {}, which is negative", p.nameOf(t), mode.duration));
      if (mode.absent && (mode.duration != 0 || !mode.usage.empty() || !mode.spends.empty()))
        report(task.location, fmt::format("task '{}' takes time or resources where it does not happen", p.nameOf(t)));
      max = std::max(max, mode.duration);
      bool fits = true;
      usages(t, mode.usage, p.resources, "resource", fits, error);
      usages(t, mode.spends, p.budgets, "budget", fits, error);
      fitting += fits;
    }
    longest += max;
    if (absent > 1)
      report(task.location, fmt::format("task '{}' has {} modes in which it does not happen", p.nameOf(t), absent));
    if (fitting == 0)
      report(task.location, error);
  }

  template <typename Kind>
  void usages(Id t, const std::vector<SchedulingProblem::Usage> &list, const std::vector<Kind> &kinds, const char *what,
              bool &fits, std::string &error) {
    for (size_t u = 0; u < list.size(); ++u) {
      const auto &use = list[u];
      if (use.of >= kinds.size()) {
        report(p.tasks[t].location, fmt::format("task '{}' uses {} {} of {}", p.nameOf(t), what, use.of, kinds.size()));
        continue;
      }
      if (use.amount < 0)
        report(p.tasks[t].location,
               fmt::format("task '{}' uses {} of {} '{}'", p.nameOf(t), use.amount, what, kinds[use.of].name));
      if (use.amount <= kinds[use.of].capacity) {
        amounts += std::max<int64_t>(use.amount, 0);
      } else {
        fits = false;
        error = fmt::format("task '{}' needs {} of {} '{}', which has {}{}", p.nameOf(t), use.amount, what,
                            kinds[use.of].name, kinds[use.of].capacity,
                            p.tasks[t].modes.size() > 1 ? ", and no other mode fits" : "");
      }
      for (size_t v = 0; v < u; ++v)
        if (list[v].of == use.of)
          report(p.tasks[t].location,
                 fmt::format("task '{}' lists {} '{}' twice", p.nameOf(t), what, kinds[use.of].name));
    }
  }

  bool known(Id t) const { return t < p.tasks.size(); }

  void buffer(const SchedulingProblem::Buffer &b) {
    bool ids = b.memory < p.memories.size() && (b.producer == SchedulingProblem::kNoTask || known(b.producer));
    for (const auto &reader : b.readers)
      ids &= known(reader.task) &&
             (reader.unless == SchedulingProblem::kNoTask || (known(reader.unless) && p.optional(reader.unless)));
    if (!ids)
      report({}, fmt::format("buffer '{}' names a memory or a task that there is not", b.name));
    if (b.bytes < 0)
      report({}, fmt::format("buffer '{}' has {} bytes", b.name, b.bytes));
    bytes += std::max<int64_t>(b.bytes, 0);
  }

  void pair(const SchedulingProblem::Pairing &pairing) {
    if (!known(pairing.a) || !known(pairing.b) || pairing.a == pairing.b)
      return report({}, fmt::format("a pairing of tasks {} and {} of {}", pairing.a, pairing.b, p.tasks.size()));
    for (auto [a, b] : pairing.allowed)
      if (a >= p.tasks[pairing.a].modes.size() || b >= p.tasks[pairing.b].modes.size())
        report({}, fmt::format("a pairing allows mode {} of '{}' with mode {} of '{}'", a, p.nameOf(pairing.a), b,
                               p.nameOf(pairing.b)));
  }

  void precedences() {
    std::vector<std::vector<Id>> before(p.tasks.size());
    for (const auto &edge : p.precedences) {
      if (!known(edge.before) || !known(edge.after)) {
        report({}, fmt::format("a precedence from task {} to {} of {}", edge.before, edge.after, p.tasks.size()));
        continue;
      }
      if (edge.delay < 0)
        report(p.tasks[edge.after].location, fmt::format("task '{}' starts {} after the end of '{}', which is negative",
                                                         p.nameOf(edge.after), edge.delay, p.nameOf(edge.before)));
      longest += std::max<int64_t>(edge.delay, 0);
      before[edge.after].push_back(edge.before);
    }
    std::vector<char> waits(p.tasks.size(), 1);
    for (Id t : p.topologicalOrder())
      waits[t] = 0;
    if (llvm::is_contained(waits, 1))
      cycle(waits, before);
  }

  void lags() {
    for (const auto &lag : p.lags) {
      if (!known(lag.before) || !known(lag.after)) {
        report({}, fmt::format("a time lag from task {} to {} of {}", lag.before, lag.after, p.tasks.size()));
        continue;
      }
      if (lag.before == lag.after)
        report(p.tasks[lag.after].location, fmt::format("task '{}' has a time lag to itself", p.nameOf(lag.after)));
      longest += lag.lag < 0 ? -__int128{lag.lag} : __int128{lag.lag};
    }
  }

  /// What still waits has a predecessor that does, so walking back ends in a cycle.
  void cycle(const std::vector<char> &waits, const std::vector<std::vector<Id>> &before) {
    Id at = 0;
    while (!waits[at])
      ++at;
    std::vector<size_t> seen(p.tasks.size(), SIZE_MAX);
    std::vector<Id> walk;
    while (seen[at] == SIZE_MAX) {
      seen[at] = walk.size();
      walk.push_back(at);
      at = *llvm::find_if(before[at], [&](Id b) { return waits[b]; });
    }
    walk.erase(walk.begin(), std::next(walk.begin(), seen[at]));
    std::reverse(walk.begin(), walk.end());
    std::string text = fmt::format("'{}'", p.nameOf(walk.back()));
    for (size_t i = 0; i < walk.size(); ++i)
      if (i < 5 || i + 1 == walk.size())
        text += fmt::format("{} '{}'", i == 5 ? " …" : " ->", p.nameOf(walk[i]));
    size_t known = issues.size();
    report(p.tasks[walk[0]].location, "the precedences form a cycle: " + text);
    if (issues.size() > known)
      for (size_t i = 1; i < std::min<size_t>(walk.size(), 5); ++i)
        issues.back().notes.push_back(
            {p.tasks[walk[i]].location, fmt::format("'{}' is on the cycle", p.nameOf(walk[i]))});
  }

  const SchedulingProblem &p;
  Errors issues;
  __int128 longest = 0, bytes = 0, amounts = 0;
};

} // namespace

Errors check(const SchedulingProblem &problem) { return Checker(problem).run(); }

} // namespace accord
