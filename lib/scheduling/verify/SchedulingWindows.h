// Replays a proof by windows: what follows for starts if a schedule of some length existed.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include "lib/scheduling/problem/SchedulingResult.h"
#include <map>

namespace accord {

struct SchedulingFacts {
  using Id = SchedulingProblem::Id;
  struct Edge {
    Id task;
    int64_t delay;
  };

  /// Of a problem that `check` passes.
  explicit SchedulingFacts(const SchedulingProblem &problem);

  const SchedulingProblem &problem;
  std::vector<char> mandatory;      ///< the task has no absent mode
  std::vector<int64_t> minDuration; ///< duration, over modes that fit when alone; 0 if none does
  std::vector<std::vector<const SchedulingProblem::Mode *>> modes; ///< those that fit
  std::vector<std::vector<Edge>> after, before;                    ///< between certain tasks
  /// Time lags between certain tasks, each as a delay (or what is left out of the duration, if negative) after the
  /// least duration of the task before.
  std::vector<std::vector<Edge>> lagsAfter, lagsBefore;
  std::vector<Id> order;             ///< every task after those that precede it
  std::vector<int64_t> heads, tails; ///< longest chains of certain tasks, by least durations and time lags

  bool known(Id task) const { return task < problem.tasks.size(); }
  /// Least duration * amount over modes.
  __int128 workOf(Id task, Id resource) const;

private:
  void lengthenByLags();
};

class SchedulingWindows {
public:
  using Id = SchedulingProblem::Id;

  /// In schedules of at most `horizon`, which is at most 2^62.
  SchedulingWindows(const SchedulingFacts &facts, int64_t horizon);

  /// Takes a step; why it does not follow, or "".
  std::string take(const ProofStep &step);
  /// Chains of precedences and of the orders found by pairs, to their end.
  void chains();
  /// No schedule of at most the horizon exists.
  bool closed() const { return contradiction; }

  std::vector<int64_t> earliest, latest;  ///< starts
  std::vector<std::pair<Id, Id>> ordered; ///< found by pairs: before, after

private:
  struct Need {
    Id task;
    int64_t amount; ///< least over modes
  };
  void raise(Id task, int64_t time);
  void lower(Id task, int64_t time);
  std::string pair(const ProofStep &step);
  std::string compulsory(const ProofStep &step);
  std::string energy(const ProofStep &step);
  std::string set(const ProofStep &step);
  void sweep(Id task, bool early);
  /// A mode that the window of its task has room for.
  bool inWindow(Id task, const SchedulingProblem::Mode &mode) const;
  bool isDisjunctive(Id a, Id b) const;
  /// Why some tasks may run beside those that use a resource, or beside each other; else "".
  std::string beside(const std::vector<Id> &tasks, Id resource);
  const std::vector<char> &following(Id task);
  int64_t inside(Id task, int64_t duration, int64_t from, int64_t to) const;
  const std::vector<Need> &users(Id resource);

  const SchedulingFacts &facts;
  int64_t horizon;
  std::vector<std::vector<SchedulingFacts::Edge>> after, before;
  std::vector<size_t> place;            ///< in the order of the chains
  size_t sweptOn = 0, sweptBack = 0;    ///< how far steps by sets have followed the chains
  std::vector<Id> raised, lowered;      ///< since the last `chains`
  std::vector<std::vector<Need>> needs; ///< by resource, made when first asked for
  std::vector<char> isCollected;
  std::vector<std::vector<Id>> excluded; ///< by resource: of the last such step
  std::map<Id, std::vector<char>> followers;
  bool contradiction = false;
};

} // namespace accord
