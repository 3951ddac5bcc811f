// Proves again that a tuning kept to its rules, with code of its own.
#pragma once
#include "lib/support/Verification.h"
#include "lib/tuning/problem/Prices.h"

namespace accord::tuning {

/// Proves of a result: configurations lie in the space; segments take devices that are there, no device more trials
/// than it has room for, one trial's after another, and as long as its units take; a trial went on behind a rung only
/// while it was among the best 1/reduction of those that had come there, or as the last one left; one that was stopped
/// by its curve was as improbable as asked to become the best; or, of a population, what `PopulationProof.h` says;
/// the best values follow each other as they are listed; and the sums. Values are those of programs or tables, and
/// taken as given.
/// With `priced`, how long units take on how many devices is what its prices say (`PriceVerifier.h` proves those).
/// Findings are A0954.
Verification verifyTuning(const TuningProblem &problem, const TuningResult &result,
                          const PricedTuning *priced = nullptr);

} // namespace accord::tuning
