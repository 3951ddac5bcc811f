// What follows for the windows of tasks if the makespan is at most some length.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/scheduling/solve/Instance.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace accord::solve {

/// Earliest starts and latest starts, tightened until nothing changes by rules that are sound
/// for every schedule of at most the horizon. For problems of up to some hundred tasks.
class Propagator {
public:
  /// `energetic`: reasoning about all intervals, for problems of up to so many tasks.
  Propagator(const Instance &instance, int64_t horizon, size_t energetic = 150);
  /// False: no schedule of at most the horizon exists; `steps` prove it. `rounds` of all rules, at
  /// most: what is left after them may still close.
  bool run(size_t rounds = SIZE_MAX);

  /// After a run that found nothing: narrows windows by what would close if a task started at one
  /// end of its window (shaving: Martin, Shmoys, A new approach to computing optimal schedules for
  /// the job-shop scheduling problem, IPCO 1996), in `most` runs at most. Windows hold as before,
  /// but `steps` no longer say why; stops before one closes. Returns the runs it made.
  uint64_t probe(uint64_t max);

  std::vector<int64_t> earliest, latest; ///< starts, by task
  /// Pairs that cannot run at the same time and whose order follows: before, after.
  std::vector<std::pair<Id, Id>> ordered;
  std::vector<ProofStep> steps; ///< what was deduced, in order
  /// Pairs that cannot run at the same time and whose order is open.
  const std::vector<std::pair<Id, Id>> &disjoint() const { return open; }

private:
  bool chains();
  bool pairs();
  bool compulsory();
  bool energy();
  bool sets();
  using Rule = ProofStep::Rule;
  /// A deduction that is kept if it says more than is known. False: the window closes.
  bool deduce(const ProofStep &step);

  const Instance &in;
  size_t energetic;
  bool changed = false;
  std::vector<std::vector<Edge>> after, before; ///< with the orders found
  std::vector<std::vector<char>> reaches;       ///< by precedences
  std::vector<std::pair<Id, Id>> open;
  /// Of a resource, by a task that certainly happens: in each mode that fits when it is alone.
  struct Option {
    int64_t amount, duration;
  };
  struct User {
    Id task;
    int64_t amount, max; ///< the least and the most of all modes
    int64_t duration;    ///< the least of all modes
    __int128 energy;     ///< the most of all modes
    std::vector<Option> options;
  };
  int64_t end(Id t) const { return latest[t] + in.minDuration[t]; } ///< the latest
  bool inWindow(Id t, const Option &option) const { return earliest[t] + option.duration <= end(t); }
  bool isDisjunctive(Id a, Id b) const;
  std::vector<Id> joining(Id resource) const;
  User userOf(Id task, llvm::function_ref<int64_t(const SchedulingProblem::Mode &)> amount) const;
  __int128 needs(const User &user, int64_t from, int64_t to) const;
  std::vector<std::vector<User>> users; ///< by resource
};

} // namespace accord::solve
