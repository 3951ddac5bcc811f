// A scheduling problem as JSON, and back: the open format of `accord schedule`.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace accord {

/// What the first key of the document says: {"kind": "scheduling_problem"}.
constexpr const char *kSchedulingProblemKind = "scheduling_problem";

/// All of a problem but source locations. Parts refer to each other by name as in the plan dialect: where names are
/// missing or alike, by number ("#3").
std::string schedulingJson(const SchedulingProblem &problem);

/// Reads what `schedulingJson` writes. Tasks are located at their places in the file. Errors: A0901 what is no such
/// document, and names that there are not (with the nearest one); A0930 what `check` finds. `file` is for messages.
Result<SchedulingProblem, Errors> readSchedulingJson(const std::string &text, const std::string &file);

llvm::json::Value schedulingProblemSchema();

} // namespace accord
