// What is to be done and what may be done at once, without an order: the input of the bound by feasible subsets.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include "llvm/ADT/BitVector.h"

namespace accord {

/// Executions of tasks that share resources. `SchedulingProblem` has one execution of each task; the operations of a
/// repeat have one in each iteration.
struct ConcurrentWork {
  struct Task {
    const std::vector<SchedulingProblem::Mode> *modes = nullptr; ///< of these each execution takes one
    int64_t times = 1;                                           ///< executions
  };
  std::vector<int64_t> capacities; ///< by resource
  std::vector<Task> tasks;
  /// By task: those none of whose executions ever runs beside one of it. It is its own member where no two of its
  /// executions run at once. Symmetric.
  std::vector<llvm::BitVector> apart;
};

/// Proves that no schedule is shorter than the sum of times * weight / unit: in no feasible subset, of executions that
/// may run at once, is the sum of weight / (unit * duration) above 1. So what runs at any time takes at most its share
/// of the time, and all of it takes its weight. (Dual of the covering program by feasible subsets: Mingozzi, Maniezzo,
/// Ricciardelli, Bianco, Management Science 44, 1998, section 4; Brucker, Knust, EJOR 127, 2000, with modes.)
struct SubsetWeights {
  std::vector<int64_t> weights; ///< by task, at least 0; in the unit of durations, times `unit`
  int64_t unit = 1;
  int64_t value = 0; ///< the sum of times * weight / unit, rounded up
};

} // namespace accord
