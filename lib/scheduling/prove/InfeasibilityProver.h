// Proofs that no schedule of some length exists, by a SAT solver that logs what it derives.
#pragma once
#include "lib/scheduling/verify/Scheduling.h"
#include <atomic>
#include <string>

namespace accord {

/// The proof as lib/scheduling/verify/InfeasibilityProof.h reads it, or why there is none.
struct InfeasibilityCertificate {
  std::string proof;
  std::string error; ///< "cadical is not installed", "cadical gave up after 500000 conflicts"
};

struct ProofSearchOptions {
  /// Of the solver, and nothing that a clock measures: the same problem has the same proof.
  unsigned maxConflicts = 500'000;
  std::string solver = "cadical";          ///< a program in the path
  const std::atomic<bool> *stop = nullptr; ///< set from anywhere: no proof is found
};

/// Proves that no schedule of at most `bound.value - 1` exists, for a bound of kind Solver whose steps follow
/// (`solverWindows`): writes the problem as clauses, and has `solver` refute them. The child process ends with this
/// one. Needs a problem that `check` passes.
InfeasibilityCertificate proveInfeasible(const SchedulingProblem &problem, const SchedulingBound &bound,
                                         const ProofSearchOptions &options = {});

} // namespace accord
