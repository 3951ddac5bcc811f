// What a clause solver learnt, as the proof file that the verifier reads.
#pragma once
#include "lib/scheduling/prove/CnfEncoder.h"
#include "lib/scheduling/solve/ClauseOracle.h"

namespace accord::prove {

/// Refutes anew that a schedule of at most `bound.value - 1` exists, with starts in `windows`, where the problem is one
/// that a clause solver takes and `bound.unit` is 1. Nothing where it gives up, or finds a schedule.
std::optional<solve::LearntClauses> refute(const SchedulingProblem &problem, const SchedulingBound &bound,
                                           const StartWindows &windows, const std::atomic<bool> *stop);

/// The lemmas in variables of the formula, in the binary form of DRAT, each deleted after its last use. What the
/// windows of the formula decide is left out: they are at least as narrow as those in which the lemmas were learnt.
std::string proofOf(const solve::LearntClauses &learnt, const CnfFormula &formula);

} // namespace accord::prove
