// A clause solver asked whether a schedule of at most some length exists.
#pragma once
#include "lib/scheduling/solve/ClauseConstraints.h"
#include "lib/scheduling/solve/Propagator.h"

namespace accord::solve {

/// What a clause solver learnt on its way to "there is no such schedule": each lemma follows by unit propagation from
/// the problem and the lemmas before it, up to the contradiction.
struct LearntClauses {
  struct Fact {
    Id task = 0;
    Id other = SchedulingProblem::kNoTask;
    int64_t time = 0;
  };
  std::vector<Fact> facts;       ///< `task` has started by `time`; with an `other`: `task` is before it
  std::vector<int32_t> literals; ///< of one lemma after the other: numbers of facts from 1, negative where one does not
                                 ///< hold; each lemma ends with 0
  /// By lemma: where work in an interval is above what a resource has, and unit propagation does not show it.
  struct Overload {
    Id resource = SchedulingProblem::kNoTask; ///< or unit propagation shows it
    int64_t from = 0, to = 0;
  };
  std::vector<Overload> overloads;
  std::vector<uint32_t>
      lastUse; ///< by lemma: the last one that follows from it; as many as there are: the contradiction
};

/// Starts as variables, precedences, orders of pairs that cannot run at once, and timetables of resources; of tasks
/// with several modes a start in each of them, and what the chosen ones spend of budgets. Of problems without optional
/// tasks, memories, pairings, and with several modes without time lags.
class ClauseOracle {
public:
  using Answer = ClauseSolver::Answer;

  static bool supports(const Instance &instance, const Propagator &windows);

  /// Of schedules of at most some horizon, within `windows` that hold for it. `energetic`: the work in intervals is
  /// looked at, too, which takes as long again; where tasks crowd all resources, a tenth of the contradictions are
  /// left. `kept`: only schedules in which the first of each pair ends before the second starts.
  ClauseOracle(const Instance &instance, const Propagator &windows, bool energetic = false,
               const std::vector<std::pair<Id, Id>> &kept = {});

  /// Whether a schedule of at most `makespan` exists, which is at most the horizon and the makespan that was asked for
  /// before; `found` if so.
  Answer ask(int64_t makespan, uint64_t limit, SchedulingSolution &found, const std::atomic<bool> *stop = nullptr);
  /// A good schedule, near which others are looked for.
  void suggest(const SchedulingSolution &known);
  /// Before the first question: nobody will ask for a refutation, so none is kept.
  void keepNoLog() { solver.keepNoLog(); }
  /// After an answer No: what proves it; nothing where it was too much to keep, or of several modes.
  std::optional<LearntClauses> refutation() const;
  uint64_t work() const { return solver.work(); }
  uint64_t conflicts() const { return solver.conflicts(); }

private:
  /// A task in one of its modes.
  struct Run {
    Id mode;
    int64_t duration, latest; ///< latest start
    uint32_t variable;
    Literal chosen;
  };
  struct Longer {
    int64_t duration;
    Literal holds; ///< the task takes at least so long
  };
  void addRuns(const Propagator &windows, int64_t last, std::vector<DifferenceConstraint::Difference> &differences);
  void addBudget(Id budget);
  std::vector<ClauseResource> resources(bool anyMode) const;

  const Instance &in;
  ClauseSolver solver;
  std::vector<std::vector<Run>> runs;      ///< by task, the shortest first; none where all tasks have one mode
  std::vector<std::vector<Longer>> longer; ///< by task: above its least duration
  int64_t never = 0;
  size_t variables = 0;
  uint32_t firstPair = 0;               ///< variable of the first of `pairs`
  std::vector<std::pair<Id, Id>> pairs; ///< by variable after those of starts: 1 if the first is before the second
};

} // namespace accord::solve
