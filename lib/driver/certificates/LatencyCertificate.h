// The latency model beside a plan, or alone, held against what it is of.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/support/Verification.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord {

struct VerifiedLatencyModel {
  AnswerFiles files;  ///< the forms that the folder has, printed again
  std::string script; ///< as JavaScript, for the page of a plan
};

/// Reads the latency model of a folder, evaluates it, and compares it with its own samples and, where there is one,
/// with the plan: its sizes, step time, memory and FLOPs. What holds and what does not is added to `proof`.
/// Nothing where the folder has neither model nor forms.
VerifiedLatencyModel verifyLatencyModel(Verification &proof, const std::string &folder, const Plan *plan);

} // namespace accord
