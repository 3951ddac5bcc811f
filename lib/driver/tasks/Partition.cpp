#include "lib/driver/tasks/Partition.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/Workspace.h"
#include "lib/import/profiles/LayerGraphImport.h"
#include "lib/import/profiles/PartitioningImport.h"
#include "lib/language/syntax/Parser.h"
#include "lib/partitioning/output/LayerPlanCertificate.h"
#include "lib/partitioning/output/LayerPlanOutput.h"
#include "lib/partitioning/output/PartitioningCertificate.h"
#include "lib/partitioning/output/PartitioningOutput.h"
#include "lib/partitioning/solve/GraphPartitioner.h"
#include "lib/partitioning/solve/LayerPlanner.h"
#include "lib/partitioning/verify/LayerPlanVerifier.h"
#include "lib/partitioning/verify/PartitioningBoundProof.h"
#include "lib/partitioning/verify/PartitioningVerifier.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Quantity.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Stages that the second proof of the bound looks at: half a second.
constexpr uint64_t kProofEffort = 2'000'000;

/// A quantity above 0 in base units, of the dimension of `like`.
std::optional<double> quantity(const std::string &text, const char *like) {
  auto given = parseQuantity(text), unit = parseQuantity(like);
  if (!given || !unit || !compare(*given, *unit))
    return std::nullopt;
  double value = given->toDouble();
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

PipelineObjective objectiveOf(const PartitionOptions &options) {
  auto *found = std::find(std::begin(kPipelineObjectives), std::end(kPipelineObjectives), options.objective);
  return static_cast<PipelineObjective>(found - std::begin(kPipelineObjectives));
}

/// What is wrong with a file of this ending and the options beside it, or "".
std::string wrongKind(const PartitionOptions &options, llvm::StringRef ending) {
  if (!ending.equals_insensitive(".npy"))
    return ending.equals_insensitive(".txt") || ending.equals_insensitive(".json")
               ? ""
               : "expected a graph of dnn-partitioning (.json), a profile of PipeDream (.txt) or costs of Alpa (.npy), "
                 "found '" +
                     options.file + "'; `accord compile` plans a .dnn file";
  if (!options.accelerators || !options.microbatches || *options.accelerators < 1)
    return "costs of Alpa (.npy) say nothing of the devices and the batch: --accelerators N --microbatches N";
  if (!options.memory.empty() || !options.bandwidth.empty() || !options.allowReplicas)
    return "--memory, --bandwidth and --no-replicas say nothing about costs of Alpa (.npy)";
  return "";
}

/// Which options are none of a graph of nodes, or "".
std::string wrongOfNodes(const PartitionOptions &options, bool isProfile) {
  if (!isProfile && (!options.bandwidth.empty() || !options.allowReplicas))
    return fmt::format("{} says nothing about a graph of dnn-partitioning",
                       options.bandwidth.empty() ? "--no-replicas" : "--bandwidth");
  if (options.microbatches)
    return "--microbatches says nothing about a graph of nodes";
  if (objectiveOf(options) != PipelineObjective::Load)
    return fmt::format(
        "--objective {}: stages of a graph of nodes are chosen for their load alone; layers with parallel "
        "configurations (`accord schema profiled_layers`) for all three",
        options.objective);
  return "";
}

/// What the options say of the devices, into `devices`. Returns what is wrong with them, or "".
std::string readDevices(const PartitionOptions &options, bool isProfile, PartitioningDevices &devices) {
  devices = {options.accelerators, options.processors, {}, {}, options.allowReplicas};
  if (!options.memory.empty()) {
    auto bytes = quantity(options.memory, "1 B");
    if (!bytes || *bytes > 1e18)
      return "--memory: expected a size, as in 16GiB, found '" + options.memory + "'";
    devices.memory = static_cast<int64_t>(*bytes);
  }
  if (!options.bandwidth.empty() && !(devices.bandwidth = quantity(options.bandwidth, "1 B/s")))
    return "--bandwidth: expected bytes per time, as in 12GB/s, found '" + options.bandwidth + "'";
  if (!isProfile)
    return "";
  if (!options.accelerators || !devices.bandwidth)
    return fmt::format("a profile says nothing of the devices: {} is missing",
                       options.accelerators ? "--bandwidth 12GB/s" : "--accelerators N");
  return options.processors || !options.contiguous
             ? fmt::format("{} says nothing about a profile (.txt)",
                           options.processors ? "--processors" : "--non-contiguous")
             : "";
}

PartitioningResult solve(const PartitioningProblem &problem, unsigned effort, SolverMonitor &monitor) {
  PartitioningOptions options;
  options.effort = std::min(effort, kMaxEffort);
  options.gap = monitor.gap();
  options.stop = monitor.stop();
  options.progress = [&](const SolveProgress &progress) { monitor.reportProgress(progress); };
  PartitioningResult result = partitionGraph(problem, options);
  monitor.found();
  if (result.stopped == "interrupted")
    result.stopped = monitor.reason();
  return result;
}

/// Checks stages and bound again; the proof says so. Returns what is wrong with them, or "".
std::string prove(const PartitioningProblem &problem, PartitioningResult &result) {
  for (const Error &issue : verify(problem, result))
    return numberOf(issue.code) + std::string(": ") + issue.message;
  if (result.status == PartitioningResult::Status::Unknown)
    return "";
  bool none = result.status == PartitioningResult::Status::Infeasible;
  int64_t bound = none ? INT64_MAX : result.bound;
  BoundVerdict verdict = provePartitioningBound(problem, bound, kProofEffort);
  if (verdict == BoundVerdict::Broken)
    return fmt::format("A0906: a load is below {} ps", bound);
  if (verdict == BoundVerdict::Holds && !none)
    result.proof += "; proved again";
  return "";
}

/// A graph of layers with configurations, or nothing after errors; `is` says whether the file is one.
std::optional<LayerGraphImport> readLayers(Diagnostics &diags, FileId file, bool &is) {
  llvm::StringRef text = diags.sources().text(file);
  bool piper = isPiper(text), phaze = !piper && isPhaze(text);
  is = piper || phaze || text.contains(fmt::format("\"{}\"", kProfiledLayersKind));
  if (!is)
    return std::nullopt;
  if (piper || phaze)
    return piper ? importPiperGraph(diags, file) : importPhazeGraph(diags, file);
  auto read = readProfiledLayers(text.str(), diags.sources().path(file).str());
  if (read)
    return LayerGraphImport{std::move(*read), {}};
  for (const Error &error : read.error()) {
    SourceRange range = rangeOf(diags, error.location);
    diags.error(error.code, range.valid() ? range : SourceRange{file, 0, 0}, error.message).suggest(error.suggestion);
  }
  return std::nullopt;
}

/// Costs of Alpa, or nothing after errors.
std::optional<LayerGraphImport> readAlpa(Diagnostics &diags, const PartitionOptions &options) {
  auto buffer = llvm::MemoryBuffer::getFile(options.file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (buffer)
    return importAlpaCosts(diags, options.file, (*buffer)->getBuffer(), {*options.accelerators, *options.microbatches});
  diags.error(Code::CannotRead, {}, fmt::format("'{}' cannot be read: {}", options.file, buffer.getError().message()));
  return std::nullopt;
}

/// Plans layers with configurations. Returns the exit status.
int planProfiledLayers(LayerGraph graph, const PartitionOptions &options, const PartitioningDevices &devices,
                       SolverMonitor &monitor) {
  auto wrong = [&](const std::string &message) {
    return refuse(Code::BadCommandLine, message, options.json, "partition");
  };
  if (options.processors || !options.contiguous)
    return wrong(fmt::format("{} says nothing about layers with parallel configurations",
                             options.processors ? "--processors" : "--non-contiguous"));
  graph.devices = options.accelerators.value_or(graph.devices);
  graph.microbatches = options.microbatches.value_or(graph.microbatches);
  graph.memory = devices.memory ? double(*devices.memory) : graph.memory;
  graph.bandwidth = devices.bandwidth.value_or(graph.bandwidth);
  if (Errors errors = check(graph); !errors.empty())
    return wrong(errors.front().message);
  LayerPlanOptions how;
  how.effort = std::min(options.effort, kMaxEffort);
  how.gap = monitor.gap();
  how.stop = monitor.stop();
  how.progress = [&](const SolveProgress &progress) { monitor.reportProgress(progress); };
  how.allowReplicas = options.allowReplicas && graph.profiles.empty();
  how.objective = objectiveOf(options);
  LayerPlan plan = planLayers(graph, how);
  monitor.found();
  if (plan.stopped == "interrupted")
    plan.stopped = monitor.reason();
  for (const Error &issue : verify(graph, plan)) {
    standardError() << fmt::format("accord: internal error: the check of the stages finds {}: {}\n",
                                   numberOf(issue.code), issue.message);
    return kInternal;
  }
  if (!options.html.empty() && !writePage(options.html, layerPlanReport(graph, plan), options.json, "partition"))
    return kWrongInput;
  if (!options.output.empty()) {
    SourceManager sources;
    Diagnostics diags(sources);
    AnswerFolder answer(diags, options.output);
    if (!answer.write(filesOf(LayerPlanAnswer{graph, plan, how.allowReplicas})).commit()) {
      printDiagnostics(diags);
      return kWrongInput;
    }
  }
  TextStyle style = TextStyle::of(standardOutput());
  style.unicode &= style.colour;
  standardOutput() << (options.json ? jsonText(layerPlanJson(graph, plan)) + "\n" : layerPlanText(graph, plan, style));
  using enum LayerPlan::Status;
  return exitOf(statusOf(plan.status == Feasible, plan.gap(), plan.status == Infeasible));
}

} // namespace

int partitionProfiledGraph(const PartitionOptions &options) {
  auto wrong = [&](const std::string &message) {
    return refuse(Code::BadCommandLine, message, options.json, "partition");
  };
  llvm::StringRef ending = llvm::sys::path::extension(options.file);
  bool isProfile = ending.equals_insensitive(".txt");
  bool isAlpa = ending.equals_insensitive(".npy");
  if (std::string message = wrongKind(options, ending); !message.empty())
    return wrong(message);
  PartitioningDevices devices;
  if (std::string message = readDevices(options, isProfile, devices); !message.empty())
    return wrong(message);
  auto monitor = SolverMonitor::ofCommand("partition", options.objective.c_str(), options.limits, options.json);
  if (!monitor)
    return kWrongInput;

  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<PartitioningImport> graph;
  std::optional<LayerGraphImport> layers;
  if (isAlpa)
    layers = readAlpa(diags, options);
  else if (auto file = readFile(diags, options.file)) {
    bool hasLayers = false;
    if (!isProfile)
      layers = readLayers(diags, *file, hasLayers);
    if (std::string message = hasLayers ? "" : wrongOfNodes(options, isProfile); !message.empty())
      return wrong(message);
    if (!hasLayers)
      graph = isProfile ? importPipedreamGraph(diags, *file, devices) : importPartitioningGraph(diags, *file, devices);
  }
  printDiagnostics(diags);
  if (layers) {
    for (const std::string &note : layers->notes)
      standardError() << fmt::format("accord: {}\n", note);
    return planProfiledLayers(std::move(layers->graph), options, devices, *monitor);
  }
  if (!graph) {
    if (options.json)
      standardOutput() << jsonText(errorDocument(diags, "partition")) << "\n";
    return kWrongInput;
  }
  for (const std::string &note : graph->notes)
    standardError() << fmt::format("accord: {}\n", note);
  graph->problem.contiguous = options.contiguous;
  PartitioningResult result = solve(graph->problem, options.effort, *monitor);
  if (std::string finding = prove(graph->problem, result); !finding.empty()) {
    standardError() << fmt::format("accord: internal error: the check of the stages finds {}\n", finding);
    return kInternal;
  }
  AnswerFiles files = filesOf({graph->problem, result});
  if (!options.html.empty() &&
      !writePage(options.html, partitioningReport(graph->problem, result), options.json, "partition"))
    return kWrongInput;
  if (!options.output.empty()) {
    AnswerFolder answer(diags, options.output);
    if (!answer.write(files).commit()) {
      printDiagnostics(diags);
      return kWrongInput;
    }
  }
  TextStyle style = TextStyle::of(standardOutput());
  style.unicode &= style.colour;
  standardOutput() << (options.json ? files.front().text : partitioningText(graph->problem, result, style));
  using enum PartitioningResult::Status;
  return exitOf(statusOf(result.status == Feasible, 1, result.status == Infeasible));
}

} // namespace accord
