#include "lib/scheduling/solve/Bounds.h"
#include <algorithm>
#include <queue>

namespace accord {

CriticalSet criticalSet(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job &a, const Job &b) { return a.head < b.head; });
  struct Segment {
    int64_t from, to, tail;
  };
  std::vector<Segment> segments;
  std::priority_queue<std::pair<int64_t, size_t>> available; // tail, job
  int64_t now = 0;
  size_t last = 0; // segment in which the critical job ends
  CriticalSet best;
  for (size_t i = 0; i < jobs.size() || !available.empty();) {
    if (available.empty())
      now = std::max(now, jobs[i].head);
    for (; i < jobs.size() && jobs[i].head <= now; ++i)
      available.push({jobs[i].tail, i});
    Job &job = jobs[available.top().second];
    int64_t until = now + job.work;
    if (i < jobs.size())
      until = std::min(until, jobs[i].head);
    segments.push_back({now, until, job.tail});
    job.work -= until - now;
    now = until;
    if (job.work == 0) {
      available.pop();
      if (now + job.tail > best.value)
        best = {now + job.tail, 0, job.tail}, last = segments.size() - 1;
    }
  }
  // Back to where the machine last did something less urgent, or nothing.
  for (size_t i = best.value > 0 ? last + 1 : 0; i-- > 0;) {
    if (segments[i].tail < best.tail || (i < last && segments[i].to < segments[i + 1].from))
      break;
    best.head = segments[i].from;
  }
  return best;
}

namespace solve {

__int128 minWork(const Instance &in, Id t, Id resource) {
  __int128 minimum = -1;
  for (const auto &mode : in.problem.tasks[t].modes) {
    if (!in.problem.fits(mode))
      continue;
    __int128 work = __int128{mode.uses(resource)} * mode.duration;
    minimum = minimum < 0 ? work : std::min(minimum, work);
  }
  return std::max<__int128>(minimum, 0);
}

namespace {

SchedulingBound longestChain(const Instance &in) {
  SchedulingBound bound;
  bound.kind = SchedulingBound::Kind::Path, bound.proof = "critical path";
  Id at = SchedulingProblem::kNoTask;
  for (Id t = 0; t < in.size(); ++t)
    if (int64_t through = in.heads[t] + in.minDuration[t] + in.tails[t];
        in.mandatory[t] && in.heads[t] == 0 && through >= bound.value &&
        (through > bound.value || at == SchedulingProblem::kNoTask))
      bound.value = through, at = t;
  while (at != SchedulingProblem::kNoTask) {
    bound.tasks.push_back(at);
    Id next = SchedulingProblem::kNoTask;
    for (const Edge &e : in.after(at))
      if (in.mandatory[e.task] && next == SchedulingProblem::kNoTask &&
          in.tails[at] == e.delay + in.minDuration[e.task] + in.tails[e.task] &&
          in.heads[e.task] == in.heads[at] + in.minDuration[at] + e.delay)
        next = e.task;
    at = next;
  }
  return bound;
}

/// Least head + work / capacity, rounded up, + least tail of some tasks.
int64_t valueOf(const Instance &in, Id resource, const std::vector<Id> &tasks) {
  __int128 work = 0;
  int64_t head = INT64_MAX, tail = INT64_MAX, capacity = in.problem.resources[resource].capacity;
  for (Id t : tasks) {
    work += minWork(in, t, resource);
    head = std::min(head, in.heads[t]), tail = std::min(tail, in.tails[t]);
  }
  return tasks.empty() ? 0 : head + static_cast<int64_t>((work + capacity - 1) / capacity) + tail;
}

/// With heads and tails that rest on steps, a bound is a proof by windows at one less.
SchedulingBound withSteps(const Instance &in, SchedulingBound bound) {
  if ((in.steps.empty() && in.problem.lags.empty()) || bound.value == 0)
    return bound;
  SchedulingBound out{bound.value, SchedulingBound::Kind::Windows, {}, 0, in.steps, bound.proof};
  if (bound.kind == SchedulingBound::Kind::Set) {
    int64_t head = INT64_MAX, tail = INT64_MAX;
    for (Id t : bound.tasks)
      head = std::min(head, in.heads[t]), tail = std::min(tail, in.tails[t]);
    out.steps.push_back(
        {ProofStep::Rule::Energy, bound.tasks[0], bound.resource, true, 0, head, bound.value - 1 - tail, {}});
  }
  return out;
}

} // namespace

SchedulingBound simpleBound(const Instance &in) {
  SchedulingBound best = longestChain(in);
  for (Id r = 0; r < in.problem.resources.size(); ++r) {
    int64_t capacity = in.problem.resources[r].capacity;
    std::vector<Job> jobs;
    std::vector<Id> users;
    for (Id t = 0; t < in.size(); ++t)
      if (__int128 work = in.mandatory[t] ? minWork(in, t, r) : 0; work > 0) {
        // Rounded down, so that sums stay below the true one.
        jobs.push_back({in.heads[t], static_cast<int64_t>(work / capacity), in.tails[t]});
        users.push_back(t);
      }
    if (users.empty() || capacity == 0)
      continue;
    CriticalSet set = criticalSet(jobs);
    std::vector<Id> tasks;
    for (size_t i = 0; i < users.size(); ++i)
      if (jobs[i].head >= set.head && jobs[i].tail >= set.tail)
        tasks.push_back(users[i]);
    for (const std::vector<Id> &candidate : {tasks, users})
      if (int64_t value = valueOf(in, r, candidate); value > best.value) {
        best = {value, SchedulingBound::Kind::Set, candidate, r, {}, in.problem.resources[r].name};
      }
  }
  return withSteps(in, std::move(best));
}

} // namespace solve
} // namespace accord
