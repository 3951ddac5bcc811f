// Proves again which members answer on which devices, and what is claimed of their answers.
#pragma once
#include "lib/ensembles/problem/AnswerPlan.h"
#include "lib/support/Verification.h"

namespace accord {

/// The placement and its energy; how votes arrive, from the stated quantiles; each claim by its certificate; after each
/// failure of devices that is asked for, a claim; what is required. Then every placement with less energy is gone
/// through again: it lacks the quorum too often, or of a claim that was rejected a distribution of errors, or the votes
/// that were seen, are above what is required with the largest quorum there may be, and so with every smaller one. What
/// is left of them, and other objectives, is trusted. A0904 devices, A0905 energy, A0906 a claim or bound.
Verification verify(const AnswerPlan &plan);

} // namespace accord
