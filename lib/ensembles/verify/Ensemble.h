// Proves an ensemble again: its members on their devices, and the error of each vote that is guaranteed.
#pragma once
#include "lib/ensembles/problem/EnsemblePlan.h"
#include "lib/support/Verification.h"

namespace accord {

/// Members, devices and bounds (`verify` of members), then each certificate against the rates that are stated, that
/// what is shown has one, that a quorum is left after each failure of devices, and that no better guarantee follows for
/// what was rejected though it could be better; and what an answer that was read shows. A0904 to A0906.
Verification verify(const EnsemblePlan &plan);

} // namespace accord
