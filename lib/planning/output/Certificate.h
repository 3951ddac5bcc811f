// What a schedule leaves behind for others to check: the problem, the answer, and what a solver
// claimed.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/scheduling/output/SchedulingMlir.h"
#include "lib/scheduling/prove/InfeasibilityProver.h"

namespace accord {

/// The claim that a solver refuted, with its makespan: value - 1 of a bound of kind Solver; of an
/// infeasible problem what no schedule without idle time can pass.
struct CertificateQuery {
  int64_t makespan = 0;
  std::string file; ///< within the folder: "certificate/makespan-LE-61.smt2"
  std::string text;
  std::string proofFile; ///< "certificate/makespan-LE-61.rup", where a SAT solver found the same
  SchedulingProblem problem;
  SchedulingBound bound; ///< value - 1: the makespan
};
std::optional<CertificateQuery> smtQueryOf(const SchedulingProblem &problem, const SchedulingResult &result);
/// The same of a bound alone; "certificate/NAME-LE-61.smt2". Nothing where it rests on no solver,
/// or on steps that do not follow.
std::optional<CertificateQuery> smtQueryOf(const SchedulingProblem &problem, const SchedulingBound &bound,
                                           const std::string &name);

/// Writes FOLDER/problem.mlir and, where a bound rests on a solver, FOLDER/certificate/….smt2 with the proof beside it
/// (`proveInfeasible`); takes away what an earlier run left there. `unproved`: for each bound without a proof, a
/// sentence that says why. A0901 where a file cannot be written.
std::optional<Error> writeCertificate(const std::string &folder, const SchedulingProblem &problem,
                                      const SchedulingResult &result, const ProofSearchOptions &options,
                                      std::vector<std::string> &unproved);

/// What solvers claimed of a plan that `verify` found to hold: "certificate/microbatch-LE-61.smt2",
/// "certificate/update-LE-61.smt2"; times are picoseconds.
std::vector<CertificateQuery> smtQueriesOf(const Plan &plan);
/// Writes them with their proofs, as above.
std::optional<Error> writeCertificate(const std::string &folder, const Plan &plan, const ProofSearchOptions &options,
                                      std::vector<std::string> &unproved);

/// What a program says of an SMT-LIB file.
struct SolverResult {
  std::string solver; ///< "cvc5 1.0.3"
  std::string answer; ///< "unsat", "sat", … or why there is none
};
SolverResult runSolver(const std::string &program, const std::string &file, const std::string &smtQuery);

} // namespace accord
