// Schedules a problem: bounds first, then schedules, then Z3 on what is left between them.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/search/SearchLimits.h"

namespace accord {

struct SolveOptions {
  /// Work limit: 0 is bounds and one list schedule; below 6 no solver is asked; each step more
  /// about doubles the work (of 10: some ten seconds to a minute where the answer stays open). The
  /// same effort gives the same result.
  unsigned effort = 10;
  double gap = 0;                                      ///< stop when (makespan - bound) / makespan is at most this
  const std::atomic<bool> *stop = nullptr;             ///< set from anywhere: the best so far is returned
  std::function<void(const SolveProgress &)> progress; ///< called when a number changes
  /// False: bounds alone are looked for, by arithmetic and windows.
  bool searches = true;
};

/// Needs a problem that `check` passes. Deterministic unless stopped. Schedules satisfy
/// `verify(problem, solution)` of lib/scheduling/verify/Scheduling.h, always.
SchedulingResult schedule(const SchedulingProblem &problem, const SolveOptions &options = {});

} // namespace accord
