#include "lib/emit/Certificate.h"
#include "lib/emit/Claim.h"
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

} // namespace

std::optional<CertificateClaim> claimOf(const SchedulingProblem &problem,
                                        const SchedulingResult &result) {
  CertificateClaim claimed;
  if (result.status == SchedulingResult::Status::Infeasible)
    claimed.makespan = serialLength(problem);
  else if (result.bound.kind == SchedulingBound::Kind::Solver)
    claimed.makespan = result.bound.value - 1;
  else
    return std::nullopt;
  claimed.file = fmt::format("certificate/makespan-LE-{}.smt2", claimed.makespan);
  claimed.text = claim(problem, claimed.makespan);
  return claimed;
}

std::optional<Issue> writeCertificate(const std::string &folder, const SchedulingProblem &problem,
                                      const SchedulingResult &result) {
  llvm::SmallString<128> claims(folder);
  llvm::sys::path::append(claims, "certificate");
  if (auto error = llvm::sys::fs::create_directories(claims))
    return Issue{"A0901",
                 fmt::format("'{}' cannot be made: {}", claims.str().str(), error.message()),
                 {},
                 {}};
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(claims, error), end; !error && file != end;
       file.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(file->path());
    if (name.starts_with("makespan-LE-") && name.ends_with(".smt2"))
      llvm::sys::fs::remove(file->path());
  }
  if (auto issue = write(folder + "/problem.mlir", schedulingMlir(problem, &result)))
    return issue;
  if (auto claimed = claimOf(problem, result))
    return write(folder + "/" + claimed->file, claimed->text);
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
