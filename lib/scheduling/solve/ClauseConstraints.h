// Constraints of schedules that explain what follows from them, for a clause solver.
#pragma once
#include "lib/scheduling/solve/ClauseSolver.h"
#include <string>

namespace accord::solve {

/// `after` >= `before` + `lag` where `guard` holds. Explained by the bound of the other variable that is just strong
/// enough.
class DifferenceConstraint : public ExplainedConstraint {
public:
  struct Difference {
    uint32_t before, after;
    int64_t lag;
    Literal guard; ///< or kAlways
  };

  /// Of `variables` variables in all.
  DifferenceConstraint(std::vector<Difference> differences, const ClauseSolver &solver, size_t variables);

  bool propagate(ClauseSolver &solver) override;
  void explain(const ClauseSolver &solver, int32_t place, Literal literal, int64_t detail,
               std::vector<Literal> &premises) override;
  void changed(const ClauseSolver &, uint32_t variable, bool upper, int32_t, int32_t) override {
    uint32_t bound = 2 * variable + (upper ? 1 : 0);
    if (!isQueued[bound])
      isQueued[bound] = 1, queue.push_back(bound);
  }

private:
  bool check(ClauseSolver &solver, uint32_t number);

  std::vector<Difference> differences;
  std::vector<std::vector<uint32_t>>
      of;                      ///< by bound (a variable, doubled, plus 1 for the upper one): what it may change
  std::vector<uint32_t> queue; ///< bounds
  std::vector<char> isQueued;  ///< by bound
};

/// A resource, and what tasks use of it while they run.
struct ClauseResource {
  struct Use {
    uint32_t task; ///< variable of its start
    int64_t duration, amount;
  };
  int64_t capacity;
  std::vector<Use> uses;
};

/// What tasks use of a resource at any time stays within its capacity: by the parts of tasks that are certain
/// (Lahrichi 1982), each bound explained by what is certain at one time (Schutt, Feydy, Stuckey, Wallace, Explaining
/// the cumulative propagator, Constraints 16, 2011).
class TimetableConstraint : public ExplainedConstraint {
public:
  /// Of times before `horizon`: what starts there takes nothing. Starts are variables 0 to `tasks` - 1.
  TimetableConstraint(std::vector<ClauseResource> resources, const ClauseSolver &solver, size_t tasks, int64_t horizon);

  bool propagate(ClauseSolver &solver) override;
  void explain(const ClauseSolver &solver, int32_t place, Literal literal, int64_t detail,
               std::vector<Literal> &premises) override;
  void changed(const ClauseSolver &solver, uint32_t variable, bool upper, int32_t from, int32_t to) override;
  void undone(const ClauseSolver &solver, uint32_t variable, bool upper, int32_t from, int32_t to) override;

private:
  struct Share {
    uint32_t resource;
    int64_t amount;
  };
  struct Covering {
    int32_t decided;
    int64_t amount;
    Literal begun, running;
  };
  bool filter(ClauseSolver &solver, uint32_t resource, const ClauseResource::Use &use);
  void update(const ClauseSolver &solver, uint32_t task, bool upper, int32_t from, int32_t to, int sign);
  /// Tasks besides `but` that certainly take more than `above` at `time`, as known before `place`.
  void cover(const ClauseSolver &solver, uint32_t resource, int64_t time, int64_t above, uint32_t but, int32_t place,
             std::vector<Literal> &premises);

  std::vector<ClauseResource> resources;
  std::vector<std::vector<Share>> shares; ///< by task
  std::vector<int64_t> durations;         ///< by task
  int64_t horizon;
  std::vector<std::vector<int64_t>> used;  ///< by resource, by time
  std::vector<int64_t> dirtyFrom, dirtyTo; ///< by resource: times at which more is used
  std::vector<char> isDirty;               ///< by task
  std::vector<uint32_t> dirty, moved;
  std::vector<uint64_t> movedIn; ///< by task: the last pass that began after a change; all in the first
  uint64_t pass = 0;
  std::vector<Covering> covering;
};

/// What choices of all tasks together spend stays within a budget; of each task one choice holds, as clauses say.
/// Explained by the choices that are out and would spend less.
class BudgetConstraint : public ExplainedConstraint {
public:
  struct Choice {
    int64_t amount;
    Literal guard;
  };

  BudgetConstraint(std::vector<std::vector<Choice>> tasks, int64_t capacity);

  bool propagate(ClauseSolver &solver) override;
  void explain(const ClauseSolver &solver, int32_t place, Literal literal, int64_t detail,
               std::vector<Literal> &premises) override;
  void changed(const ClauseSolver &, uint32_t, bool, int32_t, int32_t) override { isDirty = true; }

private:
  /// Of choices that are not out before `place`.
  int64_t minAmountOf(const ClauseSolver &solver, uint32_t number, int32_t place) const;
  void cover(const ClauseSolver &solver, int64_t above, uint32_t but, int32_t place, std::vector<Literal> &premises);

  std::vector<std::vector<Choice>> tasks;
  int64_t room;
  std::vector<int64_t> minima, now; ///< by task: of all choices, of those that are not out
  bool isDirty = true;
};

} // namespace accord::solve
