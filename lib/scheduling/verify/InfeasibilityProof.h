// A proof that no schedule of some length exists, replayed without the solver that found it.
#pragma once
#include "lib/scheduling/verify/Scheduling.h"
#include "llvm/ADT/StringRef.h"

namespace accord {

/// Of a proof file: what is longer is refused. 64 MiB, about a million lemmas.
constexpr size_t kMaxProofBytes = size_t{1} << 26;

struct InfeasibilityReplay {
  size_t variables = 0, clauses = 0, lemmas = 0; ///< lemmas: until the contradiction
};

/// Replays the proof that no schedule of at most `bound.value - 1` exists, for a bound of kind Solver. The formula is
/// made anew from the problem (`infeasibilityFormula`); each lemma of the file has to follow from the formula and the
/// lemmas before it by unit propagation (`RupChecker`), up to the empty clause. The file: a line
/// "accord-rup 1 VARIABLES CLAUSES HASH BYTES", then BYTES of a proof in the binary form of DRAT (Wetzler, Heule, Hunt,
/// SAT 2014): `a` or `d`, literals as numbers of 7 bits a byte, least first, 2 * variable + sign, and 0. `e`
/// has a resource and the ends of an interval, as such numbers, before the literals: the lemma follows where what unit
/// propagation leaves of starts needs more of the resource in the interval than there is; of bounds in units of 1.
/// A0906 where the file is of another problem, cut or malformed, where a lemma does not follow, or where the lemmas do
/// not end in a contradiction; A0930 where the problem is malformed.
Result<InfeasibilityReplay> replayInfeasibility(const SchedulingProblem &problem, const SchedulingBound &bound,
                                                llvm::StringRef proof);

} // namespace accord
