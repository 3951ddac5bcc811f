// Schedules a problem: bounds first, then schedules, then Z3 on what is left between them.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/search/SearchLimits.h"

namespace accord {

struct SolveOptions : SearchLimits {
  bool searches = true; ///< false: bounds alone are looked for, by arithmetic and windows
  bool bounds = true;   ///< false: a schedule alone is looked for; no bound then ends the search early
  bool subsets = false; ///< a bound by what can run at once is looked for at effort 0, too
};

/// Needs a problem that `check` passes. Deterministic unless stopped. Schedules satisfy
/// `verify(problem, solution)` of lib/scheduling/verify/Scheduling.h, always.
SchedulingResult schedule(const SchedulingProblem &problem, const SolveOptions &options = {});

/// The schedule with each task as early as precedences and resources let it in the order of starts (a serial
/// generation: an active schedule, of which Sprecher, Kolisch, Drexl, EJOR 80, 1995, show that it is never longer). Of
/// a problem with buffers, whose room an earlier start could take, it stays as it is.
SchedulingSolution leftJustified(const SchedulingProblem &problem, SchedulingSolution solution);

} // namespace accord
