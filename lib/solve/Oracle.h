// Z3 asked whether a schedule of at most some length exists.
#pragma once
#include "lib/solve/Instance.h"
#include <atomic>
#include <memory>

namespace accord::solve {

/// Time-indexed: a literal "task i has started by t" for each time of its window, capacities as
/// pseudo-Boolean constraints at the times at which a task can start. Times are whole multiples of
/// a unit: the sizes of a problem come from (window / unit) * tasks.
class Oracle {
public:
  enum class Answer : uint8_t { Yes, No, Unknown };

  /// Of schedules of at most `horizon`. `heads`, `tails`: what is known of the chains before the
  /// start and after the end of tasks.
  Oracle(const Instance &instance, const std::vector<int64_t> &heads,
         const std::vector<int64_t> &tails, int64_t horizon,
         const std::vector<std::pair<Id, Id>> &disjoint);
  ~Oracle();

  /// Whether a schedule of at most `makespan` <= horizon exists; `found` if so. `limit` of Z3's own
  /// units of work; Unknown when they are spent or `stop` is set.
  Answer ask(int64_t makespan, uint64_t limit, SchedulingSolution &found);
  uint64_t work() const; ///< units of work spent so far
  size_t literals() const;

private:
  struct Encoding;
  std::unique_ptr<Encoding> encoding;
};

} // namespace accord::solve
