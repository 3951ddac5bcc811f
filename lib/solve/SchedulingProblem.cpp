#include "lib/solve/SchedulingProblem.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

uint32_t SchedulingProblem::addResource(std::string name, int64_t capacity) {
  resources_.push_back({std::move(name), capacity});
  return static_cast<uint32_t>(resources_.size()) - 1;
}
uint32_t SchedulingProblem::addTask(int64_t duration, std::vector<Usage> usage) {
  tasks_.push_back({duration, std::move(usage)});
  return static_cast<uint32_t>(tasks_.size()) - 1;
}
void SchedulingProblem::addPrecedence(uint32_t before, uint32_t after, int64_t delay) {
  precedences_.push_back({before, after, delay});
}

std::vector<std::string> SchedulingProblem::check() const {
  std::vector<std::string> wrong;
  auto report = [&](std::string text) {
    if (wrong.size() < 20)
      wrong.push_back(std::move(text));
  };
  __int128 longest = 0;
  for (const Resource &r : resources_)
    if (r.capacity < 1)
      report(fmt::format("resource '{}' has capacity {}", r.name, r.capacity));
  for (size_t t = 0; t < tasks_.size(); ++t) {
    if (tasks_[t].duration < 0)
      report(fmt::format("task {} takes {}", t, tasks_[t].duration));
    longest += tasks_[t].duration;
    for (size_t u = 0; u < tasks_[t].usage.size(); ++u) {
      const Usage &use = tasks_[t].usage[u];
      if (use.resource >= resources_.size()) {
        report(fmt::format("task {} uses resource {} of {}", t, use.resource, resources_.size()));
        continue;
      }
      if (use.amount < 1 || use.amount > resources_[use.resource].capacity)
        report(fmt::format("task {} uses {} of resource '{}', which has {}", t, use.amount,
                           resources_[use.resource].name, resources_[use.resource].capacity));
      for (size_t v = 0; v < u; ++v)
        if (tasks_[t].usage[v].resource == use.resource)
          report(
              fmt::format("task {} lists resource '{}' twice", t, resources_[use.resource].name));
    }
  }
  std::vector<uint32_t> waiting(tasks_.size());
  std::vector<std::vector<uint32_t>> after(tasks_.size());
  for (const Precedence &p : precedences_) {
    if (p.before >= tasks_.size() || p.after >= tasks_.size() || p.delay < 0) {
      report(fmt::format(
          "precedence {} -> {} with delay {} is not between two of {} tasks, or negative", p.before,
          p.after, p.delay, tasks_.size()));
      continue;
    }
    longest += p.delay;
    ++waiting[p.after];
    after[p.before].push_back(p.after);
  }
  if (longest > INT64_MAX / 4)
    report("the sum of durations and delays passes 2^61");
  std::vector<uint32_t> ready;
  for (uint32_t t = 0; t < tasks_.size(); ++t)
    if (waiting[t] == 0)
      ready.push_back(t);
  for (size_t i = 0; i < ready.size(); ++i)
    for (uint32_t next : after[ready[i]])
      if (--waiting[next] == 0)
        ready.push_back(next);
  if (ready.size() != tasks_.size())
    report("the precedences have a cycle");
  return wrong;
}

std::vector<std::string> SchedulingProblem::verify(const Solution &s) const {
  std::vector<std::string> wrong;
  if (s.start.size() != tasks_.size())
    return {fmt::format("{} starts for {} tasks", s.start.size(), tasks_.size())};
  int64_t end = 0;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    if (s.start[t] < 0)
      wrong.push_back(fmt::format("task {} starts at {}", t, s.start[t]));
    end = std::max(end, s.start[t] + tasks_[t].duration);
  }
  if (end != s.length)
    wrong.push_back(fmt::format("the last task ends at {}, the length is {}", end, s.length));
  if (s.bound.length > s.length)
    wrong.push_back(fmt::format("the bound {} is above the length {}", s.bound.length, s.length));
  for (const Precedence &p : precedences_)
    if (s.start[p.after] < s.start[p.before] + tasks_[p.before].duration + p.delay)
      wrong.push_back(fmt::format(
          "task {} starts at {}, before task {} has ended at {} and {} have passed", p.after,
          s.start[p.after], p.before, s.start[p.before] + tasks_[p.before].duration, p.delay));
  struct Event {
    int64_t time, amount;
  };
  std::vector<std::vector<Event>> events(resources_.size());
  for (size_t t = 0; t < tasks_.size(); ++t)
    if (tasks_[t].duration > 0)
      for (const Usage &u : tasks_[t].usage) {
        events[u.resource].push_back({s.start[t], u.amount});
        events[u.resource].push_back({s.start[t] + tasks_[t].duration, -u.amount});
      }
  for (size_t r = 0; r < resources_.size(); ++r) {
    std::sort(events[r].begin(), events[r].end(), [](const Event &a, const Event &b) {
      return a.time != b.time ? a.time < b.time : a.amount < b.amount;
    });
    int64_t used = 0;
    for (const Event &e : events[r]) {
      used += e.amount;
      if (used > resources_[r].capacity) {
        wrong.push_back(fmt::format("at {} tasks use {} of '{}', which has {}", e.time, used,
                                    resources_[r].name, resources_[r].capacity));
        break;
      }
    }
  }
  return wrong;
}

} // namespace accord
