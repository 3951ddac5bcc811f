// Runs a step on paper, execution by execution: repeats are walked iteration by iteration, values
// are followed by hand.
#pragma once
#include "lib/machine/model/Plan.h"

namespace accord {

struct Execution {
  OperationId operation;
  int64_t start, end; ///< from the start of the region that is walked
  int64_t ready;      ///< when the last value that it reads is there
  /// Its part of the walk's `makers`.
  uint32_t producersBegin, producersEnd;
  OperationId last; ///< the operation that made that value, kNone if it was there from the start
};

struct Buffer {
  int64_t bytes;
  Category category;
  int64_t from, to;
};

struct ScheduleReplay {
  std::vector<Execution> executions; ///< without repeats
  /// Where in the list those stand that made what an execution reads (Clock::Earliest only).
  std::vector<uint32_t> producers;
  std::vector<Buffer> buffers; ///< memory besides the residents
  int64_t end = 0;
  bool complete = true; ///< false: iterations in the middle of long repeats were left out
};

enum class Clock : uint8_t {
  Scheduled, ///< as the slots say
  Earliest,  ///< as soon as the operands are there, on as many cores as it takes
};

/// Walks region 0 and then the update (`both`), or one top region alone. `durations` by
/// OperationId. At most a million executions: beyond, every repeat is cut to its first and last
/// iterations.
ScheduleReplay replaySchedule(const WorkGraph &graph, const Schedule &schedule, const std::vector<int64_t> &durations,
                              Clock clock, const std::vector<RegionId> &regions);

} // namespace accord
