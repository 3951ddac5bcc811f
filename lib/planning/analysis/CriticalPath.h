// Longest dependence chains of a hierarchical graph: how fast could the step be with unlimited
// cores?
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/Dependences.h"
#include "lib/machine/model/Schedule.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace accord {

/// Square matrix; `kNever` is the zero of max-plus (no path). Entries are path lengths >= 0.
class MaxPlusMatrix {
public:
  static constexpr int64_t kNever = INT64_MIN;
  explicit MaxPlusMatrix(unsigned size) : size_(size), cells_(std::size_t{size} * size, kNever) {}
  static MaxPlusMatrix identity(unsigned size);
  unsigned size() const { return size_; }
  int64_t &at(unsigned to, unsigned from) { return cells_[std::size_t{to} * size_ + from]; }
  int64_t at(unsigned to, unsigned from) const { return cells_[std::size_t{to} * size_ + from]; }
  /// (A*B)(i,j) = max over k of A(i,k) + B(k,j): B first, then A.
  friend MaxPlusMatrix operator*(const MaxPlusMatrix &a, const MaxPlusMatrix &b);
  MaxPlusMatrix power(int64_t n) const; ///< n >= 0, O(size^3 log n)
  friend bool operator==(const MaxPlusMatrix &, const MaxPlusMatrix &) = default;

private:
  unsigned size_;
  std::vector<int64_t> cells_;
};

/// Durations by OperationId in whole picoseconds (rounded up, as schedules are); a repeat's is 0.
std::vector<Picoseconds> durationsOf(const WorkGraph &graph, const Costs &costs);

/// A repeat seen from its parent: longest paths from what it reads to what it makes.
struct RepeatSummary {
  std::vector<ValueId> ports;                                    ///< sources in the parent; kNone: the start of time
  std::vector<std::pair<ValueId, std::vector<int64_t>>> outputs; ///< by port; carried results, stacks
  std::vector<int64_t> done;                                     ///< by port: to the end of the last operation
  friend bool operator==(const RepeatSummary &, const RepeatSummary &) = default;
};

/// A region as a max-plus linear map (Baccelli et al., Synchronization and Linearity, 1992, ch. 3):
/// arrival times of what it reads to completion times of what it yields. A repeat is the N-fold
/// power of its body's map, by repeated squaring, so the work grows with log N and iterations may
/// overlap as far as their values allow. The chain over a stash is relaxed: only the
/// consuming iteration that takes the slice made last, the first or the last one, waits for it. All
/// lengths are therefore lower bounds of any execution, exact when no stash binds.
struct CriticalPath {
  std::vector<Picoseconds> length; ///< by RegionId: one iteration (region 0: one micro-batch),
                                   ///< everything it reads at time 0
  std::vector<Picoseconds>
      repeat; ///< by OperationId of a repeat: all iterations, everything it reads at time 0; else 0
  /// By OperationId, in one iteration of its region. `latest` is such that the iteration still ends
  /// at `length`. Of a repeat, `earliest` is when the last of its inputs arrives; slack is how much
  /// all its inputs may be late.
  std::vector<Timing> timing;
  /// Longest chain of region 0, then of region 1; a repeat is followed by the chain through one of
  /// its iterations.
  std::vector<OperationId> chain;
  std::vector<RepeatSummary> summaries; ///< by OperationId of a repeat
  Picoseconds step;                     ///< microbatches * length[0] + length[1]

  /// The graph is checked, and `sumOfWork` fits (see below).
  static CriticalPath of(const WorkGraph &graph, const Dependences &dependences,
                         const std::vector<Picoseconds> &durations);
};

/// What the step becomes when one duration changes: an operation of a body times its body again, and the regions
/// around it as far as the body's summary moves; bodies beside it never. Graph and dependences have to live as long;
/// the sum of work has to stay below `kLongestStep`.
class IncrementalCriticalPath {
public:
  IncrementalCriticalPath(const WorkGraph &graph, const Dependences &dependences, std::vector<Picoseconds> durations);
  ~IncrementalCriticalPath();
  const CriticalPath &path() const;
  /// The step if an operation that is no repeat took so long, 0 or more.
  Picoseconds stepWith(OperationId id, Picoseconds duration);

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Picoseconds of all operations one after the other. Analyses and schedulers need it below
/// `kLongestStep`, then no sum of theirs overflows.
Count sumOfWork(const WorkGraph &graph, const std::vector<Picoseconds> &durations);
constexpr int64_t kLongestStep = int64_t{1} << 61; ///< 26 days in picoseconds

} // namespace accord
