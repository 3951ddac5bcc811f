// Serial schedule generation in both directions of time, for problems of some thousand tasks
// without memories.
#pragma once
#include "lib/scheduling/solve/Instance.h"
#include "lib/scheduling/solve/ResourceProfile.h"

namespace accord::solve {

/// Places tasks one by one as early as precedences and resources allow (Kolisch, Serial and
/// parallel resource-constrained project scheduling methods revisited, EJOR 90, 1996), the least
/// key first among those whose predecessors are placed.
class SerialScheduler {
public:
  explicit SerialScheduler(const Instance &instance);

  /// Backward: of the problem with time reversed, in reversed time.
  const std::vector<int64_t> &run(const std::vector<int64_t> &key, const std::vector<Id> &modes, bool backward);
  int64_t length() const { return longest; }
  int64_t placed() const { return work; } ///< tasks so far, as a measure of work

private:
  const Instance &in;
  ResourceProfile profile;
  std::vector<int64_t> start, ready;
  std::vector<uint32_t> waiting;
  std::vector<std::pair<int64_t, Id>> heap;
  int64_t longest = 0, work = 0;
};

} // namespace accord::solve
