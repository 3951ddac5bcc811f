// accord guard: whether this node has what a plan needs.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/jobs/output/JobScheduleText.h"
#include "lib/launch/JobScripts.h"
#include "lib/launch/Products.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

struct GuardOptions {
  std::string path, run;
  LaunchOptions launch;
  bool json = false, text = false, document = false;
};

struct GuardAnswer {
  bool isRefused = false;
  std::string message; ///< what the guard says; empty: nothing
  GuardExpectation expected;
};
void describe(JsonFields &f, GuardAnswer &answer) {
  f.head("guard", answer.isRefused ? "refused" : "passed", {"passed", "refused"})
      .about("what the guard says on standard error")
      .field("message", answer.message)
      .about("as `accord guard --document` writes it")
      .field("expected", answer.expected);
}
const DocumentEntry kDocument("guard", "accord guard --json", "Whether a node has what a plan needs.",
                              [] { return schemaOf<GuardAnswer>(); });

/// Of a run of the jobs of an answer.
std::optional<GuardExpectation> expectationOfRun(const GuardOptions &options, const std::string &file) {
  auto text = readText(file, options.json, "guard");
  if (!text)
    return std::nullopt;
  auto answer = jobs::jobsFromCertificate(*text, file);
  if (!answer)
    return refused(answer.error().code, answer.error().message, options.json, "guard");
  auto expected = guardOfRun(*answer, options.run, options.launch);
  if (!expected)
    return refused(expected.error().code, expected.error().message, options.json, "guard");
  return std::move(*expected);
}

/// Of a document, of a run of jobs, or of a plan; nothing: why not is printed.
std::optional<GuardExpectation> expectationOf(const GuardOptions &options) {
  if (auto buffer = llvm::MemoryBuffer::getFile(options.path); buffer && isGuard((*buffer)->getBuffer())) {
    auto read = guardFrom((*buffer)->getBuffer(), options.path);
    if (!read)
      return refused(read.error().code, read.error().message, options.json, "guard");
    if (!options.launch.product.empty())
      read->products = {options.launch.product};
    if (!options.launch.deviceName.empty())
      read->deviceName = options.launch.deviceName;
    read->isVirtual |= options.launch.isVirtual;
    return std::move(*read);
  }
  const std::string jobsFile = options.path + "/" + jobs::kJobsCertificate;
  if (!options.run.empty() || llvm::sys::fs::exists(jobsFile))
    return expectationOfRun(options, jobsFile);
  auto plan = readLaunchedPlan(options.path, options.json, "guard");
  if (!plan)
    return std::nullopt;
  auto expected = guardOf(*plan, options.launch);
  if (!expected)
    return refused(expected.error().code, expected.error().message, options.json, "guard");
  return std::move(*expected);
}

/// Runs the function here; what it says goes to standard error, or with --json into the answer.
int runGuard(const GuardOptions &options, const GuardExpectation &expected) {
  GuardAnswer answer{false, "", expected};
  llvm::SmallString<128> said;
  if (options.json)
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("accord-guard", "txt", said))
      return refuse(Code::CannotWrite, fmt::format("a temporary file cannot be written: {}", error.message()), true,
                    "guard");
  const llvm::scope_exit removed([&] {
    if (!said.empty())
      (void)llvm::sys::fs::remove(said);
  });
  const std::string script = guardText(expected) + "accord_guard";
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, std::nullopt, std::nullopt};
  if (options.json)
    redirects[2] = said.str();
  std::string error;
  const int status = llvm::sys::ExecuteAndWait("/bin/sh", {"sh", "-c", script}, std::nullopt, redirects, 0, 0, &error);
  if (status != 0 && status != kGuardRefused)
    return refuse(Code::LauncherCannot,
                  fmt::format("/bin/sh does not run the guard: {}",
                              error.empty() ? fmt::format("it ends with status {}", status) : error),
                  options.json, "guard");
  answer.isRefused = status != 0;
  if (!options.json) {
    if (answer.isRefused) // beside what the function said, a code to look up
      (void)refuse(Code::WrongDevices, "the devices here are not those of the plan", false, "guard");
    return status;
  }
  if (auto buffer = llvm::MemoryBuffer::getFile(said))
    answer.message = (*buffer)->getBuffer().rtrim().str();
  standardOutput() << jsonText(toDocument(answer)) << "\n";
  return status;
}

int guardCommand(const GuardOptions &options) {
  auto expected = expectationOf(options);
  if (!expected)
    return kWrongInput;
  if (options.text) {
    standardOutput() << guardText(*expected);
    return kDone;
  }
  if (options.document) {
    standardOutput() << jsonText(toDocument(*expected)) << "\n";
    return kDone;
  }
  return runGuard(options, *expected);
}

const CommandEntry kEntry("guard", "Check that this node has what a plan needs", [](Command &command) {
  auto options = Command::values<GuardOptions>();
  command
      .option(
          "plan", options->path,
          "A folder that `accord compile` wrote for a cluster, its plan.json, one that `accord jobs` wrote, or what "
          "--document wrote")
      .required();
  command.option("--run", options->run, "Of an answer of `accord jobs`: the run, as in launch/, JOB/RUN");
  addDeviceNames(command, options->launch);
  command.flag("--text", options->text, "Print the shell function accord_guard that scripts call, and check nothing");
  command.flag("--document", options->document, "Print what a node has to have, and check nothing");
  addJson(command, options->json);
  command.example(
      "accord guard out/              exit status 78 where a device, their number or memory is another one\n"
      "         accord guard out/ --text > guard.sh\n"
      "         accord guard night/ --run lm/0\n"
      "         accord guard out/ --document > guard.json && accord guard guard.json --json");
  command.action([options] { return guardCommand(*options); });
});

} // namespace
} // namespace accord
