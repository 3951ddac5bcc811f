// A checked problem in the form that solvers compute on: adjacency in one array, a topological
// order, and the longest chains that every schedule contains.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include <span>

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
  bool single = true;               ///< one mode each
  std::vector<Id> order;            ///< every task after those it waits for
  std::vector<int64_t> minDuration; ///< shortest duration among modes that fit; 0 of an optional task
  std::vector<char> mandatory;      ///< happens in every schedule
  /// Longest chain before the start and after the end, over tasks that are certain, at their
  /// least durations.
  std::vector<int64_t> heads, tails;
  /// Why heads and tails are longer than the chains; see `strengthen`.
  std::vector<ProofStep> steps;

  size_t size() const { return order.size(); }
  std::span<const Edge> after(Id t) const { return list(afters, afterOf, t); }
  std::span<const Edge> before(Id t) const { return list(befores, beforeOf, t); }
  const SchedulingProblem::Mode &mode(Id task, Id mode) const { return problem.tasks[task].modes[mode]; }
  /// The longest chain.
  int64_t path() const;
  /// Whether a mode fits the capacities when it is alone.
  bool fits(const SchedulingProblem::Mode &mode) const;

  /// Lengthens heads (and tails likewise): what precedes a task and shares a resource takes its
  /// time there one after the other (Carlier, Pinson, An algorithm for solving the job-shop
  /// problem, Management Science 35, 1989, for one machine). Looks at the `nearest` predecessors,
  /// direct or not.
  void tightenPrecedences(size_t nearest);

private:
  static std::span<const Edge> list(const std::vector<Edge> &edges, const std::vector<uint32_t> &first, Id t) {
    return {edges.data() + first[t], edges.data() + first[t + 1]};
  }
  bool tightenPrecedencesOf(Id task, bool early, size_t nearest);
  std::vector<int64_t> position; ///< by task: place in `order`
  std::vector<Edge> afters, befores;
  std::vector<uint32_t> afterOf, beforeOf;
};

} // namespace accord::solve
