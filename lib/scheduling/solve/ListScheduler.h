// One pass of parallel list scheduling in either direction of time: fast on large problems.
#pragma once
#include "lib/scheduling/solve/Instance.h"

namespace accord::solve {

class ListScheduler {
public:
  /// `modes`: of each task; not absent ones are scheduled.
  ListScheduler(const Instance &instance, const std::vector<Id> &modes);

  /// At each time at which something ends, starts what is ready and fits, smallest `key` first
  /// (then task number). Backward: of the problem with time reversed. Returns starts (in reversed
  /// time if backward). Memories are not looked at.
  std::vector<int64_t> run(const std::vector<int64_t> &key, bool backward);
  int64_t lengthOf(const std::vector<int64_t> &start) const;
  int64_t placed() const { return work; } ///< tasks so far, as a measure of work

private:
  const SchedulingProblem::Mode &mode(Id task) const { return in.mode(task, modes[task]); }

  const Instance &in;
  const std::vector<Id> &modes;
  std::vector<uint32_t> group; ///< by task: tasks of a group use the same resources
  uint32_t groups = 0;
  int64_t work = 0;
};

} // namespace accord::solve
