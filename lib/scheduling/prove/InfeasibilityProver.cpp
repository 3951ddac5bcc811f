#include "lib/scheduling/prove/InfeasibilityProver.h"
#include "lib/scheduling/prove/CnfEncoder.h"
#include "lib/scheduling/prove/LearntProof.h"
#include "lib/scheduling/verify/InfeasibilityProof.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace accord {
namespace {

using prove::CnfFormula;

/// Exit statuses of the SAT competitions.
constexpr int kSatisfiable = 10, kUnsatisfiable = 20;

/// A file for a child process, removed with this object.
class TemporaryFile {
public:
  explicit TemporaryFile(const char *ending) { (void)llvm::sys::fs::createTemporaryFile("accord-proof", ending, name); }
  ~TemporaryFile() {
    if (!name.empty())
      (void)llvm::sys::fs::remove(name);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  llvm::SmallString<128> name; ///< empty: none could be made
};

bool writeDimacs(const CnfFormula &formula, const std::string &path) {
  std::string text = fmt::format("p cnf {} {}\n", formula.variables, formula.clauses);
  for (int32_t literal : formula.literals) {
    fmt::format_to(std::back_inserter(text), "{}", literal);
    text += literal == 0 ? '\n' : ' ';
  }
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return false;
  out << text;
  out.close();
  bool written = !out.has_error();
  out.clear_error();
  return written;
}

/// Runs a program to its end or until `stop`, without output; -1 where it cannot be started or a signal ends it. It is
/// killed when this process ends, however that happens.
int runQuietly(const std::string &program, const std::vector<std::string> &words, const std::atomic<bool> *stop) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str())); // execv takes them so, and leaves them as they are
  arguments.push_back(nullptr);
  pid_t parent = getpid(), child = fork();
  if (child < 0)
    return -1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) // it ended in between
      _exit(1);
    rlimit limit{kMaxProofBytes, kMaxProofBytes}; // no longer proof is read
    setrlimit(RLIMIT_FSIZE, &limit);
    int nowhere = open("/dev/null", O_RDWR);
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      dup2(nowhere, stream);
    execv(program.c_str(), arguments.data());
    _exit(1);
  }
  int status = 0;
  const timespec shortly{0, 2'000'000};
  for (pid_t ended; (ended = waitpid(child, &status, stop ? WNOHANG : 0)) != child;) {
    if (ended < 0 && errno != EINTR)
      return -1;
    if (stop && *stop)
      kill(child, SIGKILL);
    nanosleep(&shortly, nullptr);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// By the clauses in their order, so that a proof names what it is of.
std::string headOf(const CnfFormula &formula, size_t size) {
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(formula.literals.data()),
                                formula.literals.size() * sizeof(int32_t));
  return fmt::format("accord-rup 1 {} {} {:016x} {}\n", formula.variables, formula.clauses, llvm::xxh3_64bits(bytes),
                     size);
}

} // namespace

InfeasibilityCertificate proveInfeasible(const SchedulingProblem &problem, const SchedulingBound &bound,
                                         const ProofSearchOptions &options) {
  const std::string &solver = options.solver;
  auto windows = solverWindows(problem, bound);
  if (!windows)
    return {"", windows.error().message};
  auto formula = prove::encodeInClauses(problem, bound.unit, *windows);
  if (!formula)
    return {"", "it is too large to be written as clauses"};
  if (auto learnt = prove::refute(problem, bound, *windows, options.stop)) {
    std::string lemmas = prove::proofOf(*learnt, *formula), proof = headOf(*formula, lemmas.size()) + lemmas;
    if (replayInfeasibility(problem, bound, proof))
      return {std::move(proof), ""};
  }
  auto program = llvm::sys::findProgramByName(solver);
  if (!program)
    return {"", fmt::format("{} is not installed", solver)};
  TemporaryFile question("cnf"), proof("drat");
  if (question.name.empty() || proof.name.empty() || !writeDimacs(*formula, question.name.str().str()))
    return {"", "no temporary file could be written"};
  int status = runQuietly(*program,
                          {solver, "-q", "-n", "--plain", "-c", std::to_string(options.maxConflicts),
                           question.name.str().str(), proof.name.str().str()},
                          options.stop);
  if (options.stop && *options.stop)
    return {"", "the run was stopped"};
  if (status == kSatisfiable)
    return {"", fmt::format("{} finds a schedule in units of {}", solver, bound.unit)};
  if (status != kUnsatisfiable)
    return {"", fmt::format("{} gave up after {} conflicts", solver, options.maxConflicts)};
  auto log = llvm::MemoryBuffer::getFile(proof.name);
  if (!log)
    return {"", "the proof could not be read back"};
  return {headOf(*formula, (*log)->getBufferSize()) + (*log)->getBuffer().str(), ""};
}

} // namespace accord
