// What a schedule leaves behind for others to check: the problem, the answer, and what a solver
// claimed.
#pragma once
#include "lib/emit/SchedulingMlir.h"

namespace accord {

/// The claim that a solver refuted, with its makespan: value - 1 of a bound of kind Solver; of an
/// infeasible problem what no schedule without idle time can pass.
struct CertificateClaim {
  int64_t makespan = 0;
  std::string file; ///< within the folder: "certificate/makespan-LE-61.smt2"
  std::string text;
};
std::optional<CertificateClaim> claimOf(const SchedulingProblem &problem,
                                        const SchedulingResult &result);

/// Writes FOLDER/problem.mlir and, where a solver is to be believed, FOLDER/certificate/….smt2;
/// takes away claims that an earlier run left there. A0901 where a file cannot be written.
std::optional<Issue> writeCertificate(const std::string &folder, const SchedulingProblem &problem,
                                      const SchedulingResult &result);

/// What a program says of an SMT-LIB file.
struct SolverAnswer {
  std::string solver; ///< "cvc5 1.0.3"
  std::string answer; ///< "unsat", "sat", … or why there is none
};
SolverAnswer askSolver(const std::string &program, const std::string &file,
                       const std::string &claim);

} // namespace accord
