// The placement of a session's job on a cluster: what may be chosen, and the choice.

#include "dialects/accel/AccelDialect.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromCluster.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/support/Version.h"
#include "tools/accord/PlacementConstraints.h"
#include "tools/accord/PlacementSpaceBuilder.h"
#include "tools/accord/Session.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// FLOP/s of all tensor cores of a device for products in a precision: "bf16" of "mixed(bf16)"; 0

/// if it does not state any.
double productPeak(const Machine &machine, llvm::StringRef precision) {
  if (precision.consume_front("mixed("))
    precision = precision.drop_back();
  double max = 0;
  for (const Core &core : machine.cores)
    if (core.kind == CoreKind::Tensor)
      for (const std::string &type : fallbackTypes(precision.str()))
        if (double peak = peakOfOne(machine, core, type).value; peak > 0) {
          max = std::max(max, peak * core.count);
          break;
        }
  return max;
}

/// Conflicts of limits get the words and the place of the `require` that sets them.
void nameRequirements(std::vector<Conflict> &conflicts, const TrainingJob &job, const Diagnostics &diags) {
  auto means = [](const PlacementLimit &limit, llvm::StringRef constraint) {
    switch (limit.of) {
    case PlacementLimit::Of::Memory:
      return constraint.starts_with("memory of");
    case PlacementLimit::Of::Step:
      return constraint == "step time";
    case PlacementLimit::Of::Power:
      return constraint == "power";
    case PlacementLimit::Of::Devices:
      return constraint == "number of devices";
    case PlacementLimit::Of::Energy:
      return constraint == "energy";
    case PlacementLimit::Of::Price:
      return constraint == "price";
    }
    return false;
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

/// The groups of equal devices of a cluster for a placement.
bool Session::prepareGroups() {
  std::vector<Machine> machines;
  for (accel::AcceleratorOp one : theProgram->machines()) {
    mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &d) {
      SourceLocation at = sourceOf(one.getLoc());
      auto file = diags.sources().find(at.file);
      reportMachineError(d, diags, file ? diags.sources().at(*file, {at.line, at.column}) : SourceRange{});
      return mlir::success();
    });
    auto machine = machineFrom(one);
    if (mlir::failed(machine))
      return false;
    machines.push_back(*machine);
  }
  return takeGroups(std::move(machines));
}

bool Session::takeGroups(std::vector<Machine> machines) {
  auto groups = groupsFrom(theProgram->cluster(), std::move(machines));
  if (!groups) {
    report(groups.error());
    return false;
  }
  auto &found = *groups;
  theGroups = std::move(found.groups);
  theBetween = std::move(found.between);
  theCluster = theGroups.front();
  return true;
}

bool Session::useDevice(const Machine &machine, Objective objective) {
  theMachine = machine;
  theJob->objective = objective;
  if (!takeGroups({machine}))
    return false;
  theJob->limits = theProgram->limitsOn(*theJob, machine);
  return !diags.hasErrors();
}

double Session::maxMemoryOn(const Machine &machine) {
  TrainingJob limited;
  limited.limits = theProgram->limitsOn(*theJob, machine);
  int64_t memory = 0;
  limitsOf(limited, memory);
  return memory;
}

/// The step of one device; `batch` of all replicas above `microbatch` means several micro-batches.
Result<WorkGraph> Session::workOfPlacement(const Degrees &degrees, const std::string &policy, int64_t microbatch) {
  size_t before = diags.errors();
  std::string problem = "the step cannot be shared so";
  if (mlir::Operation *graph = trainingGraph(policy, std::nullopt, degrees)) {
    int64_t microbatches = std::max<int64_t>(1, theJob->batch / microbatch / std::max<int64_t>(1, degrees.data));
    if (auto work = extract(graph, policy, microbatch, microbatches, problem))
      return std::move(*work);
    return Error{Code::NumberTooLarge, problem, {}, {}};
  }
  size_t errors = 0;
  for (const Diagnostic &d : diags.sorted())
    if (d.severity == Severity::Error && ++errors == before + 1)
      problem = d.message;
  diags.dropErrors(before);
  return Error{Code::NotSupported, problem, {}, {}};
}

std::optional<PlacementProblemRequest> Session::placementRequest(std::vector<std::string> &assumptions) {
  auto chosen = choicesOf(*this);
  if (!chosen)
    return std::nullopt;
  PlacementChoices &choices = *chosen;
  llvm::append_range(assumptions, choices.assumptions);
  PlacementProblemRequest request;
  request.job = theJob->name;
  request.batch = theJob->batch;
  request.groups = groups();
  request.between = theBetween;
  request.space = std::move(choices.space);
  request.costModel = options.costModel;
  SourceRange at = theJob->declaration ? theJob->declaration->name.range : SourceRange{};
  if (at.valid()) {
    Position p = diags.sources().position(at);
    request.location = {diags.sources().path(at.file).str(), p.line, p.column};
  }
  switch (theJob->objective) {
  case Objective::Throughput:
  case Objective::StepTime:
    break;
  case Objective::Energy:
    request.objective = PlacementObjective::Energy;
    break;
  case Objective::Price:
    request.objective = PlacementObjective::Price;
    break;
  case Objective::TdpTime:
    request.objective = PlacementObjective::TdpTime;
    break;
  case Objective::Memory:
    request.objective = PlacementObjective::Memory;
    break;
  }
  if (theJob->tokens > 0 && theSequence.value_or(0) <= 0) {
    diags
        .error(Code::TokensUnknown, theJob->amountAt,
               "the model has no parameter 'seq': how many tokens a sample has is not known")
        .help("state 'samples' instead");
    return std::nullopt;
  }
  for (const Cluster &group : groups()) {
    bool price = theJob->objective == Objective::Price && group.pricePerHour <= 0;
    if (price || (theJob->objective == Objective::TdpTime && group.machine.tdp.value <= 0)) {
      diags
          .error(Code::ObjectiveWithoutNumbers, theJob->objectiveAt,
                 price ? fmt::format("cluster '{}' states no price of '{}'", theCluster->name, group.machine.name)
                       : fmt::format("nothing states the thermal design power of '{}'", group.machine.name))
          .help(price ? "in the cluster: price = 4 USD/h per gpu" : "in the accelerator: power { tdp = 400 W }");
      return std::nullopt;
    }
  }
  request.limits = limitsOf(*theJob, request.memory);
  request.instantiate = [this](int64_t tensor, bool sequence, int64_t microbatch,
                               const std::string &policy) -> Result<WorkGraph> {
    return workOfPlacement({tensor, 1, sequence, false, ""}, policy, microbatch);
  };
  request.instantiateDivided = [this](int64_t tensor, bool sequence, int64_t microbatch, const std::string &policy,
                                      int64_t data,
                                      const PlacementSpace::ReplicaSharding &division) -> Result<WorkGraph> {
    return workOfPlacement({tensor, data, sequence, division.experts > 1,
                            division.tables == PlacementProblem::Tables::Whole ? "" : name(division.tables)},
                           policy, microbatch);
  };
  request.dataLoader = theJob->dataLoader;
  return request;
}

std::optional<BuiltPlacementProblem> Session::buildPlacement() {
  std::vector<std::string> chosen;
  auto request = placementRequest(chosen);
  if (!request)
    return std::nullopt;
  auto made = buildPlacementProblem(*request);
  if (!made) {
    for (const Error &issue : made.error())
      report(issue);
    return std::nullopt;
  }
  BuiltPlacementProblem found = std::move(*made);
  int64_t layers = found.problem.layers.size();
  const auto &ranges = found.problem.groups;
  if (!ranges.empty() && ranges.front().min > layers) {
    SourceRange where = theJob->declaration ? theJob->declaration->name.range : SourceRange{};
    for (const DegreeChoice &choice : theJob->parallel)
      if (choice.key == "pipeline_parallel")
        where = choice.at;
    diags.error(Code::NothingToPlace, where,
                fmt::format("pipeline_parallel {} needs as many layers, '{}' has {}", ranges.front().min, theJob->name,
                            layers));
    return std::nullopt;
  }
  if (!addPlacementConstraints(found.problem, *theJob, diags))
    return std::nullopt;
  std::vector<std::string> assumptions = theJob->assumptions;
  if (!theJob->microbatchStated)
    llvm::erase_if(assumptions,
                   [](const std::string &text) { return llvm::StringRef(text).starts_with("microbatch:"); });
  llvm::append_range(assumptions, chosen);
  llvm::append_range(assumptions, found.assumptions);
  found.assumptions = std::move(assumptions);
  if (Errors wrong = check(found.problem); !wrong.empty()) {
    for (const Error &issue : wrong)
      report(issue);
    return std::nullopt;
  }
  return found;
}

std::optional<std::vector<std::string>> Session::unshardedAt(const Degrees &degrees) {
  if (!trainingGraph(recompute, std::nullopt, degrees))
    return std::nullopt;
  return graphs.at(keyOf(recompute, std::nullopt, degrees)).remarks;
}

std::optional<PlacementPlan> Session::placement() {
  auto built = buildPlacement();
  if (!built)
    return std::nullopt;
  PlacementPlan plan;
  plan.problem = std::move(built->problem);
  PlacementOptions how;
  how.gap = search.gap;
  how.stop = search.stop;
  if (search.progress && plan.problem.objective == PlacementObjective::StepTime) // told as times
    how.progress = [this](const PlacementProgress &p) {
      search.progress({p.phase, static_cast<int64_t>(std::min(p.incumbent, 0x1p61)),
                       static_cast<int64_t>(std::min(p.bound, 0x1p61))});
    };
  std::optional<Placement> known = search.known ? search.known(plan.problem) : std::nullopt;
  how.known = known ? &*known : nullptr;
  plan.result = place(plan.problem, how);
  how.known = nullptr;
  plan.job = plan.model = theJob->name;
  if (theJob->model)
    plan.model = theJob->model->name.text;
  plan.cluster = theCluster->name;
  plan.precision = built->precision;
  plan.optimizer = built->optimizer;
  plan.parameters = built->parameters;
  plan.modelFlops = built->modelFlops;
  for (const Cluster &group : groups())
    plan.peakFlops.push_back(productPeak(group.machine, plan.precision));
  if (llvm::is_contained(plan.peakFlops, 0.0))
    plan.peakFlops.clear();
  plan.version = kVersion;
  plan.location = plan.problem.location;
  plan.assumptions = std::move(built->assumptions);
  if (theJob->model)
    for (const ast::Parameter &parameter : theJob->model->parameters)
      if (auto value = theProgram->parameter(*theJob, parameter.name.text))
        plan.sizes.push_back({parameter.name.text, *value});
  plan.sequence = theSequence.value_or(0);
  plan.samples = theJob->samples;
  if (theJob->tokens > 0)
    plan.samples = std::ceil(theJob->tokens / plan.sequence);
  if (!plan.result.plan) {
    PlacementConflict conflict = conflictsOf(plan.problem, how);
    plan.conflicts = std::move(conflict.conflicts);
    nameRequirements(plan.conflicts, *theJob, diags);
    plan.relaxations = std::move(conflict.relaxations);
    return plan;
  }
  plan.runnersUp = runnersUp(plan.problem, plan.result, 5, how);
  // What a limit costs is told by few more steps of the search each: the answer is at hand.
  PlacementOptions little = how;
  little.effort = 4;
  little.gap = std::max(how.gap, 0.002);
  plan.front = paretoFront(plan.problem, plan.result, little);
  little.effort = 6;
  plan.whatIf = whatIf(plan.problem, plan.result, little);
  const PlacementProblem::ParallelConfig &parallelConfig =
      plan.problem.parallelConfigs[plan.result.plan->stages.front().parallelConfig];
  if (auto whole = unshardedAt({parallelConfig.tensor, 1, parallelConfig.sequence, false, ""}))
    for (const std::string &remark : *whole)
      plan.assumptions.push_back(remark);
  return plan;
}

} // namespace accord
