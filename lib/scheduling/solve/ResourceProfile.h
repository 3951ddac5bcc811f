// How much of each resource is taken over time, as steps.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include <algorithm>

namespace accord::solve {

/// Steps in one sorted array: cheap for up to some thousand tasks.
class ResourceProfile {
public:
  void reset(const SchedulingProblem &problem) {
    resources = problem.resources.size();
    capacity.clear();
    for (const auto &r : problem.resources)
      capacity.push_back(r.capacity);
    times.assign(1, 0);
    free = capacity;
  }

  /// The earliest time from `from` on at which a mode can run to its end.
  int64_t earliest(const SchedulingProblem::Mode &mode, int64_t from) const {
    if (mode.duration == 0 || mode.usage.empty())
      return from;
    size_t k = step(from);
    int64_t start = from;
    for (size_t i = k; i < times.size() && times[i] < start + mode.duration; ++i)
      if (!room(mode, i))
        start = i + 1 < times.size() ? times[i + 1] : INT64_MAX / 2; // the last step is empty
    return start;
  }
  void take(const SchedulingProblem::Mode &mode, int64_t start) {
    if (mode.duration == 0 || mode.usage.empty())
      return;
    size_t first = split(start), last = split(start + mode.duration);
    for (size_t k = first; k < last; ++k)
      for (const auto &use : mode.usage)
        free[k * resources + use.of] -= use.amount;
  }

private:
  size_t step(int64_t time) const { return std::ranges::upper_bound(times, time) - times.begin() - 1; }
  bool room(const SchedulingProblem::Mode &mode, size_t k) const {
    const int64_t *row = free.data() + k * resources;
    for (const auto &use : mode.usage)
      if (use.amount > row[use.of])
        return false;
    return true;
  }
  size_t split(int64_t time) {
    size_t k = step(time);
    if (times[k] == time)
      return k;
    times.insert(std::next(times.begin(), k + 1), time);
    auto at = std::next(free.begin(), k * resources);
    std::vector<int64_t> row(at, std::next(at, resources));
    free.insert(std::next(at, resources), row.begin(), row.end());
    return k + 1;
  }
  size_t resources = 0;
  std::vector<int64_t> capacity;
  std::vector<int64_t> times; ///< where a step begins; the first is 0
  std::vector<int64_t> free;  ///< by step, by resource
};

} // namespace accord::solve
