// Better schedules near a good one: parts of it are free, the rest keeps its order, and clauses are learnt on what is
// left.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/scheduling/solve/Instance.h"
#include <atomic>
#include <random>

namespace accord::solve {

struct NeighbourhoodLimits {
  int64_t bound = 0; ///< stop at this makespan
  uint64_t work = 0; ///< steps of the clause solver
  const std::atomic<bool> *stop = nullptr;
};

/// Large-neighbourhood search (Shaw 1998) over partial orders (Godard, Laborie, Nuijten, Randomized large neighborhood
/// search for cumulative scheduling, ICAPS 2005): tasks near a random time, or of a random part of all, are free; the
/// others keep the order in which they pass on resources, but not their starts. How many are free grows while
/// questions are answered, and shrinks where one stays open. Where nothing helps for long, a schedule as long as the
/// best, but another one, takes its place.
class NeighbourhoodSearch {
public:
  /// For problems that ClauseOracle::supports.
  NeighbourhoodSearch(const Instance &instance, std::mt19937_64 &random);

  /// True if `best` became shorter. `spent` grows by the steps of the clause solver.
  bool improve(SchedulingSolution &best, const NeighbourhoodLimits &limits, uint64_t &spent);

private:
  std::vector<char> chooseFree(const SchedulingSolution &now, size_t count);
  std::vector<std::pair<Id, Id>> ordersOf(const SchedulingSolution &now, const std::vector<char> &isFree) const;

  const Instance &in;
  std::mt19937_64 &random;
  size_t kind = 0;
  double counts[2]; ///< by kind: how many tasks are free
  SchedulingSolution current;
  unsigned stale = 0; ///< neighbourhoods since the last change of `current`
};

} // namespace accord::solve
