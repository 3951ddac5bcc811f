#include "lib/driver/Session.h"
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/compilation/PipelineRun.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/compilation/SingleDevicePlanner.h"
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
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
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
  describeRequest(target);
  recompute = theJob->recomputes.front();
  if (!checkPasses())
    return false;
  graphs = std::make_unique<TrainingGraphs>([this](std::optional<int64_t> sequence) {
    std::map<std::string, int64_t> overrides;
    if (sequence)
      overrides["seq"] = *sequence;
    return theProgram->model(*theJob, overrides);
  });
  for (const std::string &candidate : theJob->recomputes)
    if (!trainingGraph(candidate, std::nullopt))
      return false;
  return true;
}

/// What the request says besides the job's settings.
void Session::describeRequest(accel::AcceleratorOp target) {
  theTarget = target.getSymName().str();
  if (options.elaborate.placement && theProgram->cluster())
    theTarget = theProgram->cluster().getSymName().str();
  theRequest.at = theJob->declaration ? theJob->declaration->name.range : SourceRange{};
  theRequest.sequence = theSequence;
  if (!theJob->model)
    return;
  theRequest.model = theJob->model->name.text;
  for (const ast::Parameter &parameter : theJob->model->parameters)
    if (auto value = theProgram->parameter(*theJob, parameter.name.text))
      theRequest.sizes.push_back({parameter.name.text, *value});
}

mlir::ModuleOp Session::module() { return theProgram->module(); }

/// Whether what the user wants to run are pipelines.
bool Session::checkPasses() {
  for (auto [option, pipeline] : {std::pair{"--model-passes", &options.modelPasses}, {"--passes", &options.passes}})
    if (std::string error = pipelineError(*context, *pipeline); !error.empty()) {
      diags.error(Code::BadCommandLine, {}, fmt::format("{} '{}': {}", option, *pipeline, error));
      return false;
    }
  return true;
}

TrainingOptions Session::optionsAt(const std::string &policy, const std::optional<Degrees> &given) const {
  TrainingOptions base;
  base.fuse = options.fuse;
  base.modelPasses = options.modelPasses, base.passes = options.passes;
  return PlacementPlanner::optionsAt(base, given ? *given : theJob->degrees, policy);
}

dnn::TrainingGraphOp Session::trainingGraph(const std::string &policy, std::optional<int64_t> sequence,
                                            const std::optional<Degrees> &given) {
  TrainingGraphs::Built &built = graphs->get(optionsAt(policy, given), sequence);
  reportPasses(built.errors);
  built.errors.clear();
  // What of a shared step stays whole changes every number that follows.
  if (built.graph && !given && theCluster)
    for (const std::string &remark : built.remarks)
      if (!llvm::is_contained(theCluster->assumptions, remark))
        theCluster->assumptions.push_back(remark);
  return built.graph;
}

/// Errors whose passes state no code are those of the user's passes, if there are any.
void Session::reportPasses(Errors errors) {
  bool own = options.modelPasses.empty() && options.passes.empty();
  for (Error &error : errors) {
    if (error.code == Code::InternalError && !own)
      error.code = Code::PassFailed;
    report(error);
  }
}

TrainingRequest &Session::trainingRequest() {
  theRequest.job = *theJob;
  theRequest.job.target = theTarget;
  theRequest.costModel = options.costModel;
  theRequest.effort = search.brief ? 0 : options.effort;
  theRequest.training = optionsAt("none", Degrees{});
  return theRequest;
}

mlir::OwningOpRef<mlir::ModuleOp> Session::requestModule() {
  dnn::ModelOp model = theProgram->model(*theJob);
  if (!model)
    return {};
  mlir::OwningOpRef<mlir::ModuleOp> made = mlir::ModuleOp::create(model.getLoc());
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(made->getBody());
  for (mlir::Operation &one : *module().getBody())
    if (llvm::isa<accel::AcceleratorOp, accel::ClusterOp>(one))
      builder.clone(one);
  writeRequest(*made, model, trainingRequest(), sources);
  return made;
}

bool Session::runPhases(mlir::ModuleOp made, PipelinePhase from, PipelinePhase until, Planning &planning) {
  planning.gap = search.gap, planning.stop = search.stop, planning.progress = search.progress;
  planning.stopReason = search.stopReason, planning.known = search.known;
  planning.threads = options.threads;
  planning.diagnostics = &diags;
  planning.graphs = graphs.get();
  PipelineOptions pipeline;
  pipeline.planning = &planning;
  mlir::PassManager passes(context.get());
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (mlir::failed(buildPipeline(passes, pipeline, from, until, stream))) {
    diags.error(Code::BadCommandLine, {}, error);
    return false;
  }
  size_t before = diags.errors();
  PipelineRun run = runPasses(made, passes);
  for (const Error &error : planning.errors)
    report(error);
  if (planning.errors.empty() && diags.errors() == before)
    reportPasses(run.errors);
  return run.errors.empty();
}

/// The graph's work, with the names that the plan has: those of the job.
std::optional<WorkGraph> Session::extract(dnn::TrainingGraphOp graph, const std::string &policy, int64_t microbatch,
                                          int64_t microbatches, std::string &error) {
  auto work = workGraphFrom(graph, microbatch, microbatches, error);
  if (work) {
    work->model = theJob->name;
    work->recompute = policy;
  }
  return work;
}

std::optional<WorkGraph> Session::workAt(int64_t microbatch, int64_t microbatches, std::optional<int64_t> sequence,
                                         std::optional<Degrees> degrees) {
  dnn::TrainingGraphOp graph = trainingGraph(recompute, sequence, degrees);
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
  Planning planning;
  planning.threads = options.threads;
  planning.gap = search.gap, planning.stop = search.stop, planning.progress = search.progress;
  SingleDeviceRequest request = deviceRequest(trainingRequest(), planning);
  if (theCluster) {
    request.fabric = &theCluster->fabric;
    request.axes = {{"tensor", degrees.tensor}, {"data", degrees.data}};
  }
  // Built before by `prepare`; the planner may ask from several threads.
  request.instantiate = [this](int64_t microbatch, int64_t microbatches,
                               const std::string &policy) -> Result<WorkGraph> {
    std::string error;
    dnn::TrainingGraphOp graph = graphs->at(optionsAt(policy, {})).graph;
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

void Session::report(const Error &error, llvm::StringRef help) { reportError(diags, error, help); }

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

/// The module of the request with the training graphs that are there already.
mlir::OwningOpRef<mlir::ModuleOp> Session::shardedModule() {
  mlir::OwningOpRef<mlir::ModuleOp> made = requestModule();
  if (!made)
    return made;
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(made->getBody());
  for (const std::string &policy : theJob->recomputes) {
    auto graph = llvm::cast<dnn::TrainingGraphOp>(builder.clone(*trainingGraph(policy, std::nullopt)));
    graph.setSymName(theJob->name + "." + policy);
    graph->setAttr(kRecomputePolicy, builder.getStringAttr(policy));
  }
  return made;
}

std::optional<Plan> Session::plan() {
  theDecisions = shardedModule();
  Planning planning;
  if (theCluster) {
    planning.fabric = &theCluster->fabric;
    planning.axes = {{"tensor", theJob->degrees.tensor}, {"data", theJob->degrees.data}};
  }
  if (!theDecisions || !runPhases(*theDecisions, PipelinePhase::Cost, PipelinePhase::Schedule, planning))
    return std::nullopt;
  Plan plan = std::move(*planning.plan);
  EstimateTotals totals;
  account(plan, totals);
  std::vector<std::string> known; // the plan has them
  if (auto dataLoading = dataLoaderOf(plan, known); dataLoading && dataLoading->step > dataLoading->compute)
    diags
        .warning(Code::DataLoadingDominates, theJob->dataLoaderAt,
                 fmt::format("the step computes for {:.4g} s, but takes {:.4g} s with loading its "
                             "data ({}); the plan's times are without it",
                             dataLoading->compute.value, dataLoading->step.value, dataLoading->bound))
        .help(theJob->dataLoader->prefetch < 2 ? "prefetch = 2 overlaps loading with computing"
                                               : "a faster loader or more computation per sample");
  if (diags.hasErrors())
    return std::nullopt;
  recompute = plan.graph.recompute;
  return plan;
}

std::string Session::planMlir() {
  mlir::OwningOpRef<mlir::ModuleOp> plans = theDecisions->clone();
  Planning planning;
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (runPhases(*plans, PipelinePhase::Emit, PipelinePhase::Emit, planning))
    plans->print(stream);
  return text + "\n";
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

} // namespace accord
