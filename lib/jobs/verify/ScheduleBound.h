// The bound of one objective of a schedule, and that there is no schedule, by their proofs.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

/// A well-formed problem with limits besides its own: how little of a measure can a schedule have?
struct BoundQuestion {
  const JobScheduleProblem &problem;
  std::vector<JobLimit> limits; ///< of the problem, and of objectives before
};

/// Proves that no schedule that keeps the limits has less than `proof.bound` of the measure; or says why not (A0906).
Result<void> proveScheduleBound(BoundQuestion question, JobMeasure measure, const JobScheduleProof &proof);
/// Proves that no schedule keeps the limits. The bound of the proof says nothing.
Result<void> proveNoSchedule(const BoundQuestion &question, const JobScheduleProof &proof);

} // namespace accord::jobs
