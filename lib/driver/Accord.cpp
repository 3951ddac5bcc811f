#include "lib/driver/Accord.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <mutex>

namespace accord {
namespace {

/// Whether a command goes on for as long as its process.
bool isEndless(const std::vector<std::string> &arguments) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  auto has = [&](const char *option) { return llvm::is_contained(arguments, option); };
  return !has("--help") && (name == "serve" || name == "watch" || (name == "top" && !has("--once") && !has("--json")) ||
                            (name == "run" && has("--wait")));
}

int runWithin(const std::vector<std::string> &arguments) {
  if (isEndless(arguments))
    return refuse(Code::BadCommandLine,
                  fmt::format("'{}' goes on until its process is ended: start it as a program of its own",
                              arguments.front() + (arguments.front() == "run" ? " --wait" : "")),
                  llvm::is_contained(arguments, "--json"), arguments.front());
  return runCommandLine(arguments);
}

} // namespace

Answer run(const std::vector<std::string> &arguments, RunOptions options) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> alone(mutex);
  Answer answer;
  llvm::raw_string_ostream output(answer.output), messages(answer.messages);
  CommandHost host{&output, &messages, std::move(options.files), std::move(options.stop),
                   [&](ReportedDiagnostic one) { answer.diagnostics.push_back(std::move(one)); }};
  HostScope scope(host);
  answer.status = runWithin(arguments);
  answer.stopped = wasStopped();
  return answer;
}

std::string version() { return kVersion; }

} // namespace accord
