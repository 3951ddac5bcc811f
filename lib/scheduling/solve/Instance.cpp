#include "lib/scheduling/solve/Instance.h"
#include "lib/scheduling/solve/Bounds.h"
#include <algorithm>
#include <map>

namespace accord::solve {

Instance::Instance(const SchedulingProblem &problem)
    : problem(problem), single(problem.singleMode()), order(problem.topologicalOrder()) {
  size_t n = problem.tasks.size();
  minDuration.assign(n, INT64_MAX), mandatory.assign(n, 1);
  for (Id t = 0; t < n; ++t) {
    mandatory[t] = !problem.optional(t);
    for (const auto &mode : problem.tasks[t].modes)
      if (problem.fits(mode))
        minDuration[t] = std::min(minDuration[t], mode.duration);
    if (minDuration[t] == INT64_MAX) // no mode fits
      minDuration[t] = 0;
  }
  afters.resize(n), befores.resize(n);
  for (const auto &p : problem.precedences)
    afters[p.before].push_back({p.after, p.delay}), befores[p.after].push_back({p.before, p.delay});

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
  lags.resize(n);
  for (const auto &lag : problem.lags)
    if (mandatory[lag.before] && mandatory[lag.after])
      lags[lag.before].push_back({lag.after, lag.lag - minDuration[lag.before]});
  if (!problem.lags.empty())
    lengthenByLags();
}

/// Longest paths over precedences and lags (Bellman 1958, Ford 1956). What still changes after as many rounds as there
/// are tasks lies behind a cycle of positive length: going back from it ends in one.
void Instance::lengthenByLags() {
  size_t n = size();
  std::vector<Id> from(n, SchedulingProblem::kNoTask);
  Id last = SchedulingProblem::kNoTask;
  for (size_t round = 0; round <= n; ++round) {
    last = SchedulingProblem::kNoTask;
    for (Id t : order)
      for (llvm::ArrayRef<Edge> edges : {after(t), lagsAfter(t)})
        for (const Edge &e : edges)
          if (int64_t head = heads[t] + minDuration[t] + e.delay;
              mandatory[t] && mandatory[e.task] && head > heads[e.task])
            heads[e.task] = head, from[e.task] = t, last = e.task;
    if (last == SchedulingProblem::kNoTask)
      break;
  }
  if (last != SchedulingProblem::kNoTask) {
    for (size_t i = 0; i < n; ++i)
      last = from[last];
    for (Id t = last; positiveCycle.empty() || t != last; t = from[t])
      positiveCycle.push_back(t);
    std::reverse(positiveCycle.begin(), positiveCycle.end());
    return;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = n; i-- > 0;)
      for (llvm::ArrayRef<Edge> edges : {after(order[i]), lagsAfter(order[i])})
        for (const Edge &e : edges)
          if (int64_t tail = tails[e.task] + minDuration[e.task] + e.delay;
              mandatory[order[i]] && mandatory[e.task] && tail > tails[order[i]])
            tails[order[i]] = tail, changed = true;
  }
}

int64_t Instance::path() const {
  int64_t longest = 0;
  for (Id t = 0; t < size(); ++t)
    if (mandatory[t])
      longest = std::max(longest, heads[t] + minDuration[t] + tails[t]);
  return longest;
}

bool Instance::tightenPrecedencesOf(Id task, bool early, size_t nearest) {
  // Predecessors from the last one in topological order on, with their longest chain to the task.
  std::map<int64_t, std::pair<Id, int64_t>> open; // by place: task, chain
  auto reach = [&](Id from, int64_t chain) {
    for (const Edge &e : early ? before(from) : after(from)) {
      if (!mandatory[e.task])
        continue;
      auto [at, fresh] =
          open.try_emplace(early ? -position[e.task] : position[e.task], std::pair{e.task, chain + e.delay});
      if (!fresh)
        at->second.second = std::max(at->second.second, chain + e.delay);
    }
  };
  const auto &head = early ? heads : tails;
  std::vector<std::vector<Job>> jobs(problem.resources.size());
  std::vector<std::vector<Id>> users(problem.resources.size());
  reach(task, 0);
  for (size_t seen = 0; !open.empty() && seen < nearest; ++seen) {
    auto [id, chain] = open.begin()->second;
    open.erase(open.begin());
    reach(id, chain + minDuration[id]);
    for (const auto &use : problem.tasks[id].modes[0].usage)
      if (__int128 work = minWork(*this, id, use.of); work > 0) {
        int64_t capacity = problem.resources[use.of].capacity;
        jobs[use.of].push_back({head[id], static_cast<int64_t>(work / capacity), chain});
        users[use.of].push_back(id);
      }
  }
  int64_t &bound = early ? heads[task] : tails[task];
  ProofStep best{ProofStep::Rule::Set, task, 0, early, bound, 0, 0, {}};
  for (Id r = 0; r < jobs.size(); ++r) {
    if (jobs[r].size() < 2)
      continue;
    CriticalSet set = criticalSet(jobs[r]);
    if (set.value < best.time)
      continue;
    __int128 work = 0;
    int64_t first = INT64_MAX, last = INT64_MAX, capacity = problem.resources[r].capacity;
    std::vector<Id> tasks;
    for (size_t i = 0; i < users[r].size(); ++i)
      if (jobs[r][i].head >= set.head && jobs[r][i].tail >= set.tail) {
        tasks.push_back(users[r][i]);
        work += minWork(*this, users[r][i], r);
        first = std::min(first, jobs[r][i].head), last = std::min(last, jobs[r][i].tail);
      }
    int64_t value = first + static_cast<int64_t>((work + capacity - 1) / capacity) + last;
    if (tasks.size() > 1 && value > best.time)
      best.time = value, best.other = r, best.tasks = std::move(tasks);
  }
  if (best.tasks.empty())
    return false;
  bound = best.time;
  steps.push_back(std::move(best));
  return true;
}

void Instance::tightenPrecedences(size_t nearest) {
  // A longer head lengthens those that follow; so in order, each after those before it.
  for (bool early : {true, false}) {
    auto &bounds = early ? heads : tails;
    bool any = false;
    for (size_t i = 0; i < size(); ++i) {
      Id t = order[early ? i : size() - 1 - i];
      if (mandatory[t])
        any |= tightenPrecedencesOf(t, early, nearest);
      if (mandatory[t])
        for (const Edge &e : early ? after(t) : before(t))
          bounds[e.task] = std::max(bounds[e.task], bounds[t] + minDuration[t] + e.delay);
    }
    if (any)
      steps.push_back({ProofStep::Rule::Chain, 0, 0, early, 0, 0, 0, {}});
  }
}

} // namespace accord::solve
