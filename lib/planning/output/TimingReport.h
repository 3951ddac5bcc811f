// What binds the step in the plan's order, and what would shorten it: for people and for programs.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/planning/output/Summary.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// Longest path by kind of core and by phase, and the operations that shorten the step most (10).
/// Of a plan that contradicts itself, one line that says why there is nothing.
std::string timingText(const Plan &plan, const TextStyle &style);

/// The same with all numbers in seconds: `step_time_s`, `host_s`, `kinds[]` {`kind`, `critical_s`,
/// `only_this_core_type_s`}, `phases[]` {`phase`, `critical_s`}, `critical[]` (names, at most 1000),
/// `operations[]`
/// {`name`, `phase`, `core`, `total_time_s`, `gain_if_halved_s`, `gain_if_removed_s`} and `next` {`name`, `slack_s`};
/// or `error`.
llvm::json::Object timingData(const Plan &plan);

} // namespace accord
