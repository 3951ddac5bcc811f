#include "lib/planning/output/Certificate.h"
#include "lib/scheduling/output/Claim.h"
#include "lib/planning/verify/Verify.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

std::optional<Issue> write(const std::string &path, const std::string &text) {
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
  return Issue{"A0901", fmt::format("'{}' cannot be written: {}", path, error.message()), {}, {}};
}

constexpr std::pair<RegionId, const char *> kTops[] = {{kMicrobatchRegion, "microbatch"},
                                                       {kUpdateRegion, "update"}};

std::string folderOfClaims(const std::string &folder) {
  llvm::SmallString<128> claims(folder);
  llvm::sys::path::append(claims, "certificate");
  return claims.str().str();
}

/// Of an earlier run, by what they are about.
void removeClaims(const std::string &claims, std::initializer_list<const char *> names) {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(claims, error), end; !error && file != end;
       file.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(file->path());
    for (const char *about : names)
      if (name.starts_with(std::string(about) + "-LE-") && name.ends_with(".smt2"))
        llvm::sys::fs::remove(file->path());
  }
}

} // namespace

std::optional<CertificateClaim> claimOf(const SchedulingProblem &problem,
                                        const SchedulingResult &result) {
  const SchedulingBound &bound = result.bound;
  int64_t makespan = serialLength(problem);
  if (bound.kind == SchedulingBound::Kind::Solver &&
      (result.status != SchedulingResult::Status::Infeasible || bound.value > makespan))
    return claimOf(problem, bound, "makespan");
  if (result.status != SchedulingResult::Status::Infeasible)
    return std::nullopt;
  return CertificateClaim{makespan, fmt::format("certificate/makespan-LE-{}.smt2", makespan),
                          claim(problem, makespan)};
}

std::optional<CertificateClaim> claimOf(const SchedulingProblem &problem,
                                        const SchedulingBound &bound, const std::string &name) {
  if (bound.kind != SchedulingBound::Kind::Solver)
    return std::nullopt;
  auto windows = solverWindows(problem, bound);
  if (std::holds_alternative<Issue>(windows)) // found by whoever verifies the bound
    return std::nullopt;
  int64_t makespan = bound.value - 1;
  bool plain = bound.unit == 1 && bound.steps.empty();
  return CertificateClaim{makespan, fmt::format("certificate/{}-LE-{}.smt2", name, makespan),
                          claim(problem, makespan, ClaimForm::Choose, bound.unit,
                                plain ? nullptr : &std::get<StartWindows>(windows))};
}

std::optional<Issue> writeCertificate(const std::string &folder, const SchedulingProblem &problem,
                                      const SchedulingResult &result) {
  std::string claims = folderOfClaims(folder);
  if (auto error = llvm::sys::fs::create_directories(claims))
    return Issue{"A0901", fmt::format("'{}' cannot be made: {}", claims, error.message()), {}, {}};
  removeClaims(claims, {"makespan"});
  if (auto issue = write(folder + "/problem.mlir", schedulingMlir(problem, &result)))
    return issue;
  if (auto claimed = claimOf(problem, result))
    return write(folder + "/" + claimed->file, claimed->text);
  return std::nullopt;
}

std::vector<CertificateClaim> claimsOf(const Plan &plan) {
  std::vector<CertificateClaim> claims;
  for (auto [top, name] : kTops)
    if (top < plan.schedule.regions.size() &&
        plan.schedule.regions[top].proven.kind == SchedulingBound::Kind::Solver)
      if (auto one = claimOf(provenProblem(plan, top), plan.schedule.regions[top].proven, name))
        claims.push_back(std::move(*one));
  return claims;
}

std::optional<Issue> writeCertificate(const std::string &folder, const Plan &plan) {
  std::string path = folderOfClaims(folder);
  removeClaims(path, {kTops[0].second, kTops[1].second});
  for (const CertificateClaim &claimed : claimsOf(plan)) {
    if (auto error = llvm::sys::fs::create_directories(path))
      return Issue{"A0901", fmt::format("'{}' cannot be made: {}", path, error.message()), {}, {}};
    if (auto issue = write(folder + "/" + claimed.file, claimed.text))
      return issue;
  }
  return std::nullopt;
}

SolverAnswer askSolver(const std::string &program, const std::string &file,
                       const std::string &claim) {
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
    std::string line =
        text ? (*text)->getBuffer().trim().split('\n').first.trim().str() : std::string();
    if (line.empty())
      line =
          message.empty() ? fmt::format("ended with status {} and said nothing", status) : message;
    return line;
  };
  SolverAnswer answer{program, {}};
  // "This is cvc5 version 1.0.3 [git …", "Z3 version 4.8.12 - 64 bit"
  std::string banner = run({program, "--version"});
  auto [before, after] = llvm::StringRef(banner).split(" version ");
  if (!after.empty())
    answer.solver = (before.rsplit(' ').second.empty() ? before : before.rsplit(' ').second).str() +
                    " " + after.split(' ').first.str();
  std::vector<std::string> words = solverCommand(program, claim);
  words.push_back(file);
  answer.answer = run(words);
  llvm::sys::fs::remove(output);
  return answer;
}

} // namespace accord
