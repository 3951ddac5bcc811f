// Proves an allocation again, with nothing of what found it.
#pragma once
#include "lib/jobs/problem/Allocation.h"

namespace accord::jobs {

/// Proves that the choice keeps the capacities and has its value, that the status follows from value and bound, and by
/// its proof that no allocation has a value above the bound; or says what does not hold (error A1104, of the proof
/// A0906; the places of errors are empty). All arithmetic is in whole numbers of 128 bits.
///
/// The bound of a leaf is: the value of the jobs that are fixed on the path to it, plus prices * what these leave of
/// the capacities, plus for each other job the best value - prices * uses of the configurations that fit what is left,
/// or 0 if that is more and the job may wait (Lagrangian relaxation; Fisher, Management Science 27, 1981). A leaf holds
/// if that, rounded down, is at most the bound of the solution; or if the fixed jobs use more than a capacity; or if a
/// job that may not wait has no configuration that fits; or if prices * what is left are less than the sum of the
/// smallest prices * uses of the jobs that may not wait. A capacity counts as the largest multiple of the greatest
/// common divisor of the amounts that are used of it, by configurations that fit the empty cluster: no more can be
/// used. Configurations of a branch that share a node are represented by their largest value and their smallest use of
/// each resource. Equal jobs are ordered: with configurations numbered as in the problem and waiting behind them, an
/// allocation where numbers do not ascend within a set of equal jobs does not count, because another one with the same
/// value and uses does.
Result<void> verifyAllocation(const AllocationProblem &problem, const AllocationSolution &solution);
/// Proves of the bound alone that no allocation has a value above it, as above; -1: that there is no allocation.
Result<void> verifyAllocationBound(const AllocationProblem &problem, int64_t bound, const AllocationProof &proof);

} // namespace accord::jobs
