// Searches for better schedules by moving priorities and modes, and window by window.
#pragma once
#include "lib/scheduling/solve/Modes.h"
#include <atomic>

namespace accord::solve {

struct ImproveLimits {
  int64_t bound = 0; ///< stop at this makespan
  int64_t work = 0;  ///< tasks placed at most
  const std::atomic<bool> *stop = nullptr;

  bool reached(int64_t makespan, int64_t placed) const {
    return makespan <= bound || placed >= work || (stop && *stop);
  }
};

/// A genetic algorithm over schedules, each made better by justification in both directions of
/// time (Valls, Ballestin, Quintanilla, A hybrid genetic algorithm for the resource-constrained
/// project scheduling problem, EJOR 185, 2008). A child takes the order and the modes of one parent
/// up to a random time, of the other after it. For problems without memories. True if `best`
/// became better.
bool improve(const Instance &instance, const Modes &modes, SchedulingSolution &best, const ImproveLimits &limits,
             std::mt19937_64 &random);

/// A schedule within the memories: by key, then the order that keeps the least, then with modes and
/// orders changed at random, optional tasks switched on where room is missing.
std::optional<SchedulingSolution> findScheduleWithMemories(const Instance &instance, const Modes &modes,
                                                           std::vector<Id> chosen, std::vector<int64_t> key,
                                                           std::mt19937_64 &random);
/// Random moves of starts and modes around the best.
bool improveWithMemories(const Instance &instance, const Modes &modes, SchedulingSolution &best,
                         const ImproveLimits &limits, std::mt19937_64 &random);

/// The schedule in the order of starts and with the modes of `relaxed`, each task as early as it
/// can; nothing if the memories have no room for that order.
std::optional<SchedulingSolution> scheduleInOrder(const Instance &instance, const SchedulingSolution &relaxed);

struct WindowLimits {
  int64_t bound = 0; ///< stop at this makespan
  size_t tasks = 32; ///< of one window
  uint64_t work = 0; ///< Z3's units, for all windows together
  const std::atomic<bool> *stop = nullptr;
};

/// Large-neighbourhood search (Shaw 1998; for projects Palpant, Artigues, Michelon, LSSPER, Annals
/// of OR 131, 2004): the tasks that start in an interval are scheduled anew by Z3, with all others
/// in their places and everything after the interval earlier, if that is possible; the order that
/// it finds is then scheduled in true time. Sweeps from start to end until no window helps. For
/// problems without memories. Returns the units of work spent; `best` is replaced where it becomes
/// better.
uint64_t improveByWindows(const Instance &instance, SchedulingSolution &best, const WindowLimits &limits);

} // namespace accord::solve
