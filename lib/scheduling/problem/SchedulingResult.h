// What a scheduler answers: a schedule, a bound with its proof, or why there is none.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include <optional>

namespace accord {

/// One step of a proof by windows: in every schedule shorter than the bound, task `task` starts at
/// `time` or later (`early`), or at `time` or earlier. Steps rest on chains of precedences and on
/// the steps before them; the order that a Pair gives is a precedence for those after it. A Set
/// step that is not early gives `time` as what follows the end of `task` at least, whatever the
/// makespan.
struct ProofStep {
  enum class Rule : uint8_t {
    Chain,      ///< by precedences (of all tasks at once; `task` and `time` say nothing)
    Pair,       ///< `task` and `other` cannot run at once, and `task` does not fit before (early)
                ///< or after (not early) `other`
    Compulsory, ///< what others certainly use of resource `other` at any time of [from, to)
    Energy,     ///< what others need of `other` in [from, to); all of it `tasks`, see Scheduling.h
    Set,        ///< `tasks` all precede (early) or follow `task` and share resource `other`: least
                ///< head + work / capacity, rounded up, + least chain from their ends to `task`
  };
  Rule rule = Rule::Chain;
  SchedulingProblem::Id task = 0, other = 0;
  bool early = true;
  int64_t time = 0;
  int64_t from = 0, to = 0;
  std::vector<SchedulingProblem::Id> tasks; ///< of a Set, of Energy
};

/// No schedule is shorter than `value`, and what proves it.
struct SchedulingBound {
  enum class Kind : uint8_t {
    Nothing, ///< value 0
    Path,    ///< `tasks` follow one another
    Set,     ///< `tasks` share `resource`: least head + work / capacity, rounded up, + least tail
    Windows, ///< `steps` close the window of a task, or overfill an interval, at value - 1
    Solver,  ///< "a schedule of at most value - 1 exists" is unsatisfiable, see lib/scheduling/output/SmtQuery.h,
             ///< with starts in the windows that `steps` give, times in whole `unit`s
    Budgets, ///< no choice of modes keeps the budgets: there is no schedule, of whatever length
    Subsets, ///< `weights` of `tasks`, times `unit`: no tasks that may run at once have more than 1 as the sum of
             ///< weight / duration, see lib/scheduling/problem/ConcurrentWork.h
    Cycle,   ///< `tasks`, in a cycle, would each start after the one before it, and the first after itself: by time
             ///< lags and precedences, whatever the length
  };
  int64_t value = 0;
  Kind kind = Kind::Nothing;
  std::vector<SchedulingProblem::Id> tasks;
  SchedulingProblem::Id resource = 0;
  std::vector<ProofStep> steps;
  std::string proof; ///< for people: "critical path", "core tc", "energy of R2", "z3"
  /// Of a Solver: durations and delays rounded down to whole units still leave no schedule. Of Subsets: what weights
  /// are multiplied with.
  int64_t unit = 1;
  std::vector<int64_t> weights = {}; ///< of Subsets: of each of `tasks`
};

struct SchedulingResult {
  enum class Status : uint8_t {
    Feasible,   ///< `solution` is a schedule; the best where makespan = bound.value
    Infeasible, ///< there is none; `conflict` says why
    Unknown,    ///< none was found, and none was proven not to exist
  };
  Status status = Status::Unknown;
  SchedulingSolution solution;
  SchedulingBound bound;
  std::vector<std::string> conflict; ///< constraints that cannot hold together; minimal
  std::string stopped;               ///< "", or why there is a gap: "work limit", "interrupted"
  int64_t work = 0;                  ///< deterministic measure of what was done

  bool optimal() const { return status == Status::Feasible && solution.makespan == bound.value; }
  /// (makespan - bound) / makespan; 0 where optimal.
  double gap() const {
    return status != Status::Feasible || solution.makespan <= 0
               ? 0
               : double(solution.makespan - bound.value) / double(solution.makespan);
  }
};

} // namespace accord
