// What follows from a makespan by adding durations along chains: all that a claim presupposes.
#pragma once
#include "lib/scheduling/verify/Scheduling.h"

namespace accord::smtquery {

using Id = SchedulingProblem::Id;

/// Of schedules of at most `horizon`. Heads and tails are longest chains of precedences through
/// tasks that must happen, least durations; where two tasks cannot run at once and one does not fit
/// before the other, the other comes first, and chains are added up again. `windows`: proven
/// elsewhere, to start from. All times are the problem's; a claim speaks of whole units of them,
/// rounded down: were there a schedule, its starts in units would meet the claim.
struct QueryFacts {
  QueryFacts(const SchedulingProblem &problem, int64_t horizon, int64_t unit = 1,
             const StartWindows *windows = nullptr);

  const SchedulingProblem &problem;
  int64_t horizon, unit;
  std::vector<std::vector<Id>> modes;       ///< by task: those that fit when alone
  std::vector<int64_t> minDuration;         ///< duration over those that happen
  std::vector<char> mandatory;              ///< has no absent mode that fits
  std::vector<int64_t> earliest, latest;    ///< starts, where the task happens
  std::vector<int64_t> tail;                ///< least time from its end to the end of all
  std::vector<std::pair<Id, Id>> ordered;   ///< found: before, after
  std::vector<std::pair<Id, Id>> unordered; ///< pairs that cannot run at once, order open
  bool infeasible = false;                  ///< a chain is too long, or no mode fits

  const SchedulingProblem::Mode &mode(Id task, Id m) const { return problem.tasks[task].modes[m]; }
  int64_t end(Id task) const { return horizon - tail[task]; } ///< the latest

  // In units:
  int64_t length(const SchedulingProblem::Mode &mode) const { return mode.duration / unit; }
  int64_t first(Id task) const { return earliest[task] / unit; }
  int64_t last(Id task) const { return floor(latest[task]); }
  int64_t last(Id task, const SchedulingProblem::Mode &mode) const { return floor(end(task) - mode.duration); }
  /// From the start of a task to the earliest start of what follows after a delay.
  int64_t lag(const SchedulingProblem::Mode &mode, int64_t delay) const { return (mode.duration + delay) / unit; }

  /// A time lag, rounded down also where it is negative.
  int64_t lag(int64_t time) const { return time / unit - (time % unit < 0 ? 1 : 0); }

  /// Never run at the same time, by precedences, windows, or `ordered` and `open`.
  bool isDisjunctive(Id a, Id b) const;

private:
  int64_t floor(int64_t time) const { return time < 0 ? -1 : time / unit; }
  bool chains();
  void orders();
  void close();
  bool collide(Id a, Id b) const;
  std::vector<std::vector<char>> precedes, ranked;
};

/// Needs `horizon` below 2^20 or so: each symbol has a bit for each time.
std::string encodeInBitVectors(const QueryFacts &facts);
std::string encodeInIntegers(const QueryFacts &facts);

/// Symbols of tasks: their names where those are unlike, else with the number.
std::vector<std::string> symbolsOf(const SchedulingProblem &problem);

} // namespace accord::smtquery
