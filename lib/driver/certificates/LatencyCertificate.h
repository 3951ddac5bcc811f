// The latency model beside a plan, or alone, held against what it is of.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/support/Verification.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord {

/// What a plan says, for its latency model at the defaults.
struct PlannedStep {
  std::string model, machine, version;
  double batch = 1, microbatch = 1, sequence = 0; ///< samples, samples, tokens; 0: not known
  double step = 0, memory = 0, flops = 0;         ///< seconds, bytes, FLOPs as the model counts them
};
PlannedStep plannedStep(const Plan &plan);
PlannedStep plannedStep(const PlacementPlan &plan);

struct VerifiedLatencyModel {
  AnswerFiles files;  ///< the forms that the folder has, printed again
  std::string script; ///< as JavaScript, for the page of a plan
};

/// Reads the latency model of a folder, evaluates it, and compares it with its own samples and, where there is one,
/// with the plan: its sizes, step time, memory and FLOPs. What holds and what does not is added to `proof`.
/// Nothing where the folder has neither model nor forms.
VerifiedLatencyModel verifyLatencyModel(Verification &proof, const std::string &folder,
                                        const std::optional<PlannedStep> &plan);

} // namespace accord
