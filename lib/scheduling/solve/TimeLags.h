// Schedules of problems with maximum time lags, where a task that is placed late may forbid others.
#pragma once
#include "lib/scheduling/solve/Instance.h"
#include <atomic>
#include <optional>
#include <random>

namespace accord::solve {

/// Whether time lags are all that keeps lists from such a problem: every task has one mode, and there are no memories.
bool hasPlainTimeLags(const SchedulingProblem &problem);

/// Schedules of a problem with plain time lags and no positive cycle, by serial placement in the order of latest
/// starts with some chance. Where no time is left for a task, the tasks that forbid the first time with room for it
/// start later by what is missing, and with them all that were placed after (Franck, Neumann, Schwindt, Truncated
/// branch-and-bound, schedule-construction, and schedule-improvement procedures for resource-constrained project
/// scheduling, OR Spektrum 23, 2001). Improves `best`, if any, down to `goal` with `work` tasks placed at most. Nothing
/// where no schedule was found, which says nothing about whether there is one.
std::optional<SchedulingSolution> scheduleWithTimeLags(const Instance &instance, std::optional<SchedulingSolution> best,
                                                       int64_t goal, int64_t work, const std::atomic<bool> *stop,
                                                       std::mt19937_64 &random);

/// The same schedule with each task as early as it can start while all others stay, one after the other until none can
/// start earlier.
void justifyWithTimeLags(const Instance &instance, SchedulingSolution &solution);

/// "tasks 'a', 'b', 'c' would start 3 after themselves: …", of a positive cycle.
std::string describeCycle(const Instance &instance);

} // namespace accord::solve
