// Proves a plan again without the code that made it: replays the schedule, the memory and the
// arithmetic of the bound.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/sparsity/problem/ZeroShares.h"
#include "lib/support/Verification.h"

namespace accord {

struct PlanVerification : Verification {
  /// `Schedule::bound` follows from the costs: no solver is believed, and nothing taken as given.
  bool boundProved = false;
};

/// Codes: A0920/A0921 malformed graph or machine · A0909 an operation without slot or with several
/// · A0907 a duration that is not the cost · A0910 a cost that FLOPs, bytes and machine do not give
/// · A0902 an operation before a value it needs · A0903 a core used twice at a time · A0911 more
/// than a memory's bandwidth · A0912 a region's or the step's length · A0913 reported memory is not
/// what the replay finds · A0904 more memory than the device has in a feasible plan · A0906 a bound
/// that the arithmetic does not give · A0905 objective or its bound · A0914 a slack or critical
/// path that does not hold · A0915 batch is not micro-batch * micro-batches · A0916 infeasible
/// without a reason, or feasible with conflicts. `zeros`: what zeros of weights leave of its operations, which their
/// costs have to follow from.
PlanVerification verify(const Plan &plan, const StepZeroShares &zeros = {});

/// The problem of whose schedules `RegionSchedule::proven` speaks, built again from a plan that
/// `verify` found to hold. Its times are picoseconds.
SchedulingProblem provenProblem(const Plan &plan, RegionId top);

} // namespace accord
