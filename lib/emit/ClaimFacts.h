// What follows from a makespan by adding durations along chains: all that a claim presupposes.
#pragma once
#include "lib/model/SchedulingProblem.h"

namespace accord::claims {

using Id = SchedulingProblem::Id;

/// Of schedules of at most `horizon`. Heads and tails are longest chains of precedences through
/// tasks that must happen, least durations; where two tasks cannot run at once and one does not fit
/// before the other, the other comes first, and chains are added up again.
struct Facts {
  Facts(const SchedulingProblem &problem, int64_t horizon);

  const SchedulingProblem &problem;
  int64_t horizon;
  std::vector<std::vector<Id>> modes;     ///< by task: those that fit when alone
  std::vector<int64_t> least;             ///< duration over those that happen
  std::vector<char> must;                 ///< has no absent mode that fits
  std::vector<int64_t> earliest, latest;  ///< starts, where the task happens
  std::vector<int64_t> tail;              ///< least time from its end to the end of all
  std::vector<std::pair<Id, Id>> ordered; ///< found: before, after
  std::vector<std::pair<Id, Id>> open;    ///< pairs that cannot run at once, order open
  bool impossible = false;                ///< a chain is too long, or no mode fits

  const SchedulingProblem::Mode &mode(Id task, Id m) const { return problem.tasks[task].modes[m]; }
  /// Never run at the same time, by precedences, windows, or `ordered` and `open`.
  bool apart(Id a, Id b) const;

private:
  bool chains();
  void orders();
  void close();
  bool collide(Id a, Id b) const;
  std::vector<SchedulingProblem::Precedence> edges() const;
  std::vector<std::vector<char>> precedes, ranked;
};

} // namespace accord::claims
