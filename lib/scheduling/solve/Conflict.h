// Why a problem has no schedule.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord::solve {

/// Sentences about constraints (memories with the buffers that matter, budgets, pairings) that
/// cannot hold together; without any one of them they can. `limit` of Z3's units of work for each
/// question; where it is spent the set need not be minimal, and the last sentence says so. Needs a
/// problem without a schedule.
std::vector<std::string> conflictOf(const SchedulingProblem &problem, uint64_t limit);

} // namespace accord::solve
