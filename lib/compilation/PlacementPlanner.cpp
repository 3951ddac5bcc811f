#include "lib/compilation/PlacementPlanner.h"
#include "lib/compilation/PlacementConstraints.h"
#include "lib/compilation/PlacementSpaceBuilder.h"
#include "lib/compilation/RunPlanner.h"
#include "lib/machine/calibration/Parameters.h"
#include "lib/machine/calibration/Profile.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/placement/builder/LayerSparsity.h"
#include "lib/placement/builder/PlanTraffic.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/solve/SparsePlacementSearch.h"
#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/PlacementVerifier.h"
#include "lib/placement/verify/SparsePlacementVerifier.h"
#include "lib/support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace accord {
namespace {

/// Limits of the job, and the memory that a device may use (0: all).
PlacementProblem::Limits limitsOf(const TrainingJob &job, int64_t &memory) {
  PlacementProblem::Limits limits;
  auto tighter = [](auto &limit, double max) {
    using Limit = std::remove_reference_t<decltype(limit)>;
    auto value = static_cast<Limit>(std::min(max, 0x1p61));
    limit = limit > 0 ? std::min(limit, value) : value;
  };
  for (const PlacementLimit &one : job.limits)
    switch (one.of) {
    case PlacementLimit::Of::Memory:
      tighter(memory, std::floor(one.max));
      break;
    case PlacementLimit::Of::Step:
      tighter(limits.step, std::max(1.0, one.max * 1e12));
      break;
    case PlacementLimit::Of::Power:
      tighter(limits.watts, one.max);
      break;
    case PlacementLimit::Of::Devices:
      tighter(limits.devices, std::max(1.0, one.max));
      break;
    case PlacementLimit::Of::Energy:
      tighter(limits.joules, one.max);
      break;
    case PlacementLimit::Of::Price:
      tighter(limits.price, one.max);
      break;
    }
  return limits;
}

/// FLOP/s of all tensor cores of a device for products in a precision; 0 if it does not state any.
double productPeak(const Machine &machine, const std::string &precision) {
  double max = 0;
  for (const Core &core : machine.cores)
    if (core.kind == CoreKind::Tensor)
      for (const std::string &type : fallbackTypes(productTypeOf(precision)))
        if (double peak = peakOfOne(machine, core, type).value; peak > 0) {
          max = std::max(max, peak * core.count);
          break;
        }
  return max;
}

/// Conflicts of limits get the words and the place of the `require` that sets them.
void nameRequirements(std::vector<Conflict> &conflicts, const TrainingJob &job, const Diagnostics &diags) {
  static constexpr llvm::StringLiteral kConstraints[] = {"memory of",         "step time", "power",
                                                         "number of devices", "energy",    "price"};
  auto means = [](const PlacementLimit &limit, llvm::StringRef constraint) {
    llvm::StringRef known = kConstraints[llvm::to_underlying(limit.of)];
    return limit.of == PlacementLimit::Of::Memory ? constraint.starts_with(known) : constraint == known;
  };
  for (Conflict &conflict : conflicts) {
    const PlacementLimit *tightest = nullptr;
    for (const PlacementLimit &limit : job.limits)
      if (means(limit, conflict.constraint) && (!tightest || limit.max < tightest->max))
        tightest = &limit;
    if (!tightest)
      continue;
    conflict.constraint = tightest->text;
    if (tightest->at.valid()) {
      conflict.file = diags.sources().path(tightest->at.file).str();
      conflict.line = diags.sources().position(tightest->at).line;
    }
  }
}

} // namespace

void reportError(Diagnostics &diags, const Error &found, llvm::StringRef help) {
  auto rangeOf = [&](const SourceLocation &at) {
    auto file = diags.sources().find(at.file);
    return file ? diags.sources().at(*file, {at.line, at.column}) : SourceRange{};
  };
  auto error = diags.error(found.code, rangeOf(found.location), found.message);
  for (auto &[location, message] : found.notes)
    error.note(rangeOf(location), message);
  if (!help.empty())
    error.help(help.str());
}

int64_t memoryLimit(const TrainingJob &job) {
  int64_t memory = 0;
  limitsOf(job, memory);
  return memory;
}

static Degrees degreesOf(const PlacementSpace::TensorSharding &sharding) {
  Degrees degrees;
  degrees.tensor = sharding.tensor, degrees.sequence = sharding.sequence;
  degrees.context = sharding.context;
  if (sharding.context > 1)
    degrees.exchange = name(sharding.contextExchange);
  return degrees;
}

TrainingOptions PlacementPlanner::optionsAt(const TrainingOptions &base, const Degrees &degrees,
                                            llvm::StringRef policy) {
  TrainingOptions options = base;
  options.keepGathered = policy.consume_back(kGathered);
  options.recompute = policy.str();
  options.tensor = degrees.tensor, options.data = degrees.data;
  options.sequence = degrees.sequence, options.experts = degrees.expert, options.tables = degrees.tables;
  options.context = degrees.context, options.exchange = degrees.exchange;
  return options;
}

TrainingOptions PlacementPlanner::paddedAt(const Degrees &degrees, llvm::StringRef policy) const {
  TrainingOptions options = optionsAt(request.training, degrees, policy);
  if (request.framework) {
    options.vocabularyMultiple = request.framework->multipleAt(degrees.tensor);
    options.fuse |= request.framework->fusesElementwise;
  }
  return options;
}

/// The step of one device; `batch` of all replicas above `microbatch` means several micro-batches.
Result<WorkGraph> PlacementPlanner::workOf(const Degrees &degrees, const std::string &policy, int64_t microbatch) {
  TrainingGraphs::Built &built = graphs.get(paddedAt(degrees, policy));
  if (!built.graph)
    return Error{Code::NotSupported,
                 built.errors.empty() ? "the step cannot be shared so" : built.errors.front().message,
                 {},
                 {}};
  int64_t microbatches = std::max<int64_t>(1, job.batch / microbatch / std::max<int64_t>(1, degrees.data));
  std::string error;
  auto work = workGraphFrom(built.graph, microbatch, microbatches, error);
  if (!work)
    return Error{Code::NumberTooLarge, error, {}, {}};
  work->model = job.name;
  work->recompute = policy;
  return std::move(*work);
}

int64_t PlacementPlanner::numExperts() {
  int64_t all = 0;
  if (TrainingGraphs::Built &built = graphs.get(paddedAt(Degrees(), "none")); built.graph)
    built.graph.walk([&](dnn::MoeExpertsOp op) {
      all = std::gcd(all, llvm::cast<mlir::RankedTensorType>(op.getW1().getType()).getDimSize(0));
    });
  return std::max<int64_t>(all, 1);
}

bool PlacementPlanner::findObjectiveNumbers(PlacementProblemRequest &made) {
  using Needs = ObjectiveFormula::Needs;
  const ObjectiveFormula &formula = formulaOf(made.objective);
  auto missing = [&](const std::string &what, const std::string &help) {
    diags.error(Code::ObjectiveWithoutNumbers, job.objectiveAt, what).help(help);
    return false;
  };
  for (const Cluster &group : target.groups) {
    if (formula.needs == Needs::Price && group.pricePerHour <= 0)
      return missing(fmt::format("cluster '{}' states no price of '{}'", target.cluster.name, group.machine.name),
                     "in the cluster: price = 4 USD/h per gpu");
    if (formula.needs == Needs::Tdp && group.machine.tdp.value <= 0)
      return missing(fmt::format("nothing states the thermal design power of '{}'", group.machine.name),
                     "in the accelerator: power { tdp = 400 W }");
    if (!formula.clusterKey)
      continue;
    auto stated = group.keys.find(formula.clusterKey);
    if (stated == group.keys.end())
      return missing(fmt::format("cluster '{}' states no '{}'", target.cluster.name, formula.clusterKey),
                     fmt::format("in the cluster: {} = {}", formula.clusterKey, formula.clusterExample));
    made.costPerJoule = stated->second;
  }
  return true;
}

std::optional<PlacementProblemRequest> PlacementPlanner::problemRequest(std::vector<std::string> &assumptions) {
  auto chosen = placementChoices(job, target, diags);
  if (!chosen)
    return std::nullopt;
  PlacementChoices &choices = *chosen;
  if (request.framework && !fitToFramework(choices.space, choices.assumptions))
    return std::nullopt;
  llvm::append_range(assumptions, choices.assumptions);
  PlacementProblemRequest made;
  made.job = job.name;
  made.batch = job.batch;
  made.groups = target.groups;
  made.between = target.between;
  made.space = std::move(choices.space);
  made.costModel = request.costModel;
  made.location = diags.sources().location(request.at);
  made.objective = job.placementObjective;
  if (job.tokens > 0 && request.sequence.value_or(0) <= 0) {
    diags
        .error(Code::TokensUnknown, job.amountAt,
               "the model has no parameter 'seq': how many tokens a sample has is not known")
        .help("state 'samples' instead");
    return std::nullopt;
  }
  if (!findObjectiveNumbers(made))
    return std::nullopt;
  made.limits = limitsOf(job, made.memory);
  made.instantiate = [this](const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                            const std::string &policy) -> Result<WorkGraph> {
    return workOf(degreesOf(sharding), policy, microbatch);
  };
  made.instantiateDivided = [this](const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                                   const std::string &policy, int64_t data,
                                   const PlacementSpace::ReplicaSharding &divided) -> Result<WorkGraph> {
    Degrees degrees = degreesOf(sharding);
    degrees.data = data;
    degrees.expert = divided.experts > 1;
    degrees.tables = divided.tables == Tables::Whole ? "" : name(divided.tables);
    return workOf(degrees, policy, microbatch);
  };
  made.dataLoader = job.dataLoader;
  made.framework = request.framework;
  made.sharesParameters = true;
  if (!made.space.mayBeWhole() || made.space.experts.size() > 1)
    made.space.numExperts = numExperts();
  return made;
}

bool PlacementPlanner::fitToFramework(PlacementSpace &space, std::vector<std::string> &assumptions) const {
  const Framework &framework = *request.framework;
  if (job.zero.empty() && framework.zero > 0) {
    space.zero = {static_cast<int>(framework.zero)};
    assumptions.push_back(
        fmt::format("zero = {}: the stage that {} has unless one is stated", framework.zero, framework.name));
  }
  size_t before = diags.errors();
  auto lacks = [&](const std::string &what, SourceRange at) {
    diags.error(Code::NotSupported, at, fmt::format("framework '{}' has no {}", framework.name, what))
        .help("let the choice have another value, or name another framework");
  };
  auto placeOf = [&](const char *key) {
    auto found = llvm::find_if(job.parallel, [&](const DegreeChoice &choice) { return choice.key == key; });
    return found == job.parallel.end() ? SourceRange{} : found->at;
  };
  std::erase_if(space.zero, [&](int stage) { return stage < framework.minZero || stage > framework.maxZero; });
  if (space.zero.empty())
    lacks(fmt::format("such stage of ZeRO: it has {} to {}", framework.minZero, framework.maxZero), job.zeroAt);
  if (!framework.has("tensor"))
    std::erase_if(space.tensorShardings, [](const auto &one) { return one.tensor > 1; });
  if (!framework.has("sequence"))
    std::erase_if(space.tensorShardings, [](const auto &one) { return one.sequence && one.tensor > 1; });
  if (space.tensorShardings.empty())
    lacks("such tensor or sequence parallelism", placeOf("tensor_parallel"));
  if (bool some = !space.tensorShardings.empty(); some && !framework.has("context")) {
    std::erase_if(space.tensorShardings, [](const auto &one) { return one.context > 1; });
    if (space.tensorShardings.empty())
      lacks("context parallelism", placeOf("context_parallel"));
  }
  if (!framework.has("pipeline")) {
    if (!space.groups.empty() && space.groups.front().min > 1)
      lacks("pipeline parallelism", placeOf("pipeline_parallel"));
    space.groups = {{1, 1}};
  }
  if (!framework.has("expert"))
    std::erase_if(space.experts, [](int64_t degree) { return degree > 1; });
  if (space.experts.empty())
    lacks("expert parallelism", placeOf("expert_parallel"));
  if (!framework.has("tables"))
    std::erase_if(space.tables, [](Tables tables) { return tables != Tables::Whole; });
  if (space.tables.empty())
    lacks("division of tables among replicas", {});
  return diags.errors() == before;
}

void PlacementPlanner::countUnpadded(PlacementPlan &plan) {
  TrainingGraphs::Built &built = graphs.get(optionsAt(request.training, {}, job.recomputes.front()));
  std::string error;
  auto work = built.graph ? workGraphFrom(built.graph, 1, 1, error) : std::nullopt;
  if (!work)
    return;
  if (work->parameters != plan.parameters)
    plan.assumptions.push_back(fmt::format("the vocabulary is padded to a multiple of {}{}: {} parameters beside the "
                                           "model's, on one tensor rank",
                                           request.framework->vocabularyMultiple,
                                           request.framework->vocabularyPerTensor ? " x tensor_parallel" : "",
                                           plan.parameters - work->parameters));
  plan.parameters = work->parameters;
  plan.modelFlops = 0;
  for (OperationId id = 0; id < work->operations.size(); ++id)
    if (work->operations[id].region != kUpdateRegion)
      plan.modelFlops += static_cast<double>(contractionFlops(work->operations[id])) * work->executions(id) * job.batch;
}

std::optional<BuiltPlacementProblem>
PlacementPlanner::problemWithin(const std::function<void(PlacementSpace &)> &shrink, const std::atomic<bool> *stop,
                                const PlacementSparsityRequest *zeros) {
  std::vector<std::string> chosen;
  auto made = problemRequest(chosen);
  if (!made)
    return std::nullopt;
  if (shrink)
    shrink(made->space);
  made->stop = stop;
  made->zeros = zeros;
  auto built = buildPlacementProblem(*made);
  if (!built) {
    if (!shrink && !(stop && *stop))
      for (const Error &error : built.error())
        reportError(diags, error);
    return std::nullopt;
  }
  BuiltPlacementProblem found = std::move(*built);
  int64_t layers = found.problem.layers.size();
  const auto &ranges = found.problem.groups;
  if (!ranges.empty() && ranges.front().min > layers) {
    SourceRange where = request.at;
    for (const DegreeChoice &choice : job.parallel)
      if (choice.key == "pipeline_parallel")
        where = choice.at;
    diags.error(
        Code::NothingToPlace, where,
        fmt::format("pipeline_parallel {} needs as many layers, '{}' has {}", ranges.front().min, job.name, layers));
    return std::nullopt;
  }
  if (!addPlacementConstraints(found.problem, job, diags))
    return std::nullopt;
  std::vector<std::string> assumptions = job.assumptions;
  if (!job.microbatchStated)
    llvm::erase_if(assumptions,
                   [](const std::string &text) { return llvm::StringRef(text).starts_with("microbatch:"); });
  llvm::append_range(assumptions, chosen);
  llvm::append_range(assumptions, found.assumptions);
  found.assumptions = std::move(assumptions);
  if (Errors wrong = check(found.problem); !wrong.empty()) {
    for (const Error &error : wrong)
      reportError(diags, error);
    return std::nullopt;
  }
  return found;
}

namespace {
double secondsOf(int64_t picoseconds) { return static_cast<double>(picoseconds) * 1e-12; }
} // namespace

/// The request with nothing but the zeros of a plan.
static PlacementSparsityRequest withChosen(PlacementSparsityRequest request, const PlacementSparsity &zeros) {
  for (size_t u = 0; u < zeros.units.size(); ++u)
    for (size_t d = 0; d < zeros.units[u].decisions.size(); ++d) {
      const uint32_t option = zeros.units[u].alternatives[zeros.choice[u]].options[d];
      for (PlacementSparsityRequest::Decision &decision : request.decisions)
        if (decision.stated.layers == zeros.units[u].decisions[d].layers) {
          decision.options = {decision.options[option]};
          decision.stated.options = {decision.stated.options[option]};
        }
    }
  return request;
}

/// The interval of the step, and what the same degrees take at the rates of the data sheets.
void PlacementPlanner::estimateStep(PlacementPlan &plan, const Planning &planning) {
  std::vector<const Machine *> machines;
  for (const Cluster &group : target.groups)
    machines.push_back(&group.machine);
  if (!request.costModel.empty() || !calibrate::stepEstimateOf(machines, true, 1, 1))
    return;
  std::vector<std::string> unused;
  auto made = problemRequest(unused);
  if (!made)
    return;
  const Placement &placement = *plan.result.plan;
  std::vector<ParallelConfig> configs;
  for (const PlacedStage &stage : placement.stages)
    configs.push_back(plan.problem.parallelConfigs[stage.parallelConfig]);
  made->space.restrictTo(configs);
  made->space.schedules = {placement.schedule};
  made->space.virtualStages = {placement.virtualStages};
  const auto groups = static_cast<int64_t>(placement.groups());
  made->space.groups = {{groups, groups}};
  made->objective = PlacementObjective::StepTime;
  made->limits = {};
  PlacementSparsityRequest chosen;
  if (plan.zeros) {
    chosen = withChosen(*planning.zeros, *plan.zeros);
    made->zeros = &chosen;
  }
  auto best = [&] { // of the same degrees
    auto built = buildPlacementProblem(*made);
    if (!built)
      return 0.0;
    if (made->zeros)
      built->problem =
          SparsePlacementProblem{built->problem, built->zeros, {}}.with(std::vector<uint32_t>(built->zeros.size()));
    PlacementOptions brief;
    brief.effort = kPlacementEffort;
    PlacementResult found = place(built->problem, brief);
    return found.plan ? secondsOf(found.metrics.step) : 0.0;
  };
  // Kernels with zeros have an interval of their own.
  double fastest = 1, slowest = 1;
  if (plan.zeros) {
    using Kernels = SparseLayerUses::Options::Kernels;
    const double step = secondsOf(plan.result.metrics.step);
    auto shareAt = [&](Kernels speed) {
      chosen.pricing.speed = speed;
      const double found = best();
      return found > 0 && step > 0 ? found / step : 1;
    };
    fastest = std::min(1.0, shareAt(Kernels::Fastest)), slowest = std::max(1.0, shareAt(Kernels::Slowest));
    chosen.pricing.speed = Kernels::Expected;
  }
  for (Cluster &group : made->groups)
    group.machine.fitted = {};
  const double ideal = best();
  auto work = workOf({}, job.recomputes.front(), 1);
  bool attends = work && calibrate::hostShareOf(*work) >= 1;
  plan.estimate = calibrate::stepEstimateOf(machines, attends, secondsOf(plan.result.metrics.step), ideal);
  if (plan.estimate)
    plan.estimate->low *= fastest, plan.estimate->high *= slowest;
}

void PlacementPlanner::addTraffic(PlacementPlan &plan, const Layering &layering) {
  std::vector<std::string> unused;
  auto made = problemRequest(unused);
  auto traffic = made ? trafficOf(*made, layering, plan.problem, *plan.result.plan) : Result<LinkTraffic>(Error{});
  if (traffic)
    plan.traffic = std::move(*traffic);
  else
    plan.assumptions.push_back("bytes over links are not known: " + traffic.error().message);
}

std::optional<PlacementPlanner::FirstPlan> PlacementPlanner::firstPlan() {
  std::vector<std::string> unused;
  size_t before = diags.errors();
  auto made = problemRequest(unused);
  diags.dropErrors(before); // the whole space reports them again
  // Few steps are instantiated as fast as one.
  constexpr size_t kFewSteps = 4, kTried = 3;
  if (!made ||
      made->space.tensorShardings.size() * made->space.microbatches.size() * made->space.recomputePolicies.size() <=
          kFewSteps)
    return std::nullopt;
  int64_t devicesPerNode = 1;
  for (const Cluster &group : target.groups)
    devicesPerNode = std::max(devicesPerNode, group.devicesPerNode);
  std::vector<PlacementSpace::TensorSharding> shardings = made->space.tensorShardings;
  llvm::sort(shardings, [&](const auto &a, const auto &b) {
    auto order = [&](const PlacementSpace::TensorSharding &one) {
      return std::tuple(one.tensor > devicesPerNode, -one.tensor, one.context, !one.sequence);
    };
    return order(a) < order(b);
  });
  shardings.resize(std::min(shardings.size(), kTried));
  for (const PlacementSpace::TensorSharding &sharding : shardings) {
    auto shrink = [&](PlacementSpace &space) {
      auto only = [](auto &values, const auto &value) { values = {value}; };
      only(space.tensorShardings, sharding);
      only(space.microbatches, space.microbatches.front());
      only(space.recomputePolicies, space.recomputePolicies.back());
      only(space.schedules, space.schedules.front());
      only(space.offloads, space.offloads.front());
      only(space.orders, space.orders.front());
      only(space.experts, space.experts.front());
      only(space.tables, space.tables.front());
      only(space.ringOverlaps, bool(space.ringOverlaps.front()));
    };
    auto built = problemWithin(shrink, nullptr);
    diags.dropErrors(before); // of a part of the space they say nothing of the whole
    if (!built)
      continue;
    PlacementOptions brief;
    brief.effort = 0;
    brief.gap = 1;
    if (PlacementResult found = place(built->problem, brief); found.plan)
      return FirstPlan{std::move(*built), std::move(found)};
  }
  return std::nullopt;
}

void PlacementPlanner::withdrawUnproved(PlacementPlan &plan, const Planning &planning) const {
  if (plan.result.plan || !std::isinf(plan.result.bound))
    return;
  PlacementProof how;
  how.stop = planning.stop;
  auto withdraw = [&](const std::string &rest) {
    plan.result.bound = 0;
    plan.result.proof = "no plan was found, and that none fits is not proved; left to " + rest;
  };
  if (plan.zeros) {
    std::vector<std::string> trusted;
    Errors found = verify(problemOf(plan.problem, *plan.zeros), resultOf(plan.result, *plan.zeros), &trusted, how);
    if (!found.empty() || !trusted.empty())
      withdraw(found.empty() ? trusted.front() : found.front().message);
    return;
  }
  BoundProof proof = proveBound(plan.problem, plan.result.bound, how.effort, how.passes, {}, planning.stop);
  if (!proof.better && !proof.trusted.empty())
    withdraw(proof.trusted.front());
}

std::optional<PlacementPlanner::FirstPlan> PlacementPlanner::knownPlan(const Planning &planning) {
  auto built = problemWithin(planning.within, nullptr);
  auto known = built ? planning.known(built->problem) : std::nullopt;
  if (!known)
    return std::nullopt;
  PlacementOptions brief;
  brief.effort = 0;
  brief.gap = 1;
  brief.known = &*known;
  FirstPlan answer{std::move(*built), {}};
  answer.result = place(answer.built.problem, brief);
  answer.result.bound = 0; // of the rest of the space nothing is known
  answer.result.proof = "stopped: of the space only the part of this plan was looked at";
  return answer;
}

/// The problem with its answer, or, where the search was stopped before it had a better one, the first plan's. `how` is
/// for searches of the same problem after this one.
std::optional<PlacementPlanner::FirstPlan> PlacementPlanner::search(const Planning &planning, PlacementOptions &how) {
  if (planning.known && planning.stopped())
    return knownPlan(planning);
  std::optional<FirstPlan> first;
  if (planning.firstAnswer && (first = firstPlan()) && planning.found)
    planning.found();
  FirstPlan answer;
  auto built = problemWithin({}, first ? planning.stop : nullptr, planning.zeros);
  if (!built && !(planning.stopped() && first))
    return std::nullopt;
  if (built) {
    if (built->problem.objective != PlacementObjective::StepTime)
      how.progress = nullptr; // told as times
    std::optional<Placement> known = planning.known ? planning.known(built->problem) : std::nullopt;
    PlacementOptions options = how;
    options.known = known ? &*known : nullptr;
    if (!first && planning.firstAnswer && planning.stopped()) // some plan, whatever the moment
      options.effort = 0, options.gap = 1, options.stop = nullptr;
    if (planning.zeros) {
      answer.built = std::move(*built);
      placeJointly(answer, *planning.zeros, options);
    } else {
      answer.result = place(built->problem, options);
    }
    if (answer.result.plan && planning.found)
      planning.found();
  }
  bool isKnown = answer.result.plan || (built && std::isinf(answer.result.bound));
  bool isBetter = planning.stopped() && answer.result.plan && first && first->result.value < answer.result.value;
  if (first && (!isKnown || isBetter)) {
    // What bounds the whole space bounds a part of it.
    first->result.bound = std::min(answer.result.bound, first->result.value);
    first->result.proof = "stopped: " + answer.result.proof;
    first->built.assumptions.push_back("the search ended before it had a better plan than the first one, of a small "
                                       "part of the space: one tensor degree, the smallest micro-batch, full "
                                       "recomputation");
    return first;
  }
  if (!planning.zeros)
    answer.built = std::move(*built);
  return answer;
}

void PlacementPlanner::placeJointly(FirstPlan &answer, const PlacementSparsityRequest &zeros,
                                    const PlacementOptions &options) {
  SparsePlacementProblem joint{std::move(answer.built.problem), std::move(answer.built.zeros), zeros.budgets};
  SparsePlacementResult found = placeWithSparsity(joint, options);
  answer.built.problem = found.choice.empty() ? joint.dense : joint.with(found.choice);
  answer.result = std::move(found.placement);
  answer.zeros = {std::move(joint.units),
                  std::move(joint.budgets),
                  std::move(found.choice),
                  std::move(found.proof),
                  found.denseValue,
                  found.parts,
                  {}};
}

std::optional<PlacementPlan> PlacementPlanner::plan(const Planning &planning) {
  PlacementOptions how;
  static_cast<SearchControl &>(how) = planning;
  how.effort = static_cast<unsigned>(request.effort) + kPlacementEffort;
  auto found = search(planning, how);
  if (!found)
    return std::nullopt;
  BuiltPlacementProblem &built = found->built;
  PlacementPlan plan;
  plan.result = std::move(found->result);
  plan.problem = std::move(built.problem);
  plan.zeros = std::move(found->zeros);
  withdrawUnproved(plan, planning);
  plan.job = plan.model = job.name;
  if (!request.model.empty())
    plan.model = request.model;
  plan.cluster = target.cluster.name;
  plan.precision = built.precision;
  plan.optimizer = built.optimizer;
  plan.parameters = built.parameters;
  plan.modelFlops = built.modelFlops;
  for (const Cluster &group : target.groups)
    plan.peakFlops.push_back(productPeak(group.machine, plan.precision));
  if (llvm::is_contained(plan.peakFlops, 0.0))
    plan.peakFlops.clear();
  plan.version = kVersion;
  plan.location = plan.problem.location;
  plan.assumptions = std::move(built.assumptions);
  plan.deviceMemory = std::move(built.deviceMemory);
  if (request.framework && request.framework->vocabularyMultiple > 1)
    countUnpadded(plan);
  plan.sizes = request.sizes;
  plan.architecture = graphs.architecture(request.training);
  plan.sequence = request.sequence.value_or(0);
  plan.samples = job.samples;
  if (job.tokens > 0)
    plan.samples = std::ceil(job.tokens / plan.sequence);
  if (!plan.result.plan && !std::isinf(plan.result.bound))
    return plan;
  if (!plan.result.plan) {
    PlacementConflict conflict = conflictsOf(plan.problem, how);
    plan.conflicts = std::move(conflict.conflicts);
    nameRequirements(plan.conflicts, job, diags);
    plan.relaxations = std::move(conflict.relaxations);
    return plan;
  }
  if (!planning.stopped())
    estimateStep(plan, planning);
  if (job.dataLoader)
    llvm::append_range(plan.assumptions, loaderReasons(*job.dataLoader, Picoseconds{plan.problem.minStep}.seconds(),
                                                       Picoseconds{plan.result.metrics.step}.seconds()));
  addTraffic(plan, built.layering);
  plan.runnersUp = runnersUp(plan.problem, plan.result, 5, how);
  // What a limit costs is told by few more steps of the search each: the answer is at hand.
  PlacementOptions little = how;
  little.effort -= 6;
  little.gap = std::max(how.gap, 0.002);
  plan.front = paretoFront(plan.problem, plan.result, little);
  little.effort += 2;
  plan.whatIf = whatIf(plan.problem, plan.result, little);
  const ParallelConfig &parallelConfig = plan.problem.parallelConfigs[plan.result.plan->stages.front().parallelConfig];
  // What of the shared step stays whole changes its numbers.
  for (const std::string &remark :
       graphs.get(paddedAt(degreesOf(shardingOf(parallelConfig)), job.recomputes.front())).remarks)
    plan.assumptions.push_back(remark);
  PlannedRun whole = trainingRun(plan, job, target);
  plan.run = whole.run;
  llvm::append_range(plan.assumptions, whole.assumptions);
  return plan;
}

} // namespace accord
