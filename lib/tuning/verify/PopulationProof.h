// Proves again how a population was trained, with code of its own.
#pragma once
#include "lib/support/Verification.h"
#include "lib/tuning/problem/Tuning.h"

namespace accord::tuning {

/// Proves of a result whose problem has a population, and whose references, segments and reports hold: the first trials
/// begin at unit 0, all later ones from the state of an earlier one; behind each generation as many children begin as
/// members have died or were replaced; each parent was among the best share of the members there, who was replaced was
/// among the worst share of them, and nobody else was; nobody begins before all members have come there; and the
/// configuration of a child follows from its parent's. `isPriced`: limits may have left no configuration for a child
/// but its parent's. Adds A0954 to `out`, or what was checked.
void provePopulation(const TuningProblem &problem, const TuningResult &result, bool isPriced, Verification &out);

} // namespace accord::tuning
