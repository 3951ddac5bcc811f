// accord emit: scripts and manifests that start a plan.
#include "lib/launch/Launch.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "tools/accord/Commands.h"
#include "tools/accord/PlacementFile.h"
#include "tools/accord/Session.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace accord {
namespace {

struct EmitOptions {
  std::string backend, path, output, kind = "job";
  LaunchOptions launch;
  bool json = false;
};

int emitCommand(const EmitOptions &options) {
  auto plan = readPlacement(options.path, options.json, "emit");
  if (!plan)
    return kWrongInput;
  auto launcher = llvm::StringSwitch<Launcher>(options.backend)
                      .Case("megatron", Launcher::Megatron)
                      .Case("slurm", Launcher::Slurm)
                      .Case("kubernetes", Launcher::Kubernetes)
                      .Default(Launcher::Torchrun);
  LaunchOptions launch = options.launch;
  launch.kind = llvm::StringSwitch<KubernetesKind>(options.kind)
                    .Case("jobset", KubernetesKind::JobSet)
                    .Case("trainjob", KubernetesKind::TrainJob)
                    .Default(KubernetesKind::Job);
  auto made = launchText(*plan, launcher, launch);
  if (!made)
    return refuse(made.error().code == Code::NotAPlacement ? Code::NotAPlacement : Code::LauncherCannot,
                  made.error().message, options.json, "emit");
  const auto &text = *made;
  if (!options.output.empty()) {
    std::error_code problem;
    llvm::raw_fd_ostream file(options.output, problem);
    if (!problem) {
      file << text;
      file.close();
      problem = file.error();
      file.clear_error();
    }
    if (problem)
      return refuse(Code::CannotWrite, fmt::format("'{}' cannot be written: {}", options.output, problem.message()),
                    options.json, "emit");
  }
  if (options.json)
    llvm::outs() << jsonText(llvm::json::Object{{"command", "emit"},
                                                {"version", kVersion},
                                                {"status", "done"},
                                                {"backend", options.backend},
                                                {"text", jsonString(text)}})
                 << "\n";
  else if (options.output.empty())
    llvm::outs() << text;
  return kDone;
}

} // namespace

void addEmit(CLI::App &app, int &status) {
  auto options = std::make_shared<EmitOptions>();
  CLI::App *command = app.add_subcommand("emit", "Write a launch script or manifest for a plan");
  command->add_option("backend", options->backend, "torchrun, megatron, slurm or kubernetes")
      ->required()
      ->check(CLI::IsMember({"torchrun", "megatron", "slurm", "kubernetes"}));
  command->add_option("plan", options->path, "A folder that `accord compile` wrote for a cluster, or its plan.json")
      ->required();
  command->add_option("-o,--output", options->output, "File to write (default: standard output)");
  command->add_option("--script", options->launch.script, "Kubernetes: the training script in the image");
  command->add_option("--image", options->launch.image, "Kubernetes: the container's image");
  command->add_option("--resource", options->launch.resource, "Kubernetes: the name of a device")
      ->capture_default_str();
  command->add_option("--kind", options->kind, "Kubernetes: job (a Service and an indexed Job), jobset or trainjob")
      ->check(CLI::IsMember({"job", "jobset", "trainjob"}))
      ->capture_default_str();
  command->add_option("--runtime", options->launch.runtime, "Kubernetes: the ClusterTrainingRuntime of a TrainJob")
      ->capture_default_str();
  command
      ->add_option("--node-label", options->launch.nodeLabel,
                   "Kubernetes: the label by which a JobSet tells servers of several kinds apart")
      ->capture_default_str();
  addJson(*command, options->json);
  command->footer("Examples: accord emit slurm out/ -o train.sbatch\n"
                  "          accord emit megatron out/ > megatron.sh");
  command->callback([options, &status] { status = emitCommand(*options); });
}

} // namespace accord
