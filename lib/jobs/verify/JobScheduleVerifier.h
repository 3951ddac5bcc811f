// Proves a schedule of jobs and the bounds of its objectives again, with nothing of what found them.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

/// Proves that the problem is well formed, that each job does what it may (arrival, deadline, elasticity, restarts, and
/// completion exactly), that capacities in every slot, dependences and limits are kept, that all values are exact, that
/// each bound follows from its proof, and that the status follows from values and bounds; or says what does not hold
/// (A1106, of a proof A0906; the places of errors are empty).
///
/// A proof with nodes is of listed trajectories: they are listed here again, and their allocation problem is proved by
/// `verifyAllocationBound`. One without nodes is of prices: with prices p, no schedule has less of a sum than
///   sum over jobs of min over trajectories (term + p * uses) - p * capacities,
/// rounded up, and there is no schedule if the sum of min (p * uses) is more than p * capacities (Lagrangian
/// relaxation; Fisher, Management Science 27, 1981). A row of a limit whose capacity is more than an allocation can
/// state has no use here, which only weakens a bound. Without any proof hold: a bound of at most 0 of a max, and that
/// there is no schedule where a job that may not be rejected has no trajectory, or a limit is less than the sum of
/// smallest terms.
Result<void> verifyJobSchedule(const JobScheduleProblem &problem, const JobSchedule &schedule);

} // namespace accord::jobs
