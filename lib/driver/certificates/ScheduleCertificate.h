// The queries on which bounds of schedules rest, held against the answer that they belong to.
#pragma once
#include "lib/planning/verify/Verify.h"
#include <string>

namespace accord {

/// Whether the queries on which bounds of the plan rest are in `folder`, byte for byte, and, given a `solver`, whether
/// this program refutes them. What holds and what does not is added to `proof`.
void verifyQueries(Verification &proof, const Plan &plan, const std::string &folder, const std::string &solver);

} // namespace accord
