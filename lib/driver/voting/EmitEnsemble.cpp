#include "lib/driver/voting/EmitEnsemble.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/ensembles/output/Answer.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/service/call/HttpCall.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

struct EmittedScripts {
  AnswerFiles files;
  std::optional<int64_t> samples; ///< of a table of votes that certifies what is required
};

/// Of a document of `accord vote`.
template <typename Plan, typename Read>
Result<EmittedScripts> scriptsFrom(const EmitEnsembleOptions &options, const std::string &file, Read read) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return Error{Code::CannotRead, fmt::format("'{}' cannot be read: {}", file, buffer.getError().message())};
  auto plan = readJsonDocument<Plan>((*buffer)->getBuffer(), file, "vote", read);
  if (!plan)
    return Error{Code::BadPlan, llvm::toString(plan.takeError())};
  ACCORD_TRY(files, voting::ensembleScripts(*plan, options.scripts));
  return EmittedScripts{std::move(files), voting::samplesOfTable(*plan)};
}

/// What to do with the files, in their order.
std::string nextSteps(const EmitEnsembleOptions &options, const EmittedScripts &made) {
  const std::string folder = llvm::StringRef(options.output).rtrim('/').str();
  const std::string held = made.samples ? fmt::format("{} held-out samples or more", *made.samples)
                                        : "no number of samples certifies what is required, so any number";
  const bool trains = llvm::any_of(made.files, [](const AnswerFile &one) { return one.name == "train.sh"; });
  return fmt::format(
      "{2}"
      "start them:           {0}/start/*.sh, on each device its own\n"
      "collect their votes:  {0}/collect_votes.py {0}/ensemble.json inputs.jsonl -o votes.csv ({1})\n"
      "answer:               {0}/answer.sh\n",
      folder, held,
      trains ? fmt::format("train the members:    TRAIN='python3 train.py' SAMPLES=… {}/train.sh\n", folder) : "");
}

} // namespace

int emitEnsemble(const EmitEnsembleOptions &options) {
  auto fail = [&](Code code, const std::string &message) { return refuse(code, message, options.json, "emit"); };
  if (options.json)
    return fail(Code::BadCommandLine, "an ensemble is started by several files: leave out --json");
  if (options.output.empty())
    return fail(Code::BadCommandLine, "an ensemble is started by several files: -o names their folder");
  if (options.scripts.classes < 2)
    return fail(Code::BadCommandLine, "how many labels are there? The plan does not say it: --classes N, 2 or more");
  if (!(options.scripts.timeout >= 0.1 && options.scripts.timeout <= 3.6e6))
    return fail(Code::BadCommandLine,
                fmt::format("--timeout-ms: expected 0.1 to 3.6e6, found {}", options.scripts.timeout));
  for (const std::string &host : options.scripts.hosts)
    if (const auto url = service::httpUrlOf(fmt::format("http://{}:1", host));
        !url || url->port != "1" || !url->path.empty())
      return fail(Code::BadCommandLine, fmt::format("--hosts: expected a name or an address, found '{}'", host));
  auto made = hasResultFile(options.answer, kAnswerFile)
                  ? scriptsFrom<AnswerPlan>(options, resultFile(options.answer, kAnswerFile), readAnswerPlan)
                  : scriptsFrom<EnsemblePlan>(options, resultFile(options.answer, kVoteFile), readEnsemble);
  if (!made)
    return fail(made.error().code, made.error().message);
  SourceManager sources;
  Diagnostics diags(sources);
  if (!writeFiles(diags, options.output, made->files))
    return finish(diags, kWrongInput, false, "emit");
  for (const AnswerFile &one : made->files)
    if (one.name.ends_with(".sh") || one.name.ends_with(".py"))
      (void)llvm::sys::fs::setPermissions(options.output + "/" + one.name, llvm::sys::fs::all_read |
                                                                               llvm::sys::fs::all_exe |
                                                                               llvm::sys::fs::owner_write);
  standardOutput() << nextSteps(options, *made);
  return kDone;
}

} // namespace accord
