// Whether a choice exists that keeps all limits.
#pragma once
#include "lib/sparsity/verify/SelectionLimits.h"

namespace accord {

struct SelectionRefutation {
  enum class Answer : uint8_t { None, Some, Unknown }; ///< unknown: more branches than allowed
  Answer answer = Answer::Unknown;
  uint64_t branches = 0;
};

/// Branches over the options of one unit after another. A branch ends where a limit, or a sum of
/// limits with multipliers, is passed whatever the units that follow take. The multipliers are
/// whole numbers: any prove, good ones prove soon.
SelectionRefutation refute(const SelectionLimits &limits, uint64_t effort);

} // namespace accord
