#include "lib/driver/certificates/ScheduleCertificate.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/planning/output/Certificate.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/verify/InfeasibilityProof.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {
namespace {

std::optional<std::string> contents(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? std::optional((*buffer)->getBuffer().str()) : std::nullopt;
}

/// What rests on a solver, and whether it does so rightly.
void verifyQuery(Verification &proof, const CertificateQuery &query, const std::string &folder,
                 const std::string &solver, const std::string &what, const char *problem = "problem") {
  std::string path = (folder.empty() ? "." : folder) + "/" + query.file;
  auto fail = [&](const std::string &message) { proof.findings.push_back({Code::BoundNotProved, message, {}, {}}); };
  auto text = contents(path);
  if (!text)
    return fail(fmt::format("{} assumes an SMT query that is missing: '{}'", what, path));
  if (*text != query.text)
    return fail(
        fmt::format("'{}' does not say that a schedule of this {} takes at most {}", path, problem, query.makespan));
  proof.checked.push_back(fmt::format("'{}' is the SMT query of this {}, byte for byte", query.file, problem));
  auto log = contents((folder.empty() ? "." : folder) + "/" + query.proofFile);
  if (log) {
    auto replay = replayInfeasibility(query.problem, query.bound, *log);
    if (!replay)
      return fail(fmt::format("'{}': {}", query.proofFile, replay.error().message));
    proof.checked.push_back(fmt::format("{}: {} lemmas of '{}' replayed on {} clauses of this {}", what, replay->lemmas,
                                        query.proofFile, replay->clauses, problem));
  }
  std::string confirmed;
  if (!solver.empty()) {
    SolverResult answer = runSolver(solver, path, query.text);
    if (answer.answer != "unsat")
      return fail(fmt::format("{} does not confirm {}: {}", answer.solver, what, answer.answer));
    confirmed = answer.solver;
  }
  if (log) {
    if (!confirmed.empty())
      proof.checked.push_back(fmt::format("{}: confirmed by {}", what, confirmed));
    return;
  }
  proof.trusted.push_back(
      fmt::format("a solver's answer for {}{}", what,
                  confirmed.empty() ? "; --solver cvc5 asks another" : ", confirmed by " + confirmed));
  if (confirmed.empty() || llvm::StringRef(confirmed).starts_with("Z3"))
    proof.solverAnswers.push_back(what + " assumes the answer of a solver alone");
}

/// Where the text of a scheduling problem with its answer is: `path` where that ends in .mlir, else PATH/problem.mlir
/// where that exists.
std::optional<std::string> scheduleFileOf(const std::string &path) {
  if (llvm::sys::path::extension(path) == ".mlir")
    return path;
  std::string file = path + "/problem.mlir";
  return llvm::sys::fs::exists(file) ? std::optional(file) : std::nullopt;
}

} // namespace

void verifyQueries(Verification &proof, const Plan &plan, const std::string &folder, const std::string &solver) {
  for (const CertificateQuery &query : smtQueriesOf(plan)) {
    // Said again below, with the claim that stands for it.
    std::string plain = fmt::format("no schedule of at most {} exists", query.makespan);
    std::erase_if(proof.trusted,
                  [&](const std::string &sentence) { return sentence.find(plain) != std::string::npos; });
    verifyQuery(proof, query, folder, solver, fmt::format("the bound {} ps of an iteration", query.makespan + 1),
                "plan");
  }
}

namespace {

/// Reads problem and answer back and proves them again: the schedule by replay, the bound by its arithmetic; where it
/// rests on a solver, that the query beside it is this problem's, byte for byte, and, given a `solver`, that this
/// program refutes it.
Verification verifySchedule(const std::string &file, const std::string &solver) {
  Verification proof;
  auto text = contents(file);
  if (!text) {
    proof.findings.push_back({Code::BadPlan, fmt::format("'{}' cannot be read", file), {}, {}});
    return proof;
  }
  auto read = readSchedulingMlir(*text, file);
  if (!read) {
    proof.findings.push_back(read.error());
    return proof;
  }
  const auto &[problem, result] = *read;
  if (!result) {
    proof.findings.push_back({Code::BadPlan, fmt::format("'{}' has no solution", file), {file, 1, 1}, {}});
    return proof;
  }
  bool feasible = result->status == SchedulingResult::Status::Feasible;
  proof.findings = verify(problem, *result, nullptr);
  if (feasible && proof.findings.empty())
    proof.checked.push_back(fmt::format("the schedule of {} tasks, makespan {}: replayed", problem.tasks.size(),
                                        result->solution.makespan));
  std::string what =
      feasible ? fmt::format("the bound {}", result->bound.value) : std::string("that there is no schedule");
  if (auto query = smtQueryOf(problem, *result))
    verifyQuery(proof, *query, llvm::sys::path::parent_path(file).str(), solver, what);
  else if (proof.findings.empty())
    proof.checked.push_back(
        fmt::format("the bound {}: {}", result->bound.value, describeBound(problem, result->bound)));
  return proof;
}

} // namespace

CertificateKind scheduleCertificate() {
  return {"schedule", [](const std::string &path) { return scheduleFileOf(path).has_value(); },
          [](const CertificateRequest &request) {
            return VerifiedCertificate{verifySchedule(*scheduleFileOf(request.path), request.solver), {}, true};
          }};
}

} // namespace accord
