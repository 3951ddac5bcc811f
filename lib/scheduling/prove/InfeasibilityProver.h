// Proofs that no schedule of some length exists, by a SAT solver that logs what it derives.
#pragma once
#include "lib/scheduling/verify/Scheduling.h"
#include <string>

namespace accord {

/// The proof as lib/scheduling/verify/InfeasibilityProof.h reads it, or why there is none.
struct InfeasibilityCertificate {
  std::string proof;
  std::string error; ///< "cadical is not installed", "cadical gave up after 500000 conflicts"
};

/// Where Debian's package `cadical` puts it, else in the path.
inline constexpr const char *kSatSolver = "cadical";
/// Of the solver, and nothing that a clock measures: the same problem has the same proof.
inline constexpr unsigned kMaxConflicts = 500'000;

/// Proves that no schedule of at most `bound.value - 1` exists, for a bound of kind Solver whose steps follow
/// (`solverWindows`): writes the problem as clauses, and has `solver` refute them. The child process ends with this
/// one. Needs a problem that `check` passes.
InfeasibilityCertificate proveInfeasible(const SchedulingProblem &problem, const SchedulingBound &bound,
                                         unsigned maxConflicts = kMaxConflicts, const std::string &solver = kSatSolver);

} // namespace accord
