#include "lib/planning/output/Certificate.h"
#include "lib/planning/verify/Verify.h"
#include "lib/scheduling/output/SmtQuery.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

std::optional<Error> write(const std::string &path, const std::string &text) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) {
    out << text;
    out.close();
    error = out.error();
    out.clear_error();
  }
  if (!error)
    return std::nullopt;
  return Error{Code::BadPlan, fmt::format("'{}' cannot be written: {}", path, error.message()), {}, {}};
}

constexpr std::pair<RegionId, const char *> kTops[] = {{kMicrobatchRegion, "microbatch"}, {kUpdateRegion, "update"}};

std::string queryFolder(const std::string &folder) {
  llvm::SmallString<128> queries(folder);
  llvm::sys::path::append(queries, "certificate");
  return queries.str().str();
}

CertificateQuery queryOf(const std::string &name, std::string text, const SchedulingProblem &problem,
                         SchedulingBound bound) {
  int64_t makespan = bound.value - 1;
  std::string file = fmt::format("certificate/{}-LE-{}", name, makespan);
  return {makespan, file + ".smt2", std::move(text), file + ".rup", problem, std::move(bound)};
}

/// The query, and the proof that it is unsatisfiable.
std::optional<Error> writeQuery(const std::string &folder, const CertificateQuery &query,
                                const ProofSearchOptions &options, std::vector<std::string> &unproved) {
  if (auto error = write(folder + "/" + query.file, query.text))
    return error;
  InfeasibilityCertificate certificate = proveInfeasible(query.problem, query.bound, options);
  if (!certificate.error.empty()) {
    unproved.push_back(fmt::format("that no schedule of '{}' takes at most {} assumes the answer of a solver alone: {}",
                                   query.problem.name, query.makespan, certificate.error));
    return std::nullopt;
  }
  return write(folder + "/" + query.proofFile, certificate.proof);
}

} // namespace

std::optional<CertificateQuery> smtQueryOf(const SchedulingProblem &problem, const SchedulingResult &result) {
  const SchedulingBound &bound = result.bound;
  int64_t makespan = serialLength(problem);
  if (bound.kind == SchedulingBound::Kind::Solver &&
      (result.status != SchedulingResult::Status::Infeasible || bound.value > makespan))
    return smtQueryOf(problem, bound, "makespan");
  if (result.status != SchedulingResult::Status::Infeasible || provesInfeasible(problem, bound))
    return std::nullopt;
  return queryOf("makespan", smtQuery(problem, makespan), problem,
                 {makespan + 1, SchedulingBound::Kind::Solver, {}, 0, {}, "z3", 1});
}

std::optional<CertificateQuery> smtQueryOf(const SchedulingProblem &problem, const SchedulingBound &bound,
                                           const std::string &name) {
  if (bound.kind != SchedulingBound::Kind::Solver)
    return std::nullopt;
  auto windows = solverWindows(problem, bound);
  if (!windows) // found by whoever verifies the bound
    return std::nullopt;
  int64_t makespan = bound.value - 1;
  bool plain = bound.unit == 1 && bound.steps.empty();
  return queryOf(name, smtQuery(problem, makespan, SmtEncoding::Automatic, bound.unit, plain ? nullptr : &*windows),
                 problem, bound);
}

std::optional<Error> writeCertificate(const std::string &folder, const SchedulingProblem &problem,
                                      const SchedulingResult &result, const ProofSearchOptions &options,
                                      std::vector<std::string> &unproved) {
  std::string queries = queryFolder(folder);
  if (auto error = llvm::sys::fs::create_directories(queries))
    return Error{Code::BadPlan, fmt::format("'{}' cannot be made: {}", queries, error.message()), {}, {}};
  if (auto issue = write(folder + "/problem.mlir", schedulingMlir(problem, &result)))
    return issue;
  if (auto claimed = smtQueryOf(problem, result))
    return writeQuery(folder, *claimed, options, unproved);
  return std::nullopt;
}

std::vector<CertificateQuery> smtQueriesOf(const Plan &plan) {
  std::vector<CertificateQuery> queries;
  for (auto [top, name] : kTops)
    if (top < plan.schedule.regions.size() && plan.schedule.regions[top].proven.kind == SchedulingBound::Kind::Solver)
      if (auto one = smtQueryOf(provenProblem(plan, top), plan.schedule.regions[top].proven, name))
        queries.push_back(std::move(*one));
  return queries;
}

std::optional<Error> writeCertificate(const std::string &folder, const Plan &plan, const ProofSearchOptions &options,
                                      std::vector<std::string> &unproved) {
  std::string path = queryFolder(folder);
  for (const CertificateQuery &claimed : smtQueriesOf(plan)) {
    if (auto error = llvm::sys::fs::create_directories(path))
      return Error{Code::BadPlan, fmt::format("'{}' cannot be made: {}", path, error.message()), {}, {}};
    if (auto issue = writeQuery(folder, claimed, options, unproved))
      return issue;
  }
  return std::nullopt;
}

SolverResult runSolver(const std::string &program, const std::string &file, const std::string &smtQuery) {
  auto path = llvm::sys::findProgramByName(program);
  if (!path)
    return {program, fmt::format("'{}' is no program here", program)};
  llvm::SmallString<128> output;
  if (llvm::sys::fs::createTemporaryFile("accord-solver", "txt", output))
    return {program, "no temporary file could be made"};
  auto run = [&](std::vector<std::string> words) {
    std::vector<llvm::StringRef> arguments(words.begin(), words.end());
    std::optional<llvm::StringRef> streams[] = {llvm::StringRef(""), output.str(), output.str()};
    std::string message;
    int status = llvm::sys::ExecuteAndWait(*path, arguments, std::nullopt, streams, 0, 0, &message);
    auto text = llvm::MemoryBuffer::getFile(output);
    std::string line = text ? (*text)->getBuffer().trim().split('\n').first.trim().str() : std::string();
    if (line.empty())
      line = message.empty() ? fmt::format("ended with status {} and said nothing", status) : message;
    return line;
  };
  SolverResult answer{program, {}};
  // "This is cvc5 version 1.0.3 [git …", "Z3 version 4.8.12 - 64 bit"
  std::string banner = run({program, "--version"});
  auto [before, after] = llvm::StringRef(banner).split(" version ");
  if (!after.empty())
    answer.solver = (before.rsplit(' ').second.empty() ? before : before.rsplit(' ').second).str() + " " +
                    after.split(' ').first.str();
  std::vector<std::string> words = solverCommand(program, smtQuery);
  words.push_back(file);
  answer.answer = run(words);
  (void)llvm::sys::fs::remove(output);
  return answer;
}

} // namespace accord
