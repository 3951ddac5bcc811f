// The schedule of a step as `accord schedule` prints it.
#pragma once
#include "lib/machine/model/Plan.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace accord {

/// The slots of each operation, the makespan and its bound (`ScheduleDocument`); or what cannot hold together, where no
/// schedule keeps all limits.
llvm::json::Value scheduleJson(const Plan &plan);
/// The same as a table for people.
std::string scheduleTable(const Plan &plan);

} // namespace accord
