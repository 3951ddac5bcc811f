// One pass of list scheduling over a problem in either direction of time.
#pragma once
#include "lib/solve/SchedulingProblem.h"

namespace accord {

class ListScheduler {
public:
  explicit ListScheduler(const SchedulingProblem &problem);

  /// At each time at which something ends, starts what is ready and fits, smallest `key` first
  /// (then task number). Backward: of the problem with time reversed. Returns starts (in reversed
  /// time if backward).
  std::vector<int64_t> run(const std::vector<int64_t> &key, bool backward) const;
  int64_t lengthOf(const std::vector<int64_t> &start) const;

  /// Longest chains before the start and after the end of each task.
  const std::vector<int64_t> &heads() const { return heads_; }
  const std::vector<int64_t> &tails() const { return tails_; }

private:
  struct Edge {
    uint32_t task;
    int64_t delay;
  };
  const SchedulingProblem &problem_;
  std::vector<std::vector<Edge>> after_, before_;
  std::vector<uint32_t> group_; ///< by task: tasks of a group use the same resources
  uint32_t groups_ = 0;
  std::vector<int64_t> heads_, tails_;
};

} // namespace accord
