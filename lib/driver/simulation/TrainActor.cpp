// accord jobs --train: an actor, from drawn simulations to its file.
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/simulation/Jobs.h"
#include "lib/driver/simulation/JobsReplay.h"
#include "lib/import/actors/ActorFile.h"
#include "lib/jobs/output/ActorOutput.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace accord {
namespace {
using namespace jobs;

constexpr size_t kSyntheticJobs = 40; ///< of a simulation

class Training {
public:
  explicit Training(const JobsOptions &options) : options(options), diags(sources), replay(options, diags) {}

  int run() {
    if (!check() || (!options.trace.empty() && !replay.read()))
      return finish(diags, kWrongInput, options.json, "jobs");
    training.budget = options.trainBudget;
    training.seed = options.trainSeed;
    training.threads = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
    auto trained = trainActor([this](uint64_t seed) { return draw(seed); }, training);
    if (!trained) {
      if (!diags.hasErrors())
        replay.add(trained.error());
      return finish(diags, kWrongInput, options.json, "jobs");
    }
    const ActorReport report{options.train, trainedOn(), std::move(*trained)};
    if (!writeFile(diags, options.train, import::actorBytes(report.actor.graph, actorMetadata(report, training))))
      return finish(diags, kWrongInput, options.json, "jobs");
    if (options.json)
      standardOutput() << jsonText(actorJson(report)) << "\n";
    else
      standardOutput() << actorText(report, TextStyle::of(standardOutput()));
    return finish(diags, kDone, options.json, "jobs");
  }

private:
  bool check() {
    auto refused = [&](const std::string &message) { return diags.error(Code::BadCommandLine, {}, message), false; };
    if (!llvm::StringRef(options.train).ends_with(".onnx"))
      return refused(fmt::format("--train: expected a file with the ending .onnx, found '{}'", options.train));
    if (!options.policies.empty() || !options.reference.empty() || !options.actor.empty() || options.seeds > 1)
      return refused("--train compares no policies: --policy, --reference, --actor and --seeds say nothing there");
    if (options.trace.empty() && (!options.servers.empty() || !options.profiles.empty() || options.draw > 0))
      return refused("--train without --simulate draws servers, speeds and jobs itself");
    if (!options.trace.empty() && options.draw == 0)
      return refused("--train draws jobs from the trace: --draw says how many for each simulation");
    if (!options.history.empty() || !options.writeHistory.empty() || !options.schedule.empty())
      return refused("--train reads and writes no history and no schedule");
    return true;
  }

  Result<DrawnSimulation> draw(uint64_t seed) {
    if (options.trace.empty())
      return drawSynthetic(kSyntheticJobs, seed);
    if (!replay.draw(seed))
      return Error{Code::WrongJobsFile, "the jobs cannot be drawn"};
    DrawnSimulation drawn{replay.cluster(), replay.jobs(*replay.policy("learned")), replay.simulation()};
    drawn.options.seed = seed;
    return drawn;
  }

  std::string trainedOn() const {
    if (options.trace.empty())
      return fmt::format("{} synthetic jobs a simulation, of the families 'alike' and 'varied'", kSyntheticJobs);
    return fmt::format("{} jobs a simulation, drawn from '{}' at load {}, on {}", options.draw, options.trace,
                       options.load, options.servers);
  }

  const JobsOptions &options;
  SourceManager sources;
  Diagnostics diags;
  JobsReplay replay;
  TrainingOptions training;
};

const DocumentEntry kDocument("actor", "accord jobs --train FILE.onnx --json",
                              "How the training of an actor went, which weighs jobs in simulations.", actorSchema);

} // namespace

int trainActorOnJobs(const JobsOptions &options) { return Training(options).run(); }

} // namespace accord
