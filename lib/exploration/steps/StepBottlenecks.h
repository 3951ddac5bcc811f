// What a job's step on a machine waits for.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"

namespace accord {

/// Shares of the plan's step, by the resource that binds each operation of
/// its longest path in the order of the schedule ("core mxu", "bandwidth hbm", "kernel floor",
/// "host"); the largest first, together 1. Empty where there is no schedule.
std::vector<LimitShare> stepLimits(const Plan &plan);

/// Of each kind of core: operations without slack where cores are unlimited (ASAP and ALAP starts
/// are equal: Kelley and Walker, 1959) that begin later than what they read is there, because all
/// that they may run on was busy until they began, and how long they wait; a repeat's as often as
/// it runs. That is WHAM's conflict (arXiv 2404.14632), in the plan's schedule. By
/// core of the machine; seconds of a step.
std::vector<CoreDelay> coreDelays(const Plan &plan);

} // namespace accord
