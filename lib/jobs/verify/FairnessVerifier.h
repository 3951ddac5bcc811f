// Proves a fair allocation again, with nothing of what found it.
#pragma once
#include "lib/jobs/problem/FairAllocation.h"

namespace accord::jobs {

/// Proves that a choice keeps capacities, quotas, guarantees and pinned jobs; that each level and term is what its
/// definition says; that each step has the value that is said; and by its proof that no allocation which keeps the
/// steps before has more than its bound. The problems of the proofs are written down anew (`FairnessRows`). Otherwise
/// says what does not hold (error A1104, of a proof A0906; the places of errors are empty).
Result<void> verifyFairAllocation(const FairProblem &problem, const FairSolution &solution);

} // namespace accord::jobs
