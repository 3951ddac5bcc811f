#include "lib/solve/ListScheduler.h"
#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace accord {
namespace {

/// Candidates of one group that are tried when the resources are taken in part.
constexpr unsigned kTries = 16;

} // namespace

ListScheduler::ListScheduler(const SchedulingProblem &problem)
    : problem_(problem), after_(problem.tasks().size()), before_(problem.tasks().size()),
      group_(problem.tasks().size()) {
  for (const auto &p : problem.precedences()) {
    after_[p.before].push_back({p.after, p.delay});
    before_[p.after].push_back({p.before, p.delay});
  }
  std::map<std::vector<uint32_t>, uint32_t> known;
  for (size_t t = 0; t < group_.size(); ++t) {
    std::vector<uint32_t> resources;
    for (const auto &use : problem.tasks()[t].usage)
      resources.push_back(use.resource);
    std::sort(resources.begin(), resources.end());
    group_[t] =
        known.emplace(std::move(resources), static_cast<uint32_t>(known.size())).first->second;
  }
  groups_ = static_cast<uint32_t>(known.size());

  auto longest = [&](const std::vector<std::vector<Edge>> &next,
                     const std::vector<std::vector<Edge>> &previous) {
    std::vector<int64_t> path(next.size(), 0);
    std::vector<size_t> waiting(next.size());
    std::vector<uint32_t> ready;
    for (uint32_t t = 0; t < next.size(); ++t)
      if ((waiting[t] = previous[t].size()) == 0)
        ready.push_back(t);
    for (size_t i = 0; i < ready.size(); ++i) {
      int64_t end = path[ready[i]] + problem.tasks()[ready[i]].duration;
      for (const Edge &e : next[ready[i]]) {
        path[e.task] = std::max(path[e.task], end + e.delay);
        if (--waiting[e.task] == 0)
          ready.push_back(e.task);
      }
    }
    return path;
  };
  heads_ = longest(after_, before_);
  tails_ = longest(before_, after_);
}

int64_t ListScheduler::lengthOf(const std::vector<int64_t> &start) const {
  int64_t length = 0;
  for (size_t t = 0; t < start.size(); ++t)
    length = std::max(length, start[t] + problem_.tasks()[t].duration);
  return length;
}

std::vector<int64_t> ListScheduler::run(const std::vector<int64_t> &key, bool backward) const {
  const auto &tasks = problem_.tasks();
  const auto &next = backward ? before_ : after_;
  const auto &previous = backward ? after_ : before_;
  using Entry = std::pair<int64_t, uint32_t>; // key or time, task
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  std::vector<int64_t> start(tasks.size(), 0), release(tasks.size(), 0), free;
  for (const auto &r : problem_.resources())
    free.push_back(r.capacity);
  std::vector<size_t> waiting(tasks.size());
  std::vector<std::set<Entry>> ready(groups_);
  Queue running, later;
  for (uint32_t t = 0; t < tasks.size(); ++t)
    if ((waiting[t] = previous[t].size()) == 0)
      ready[group_[t]].insert({key[t], t});

  int64_t now = 0;
  struct Cursor {
    std::set<Entry>::iterator at;
    unsigned tries = 0;
    bool open = true;
  };
  std::vector<Cursor> cursors(groups_);
  for (;;) {
    for (uint32_t g = 0; g < groups_; ++g)
      cursors[g] = {ready[g].begin(), 0, !ready[g].empty()};
    for (;;) {
      uint32_t best = groups_;
      for (uint32_t g = 0; g < groups_; ++g)
        if (cursors[g].open && (best == groups_ || *cursors[g].at < *cursors[best].at))
          best = g;
      if (best == groups_)
        break;
      Cursor &cursor = cursors[best];
      uint32_t task = cursor.at->second;
      bool fits = true;
      for (const auto &use : tasks[task].usage) {
        fits &= use.amount <= free[use.resource];
        cursor.open &= free[use.resource] > 0; // everyone in the group needs some of it
      }
      if (fits) {
        for (const auto &use : tasks[task].usage)
          free[use.resource] -= use.amount;
        start[task] = now;
        running.push({now + tasks[task].duration, task});
        cursor.at = ready[best].erase(cursor.at);
      } else {
        ++cursor.at;
        cursor.open &= ++cursor.tries < kTries;
      }
      cursor.open &= cursor.at != ready[best].end();
    }
    if (running.empty() && later.empty())
      return start;
    now = INT64_MAX;
    if (!running.empty())
      now = running.top().first;
    if (!later.empty())
      now = std::min(now, later.top().first);
    while (!running.empty() && running.top().first == now) {
      uint32_t task = running.top().second;
      running.pop();
      for (const auto &use : tasks[task].usage)
        free[use.resource] += use.amount;
      for (const Edge &e : next[task]) {
        release[e.task] = std::max(release[e.task], now + e.delay);
        if (--waiting[e.task] == 0)
          later.push({release[e.task], e.task});
      }
    }
    while (!later.empty() && later.top().first <= now) {
      uint32_t task = later.top().second;
      later.pop();
      ready[group_[task]].insert({key[task], task});
    }
  }
}

} // namespace accord
