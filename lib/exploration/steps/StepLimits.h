// What a job's step on a machine waits for.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"
#include "lib/exploration/steps/StepWork.h"

namespace accord {

/// Shares of the step that `StepWork::value` finds, by the resource that binds each operation of
/// its longest path in the order of the schedule ("core mxu", "bandwidth hbm", "kernel floor",
/// "host"); the largest first, together 1. Empty where there is no schedule.
std::vector<LimitShare> stepLimits(const StepWork &work, const Machine &machine);

} // namespace accord
