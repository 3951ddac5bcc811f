// `accord verify` of the certificate of a schedule.
#pragma once
#include "lib/planning/verify/Verify.h"
#include <optional>
#include <string>

namespace accord {

/// The text of a scheduling problem with its answer: `path` where it ends in .mlir, else
/// PATH/problem.mlir where that exists.
std::optional<std::string> scheduleFileOf(const std::string &path);

/// Reads problem and answer back and proves them again: the schedule by replay, the bound by its
/// arithmetic; where it rests on a solver, that the claim beside it is this problem's, byte for
/// byte, and, given a `solver`, that this program refutes it.
Verification verifySchedule(const std::string &file, const std::string &solver);

/// The claims on which bounds of a plan rest that holds so far, in `folder`: byte for byte, and,
/// given a `solver`, that this program refutes them.
void verifyQueries(Verification &proof, const Plan &plan, const std::string &folder, const std::string &solver);

} // namespace accord
