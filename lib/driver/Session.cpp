#include "lib/driver/Session.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/compilation/SingleDevicePlanner.h"
#include "lib/compilation/TrainingGraphs.h"
#include "lib/driver/PowerCap.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/machine/cost/StepDataLoading.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/planning/output/Summary.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {

Session::Session(const Options &options)
    : options(options), theWorkspace(options), theTarget(theWorkspace), theGraphs(theWorkspace, theTarget),
      theRequest(std::make_unique<TrainingRequest>()) {}
Session::~Session() = default;

bool Session::prepare() {
  if (!theWorkspace.open() || !theTarget.prepare())
    return false;
  theSequence = program().parameter(job(), "seq");
  if (job().inference && job().inference->phase == InferenceRequest::Phase::Decode)
    theSequence.reset(); // one token at a time
  describeRequest();
  if (options.elaborate.placement && !options.elaborate.mines && program().cluster()) {
    std::string assumed;
    theRequest->framework = program().framework(assumed);
    if (!assumed.empty())
      theWorkspace.job().assumptions.push_back(assumed);
    if (diagnostics().hasErrors())
      return false;
  }
  return theGraphs.prepare();
}

/// What the request says besides the job's settings.
void Session::describeRequest() {
  theRequest->at = job().declaration ? job().declaration->name.range : SourceRange{};
  theRequest->sequence = theSequence;
  if (!job().model)
    return;
  theRequest->model = job().model->name.text;
  for (const ast::Parameter &parameter : job().model->parameters)
    if (auto value = program().parameter(job(), parameter.name.text))
      theRequest->sizes.push_back({parameter.name.text, *value});
}

TrainingRequest &Session::trainingRequest() {
  theRequest->job = job();
  theRequest->job.target = theTarget.name();
  theRequest->costModel = options.costModel;
  theRequest->effort = search.brief ? 0 : options.effort;
  theRequest->training = theGraphs.optionsAt("none", Degrees{});
  return *theRequest;
}

std::optional<ModelArchitecture> Session::architecture() {
  return theGraphs.cache().architecture(trainingRequest().training);
}

mlir::OwningOpRef<mlir::ModuleOp> Session::requestModule() {
  dnn::ModelOp model = program().model(job());
  if (!model)
    return {};
  mlir::OwningOpRef<mlir::ModuleOp> made = mlir::ModuleOp::create(model.getLoc());
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(made->getBody());
  for (mlir::Operation &one : *program().module().getBody())
    if (llvm::isa<accel::AcceleratorOp, accel::ClusterOp, accel::MicroarchitectureOp>(one))
      builder.clone(one);
  writeRequest(*made, model, trainingRequest(), diagnostics().sources());
  return made;
}

bool Session::runPhases(mlir::ModuleOp made, PipelinePhase from, PipelinePhase until, Planning &planning) {
  steer(planning);
  planning.stopReason = search.stopReason;
  planning.known = search.known, planning.within = search.within;
  planning.firstAnswer = search.firstAnswer, planning.found = search.found;
  planning.threads = options.threads;
  planning.diagnostics = &diagnostics();
  planning.graphs = &theGraphs.cache();
  planning.zeros = zeros;
  PipelineOptions pipeline;
  pipeline.planning = &planning;
  mlir::PassManager passes(&theWorkspace.context());
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (mlir::failed(buildPipeline(passes, pipeline, from, until, stream))) {
    diagnostics().error(Code::BadCommandLine, {}, error);
    return false;
  }
  size_t before = diagnostics().errors();
  PassRun run = runPasses(made, passes);
  bool isUnanswered = planning.stopped() && planning.errors.empty() && diagnostics().errors() == before;
  if (!isUnanswered && !theWorkspace.reportAll(planning.errors) && diagnostics().errors() == before)
    theGraphs.report(run.errors);
  return run.errors.empty();
}

/// Of the devices that share a step, innermost first.
static std::vector<Axis> axesOf(const Degrees &degrees) {
  std::vector<Axis> axes{{"tensor", degrees.tensor}};
  if (degrees.context > 1)
    axes.push_back({"context", degrees.context});
  axes.push_back({"data", degrees.data});
  return axes;
}

SingleDeviceRequest Session::request(std::optional<Degrees> given) {
  const Degrees &degrees = given ? *given : job().degrees;
  Planning planning;
  planning.threads = options.threads;
  steer(planning);
  SingleDeviceRequest request = deviceRequest(trainingRequest(), planning);
  if (cluster()) {
    request.fabric = &cluster()->fabric;
    request.axes = axesOf(degrees);
  }
  request.instantiate = [this](int64_t microbatch, int64_t microbatches, const std::string &policy) {
    return theGraphs.preparedWork(policy, microbatch, microbatches);
  };
  return request;
}

int64_t Session::smallestMicrobatch() const {
  int64_t batch = batchOfDevice(), microbatch = 0;
  for (int64_t size : job().microbatches)
    if (batch % size == 0 && (!microbatch || size < microbatch))
      microbatch = size;
  return microbatch || cluster() ? microbatch : batch;
}

std::optional<Plan> Session::planFor(WorkGraph graph, std::optional<Degrees> degrees) {
  SingleDeviceRequest one = request(std::move(degrees));
  one.batch = graph.microbatch * graph.microbatches;
  auto result = accord::planFor(std::move(graph), machine(), one);
  if (auto *plan = result.get())
    return std::move(*plan);
  theWorkspace.reportAll(result.error());
  return std::nullopt;
}

void Session::account(const Plan &plan, EstimateTotals &totals) {
  totals.step = plan.schedule.step.seconds();
  EnergyBreakdown energy = stepEnergyBreakdown(plan.graph, plan.costs, plan.machine, totals.step);
  if (auto board = stepPower(plan.graph, plan.costs, plan.machine, totals.step)) {
    energy.arithmetic = board->average * totals.step - energy.idle;
    energy.memories.assign(plan.machine.memories.size(), Joules());
  }
  totals.arithmetic = energy.arithmetic;
  totals.idle = energy.idle;
  totals.capacity = plan.machine.memories.empty() ? 0 : std::min(plan.machine.memories[0].capacity.value, 9e18);
  SingleDeviceRequest one = request();
  one.batch = plan.batch;
  totals.estimate = stepEstimateOf(plan, machine(), std::move(one));
  totals.memories = energy.memories;
  if (auto issue = checkPower(energy, plan.machine, totals.step))
    diagnostics().warning(issue->code, rangeOf(diagnostics(), issue->location), issue->message);
  warnOfBuildability(diagnostics(), plan.machine);
}

std::optional<DataLoaderRow> Session::dataLoaderOf(const Plan &plan, std::vector<std::string> &assumptions) {
  if (!job().dataLoader)
    return std::nullopt;
  auto result = stepDataLoading(plan.graph, plan.machine, *job().dataLoader, plan.schedule.step.seconds());
  if (!result) {
    diagnostics().error(result.error().code, job().dataLoaderAt, result.error().message);
    return std::nullopt;
  }
  auto &dataLoading = *result;
  assumptions.insert(assumptions.end(), dataLoading.assumptions.begin(), dataLoading.assumptions.end());
  const LoaderChoice &choice = dataLoading.choice;
  return DataLoaderRow{dataLoading.batch, dataLoading.load, dataLoading.copy,  dataLoading.compute,
                       choice.step.step,  choice.step.gain, choice.prefetch,   choice.step.bound,
                       choice.workers,    choice.hidden,    choice.step.error, choice.depths};
}

/// The module of the request with the training graphs that are there already.
mlir::OwningOpRef<mlir::ModuleOp> Session::shardedModule() {
  mlir::OwningOpRef<mlir::ModuleOp> made = requestModule();
  if (!made)
    return made;
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(made->getBody());
  for (const std::string &policy : job().recomputes) {
    auto graph = llvm::cast<dnn::TrainingGraphOp>(builder.clone(*theGraphs.graph(policy)));
    graph.setSymName(job().name + "." + policy);
    graph->setAttr(kRecomputePolicy, builder.getStringAttr(policy));
  }
  return made;
}

std::optional<Plan> Session::plan() {
  theDecisions = shardedModule();
  Planning planning;
  if (cluster()) {
    planning.fabric = &cluster()->fabric;
    planning.axes = axesOf(job().degrees);
  }
  if (!theDecisions || !runPhases(*theDecisions, PipelinePhase::Cost, PipelinePhase::Schedule, planning))
    return std::nullopt;
  Plan plan = std::move(*planning.plan);
  EstimateTotals totals;
  account(plan, totals);
  std::vector<std::string> known; // the plan has them
  if (auto dataLoading = dataLoaderOf(plan, known); dataLoading && dataLoading->step > dataLoading->compute &&
                                                    (!dataLoading->hidden || job().dataLoader->variation == 0))
    diagnostics()
        .warning(Code::DataLoadingDominates, job().dataLoaderAt,
                 fmt::format("the step computes for {:.4g} s, but takes {:.4g} s with loading its "
                             "data ({}); the plan's times are without it",
                             dataLoading->compute.value, dataLoading->step.value, dataLoading->bound))
        .help(job().dataLoader->prefetch == 0 || job().dataLoader->prefetch == 1
                  ? "prefetch = 2 overlaps loading with computing"
              : job().dataLoader->workers == DataLoader::kAuto
                  ? "more workers ('max_workers'), or more computation per sample"
                  : "a faster loader or more computation per sample");
  if (diagnostics().hasErrors())
    return std::nullopt;
  theGraphs.choose(plan.graph.recompute);
  return plan;
}

PlacementPlanner &Session::planner() {
  thePlanner =
      std::make_unique<PlacementPlanner>(trainingRequest(), theTarget.groups(), theGraphs.cache(), diagnostics());
  return *thePlanner;
}

std::optional<PlacementProblemRequest> Session::placementRequest(std::vector<std::string> &assumptions) {
  return planner().problemRequest(assumptions);
}

std::optional<PlacementPlan> Session::placement() {
  Planning planning;
  if (theTarget.minesCluster()) { // its devices are no part of the module
    steer(planning);
    planning.known = search.known, planning.within = search.within;
    return planner().plan(planning);
  }
  theDecisions = requestModule();
  if (!theDecisions || !runPhases(*theDecisions, PipelinePhase::Cost, PipelinePhase::Schedule, planning))
    return std::nullopt;
  return std::move(planning.placement);
}

std::string Session::planMlir() {
  mlir::OwningOpRef<mlir::ModuleOp> plans = theDecisions->clone();
  Planning planning;
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (runPhases(*plans, PipelinePhase::Emit, PipelinePhase::Emit, planning))
    plans->print(stream);
  return text + "\n"; // as accord-opt ends a module
}

void searchUnder(SolverMonitor &monitor, Session &session, llvm::function_ref<void()> search) {
  session.search = {{monitor.gap(), monitor.stop(), [&](const SolveProgress &p) { monitor.reportProgress(p); }},
                    [&] { return monitor.reason(); }};
  session.search.firstAnswer = true;
  session.search.found = [&] { monitor.found(); };
  search();
  monitor.found();
  session.search = {{0, monitor.stop()}, [&] { return monitor.reason(); }};
}

std::optional<Plan> planUnder(SolverMonitor &monitor, Session &session) {
  std::optional<Plan> plan;
  searchUnder(monitor, session, [&] { plan = session.plan(); });
  session.search.brief = plan && !plan->schedule.stopped.empty();
  return plan;
}

} // namespace accord
