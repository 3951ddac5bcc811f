// Bounds first, a list schedule for the incumbent, improvement until they meet.
#include "lib/solve/ListScheduler.h"
#include "lib/solve/OneMachine.h"
#include <algorithm>

namespace accord {
namespace {

SchedulingProblem::Bound boundOf(const SchedulingProblem &problem, const ListScheduler &lists) {
  const auto &tasks = problem.tasks();
  SchedulingProblem::Bound bound{0, "critical path"};
  for (size_t t = 0; t < tasks.size(); ++t)
    bound.length = std::max(bound.length, lists.heads()[t] + tasks[t].duration + lists.tails()[t]);
  for (uint32_t r = 0; r < problem.resources().size(); ++r) {
    const auto &resource = problem.resources()[r];
    std::vector<Job> users;
    __int128 work = 0;
    int64_t head = INT64_MAX, tail = INT64_MAX;
    for (uint32_t t = 0; t < tasks.size(); ++t)
      for (const auto &use : tasks[t].usage)
        if (use.resource == r && tasks[t].duration > 0) {
          users.push_back({lists.heads()[t], tasks[t].duration, lists.tails()[t]});
          work += static_cast<__int128>(tasks[t].duration) * use.amount;
          head = std::min(head, lists.heads()[t]);
          tail = std::min(tail, lists.tails()[t]);
        }
    if (users.empty())
      continue;
    int64_t length =
        head + static_cast<int64_t>((work + resource.capacity - 1) / resource.capacity) + tail;
    if (resource.capacity == 1)
      length = std::max(length, preemptiveOneMachine(std::move(users)));
    if (length > bound.length)
      bound = {length, resource.name};
  }
  return bound;
}

} // namespace

SchedulingProblem::Bound SchedulingProblem::lowerBound() const {
  return boundOf(*this, ListScheduler(*this));
}

int64_t SchedulingProblem::longestChain() const {
  ListScheduler lists(*this);
  int64_t longest = 0;
  for (size_t t = 0; t < tasks_.size(); ++t)
    longest = std::max(longest, lists.heads()[t] + tasks_[t].duration);
  return longest;
}

SchedulingProblem::Solution SchedulingProblem::solve(const Options &options) const {
  ListScheduler lists(*this);
  Solution best;
  best.bound = boundOf(*this, lists);
  std::vector<int64_t> key(tasks_.size());
  for (size_t t = 0; t < tasks_.size(); ++t)
    key[t] = -(lists.tails()[t] + tasks_[t].duration);
  best.start = lists.run(key, false);
  best.length = lists.lengthOf(best.start);
  std::vector<int64_t> current = best.start;
  for (unsigned round = 0; round < options.improvements && best.length > best.bound.length;
       ++round) {
    // Backward in time what ends last goes first, then forward what starts first.
    for (size_t t = 0; t < tasks_.size(); ++t)
      key[t] = -(current[t] + tasks_[t].duration);
    std::vector<int64_t> reversed = lists.run(key, true);
    int64_t length = lists.lengthOf(reversed);
    for (size_t t = 0; t < tasks_.size(); ++t)
      key[t] = length - (reversed[t] + tasks_[t].duration);
    // The right-justified schedule is a schedule too.
    if (length < best.length) {
      best.start = key;
      best.length = length;
    }
    current = lists.run(key, false);
    length = lists.lengthOf(current);
    if (length < best.length) {
      best.start = current;
      best.length = length;
    }
  }
  return best;
}

} // namespace accord
