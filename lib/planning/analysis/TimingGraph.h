// When operations start at the earliest and at the latest, while their durations change.
#pragma once
#include "lib/planning/analysis/ArrivalTimes.h"
#include "lib/support/Result.h"
#include <optional>
#include <string>

namespace accord {

/// Operations with durations, and which waits for which: start(after) >= end(before) + delay. The
/// critical path method (Kelley, Walker: Critical-path planning and scheduling, 1959), incremental:
/// see `Arrivals`, of which there is one from the start (heads) and one from the end (tails). Times
/// are whole numbers of any unit. Latest starts are relative to the end, so a longer step moves
/// none of the tails.
class TimingGraph {
public:
  struct Edge {
    uint32_t before = 0, after = 0;
    int64_t delay = 0;
    friend auto operator<=>(const Edge &, const Edge &) = default;
  };
  struct Change {
    uint32_t operation = 0;
    int64_t duration = 0;
  };

  TimingGraph() = default;
  /// Linear in operations and edges, which may repeat. Issues (A0920): an edge to an operation that
  /// does not exist, a cycle (its operations are named), a negative duration or delay, and
  /// durations and delays of 2^61 or more together. `names` are for messages; may be empty.
  static Result<TimingGraph> of(std::vector<int64_t> durations, const std::vector<Edge> &edges,
                                const std::vector<std::string> &names = {});

  uint32_t size() const { return heads_.size(); }
  int64_t length() const { return heads_.length(); }
  int64_t duration(uint32_t op) const { return heads_.weight(rank_[op]); }
  int64_t earliest(uint32_t op) const { return heads_.start(rank_[op]); }
  /// The longest path from the end of `op` to the end of all.
  int64_t tail(uint32_t op) const { return tails_.start(mirror(rank_[op])); }
  int64_t latest(uint32_t op) const { return length() - tail(op) - duration(op); }
  /// How much later it may start, or longer it may take, without a longer step.
  int64_t slack(uint32_t op) const { return latest(op) - earliest(op); }
  bool critical(uint32_t op) const { return slack(op) == 0; }
  /// One of the longest paths, from a start to an end.
  std::vector<uint32_t> criticalPath() const;

  /// Times all that moves again. Refused (an issue, and nothing changes) as in `of`.
  std::optional<Error> setDuration(uint32_t op, int64_t duration) { return setDurations({{op, duration}}); }
  /// Of several operations at once; of one that is named twice the last change counts.
  std::optional<Error> setDurations(const std::vector<Change> &changes);
  /// The length with other durations, which are taken back: exact, and only heads move.
  Result<int64_t> lengthWith(const std::vector<Change> &changes);

  /// By operation, of all at once: the longest path from an operation that waits for none to one
  /// that none waits for, without passing it (0 if each passes it). With it, and with `through`,
  /// the length is known for any duration of any one operation: max(avoiding, through + duration).
  /// A path avoids an operation where one of its edges (or its begin or end) jumps over it in
  /// topological order, so the longest one over each is found by painting ranges of ranks, longest
  /// first; O(edges log edges).
  std::vector<int64_t> avoiding() const;
  /// The longest path through `op`, without its own duration.
  int64_t through(uint32_t op) const { return earliest(op) + tail(op); }

  /// Operations timed again and blocks moved as a whole, in both directions, since `of`.
  ArrivalTimes::Work work() const;

private:
  uint32_t mirror(uint32_t rank) const { return size() - 1 - rank; }
  /// Ranks and what to set; nothing where the changes are refused.
  Result<std::vector<std::pair<uint32_t, int64_t>>> accept(const std::vector<Change> &changes, int64_t &total) const;

  std::vector<uint32_t> rank_, at_; ///< by operation, and its inverse: a topological order
  ArrivalTimes heads_;              ///< by rank
  ArrivalTimes tails_;              ///< by mirrored rank
  int64_t total_ = 0;               ///< of durations and delays
};

} // namespace accord
