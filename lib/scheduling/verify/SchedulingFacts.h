// What every schedule of a problem contains, for the proofs of bounds.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"

namespace accord {

struct SchedulingFacts {
  using Id = SchedulingProblem::Id;
  struct Edge {
    Id task;
    int64_t delay;
  };

  /// Of a problem that `check` passes.
  explicit SchedulingFacts(const SchedulingProblem &problem);

  const SchedulingProblem &problem;
  std::vector<char> mandatory;      ///< the task has no absent mode
  std::vector<int64_t> minDuration; ///< duration, over modes that fit when alone; 0 if none does
  std::vector<std::vector<const SchedulingProblem::Mode *>> modes; ///< those that fit
  std::vector<std::vector<Edge>> after, before;                    ///< between certain tasks
  std::vector<Id> order;                                           ///< every task after those that precede it
  std::vector<int64_t> heads, tails; ///< longest chains of certain tasks, by least durations

  bool known(Id task) const { return task < problem.tasks.size(); }
  static int64_t amountOf(const SchedulingProblem::Mode &mode, Id resource);
  /// Least duration * amount over modes.
  __int128 workOf(Id task, Id resource) const;
};

} // namespace accord
