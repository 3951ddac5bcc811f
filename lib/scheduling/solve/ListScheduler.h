// Schedules by priorities: parallel lists, serial generation, and serial generation within memories.
#pragma once
#include "lib/scheduling/solve/Instance.h"
#include "lib/scheduling/solve/ResourceProfile.h"
#include <optional>
#include <set>

namespace accord::solve {

class ListScheduler {
public:
  /// `modes`: of each task; not absent ones are scheduled.
  ListScheduler(const Instance &instance, const std::vector<Id> &modes);

  /// At each time at which something ends, starts what is ready and fits, smallest `key` first
  /// (then task number). Backward: of the problem with time reversed. Returns starts (in reversed
  /// time if backward). Memories are not looked at.
  std::vector<int64_t> run(const std::vector<int64_t> &key, bool backward);
  int64_t lengthOf(const std::vector<int64_t> &start) const;

private:
  const SchedulingProblem::Mode &mode(Id task) const { return in.mode(task, modes[task]); }

  const Instance &in;
  const std::vector<Id> &modes;
  std::vector<uint32_t> group; ///< by task: tasks of a group use the same resources
  uint32_t groups = 0;
};

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

/// As the serial scheduler, but no task starts before one that is ahead of it in the order, so that what lies in a
/// memory is known when a task starts: the buffers of those that have started and whose readers have not all ended. Any
/// schedule's order of starts gives a schedule again if the tasks run one by one.
class MemoryScheduler {
public:
  explicit MemoryScheduler(const Instance &instance);

  /// In the order of `key` among tasks whose predecessors have started; nothing if the memories
  /// never have room for the next one. Starts of absent tasks are 0. With `minMemoryFirst` the next task is the ready
  /// one that leaves the least in memory (then by key).
  std::optional<SchedulingSolution> run(const std::vector<int64_t> &key, const std::vector<Id> &modes,
                                        bool minMemoryFirst = false);
  int64_t placed() const { return work; }

private:
  const SchedulingProblem::Mode &modeOf(Id task) const { return in.mode(task, result.mode[task]); }
  bool happens(Id task) const { return !modeOf(task).absent; }
  bool isMade(const SchedulingProblem::Buffer &buffer) const {
    return buffer.producer == SchedulingProblem::kNoTask || happens(buffer.producer);
  }
  bool readsIt(const SchedulingProblem::Reader &reader) const {
    return happens(reader.task) && (reader.unless == SchedulingProblem::kNoTask || !happens(reader.unless));
  }
  bool hasRoom() const {
    return std::ranges::equal(used, in.problem.memories, std::less_equal(), {}, &SchedulingProblem::Memory::capacity);
  }
  void openBuffers();
  int64_t growth(Id task) const;
  bool place(Id task, int64_t ready);
  void close(uint32_t buffer, int64_t over);

  const Instance &in;
  std::vector<std::vector<uint32_t>> makes, reads; ///< buffers by task
  int64_t work = 0;

  // Of one run.
  struct Release {
    int64_t time;
    Id memory;
    int64_t bytes;
    bool operator<(const Release &o) const { return time < o.time; }
  };
  std::vector<uint32_t> open; ///< by buffer: who has still to start before its end is known
  std::vector<int64_t> end;   ///< by buffer: of those that have started
  std::vector<int64_t> used;  ///< by memory
  std::multiset<Release> releases;
  ResourceProfile profile;
  int64_t now = 0;
  SchedulingSolution result;
};

} // namespace accord::solve
