// Searches for better schedules by moving priorities and modes.
#pragma once
#include "lib/scheduling/solve/Modes.h"
#include <atomic>

namespace accord::solve {

struct ImproveLimits {
  int64_t bound = 0; ///< stop at this makespan
  int64_t work = 0;  ///< tasks placed at most
  const std::atomic<bool> *stop = nullptr;
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

} // namespace accord::solve
