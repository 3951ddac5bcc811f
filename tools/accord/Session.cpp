#include "tools/accord/Session.h"
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/machine/cost/StepDataLoading.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromCluster.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/EmitError.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace accord {
SourceRange rangeOf(Diagnostics &diags, const SourceLocation &location) {
  if (auto file = diags.sources().find(location.file))
    return diags.sources().at(*file, {location.line, location.column});
  return {};
}

/// The catalogue lies beside the folder of the program, in the build tree as when installed;
/// ACCORD_CATALOG beats it.
std::string catalogFolder() {
  if (const char *given = std::getenv("ACCORD_CATALOG"))
    return given;
  static int anchor;
  std::string self = llvm::sys::fs::getMainExecutable("accord", &anchor);
  llvm::SmallString<256> folder(llvm::sys::path::parent_path(llvm::sys::path::parent_path(self)));
  llvm::sys::path::append(folder, "share", "accord", "catalog");
  return folder.str().str();
}

void addJson(CLI::App &command, bool &json) {
  command.add_flag("--json", json, "Print one JSON document on standard output");
}

void addProgramOptions(CLI::App &command, Options &options) {
  command.add_option("file", options.file, "A .dnn file")->required();
  command.add_option("--target", options.elaborate.target,
                     "Accelerator to use (overrides the file): a name of the file, its imports or the "
                     "catalogue, or FILE.accel[:NAME]");
  command.add_option("--train", options.elaborate.train, "Which `train` block, or which model of a file without one");
  command.add_option("--batch", options.elaborate.batch, "Samples per step (overrides the file)");
  command.add_option("--microbatch", options.elaborate.microbatch, "Micro-batch size (overrides the file)");
  command.add_option("--recompute", options.elaborate.recompute,
                     "none, selective or full, or a choice of them: {none, full} (overrides the file)");
  command.add_option("--precision", options.elaborate.precision,
                     "fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the file)");
  command.add_option("--optimizer", options.elaborate.optimizer, "sgd, momentum, adam or adamw (overrides the file)");
  command.add_option("--cost-model", options.costModel, "Cost model by name, built in or from a plugin");
  command.add_option("--load-pass-plugin", options.plugins,
                     "Shared library with passes or cost models (may be repeated)");
  command.add_option("--model-passes", options.modelPasses,
                     "Passes to run on the model, before its training graph is built");
  command.add_option("--passes", options.passes, "Passes to run on the training graph, as a pipeline: 'a,b{option=1}'");
  command.add_flag("--fuse", options.fuse,
                   "Run element-wise work where its tensor is made: in one operation with the "
                   "product or normalization before it");
  command.add_option("--threads", options.threads, "Threads to use; the result is the same")->check(CLI::Range(1, 256));
  command.add_option("--effort", options.effort, "Rounds of schedule improvement")->check(CLI::Range(0, 1000));
  addJson(command, options.json);
}

Session::Session(const Options &options) : options(options), diags(sources) {}
Session::~Session() = default;

bool Session::loadPlugins() {
  for (const std::string &path : options.plugins) {
    auto plugin = mlir::PassPlugin::load(path);
    if (!plugin) {
      diags.error(Code::PluginNotLoaded, {},
                  fmt::format("plugin '{}' cannot be loaded: {}", path, llvm::toString(plugin.takeError())));
      return false;
    }
    plugin->registerPassRegistryCallbacks();
  }
  return true;
}

bool Session::prepare() {
  if (!loadPlugins())
    return false;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  mlir::registerTransformsPasses(); // canonicalize and others, for --passes
  context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  context->loadAllAvailableDialects();
  ElaborateOptions elaborate = options.elaborate;
  elaborate.catalog = catalogFolder();
  theProgram = std::make_unique<Program>(diags, *context, options.file, elaborate);
  // What is merely unused hides no other error; without a complete tree all else would be a guess.
  if (!theProgram->main() || !theProgram->main()->complete)
    return false;
  for (const Diagnostic &d : diags.sorted())
    if (d.severity == Severity::Error && d.code != Code::UnusedName && d.code != Code::UnusedInput)
      return false;
  theProgram->checkAll();
  theJob = theProgram->job();
  // Wrong settings must not hide that the machine is wrong, too.
  if (!theJob && options.elaborate.target.empty())
    for (const ast::Declaration &d : theProgram->main()->declarations)
      if (d.kind == ast::DeclarationKind::Train && !d.target.empty())
        theProgram->machine(d.target.text, d.target.range);
  if (!theJob || diags.hasErrors())
    return false;
  accel::AcceleratorOp target = theProgram->machineOf(*theJob);
  if (!target || diags.hasErrors())
    return false;
  theProgram->reportUnused();
  if (diags.hasErrors())
    return false;
  warnOfClusterLimits();
  if (options.elaborate.mines) {
    theSpace = target;
    if (!prepareSpace())
      return false;
  } else {
    if (!prepareMachine(target))
      return false;
    if (options.elaborate.placement && theProgram->cluster() ? !prepareGroups() : !prepareCluster())
      return false;
  }
  theSequence = theProgram->parameter(*theJob, "seq");
  recompute = theJob->recomputes.front();
  for (const std::string &candidate : theJob->recomputes)
    if (!trainingGraph(candidate, std::nullopt))
      return false;
  return true;
}

mlir::ModuleOp Session::module() { return theProgram->module(); }

/// Runs a pipeline, the user's if it has an `option`; its errors become diagnostics.
bool Session::runPasses(mlir::ModuleOp module, const std::string &pipeline, const char *option,
                        std::vector<std::string> *remarks) {
  if (pipeline.empty())
    return true;
  Code code = option ? Code::PassFailed : Code::NoGradient;
  bool reported = false;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Remark && remarks)
      remarks->push_back(d.str());
    if (d.getSeverity() != mlir::DiagnosticSeverity::Error)
      return mlir::success();
    reported = true;
    auto error =
        diags.error(option ? code : codeOf(d, Code::InternalError), rangeOf(diags, sourceOf(d.getLocation())), d.str());
    for (mlir::Diagnostic &note : d.getNotes())
      error.note(rangeOf(diags, sourceOf(note.getLocation())), note.str());
    return mlir::success();
  });
  mlir::PassManager passes(context.get());
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (mlir::failed(mlir::parsePassPipeline(pipeline, passes, stream))) {
    diags.error(
        Code::BadCommandLine, {},
        fmt::format("{} '{}': {}", option ? option : "pipeline", pipeline, llvm::StringRef(error).trim().str()));
    return false;
  }
  if (mlir::succeeded(passes.run(module)))
    return true;
  if (!reported)
    diags.error(code, {}, fmt::format("'{}' failed without saying why", pipeline));
  return false;
}

Session::GraphKey Session::keyOf(const std::string &policy, std::optional<int64_t> sequence,
                                 const std::optional<Degrees> &given) const {
  const Degrees &degrees = given ? *given : theJob->degrees;
  return {policy,           sequence.value_or(-1), degrees.tensor, degrees.data,
          degrees.sequence, degrees.expert,        degrees.tables};
}

mlir::Operation *Session::trainingGraph(const std::string &policy, std::optional<int64_t> sequence,
                                        const std::optional<Degrees> &given) {
  auto [slot, isNew] = graphs.try_emplace(keyOf(policy, sequence, given));
  Built &made = slot->second;
  if (!isNew)
    return made.graph;
  std::map<std::string, int64_t> overrides;
  if (sequence)
    overrides["seq"] = *sequence;
  dnn::ModelOp model = theProgram->model(*theJob, overrides);
  if (!model)
    return nullptr;
  // The passes run on a module of their own, so that what is already built stays as it is.
  mlir::OwningOpRef<mlir::ModuleOp> own = mlir::ModuleOp::create(model.getLoc());
  model->moveBefore(own->getBody(), own->getBody()->end());
  std::string build = "inline-single-repeats,build-training-graph,dnn.training_graph(gather-gradients)";
  llvm::StringRef again = policy;
  bool keepGathered = again.consume_back(kGathered);
  if (again != "none")
    build = "recompute{policy=" + again.str() + "}," + build;
  build = "expand-recurrent," + build;
  const Degrees &degrees = given ? *given : theJob->degrees;
  std::string share; // what one of the devices does, by the passes that anybody can run
  if (degrees.tensor > 1)
    share = fmt::format("shard{{axis=tensor devices={} sequence={} keep-gathered={}}}", degrees.tensor,
                        degrees.sequence, keepGathered);
  if (degrees.data > 1)
    share +=
        fmt::format("{}replicate{{axis=data devices={} experts={} tables={}}}", share.empty() ? "" : ",", degrees.data,
                    degrees.expert ? "divided" : "whole", degrees.tables.empty() ? "whole" : degrees.tables);
  if (!runPasses(*own, options.modelPasses, "--model-passes") || !runPasses(*own, build, nullptr) ||
      !runPasses(*own, share, nullptr, &made.remarks) || !runPasses(*own, options.passes, "--passes") ||
      (options.fuse && !runPasses(*own, "dnn.training_graph(fuse)", "--fuse")))
    return nullptr;
  auto built = own->getOps<dnn::TrainingGraphOp>();
  if (built.empty()) {
    diags.error(Code::PassFailed, {}, "the passes left no training graph");
    return nullptr;
  }
  mlir::Operation *graph = *built.begin();
  graph->moveBefore(module().getBody(), module().getBody()->end());
  // What of a shared step stays whole changes every number that follows.
  if (!given && theCluster)
    for (const std::string &remark : made.remarks)
      if (!llvm::is_contained(theCluster->assumptions, remark))
        theCluster->assumptions.push_back(remark);
  if (sequence || given || policy != theJob->recomputes.front()) {
    std::string name = theJob->name + "." + policy;
    if (sequence)
      name += ".seq" + std::to_string(*sequence);
    if (given)
      name += fmt::format(".tensor{}.data{}{}{}{}", given->tensor, given->data, given->sequence ? ".sequence" : "",
                          given->expert ? ".expert" : "", given->tables.empty() ? "" : "." + given->tables);
    graph->setAttr(mlir::SymbolTable::getSymbolAttrName(), mlir::StringAttr::get(context.get(), name));
  }
  return made.graph = graph;
}

/// The graph's work, with the names that the plan has: those of the job.
std::optional<WorkGraph> Session::extract(mlir::Operation *graph, const std::string &policy, int64_t microbatch,
                                          int64_t microbatches, std::string &error) {
  auto work = workGraphFrom(llvm::cast<dnn::TrainingGraphOp>(graph), microbatch, microbatches, error);
  if (work) {
    work->model = theJob->name;
    work->recompute = policy;
  }
  return work;
}

std::optional<WorkGraph> Session::workAt(int64_t microbatch, int64_t microbatches, std::optional<int64_t> sequence,
                                         std::optional<Degrees> degrees) {
  mlir::Operation *graph = trainingGraph(recompute, sequence, degrees);
  if (!graph)
    return std::nullopt;
  std::string error;
  auto work = extract(graph, recompute, microbatch, microbatches, error);
  if (!work)
    diags.error(Code::NumberTooLarge, theJob->declaration ? theJob->declaration->name.range : SourceRange{}, error);
  return work;
}

SingleDeviceRequest Session::request(std::optional<Degrees> given) {
  const Degrees &degrees = given ? *given : theJob->degrees;
  SingleDeviceRequest request;
  request.job = theJob->name;
  request.batch = theJob->batch;
  request.microbatches = theJob->microbatches;
  request.objective = theJob->objective;
  request.requirements = theJob->requirements;
  request.costModel = options.costModel;
  request.threads = options.threads;
  request.effort = search.brief ? 0 : options.effort;
  request.gap = search.gap, request.stop = search.stop, request.progress = search.progress;
  if (theCluster) {
    request.fabric = &theCluster->fabric;
    request.axes = {{"tensor", degrees.tensor}, {"data", degrees.data}};
  }
  request.recomputes = theJob->recomputes;
  // Built before by `prepare`; the planner may ask from several threads.
  request.instantiate = [this](int64_t microbatch, int64_t microbatches,
                               const std::string &policy) -> Result<WorkGraph> {
    std::string error;
    mlir::Operation *graph = graphs.at(keyOf(policy, std::nullopt, {})).graph;
    if (auto work = extract(graph, policy, microbatch, microbatches, error))
      return std::move(*work);
    return Error{Code::NumberTooLarge, error, sourceOf(graph->getLoc()), {}};
  };
  return request;
}

int64_t Session::smallestMicrobatch() const {
  int64_t batch = batchOfDevice(), microbatch = 0;
  for (int64_t size : theJob->microbatches)
    if (batch % size == 0 && (!microbatch || size < microbatch))
      microbatch = size;
  return microbatch || theCluster ? microbatch : batch;
}

void Session::report(const Error &issue, llvm::StringRef help) {
  auto error = diags.error(issue.code, rangeOf(diags, issue.location), issue.message);
  for (auto &[location, message] : issue.notes)
    error.note(rangeOf(diags, location), message);
  if (!help.empty())
    error.help(help.str());
}

std::optional<Plan> Session::planFor(WorkGraph graph, std::optional<Degrees> degrees) {
  SingleDeviceRequest one = request(degrees);
  one.batch = graph.microbatch * graph.microbatches;
  auto result = accord::planFor(std::move(graph), theMachine, one);
  if (auto *plan = result.get())
    return std::move(*plan);
  for (const Error &issue : result.error())
    report(issue);
  return std::nullopt;
}

void Session::account(const Plan &plan, EstimateTotals &totals) {
  totals.step = plan.schedule.step.seconds();
  EnergyBreakdown energy = stepEnergyBreakdown(plan.graph, plan.costs, plan.machine, totals.step);
  totals.arithmetic = energy.arithmetic;
  totals.idle = energy.idle;
  totals.memories = energy.memories;
  if (auto issue = checkPower(energy, plan.machine, totals.step))
    diags.warning(issue->code, rangeOf(diags, issue->location), issue->message);
}

std::optional<DataLoaderRow> Session::dataLoaderOf(const Plan &plan, std::vector<std::string> &assumptions) {
  if (!theJob->dataLoader)
    return std::nullopt;
  auto result = stepDataLoading(plan.graph, plan.machine, *theJob->dataLoader, plan.schedule.step.seconds());
  if (!result) {
    diags.error(result.error().code, theJob->dataLoaderAt, result.error().message);
    return std::nullopt;
  }
  auto &dataLoading = *result;
  assumptions.insert(assumptions.end(), dataLoading.assumptions.begin(), dataLoading.assumptions.end());
  return DataLoaderRow{dataLoading.batch,
                       dataLoading.load,
                       dataLoading.copy,
                       dataLoading.compute,
                       dataLoading.step.step,
                       dataLoading.step.gain,
                       theJob->dataLoader->prefetch,
                       dataLoading.step.bound};
}

std::optional<Plan> Session::plan() {
  auto result = planSingleDevice(request(), theMachine);
  if (auto *plan = result.get()) {
    for (const std::string &assumption : theJob->assumptions)
      plan->assumptions.push_back(assumption);
    EstimateTotals totals;
    account(*plan, totals);
    if (auto dataLoading = dataLoaderOf(*plan, plan->assumptions);
        dataLoading && dataLoading->step > dataLoading->compute)
      diags
          .warning(Code::DataLoadingDominates, theJob->dataLoaderAt,
                   fmt::format("the step computes for {:.4g} s, but takes {:.4g} s with loading its "
                               "data ({}); the plan's times are without it",
                               dataLoading->compute.value, dataLoading->step.value, dataLoading->bound))
          .help(theJob->dataLoader->prefetch < 2 ? "prefetch = 2 overlaps loading with computing"
                                                 : "a faster loader or more computation per sample");
    if (diags.hasErrors())
      return std::nullopt;
    recompute = plan->graph.recompute;
    describeAccesses(plan->graph, llvm::cast<dnn::TrainingGraphOp>(trainingGraph(recompute, std::nullopt)));
    return std::move(*plan);
  }
  for (const Error &issue : result.error())
    report(issue);
  return std::nullopt;
}

static void print(const Diagnostics &diags, bool json, llvm::StringRef command) {
  diags.render(llvm::errs(), llvm::errs().has_colors());
  if (json && diags.hasErrors())
    llvm::outs() << jsonText(errorDocument(diags, command)) << "\n";
}

int Session::finish(int status, llvm::StringRef command) {
  print(diags, options.json, command);
  return !diags.hasErrors() || status == kInternal ? status : kWrongInput;
}

int refuse(Code code, const std::string &message, bool json, llvm::StringRef command) {
  SourceManager sources;
  Diagnostics diags(sources);
  diags.error(code, {}, message);
  print(diags, json, command);
  return kWrongInput;
}

llvm::json::Value errorDocument(const Diagnostics &diags, llvm::StringRef command) {
  return llvm::json::Object{
      {"command", command}, {"version", kVersion}, {"status", "error"}, {"diagnostics", diags.toJson()}};
}

bool writeFile(Diagnostics &diags, const std::string &path, llvm::StringRef text) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) {
    out << text;
    out.close();
    error = out.error();
    out.clear_error();
  }
  if (error)
    diags.error(Code::CannotWrite, {}, fmt::format("'{}' cannot be written: {}", path, error.message()));
  return !error;
}

} // namespace accord
