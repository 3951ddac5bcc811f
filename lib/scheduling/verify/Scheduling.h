// Proves schedules and bounds of a SchedulingProblem again, without the code that made them.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"

namespace accord {

/// Replays a schedule. Times are half-open: what ends at t makes room for what starts at t, and a
/// task or buffer of no duration uses nothing. Codes: A0930 the problem is malformed · A0909 a task
/// has no start or mode, or there are more than tasks · A0931 a mode that the task has not, or that
/// needs more than there is even when it is alone · A0932 a start before 0 or after 2^61 time
/// units, or one of a task that does not happen · A0902 a precedence or its delay · A0903 a
/// resource overfull · A0904 a memory overfull · A0933 a budget overspent · A0934 modes that no
/// pairing allows · A0912 a makespan that is not the end of the last task. One issue per
/// resource and memory (the first time at which it is overfull), at most 20 in all. O(n log n) in
/// the size of the problem.
Errors verify(const SchedulingProblem &problem, const SchedulingSolution &solution);

/// Proves a bound again by its kind; A0906 where the proof gives less than `value`, A0930 as above.
/// Least durations, amounts and work are those over the modes that fit when alone; only tasks
/// without an absent mode count.
/// - Path: each task precedes the next; sum of least durations and delays. O(n).
/// - Set: of distinct tasks that all need the resource; heads and tails are longest chains. O(n).
/// - Windows: starts from chains at the horizon value - 1, then each step by its own arithmetic:
///   pairs (Carlier, Pinson 1989), compulsory parts (Lahrichi 1982), energy of intervals (Erschler,
///   Lopez 1990; Baptiste, Le Pape, Nuijten, Annals of OR 92, 1999, left- and right-shifted work).
///   Tasks that an Energy step lists do not use its resource, but never run beside one that does,
///   nor beside each other, by precedences or in all modes that their windows have room for: as if
///   they took all of it. A Pair step also orders its two tasks for the chains after it. The end is
///   a window that is closed, or an interval that tasks overfill whatever they do. O(n) or O(users
///   log users) a step.
/// - Solver: rests on a solver's answer, about windows whose steps follow; adds a sentence to
///   `trusted`. See `solverWindows`.
/// - Budgets: `budgetsAdmitNothing`.
/// - Subsets: `provedBySubsets` (SubsetProof.h), by branch and bound.
/// - Cycle: of distinct tasks, each with a precedence or time lag to the next, the last to the first; the sum of the
///   longest of them (durations and delays, or lags) is above 0. O(n).
/// - Nothing: value at most 0.
Errors verify(const SchedulingProblem &problem, const SchedulingBound &bound,
              std::vector<std::string> *trusted = nullptr);

/// Whether budgets alone leave no schedule. True: whatever modes the tasks have, of those that fit the resources alone,
/// some budget is overspent. By all amounts that the tasks so far can spend together, budget by budget; pairings are
/// left out, so that it holds with them, too. False: a choice keeps all budgets, or there are too many
/// different amounts: a million at a time, twenty million in all.
bool budgetsAdmitNothing(const SchedulingProblem &problem);

/// Whether a bound, once proved, says that there is no schedule at all: by budgets, by a cycle of time lags, or of a
/// problem with time lags because it is above `serialLength`, which no problem with a schedule needs.
bool provesInfeasible(const SchedulingProblem &problem, const SchedulingBound &bound);

/// Where tasks start in schedules shorter than a bound, and pairs whose order follows.
struct StartWindows {
  std::vector<int64_t> earliest, latest;                                        ///< by task
  std::vector<std::pair<SchedulingProblem::Id, SchedulingProblem::Id>> ordered; ///< before, after
};
/// What the steps of a Solver's bound prove of starts in schedules of at most value - 1: what the
/// solver was told. A0906 where a step does not follow, or its unit is none. Needs a problem that
/// `check` passes.
Result<StartWindows> solverWindows(const SchedulingProblem &problem, const SchedulingBound &bound);

/// Both, and what holds between them: no schedule is shorter than its bound (A0906); infeasible
/// with a reason and feasible without one (A0916). That there is no schedule is proved by what `provesInfeasible`, else
/// it rests on a solver's answer, which adds a sentence to `trusted`.
Errors verify(const SchedulingProblem &problem, const SchedulingResult &result,
              std::vector<std::string> *trusted = nullptr);

} // namespace accord
