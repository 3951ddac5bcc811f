#include "lib/driver/jobs/TrainingPlans.h"
#include "lib/compilation/PlacementConstraints.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/compilation/RunPlanner.h"
#include "lib/driver/JobGraphs.h"
#include "lib/driver/PowerCap.h"
#include "lib/driver/jobs/PoolClusters.h"
#include "lib/jobs/problem/MeasuredNoise.h"
#include "lib/launch/JobScripts.h"
#include "lib/machine/calibration/Parameters.h"
#include "lib/machine/calibration/Profile.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/placement/builder/StepVariants.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/support/Version.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

/// The training on one cluster of the catalogue or of a file, as `accord compile --target` reads it.
struct PoolTraining {
  PoolTraining(const Options &given, const std::string &cluster) : options(given), workspace(options) {
    options.elaborate.target = cluster;
  }

  Options options;
  Workspace workspace;
  JobTarget target{workspace};
  TrainingRequest request;
  /// What layers take on one device, by `stepsKeyOf` and `State::cacheOf` the batch.
  std::map<std::pair<std::string, int64_t>, StepUses> steps;
};

/// The device type, and its clock where that is not the full one.
std::string stepsKeyOf(const Machine &machine, const PowerLevel &level) {
  return level.clock == 1 ? machine.name : fmt::format("{} {:a} {:a}", machine.name, level.clock, level.power);
}

/// What was found for a number of devices without a power level.
struct FullPlan {
  DeviceCountPlan plan;
  std::vector<ParallelConfig> configs; ///< among which a plan at a level is looked for: `fewConfigs`
};

/// Other parallel configurations than those of the best plan that are looked at again at a power level.
constexpr size_t kRivals = 4;

/// Those of a plan, and of the others the few with the lowest bounds: at a lower clock, one of them may be the best.
std::vector<ParallelConfig> fewConfigs(const PlacementProblem &problem, const Placement &plan) {
  std::vector<ParallelConfig> configs;
  for (size_t g = 0; g < plan.groups(); ++g)
    configs.push_back(problem.parallelConfigs[plan.stages[g].parallelConfig]);
  std::vector<double> bounds = lowerBoundByConfig(problem);
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < bounds.size(); ++i)
    if (!std::isinf(bounds[i]))
      order.push_back({bounds[i], i});
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < std::min(order.size(), kRivals); ++i)
    configs.push_back(problem.parallelConfigs[order[i].second]);
  return configs;
}

/// A table is of use where each plan is within 2 % of the best one; models of time are off by more.
constexpr double kTableGap = 0.02;
/// With more, searches that stay above it take several times as long, and end a few tenths of a percent below.
constexpr unsigned kTableEffort = 2;
/// Of each of the dozens of searches that tell how much memory would suffice.
constexpr unsigned kConflictEffort = 2;

/// As far as a work graph depends on the framework.
using FrameworkKey = std::tuple<int64_t, bool, bool>;
FrameworkKey keyOf(const std::optional<Framework> &framework) {
  if (!framework)
    return {0, false, false};
  return {framework->vocabularyMultiple, framework->vocabularyPerTensor, framework->fusesElementwise};
}

std::string oneOf(const std::vector<std::string> &ways) { return fmt::format("{}", fmt::join(ways, " or ")); }

} // namespace

struct TrainingPlans::State {
  State(const Options &given, std::shared_ptr<FabricCaches> networks)
      : options(given), workspace(options), graphs(workspace, target),
        networks(networks ? std::move(networks) : std::make_shared<FabricCaches>()) {
    options.elaborate.clusters = options.elaborate.placement = true;
  }

  Options options;
  Workspace workspace; ///< without a target: the training graphs are the same on all
  JobTarget target{workspace};
  JobGraphs graphs;
  std::shared_ptr<FabricCaches> networks;
  std::map<std::string, std::unique_ptr<PoolTraining>> pools;  ///< by cluster
  std::map<std::pair<FrameworkKey, int64_t>, StepGraphs> work; ///< by `cacheOf` the batch, too
  int64_t failedBatch = 0;     ///< that was refused with the steps kept together; 0: none was
  int64_t generation = 0;      ///< of the steps that are kept together
  std::optional<bool> hasRows; ///< some gradient has; nothing: not looked at yet
  double samples = 0;
  double parameters = 0;                         ///< of the model as it is written; 0: not counted yet
  std::optional<ModelArchitecture> architecture; ///< nothing: not looked for yet
  std::vector<std::string> assumptions;
  std::vector<std::string> latest; ///< what was assumed for the last problem
  /// By pool, devices and batch.
  std::map<std::tuple<std::string, std::string, int64_t, int64_t, int64_t, int64_t>, FullPlan> found;
  // Of the last plan, and for the next one:
  std::vector<ParallelConfig> configs;
  double watts = -1;         ///< of one device
  PowerLevel level;          ///< that devices are at
  bool isRestricted = false; ///< to `configs`

  void assume(const std::vector<std::string> &texts) {
    for (const std::string &text : texts)
      if (std::find(assumptions.begin(), assumptions.end(), text) == assumptions.end())
        assumptions.push_back(text);
  }
  PoolTraining *trainingOn(const std::string &cluster);
  std::optional<Cluster> clusterOf(PoolTraining &training, const DevicePool &pool);
  DeviceCountPlan planOn(PoolTraining &training, const Cluster &whole, int64_t devices);
  DeviceCountPlan planAtLevel(PoolTraining &training, const Cluster &whole, int64_t devices, const FullPlan &full,
                              const PowerLevel &level);
  DeviceCountPlan planUnderCap(PoolTraining &training, const Cluster &whole, int64_t devices, const FullPlan &full,
                               PowerLevel level);
  std::optional<BuiltPlacementProblem> problemOn(PoolTraining &training, const ClusterTarget &target, int64_t devices,
                                                 std::string &reason);
  void describe(PoolTraining &training, const ClusterTarget &target, BuiltPlacementProblem built,
                PlacementResult result, DeviceCountPlan &plan);
  std::optional<StepEstimate> intervalOf(const PoolTraining &training, const ClusterTarget &target, double step);
  std::optional<WorkGraph> wholeWork();
  double parametersOf(const BuiltPlacementProblem &built);
  int64_t cacheOf(int64_t batch);
};

/// The name of the model in the file, and its sizes.
static void describeModel(TrainingRequest &request, Workspace &on) {
  if (!on.job().model)
    return;
  request.model = on.job().model->name.text;
  for (const ast::Parameter &parameter : on.job().model->parameters)
    if (auto value = on.program().parameter(on.job(), parameter.name.text))
      request.sizes.push_back({parameter.name.text, *value});
}

/// The training on a cluster, which is read at the first call; null after errors, which are reported.
PoolTraining *TrainingPlans::State::trainingOn(const std::string &cluster) {
  auto [at, isNew] = pools.try_emplace(cluster);
  if (!isNew)
    return at->second.get();
  auto made = std::make_unique<PoolTraining>(options, cluster);
  Workspace &on = made->workspace;
  bool isRead = on.open() && made->target.prepare();
  if (isRead && !made->target.cluster())
    on.diagnostics().error(Code::WrongJobsBlock, {},
                           fmt::format("'{}' is no cluster: nothing says how its devices are connected", cluster));
  if (isRead && !on.diagnostics().hasErrors()) {
    TrainingRequest &request = made->request;
    std::string assumed;
    request.framework = on.program().framework(assumed);
    if (!assumed.empty())
      on.job().assumptions.push_back(assumed);
    request.job = on.job();
    request.job.target = made->target.name();
    request.at = on.job().declaration ? on.job().declaration->name.range : SourceRange{};
    request.sequence = on.program().parameter(on.job(), "seq");
    describeModel(request, on);
    request.costModel = options.costModel;
    request.effort = options.effort;
    request.training = graphs.optionsAt("none", Degrees{});
  }
  if (!isRead || on.diagnostics().hasErrors()) {
    on.finish(kWrongInput, "jobs");
    return nullptr;
  }
  return (at->second = std::move(made)).get();
}

/// The pool's servers as plain data; nothing after errors, which are reported.
std::optional<Cluster> TrainingPlans::State::clusterOf(PoolTraining &training, const DevicePool &pool) {
  std::vector<const Cluster *> meant;
  std::vector<std::string> known;
  for (const Cluster &group : training.target.groups().groups) {
    known.push_back("'" + group.machine.name + "'");
    if (pool.deviceType.empty() || group.machine.name == pool.deviceType)
      meant.push_back(&group);
  }
  Workspace &on = training.workspace;
  if (meant.size() == 1) {
    const Cluster &group = *meant.front();
    auto resized = resizedCluster(group, pool.devicesPerServer != 0 ? pool.devicesPerServer : group.devicesPerNode,
                                  pool.servers != 0 ? pool.servers : group.servers);
    if (resized)
      return std::move(*resized);
    on.report(resized.error());
  } else {
    std::string which = pool.deviceType.empty() ? "one of them has to be named"
                        : meant.empty()         ? fmt::format("not '{}'", pool.deviceType)
                                                : fmt::format("and '{}' in several servers", pool.deviceType);
    on.diagnostics().error(Code::WrongJobsBlock, {},
                           fmt::format("cluster '{}' has {}, {}", pool.cluster, fmt::join(known, ", "), which));
  }
  on.finish(kWrongInput, "jobs");
  on.diagnostics().dropErrors(0);
  return std::nullopt;
}

/// The problem of at most `devices` devices of a cluster. What is wrong with it there is the reason why there is none.
std::optional<BuiltPlacementProblem> TrainingPlans::State::problemOn(PoolTraining &training,
                                                                     const ClusterTarget &target, int64_t devices,
                                                                     std::string &reason) {
  Diagnostics &diags = training.workspace.diagnostics();
  auto refuse = [&](const std::string &otherwise) {
    std::vector<Diagnostic> said = diags.sorted();
    auto error =
        std::find_if(said.begin(), said.end(), [](const auto &one) { return one.severity == Severity::Error; });
    reason = error != said.end() ? error->message : otherwise;
    diags.dropErrors(0);
    return std::nullopt;
  };
  std::vector<std::string> chosen;
  PlacementPlanner planner(training.request, target, graphs.cache(), diags);
  auto made = planner.problemRequest(chosen);
  if (!made)
    return refuse("no placement is possible");
  const int64_t batch = cacheOf(training.request.job.batch);
  StepGraphs &shared = work[{keyOf(made->framework), batch}];
  const Machine &machine = target.cluster.machine;
  made->steps = &training.steps.try_emplace({stepsKeyOf(machine, level), batch}, shared).first->second;
  if (isRestricted) {
    made->space.restrictTo(configs);
    if (auto full = training.steps.find({machine.name, batch}); full != training.steps.end())
      if (!made->steps->structure)
        made->steps->structure = full->second.structure;
  }
  made->networks = &networks->of(target.cluster.fabric);
  if (devices < target.cluster.devicesPerNode * target.cluster.servers)
    made->limits.devices = made->limits.devices > 0 ? std::min(made->limits.devices, devices) : devices;
  auto built = buildPlacementProblem(*made);
  if (!built)
    failedBatch = training.request.job.batch;
  if (!built)
    return refuse(built.error().empty() ? "no placement is possible" : built.error().front().message);
  const auto &ranges = built->problem.groups;
  if (int64_t layers = built->problem.layers.size(); !ranges.empty() && ranges.front().min > layers)
    return refuse(fmt::format("pipeline_parallel {} needs as many layers, '{}' has {}", ranges.front().min,
                              training.request.job.name, layers));
  if (!addPlacementConstraints(built->problem, training.request.job, diags))
    return refuse("a constraint of the placement cannot be met");
  if (Errors wrong = check(built->problem); !wrong.empty())
    return refuse(wrong.front().message);
  chosen.insert(chosen.end(), built->assumptions.begin(), built->assumptions.end());
  latest = std::move(chosen);
  return std::move(*built);
}

/// What is relied on at 90 %; nothing where a machine has no calibration.
std::optional<StepEstimate> TrainingPlans::State::intervalOf(const PoolTraining &training, const ClusterTarget &target,
                                                             double step) {
  const auto &steps =
      training.steps.find({stepsKeyOf(target.cluster.machine, level), cacheOf(training.request.job.batch)});
  if (!training.request.costModel.empty() || steps == training.steps.end() || !steps->second.structure)
    return std::nullopt;
  bool attends = calibrate::hostShareOf(*steps->second.structure->work) >= 1;
  return calibrate::stepEstimateOf({&target.cluster.machine}, attends, step, 0);
}

/// The same for batches of which steps are kept together: those above 1, unless a gradient has as many rows as a batch
/// looks up. Steps of a batch that was refused are kept for itself: their numbers may be too large.
int64_t TrainingPlans::State::cacheOf(int64_t batch) {
  if (!hasRows) {
    hasRows = true;
    if (dnn::TrainingGraphOp graph = graphs.cache().get(graphs.optionsAt("none", Degrees{})).graph) {
      hasRows = false;
      graph.walk([&](mlir::Operation *op) {
        for (mlir::Type type : op->getResultTypes())
          hasRows = *hasRows || dnn::rowsOf(type);
      });
    }
  }
  if (failedBatch > 0 && failedBatch != batch)
    ++generation, failedBatch = 0;
  return *hasRows ? batch : batch > 1 ? -generation : 1;
}

/// Without what a framework pads the vocabulary with.
double TrainingPlans::State::parametersOf(const BuiltPlacementProblem &built) {
  if (parameters == 0) {
    auto work = wholeWork();
    parameters = static_cast<double>(work ? work->parameters : built.parameters);
  }
  return parameters;
}

/// The work of the model as it is written, of one sample; nothing if its graph cannot be built.
std::optional<WorkGraph> TrainingPlans::State::wholeWork() {
  TrainingGraphs::Built &whole = graphs.cache().get(graphs.optionsAt(workspace.job().recomputes.front(), Degrees{}));
  std::string error;
  return whole.graph ? workGraphFrom(whole.graph, 1, 1, error) : std::nullopt;
}

void TrainingPlans::State::describe(PoolTraining &training, const ClusterTarget &target, BuiltPlacementProblem built,
                                    PlacementResult result, DeviceCountPlan &plan) {
  PlacementPlan placed;
  placed.problem = std::move(built.problem);
  placed.result = std::move(result);
  PlacementFigures figures = figuresOf(placed.problem, *placed.result.plan, placed.result.metrics);
  plan.fits = true;
  plan.step = static_cast<double>(placed.result.metrics.step) * 1e-12;
  plan.stepLow = plan.stepHigh = plan.step;
  if (auto estimate = intervalOf(training, target, plan.step))
    plan.stepLow = estimate->low, plan.stepHigh = estimate->high;
  plan.gap = placed.result.gap();
  plan.memory = static_cast<double>(figures.groups[figures.maxMemoryGroup].peak());
  plan.watts = powerOf(placed).average;
  watts = deviceWatts(placed);
  configs = fewConfigs(placed.problem, *placed.result.plan);
  plan.checkpoint = checkpointBytesOf(training.request.job, parametersOf(built), built.precision, built.optimizer);
  plan.plan = degreesText(placed.problem, *placed.result.plan);
  if (placed.problem.minStep > 0 && placed.result.metrics.step <= placed.problem.minStep)
    plan.plan += "; waits for its data";
  plan.accumulation = placed.result.plan->microbatches;
  const TrainingRequest &request = training.request;
  placed.job = request.job.name, placed.model = request.model.empty() ? request.job.name : request.model;
  placed.cluster = target.cluster.name, placed.version = kVersion;
  placed.precision = built.precision, placed.optimizer = built.optimizer;
  placed.sizes = request.sizes, placed.deviceMemory = std::move(built.deviceMemory);
  placed.parameters = static_cast<int64_t>(parametersOf(built));
  if (!architecture)
    architecture = graphs.cache().architecture(request.training);
  placed.architecture = architecture;
  const int64_t cores = target.cluster.host.cpuCores / target.cluster.devicesPerNode;
  plan.launch = std::make_shared<const jobs::LaunchPlan>(launchPlanOf(placed, cores));
}

DeviceCountPlan TrainingPlans::State::planOn(PoolTraining &training, const Cluster &whole, int64_t devices) {
  DeviceCountPlan plan;
  plan.devices = devices;
  plan.servers = devices < 1 ? 0 : (devices - 1) / whole.devicesPerNode + 1;
  if (devices < 1) {
    plan.reason = fmt::format("{} devices are not at least 1", devices);
    return plan;
  }
  if (plan.servers > whole.servers) {
    plan.reason =
        fmt::format("{} devices are more than the {} of the pool", devices, whole.devicesPerNode * whole.servers);
    return plan;
  }
  auto part = resizedCluster(whole, std::min(devices, whole.devicesPerNode), plan.servers);
  if (!part) {
    plan.reason = part.error().message;
    return plan;
  }
  ClusterTarget target;
  target.cluster = *part;
  target.groups = {std::move(*part)};
  auto built = problemOn(training, target, devices, plan.reason);
  if (!built)
    return plan;
  PlacementOptions how;
  how.effort = std::min(options.effort, kTableEffort) + kPlacementEffort;
  how.gap = kTableGap;
  PlacementResult result = place(built->problem, how);
  if (result.plan) {
    describe(training, target, std::move(*built), std::move(result), plan);
    return plan;
  }
  if (!std::isinf(result.bound)) {
    plan.reason = "no plan was found: " + result.proof;
    return plan;
  }
  how.effort = kConflictEffort;
  PlacementConflict conflict = conflictsOf(built->problem, how);
  plan.reason = !conflict.relaxations.empty() ? "needs " + oneOf(conflict.relaxations)
                : !conflict.conflicts.empty()
                    ? fmt::format("{}: {}", conflict.conflicts.front().constraint, conflict.conflicts.front().detail)
                    : "no plan fits";
  return plan;
}

/// The plan with the degrees of `full`, with devices at a level.
DeviceCountPlan TrainingPlans::State::planAtLevel(PoolTraining &training, const Cluster &whole, int64_t devices,
                                                  const FullPlan &full, const PowerLevel &at) {
  Cluster slower = whole;
  slower.machine = atLevel(std::move(slower.machine), at);
  level = at, configs = full.configs, isRestricted = !configs.empty();
  DeviceCountPlan plan = planOn(training, slower, devices);
  if (at.cap.value > 0 && at.clock != 1) // each number of devices has a clock of its own
    training.steps.erase({stepsKeyOf(slower.machine, at), cacheOf(training.request.job.batch)});
  level = {}, isRestricted = false;
  return plan;
}

DeviceCountPlan TrainingPlans::State::planUnderCap(PoolTraining &training, const Cluster &whole, int64_t devices,
                                                   const FullPlan &full, PowerLevel capped) {
  DeviceCountPlan best;
  auto wattsAt = [&](const PowerLevel &at) {
    capped.clock = at.clock, capped.power = at.power;
    watts = -1;
    DeviceCountPlan plan = planAtLevel(training, whole, devices, full, capped);
    if (plan.fits && (!best.fits || watts <= capped.cap.value))
      best = std::move(plan);
    return watts;
  };
  auto lowest = lowestClockUnder(capped, whole.machine);
  if (!lowest) {
    best.devices = devices, best.reason = lowest.error().message;
    return best;
  }
  wattsAt(levelAt(*lowest));
  highestClockUnder(capped.cap, *lowest, wattsAt);
  return best;
}

TrainingPlans::TrainingPlans(const Options &options, std::shared_ptr<FabricCaches> networks)
    : state(std::make_unique<State>(options, std::move(networks))) {}
TrainingPlans::~TrainingPlans() = default;

bool TrainingPlans::prepare() {
  if (!state->workspace.readTraining()) {
    state->workspace.finish(kWrongInput, "jobs");
    return false;
  }
  const TrainingJob &job = state->workspace.job();
  state->samples = job.samples;
  if (auto length = sequence(); job.tokens > 0 && length && *length > 0)
    state->samples = std::ceil(job.tokens / static_cast<double>(*length));
  state->assume(job.assumptions);
  return true;
}

int64_t TrainingPlans::batch() const { return state->workspace.job().batch; }
std::string TrainingPlans::optimizer() const {
  return dnn::stringifyOptimizerKind(state->workspace.job().optimizer.getValue()).str();
}
double TrainingPlans::samples() const { return state->samples; }
std::optional<int64_t> TrainingPlans::sequence() const {
  return state->workspace.program().parameter(state->workspace.job(), "seq");
}
jobs::NoisyTraining TrainingPlans::describe(double samples) {
  jobs::NoisyTraining training;
  const auto work = state->wholeWork();
  const auto length = sequence();
  const bool hasTokens = length && *length > 0;
  auto isThere = [&](auto isOf) { return work && std::ranges::any_of(work->operations, isOf); };
  training.data = samples * (hasTokens ? static_cast<double>(*length) : 1);
  training.parameters = work ? static_cast<double>(work->parameters) : 0;
  training.task = hasTokens                                                                       ? "language"
                  : isThere([](const Operation &op) { return op.kind.starts_with("conv"); })      ? "vision"
                  : isThere([](const Operation &op) { return op.kind.starts_with("embedding"); }) ? "recommendation"
                                                                                                  : "";
  return training;
}
const std::vector<std::string> &TrainingPlans::assumptions() const { return state->assumptions; }

std::optional<std::vector<DeviceCountPlan>> TrainingPlans::on(const DevicePool &pool,
                                                              const std::vector<int64_t> &counts, int64_t batch) {
  PoolTraining *training = state->trainingOn(pool.cluster);
  auto whole = training ? state->clusterOf(*training, pool) : std::nullopt;
  if (!whole)
    return std::nullopt;
  state->assume(training->workspace.job().assumptions);
  state->assume(whole->assumptions);
  training->request.job.batch = batch > 0 ? batch : this->batch();
  std::vector<DeviceCountPlan> plans;
  for (int64_t devices : counts) {
    FullPlan &full = state->found[{pool.cluster, pool.deviceType, pool.devicesPerServer, pool.servers, devices,
                                   training->request.job.batch}];
    if (pool.level.name.empty()) {
      state->configs.clear();
      full.plan = state->planOn(*training, *whole, devices);
      full.configs = state->configs;
      plans.push_back(full.plan);
    } else if (!full.plan.fits && !full.plan.reason.empty()) {
      plans.push_back(full.plan); // memory is the same at each level
    } else {
      plans.push_back(pool.level.cap.value > 0 ? state->planUnderCap(*training, *whole, devices, full, pool.level)
                                               : state->planAtLevel(*training, *whole, devices, full, pool.level));
    }
  }
  state->assume(state->latest); // of the largest number: smaller ones say the same of less
  return plans;
}

} // namespace accord
