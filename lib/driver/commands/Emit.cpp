// accord emit: scripts and manifests that start a plan.
#include "lib/driver/CommandLine.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/traces/EmitChakra.h"
#include "lib/driver/voting/EmitEnsemble.h"
#include "lib/launch/Launch.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

struct EmitOptions {
  std::string backend, path, output, kind = "job";
  LaunchOptions launch;
  int64_t rank = -1;  ///< of execution traces: only this one; -1: all
  bool smoke = false; ///< a check of the model instead of the launch script
  bool json = false;
  voting::EnsembleScriptOptions ensemble = {};
};

/// In the order of `Launcher`.
constexpr std::initializer_list<llvm::StringRef> kBackends = {"torchrun", "megatron", "accelerate", "deepspeed",
                                                              "titan",    "maxtext",  "slurm",      "kubernetes"};

/// No launcher, but what simulators of clusters read.
constexpr llvm::StringLiteral kChakra = "chakra";
/// What trains, measures and starts the members of a vote.
constexpr llvm::StringLiteral kEnsemble = "ensemble";

struct EmittedText {
  Launcher backend;
  std::string text;
};
void describe(JsonFields &f, EmittedText &one) {
  f.head("emit")
      .field("backend", one.backend, [](JsonVisitor &v, Launcher &backend) { v.oneOf(backend, kBackends, ""); })
      .about("the script or manifest")
      .field("text", one.text);
}
const DocumentEntry kDocument("emit", "accord emit --json", "The script or manifest that starts a plan.",
                              [] { return schemaOf<EmittedText>(); });

/// "" of the key of a label of Kubernetes: a name, before which a domain and "/" may stand.
std::string wrongLabel(const std::string &key) {
  const auto [domain, rest] = llvm::StringRef(key).rsplit('/');
  const llvm::StringRef name = rest.empty() ? domain : rest;
  auto isMade = [](llvm::StringRef text, llvm::StringRef of, size_t max) {
    return !text.empty() && text.size() <= max && llvm::isAlnum(text.front()) && llvm::isAlnum(text.back()) &&
           llvm::all_of(text, [&](char c) { return llvm::isAlnum(c) || of.contains(c); });
  };
  if (isMade(name, "-_.", 63) && (rest.empty() ? !key.ends_with('/') : isMade(domain, "-.", 253)))
    return "";
  return "expected a label as 'rack' or 'topology.example.com/rack', found '" + key + "'";
}

int emitCommand(const EmitOptions &options) {
  if (options.backend == kChakra)
    return emitChakra(
        {options.path, options.output, options.rank < 0 ? std::nullopt : std::optional(options.rank), options.json});
  if (options.backend == kEnsemble)
    return emitEnsemble({options.path, options.output, options.json, options.ensemble});
  auto plan = readLaunchedPlan(options.path, options.json, "emit");
  if (!plan)
    return kWrongInput;
  auto launcher = Launcher(std::ranges::find(kBackends, options.backend) - kBackends.begin());
  LaunchOptions launch = options.launch;
  launch.kind = llvm::StringSwitch<KubernetesKind>(options.kind)
                    .Case("jobset", KubernetesKind::JobSet)
                    .Case("trainjob", KubernetesKind::TrainJob)
                    .Default(KubernetesKind::Job);
  if (options.smoke && launcher != Launcher::Megatron)
    return refuse(Code::LauncherCannot, "--smoke checks the model that Megatron-LM builds: write accord emit megatron",
                  options.json, "emit");
  auto made = options.smoke ? megatronSmokeText(*plan) : launchText(*plan, launcher, launch);
  if (!made)
    return refuse(made.error().code == Code::NotAPlacement ? Code::NotAPlacement : Code::LauncherCannot,
                  made.error().message, options.json, "emit");
  const auto &text = *made;
  if (plan->zeros)
    if (const SparsityFigures zeros = sparsityFiguresOf(*plan); zeros.hasAny())
      standardError() << fmt::format("accord: the plan has {}; what finds and applies these masks is the training "
                                     "script's, without them a step takes longer and more memory\n",
                                     sparsityText(zeros));
  if (!options.output.empty()) {
    SourceManager sources;
    Diagnostics diags(sources);
    if (!writeFile(diags, options.output, text))
      return refuse(Code::CannotWrite, diags.sorted().front().message, options.json, "emit");
  }
  if (options.json)
    standardOutput() << jsonText(toDocument(EmittedText{launcher, text})) << "\n";
  else if (options.output.empty())
    standardOutput() << text;
  return kDone;
}

const CommandEntry kEntry("emit", "Write a launch script or manifest for a plan", [](Command &command) {
  auto options = Command::values<EmitOptions>();
  std::vector<std::string> backends(kBackends.begin(), kBackends.end());
  backends.push_back(kChakra.str());
  backends.push_back(kEnsemble.str());
  command
      .option(
          "backend", options->backend,
          "torchrun, megatron, accelerate, deepspeed, titan, maxtext, slurm or kubernetes; chakra: execution traces; "
          "ensemble: what trains, measures and starts the members of a vote")
      .required()
      .oneOf(backends);
  command
      .option("plan", options->path,
              "A folder that `accord compile` wrote, or its plan.json; ensemble: one of `accord vote`, or its "
              "vote.json")
      .required();
  command.option("-o,--output", options->output,
                 "File to write (default: standard output); chakra and ensemble: a folder");
  command.option("--classes", options->ensemble.classes, "Ensemble: how many labels there are").positive();
  command.option("--timeout-ms", options->ensemble.timeout, "Ensemble: from a request to its answer").showDefault();
  command
      .option("--hosts", options->ensemble.hosts,
              "Ensemble: of the used devices, in their order (default: this machine)")
      .commaSeparated()
      .oneWord();
  command.option("--port", options->ensemble.port, "Ensemble: of the first member of each host; others follow")
      .range(1, 65000)
      .showDefault();
  command.option("--rank", options->rank, "Chakra: the trace of this rank alone").range(0, int64_t(1) << 30);
  command.option("--script", options->launch.script, "Kubernetes: the training script in the image");
  command.option("--image", options->launch.image, "Kubernetes: the container's image");
  command.option("--resource", options->launch.resource, "Kubernetes: the name of a device").showDefault();
  command.option("--kind", options->kind, "Kubernetes: job (a Service and an indexed Job), jobset or trainjob")
      .oneOf({"job", "jobset", "trainjob"})
      .showDefault();
  command.option("--runtime", options->launch.runtime, "Kubernetes: the ClusterTrainingRuntime of a TrainJob")
      .showDefault();
  command
      .option("--node-label", options->launch.nodeLabel,
              "Kubernetes: the label of servers that says which devices they have; empty: none does")
      .showDefault();
  command.flag(
      "--smoke", options->smoke,
      "Megatron-LM: a script that builds the model without its memory and compares its parameters with the plan's");
  command.option("--constraint", options->launch.constraint, "Slurm: features that servers have to have");
  command.option("--switches", options->launch.switches, "Slurm: at most so many leaf switches connect the servers")
      .positive();
  command
      .option("--topology", options->launch.topology,
              "Kubernetes: a label of which all servers of the job have the same value, as of a rack")
      .check(wrongLabel);
  command.flag("--prefer-topology", options->launch.prefersTopology,
               "Kubernetes: the job starts all the same where --topology cannot be");
  command
      .option("--group-topology", options->launch.groupTopology,
              "Where the servers of each group that exchanges across servers are together: Slurm, block (of "
              "topology/block); Kubernetes with --queue, a label")
      .check(wrongLabel);
  command.option("--queue", options->launch.queue, "Kubernetes: the LocalQueue of Kueue that admits the job")
      .check([](const std::string &name) {
        const bool isName = wrongLabel(name).empty() &&
                            llvm::all_of(name, [](char c) { return llvm::isLower(c) || llvm::isDigit(c) || c == '-'; });
        return isName ? "" : "expected lower case letters, digits and '-', found '" + name + "'";
      });
  addDeviceNames(command, options->launch);
  addJson(command, options->json);
  command.example("accord emit slurm out/ -o train.sbatch\n"
                  "         accord emit megatron out/ > megatron.sh\n"
                  "         accord emit slurm out/ --device-name a100 --switches 1 > train.sbatch\n"
                  "         accord emit chakra out/ -o traces/\n"
                  "         accord emit ensemble out/ -o run/ --classes 1000");
  command.action([options] { return emitCommand(*options); });
});

} // namespace
} // namespace accord
