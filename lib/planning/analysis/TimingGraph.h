// When operations start at the earliest and at the latest.
#pragma once
#include "lib/support/Result.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace accord {

/// Operations with durations, and which waits for which: start(after) >= end(before) + delay. The critical path method
/// (Kelley, Walker: Critical-path planning and scheduling, 1959). Times are whole numbers of any unit.
class TimingGraph {
public:
  struct Edge {
    uint32_t before = 0, after = 0;
    int64_t delay = 0;
    friend auto operator<=>(const Edge &, const Edge &) = default;
  };

  TimingGraph() = default;
  /// Linear in operations and edges, which may repeat. Issues (A0920): an edge to an operation that
  /// does not exist, a cycle (its operations are named), a negative duration or delay, and
  /// durations and delays of 2^61 or more together. `names` are for messages; may be empty.
  static Result<TimingGraph> of(const std::vector<int64_t> &durations, const std::vector<Edge> &edges,
                                const std::vector<std::string> &names = {});

  uint32_t size() const { return at_.size(); }
  int64_t length() const { return length_; }
  int64_t duration(uint32_t op) const { return duration_[rank_[op]]; }
  int64_t earliest(uint32_t op) const { return head_[rank_[op]]; }
  /// The longest path from the end of `op` to the end of all.
  int64_t tail(uint32_t op) const { return tail_[rank_[op]]; }
  int64_t latest(uint32_t op) const { return length() - tail(op) - duration(op); }
  /// How much later it may start, or longer it may take, without a longer step.
  int64_t slack(uint32_t op) const { return latest(op) - earliest(op); }
  /// One of the longest paths, from a start to an end.
  std::vector<uint32_t> criticalPath() const;

  /// By operation, of all at once: the longest path from an operation that waits for none to one
  /// that none waits for, without passing it (0 if each passes it). With it, and with `through`,
  /// the length is known for any duration of any one operation: max(avoiding, through + duration).
  /// A path avoids an operation where one of its edges (or its begin or end) jumps over it in
  /// topological order, so the longest one over each is found by painting ranges of ranks, longest
  /// first; O(edges log edges).
  std::vector<int64_t> avoiding() const;
  /// The longest path through `op`, without its own duration.
  int64_t through(uint32_t op) const { return earliest(op) + tail(op); }

private:
  struct Before {
    uint32_t rank;
    int64_t delay;
  };
  int64_t end(uint32_t rank) const { return head_[rank] + duration_[rank]; }
  /// What the operation of a rank waits for, by rank.
  llvm::ArrayRef<Before> before(uint32_t rank) const {
    return llvm::ArrayRef(before_).slice(first_[rank], first_[rank + 1] - first_[rank]);
  }

  std::vector<uint32_t> rank_, at_;             ///< by operation, and its inverse: a topological order
  std::vector<int64_t> duration_, head_, tail_; ///< by rank
  std::vector<uint32_t> first_;                 ///< by rank: its part of `before_`
  std::vector<Before> before_;
  int64_t length_ = 0;
};

} // namespace accord
