// Whether budgets alone leave no schedule.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"

namespace accord {

/// True: whatever modes the tasks have, of those that fit the resources alone, some budget is overspent. By all amounts
/// that the tasks so far can spend together, budget by budget; pairings are left out, so that it holds with them, too.
/// False: a choice keeps all budgets, or there are more than a million different amounts.
bool budgetsAdmitNothing(const SchedulingProblem &problem);

} // namespace accord
