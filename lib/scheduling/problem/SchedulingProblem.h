// Tasks, their ways of running, and what they share: the input and the answer of every scheduler.
#pragma once
#include "lib/support/Result.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// Project scheduling with several modes (MRCPSP; Talbot 1982, Kolisch and Sprecher 1997), finish-
/// to-start delays, and memories whose buffers live from the start of the task that makes them to
/// the end of the last that reads them. Times are whole numbers of any unit. Members of the family:
/// one mode each is the resource-constrained project (RCPSP); a mode per kind or number of cores is
/// the choice of where to run; an `absent` mode makes a task optional (recompute, or a transfer
/// that is needed only if two others run apart); `pairings` tie such choices together.
struct SchedulingProblem {
  using Id = uint32_t;
  static constexpr Id kNoTask = ~0u;

  /// Renewable: of cores, ports, links, whatever is free again when a task ends.
  struct Resource {
    std::string name;
    int64_t capacity = 1;
  };
  /// Not renewable: what all chosen modes together may spend.
  struct Budget {
    std::string name;
    int64_t capacity = 0;
  };
  struct Memory {
    std::string name;
    int64_t capacity = 0; ///< bytes
  };
  /// Of a resource or of a budget.
  struct Usage {
    Id of = 0;
    int64_t amount = 0;
  };
  struct Mode {
    std::string name;
    int64_t duration = 0;
    std::vector<Usage> usage;  ///< of resources, from start to end
    std::vector<Usage> spends; ///< of budgets
    bool absent = false;       ///< the task does not happen: no duration, no usage, no spending

    int64_t uses(Id resource) const { return amountOf(usage, resource); }
    int64_t consumes(Id budget) const { return amountOf(spends, budget); }
  };
  struct Task {
    std::string name;
    std::vector<Mode> modes;
    SourceLocation location;
  };
  /// start(after) >= end(before) + delay. Holds only where both tasks happen.
  struct Precedence {
    Id before = 0, after = 0;
    int64_t delay = 0;
  };
  /// start(after) >= start(before) + lag, where both tasks happen. A negative lag is a maximum: `before` starts at most
  /// -lag after `after` (generalized precedence; RCPSP/max, Bartusch, Möhring, Radermacher 1988). Lags may form
  /// cycles.
  struct TimeLag {
    Id before = 0, after = 0;
    int64_t lag = 0;
  };
  struct Reader {
    Id task = 0;
    Id unless = kNoTask; ///< reads another copy where this optional task happens
  };
  /// Bytes in a memory from the start of `producer` (from time 0 without one) to the end of the
  /// last reader that happens, or of the producer if none does; `kept`: to the end of all. Nothing
  /// where the producer does not happen. A buffer orders nothing: state the precedences, too.
  struct Buffer {
    std::string name;
    int64_t bytes = 0;
    Id memory = 0;
    Id producer = kNoTask;
    std::vector<Reader> readers;
    bool persistent = false;
  };
  /// Modes of two tasks that go together; all other combinations are forbidden.
  struct Pairing {
    Id a = 0, b = 0;
    std::vector<std::pair<Id, Id>> allowed; ///< mode of a, mode of b

    bool allows(Id modeOfA, Id modeOfB) const { return llvm::is_contained(allowed, std::pair{modeOfA, modeOfB}); }
  };

  std::string name;
  std::vector<Resource> resources;
  std::vector<Budget> budgets;
  std::vector<Memory> memories;
  std::vector<Task> tasks;
  std::vector<Precedence> precedences;
  std::vector<TimeLag> lags;
  std::vector<Buffer> buffers;
  std::vector<Pairing> pairings;

  Id addResource(std::string name, int64_t capacity);
  /// A task of one mode.
  Id addTask(std::string name, int64_t duration, std::vector<Usage> usage);
  void addPrecedence(Id before, Id after, int64_t delay = 0);

  /// What a list says of one resource or budget; 0 if nothing.
  static int64_t amountOf(const std::vector<Usage> &list, Id of);
  /// Whether the mode fits the capacities when it is alone.
  bool fits(const Mode &mode) const;
  /// Whether some resource is too small for both modes at once.
  bool clash(const Mode &a, const Mode &b) const;
  /// Each task after those that it waits for; shorter where there is a cycle.
  std::vector<Id> topologicalOrder() const;

  bool optional(Id task) const; ///< has an absent mode
  bool singleMode() const;      ///< every task has one
  /// Task by name, for messages: its name, or its number.
  std::string nameOf(Id task) const;
};

struct SchedulingSolution {
  std::vector<int64_t> start;              ///< by task; 0 where it does not happen
  std::vector<SchedulingProblem::Id> mode; ///< by task
  int64_t makespan = 0;                    ///< the end of the last task
};

/// All longest durations (or the longest time lag after the start of a task, where that is longer) and delays one after
/// the other: if there is a schedule, there is one that is not longer, because time in which nothing runs and no delay
/// or minimum lag passes can be cut out. Maximum lags hold after that as before.
int64_t serialLength(const SchedulingProblem &problem);

/// What makes a problem malformed: ids out of range, a task without modes or with several absent
/// ones, negative numbers, a mode that needs more than there is while no other mode is left,
/// precedences that form a cycle (named, with a note at each task of it), a time lag from a task to itself, sums beyond
/// 2^61. Cycles of time lags are well formed: what they ask for may be impossible. Code
/// A0930; at most 20 issues. Empty: every solver may compute on it.
Errors check(const SchedulingProblem &problem);

} // namespace accord
