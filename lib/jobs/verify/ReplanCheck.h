// Checks of a plan that goes on from a moment, against the state from which it does.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"

namespace accord::jobs {

/// Checks that each job of the problem that runs already does so in the state, with as many devices of the same type;
/// that jobs which are complete have no work; that no run is on a server while it is out of service, which
/// `JobAnswer::absences` say; and that no objective is worse than with the plan before, if that is kept, in the order
/// of the objectives. An answer without a state holds. Error A1106.
Result<void> checkReplan(const JobAnswer &answer);

} // namespace accord::jobs
