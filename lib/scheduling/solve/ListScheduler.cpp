#include "lib/scheduling/solve/ListScheduler.h"
#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace accord::solve {
namespace {

/// Candidates of one group that are tried when the resources are taken in part.
constexpr unsigned kTries = 16;

} // namespace

ListScheduler::ListScheduler(const Instance &instance, const std::vector<Id> &modes)
    : in(instance), modes(modes), group(instance.size()) {
  std::map<std::vector<uint32_t>, uint32_t> known;
  for (Id t = 0; t < group.size(); ++t) {
    std::vector<uint32_t> resources;
    for (const auto &use : mode(t).usage)
      resources.push_back(use.of);
    std::sort(resources.begin(), resources.end());
    group[t] = known.emplace(std::move(resources), static_cast<uint32_t>(known.size())).first->second;
  }
  groups = static_cast<uint32_t>(known.size());
}

int64_t ListScheduler::lengthOf(const std::vector<int64_t> &start) const {
  int64_t length = 0;
  for (size_t t = 0; t < start.size(); ++t)
    length = std::max(length, start[t] + mode(t).duration);
  return length;
}

std::vector<int64_t> ListScheduler::run(const std::vector<int64_t> &key, bool backward) {
  size_t n = in.size();
  work += static_cast<int64_t>(n);
  using Entry = std::pair<int64_t, uint32_t>; // key or time, task
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  std::vector<int64_t> start(n, 0), release(n, 0), free;
  for (const auto &r : in.problem.resources)
    free.push_back(r.capacity);
  std::vector<size_t> waiting(n);
  std::vector<std::set<Entry>> ready(groups);
  Queue running, later;
  for (Id t = 0; t < n; ++t)
    if ((waiting[t] = (backward ? in.after(t) : in.before(t)).size()) == 0)
      ready[group[t]].insert({key[t], t});

  int64_t now = 0;
  struct Cursor {
    std::set<Entry>::iterator at;
    unsigned tries = 0;
    bool open = true;
  };
  std::vector<Cursor> cursors(groups);
  for (;;) {
    for (uint32_t g = 0; g < groups; ++g)
      cursors[g] = {ready[g].begin(), 0, !ready[g].empty()};
    for (;;) {
      uint32_t best = groups;
      for (uint32_t g = 0; g < groups; ++g)
        if (cursors[g].open && (best == groups || *cursors[g].at < *cursors[best].at))
          best = g;
      if (best == groups)
        break;
      Cursor &cursor = cursors[best];
      uint32_t task = cursor.at->second;
      bool fits = true;
      for (const auto &use : mode(task).usage) {
        fits &= use.amount <= free[use.of];
        cursor.open &= free[use.of] > 0; // everyone in the group needs some of it
      }
      if (fits) {
        for (const auto &use : mode(task).usage)
          free[use.of] -= use.amount;
        start[task] = now;
        running.push({now + mode(task).duration, task});
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
      for (const auto &use : mode(task).usage)
        free[use.of] += use.amount;
      bool happens = !mode(task).absent;
      for (const Edge &e : backward ? in.before(task) : in.after(task)) {
        if (happens)
          release[e.task] = std::max(release[e.task], now + e.delay);
        if (--waiting[e.task] == 0)
          later.push({std::max(now, release[e.task]), e.task});
      }
    }
    while (!later.empty() && later.top().first <= now) {
      uint32_t task = later.top().second;
      later.pop();
      ready[group[task]].insert({key[task], task});
    }
  }
}

} // namespace accord::solve
