// Schedules in which tasks start in a given order, within memories.
#pragma once
#include "lib/scheduling/solve/Instance.h"
#include "lib/scheduling/solve/ResourceProfile.h"
#include <optional>

namespace accord::solve {

/// No task starts before one that is ahead of it in the order, so that what lies in a memory is
/// known when a task starts: the buffers of those that have started and whose readers have not all
/// ended. Any schedule's order of starts gives a schedule again if the tasks run one by one.
class MemoryScheduler {
public:
  explicit MemoryScheduler(const Instance &instance);

  /// In the order of `key` among tasks whose predecessors have started; nothing if the memories
  /// never have room for the next one. Starts of absent tasks are 0.
  std::optional<SchedulingSolution> run(const std::vector<int64_t> &key, const std::vector<Id> &modes);
  /// As `run`, but at each step the next task is the ready one that leaves the least in memory
  /// (then by key).
  std::optional<SchedulingSolution> minMemoryFirst(const std::vector<int64_t> &key, const std::vector<Id> &modes);
  int64_t placed() const { return work; }
  /// The task for which there was no room when `run` last failed.
  Id blockedTask() const { return blockedAt; }

private:
  std::optional<SchedulingSolution> go(const std::vector<int64_t> &key, const std::vector<Id> &modes,
                                       bool minMemoryFirst);
  const Instance &in;
  std::vector<std::vector<uint32_t>> makes, reads; ///< buffers by task
  int64_t work = 0;
  Id blockedAt = 0;
};

} // namespace accord::solve
