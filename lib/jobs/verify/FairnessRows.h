// The allocation problems that the proofs of a fair allocation are of, written down a second time.
#pragma once
#include "lib/jobs/problem/FairAllocation.h"

namespace accord::jobs {

/// The problem of a guarantee (`reserveProblem`) and of a step with those before it (`stepProblem`), from their
/// definitions in lib/jobs/problem/FairAllocation.h and with nothing of the code there but levels and terms.
AllocationProblem guaranteeRows(const FairProblem &problem, unsigned tenant, unsigned amount);
StepProblem stepRows(const FairProblem &problem, const FairSolution &solution, size_t numBefore, const FairStep *step);

} // namespace accord::jobs
