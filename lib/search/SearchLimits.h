// What limits a search, and what it tells while it runs: the same for every subject.
#pragma once
#include <atomic>
#include <functional>
#include <string>

namespace accord {

/// How far a search is, in the unit of its objective; times are in picoseconds.
struct SolveProgress {
  std::string phase;    ///< "bounds", "lists", "z3", "windows", "search"
  double incumbent = 0; ///< 0 if there is none
  double bound = 0;
};

/// What ends a search before its work is done, and who is told. A deadline sets `stop`, so that no clock stands in a
/// search.
struct SearchControl {
  double gap = 0;                                           ///< ends at (value - bound) / value of at most this
  const std::atomic<bool> *stop = nullptr;                  ///< set from anywhere: the best so far is returned
  std::function<void(const SolveProgress &)> progress = {}; ///< called when a number changes

  bool stopped() const { return stop && stop->load(std::memory_order_relaxed); }
};

/// Effort counts work, not time, so that the same effort gives the same answer: 0 is bounds and a first answer, each
/// step more about doubles the work, `kQuickEffort` takes about a second where an answer stays open, and
/// `kThoroughEffort` up to a minute. Below `kMinSolverEffort` no solver is asked.
constexpr unsigned kQuickEffort = 4, kMinSolverEffort = 6, kThoroughEffort = 10;
/// More is taken for as much.
constexpr unsigned kMaxEffort = 40;

struct SearchLimits : SearchControl {
  unsigned effort = kThoroughEffort;
};

} // namespace accord
