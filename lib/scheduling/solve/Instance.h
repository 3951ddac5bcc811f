// A checked problem in the form that solvers compute on: neighbours, a topological order, and the longest chains that
// every schedule contains.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "llvm/ADT/SmallVector.h"

namespace accord::solve {

using Id = SchedulingProblem::Id;

struct Edge {
  Id task = 0;
  int64_t delay = 0;
};

class Instance {
public:
  explicit Instance(const SchedulingProblem &problem);

  const SchedulingProblem &problem;
  bool single;                      ///< one mode each
  std::vector<Id> order;            ///< every task after those it waits for
  std::vector<int64_t> minDuration; ///< shortest duration among modes that fit; 0 of an optional task
  std::vector<char> mandatory;      ///< happens in every schedule
  /// Longest chain before the start and after the end, over tasks that are certain, at their
  /// least durations.
  std::vector<int64_t> heads, tails;
  /// Why heads and tails are longer than the chains; see `tightenPrecedences`.
  std::vector<ProofStep> steps;

  size_t size() const { return order.size(); }
  llvm::ArrayRef<Edge> after(Id t) const { return afters[t]; }
  llvm::ArrayRef<Edge> before(Id t) const { return befores[t]; }
  /// Time lags between tasks that are certain, each as a delay after the least duration of the task before: negative
  /// where they may overlap, and of maximum lags.
  llvm::ArrayRef<Edge> lagsAfter(Id t) const { return lags[t]; }
  /// Tasks in a cycle whose precedences and time lags sum up to more than 0: no schedule keeps them. Empty if there is
  /// none. Then heads and tails stop somewhere.
  const std::vector<Id> &cycle() const { return positiveCycle; }
  const SchedulingProblem::Mode &mode(Id task, Id mode) const { return problem.tasks[task].modes[mode]; }
  /// The longest chain.
  int64_t path() const;

  /// Lengthens heads (and tails likewise): what precedes a task and shares a resource takes its
  /// time there one after the other (Carlier, Pinson, An algorithm for solving the job-shop
  /// problem, Management Science 35, 1989, for one machine). Looks at the `nearest` predecessors,
  /// direct or not.
  void tightenPrecedences(size_t nearest);

private:
  bool tightenPrecedencesOf(Id task, bool early, size_t nearest);
  void lengthenByLags();
  std::vector<int64_t> position;                           ///< by task: place in `order`
  std::vector<llvm::SmallVector<Edge, 4>> afters, befores; ///< by task
  std::vector<llvm::SmallVector<Edge, 0>> lags;            ///< by task
  std::vector<Id> positiveCycle;
};

} // namespace accord::solve
