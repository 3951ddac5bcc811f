// Whether a choice exists that keeps all limits.
#pragma once
#include "lib/sparsity/verify/SelectionLimits.h"

namespace accord {

struct SelectionInfeasibilityProof {
  enum class Outcome : uint8_t { Infeasible, Feasible, Unknown }; ///< unknown: more branches than allowed
  Outcome outcome = Outcome::Unknown;
  uint64_t branches = 0;
};

/// Branches over the options of one unit after another. A branch ends where a limit, or a sum of limits with
/// multipliers, is passed whatever the units that follow take. The multipliers are whole numbers: any prove, good ones
/// prove soon.
SelectionInfeasibilityProof proveInfeasible(const SelectionLimits &limits, uint64_t effort);

} // namespace accord
