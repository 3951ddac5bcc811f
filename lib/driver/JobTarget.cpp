#include "lib/driver/JobTarget.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/machine/cost/OperationsModel.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromCluster.h"
#include "lib/machine/translate/PowerLevels.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {

bool JobTarget::prepare() {
  if (!usePowerLevel(workspace.options.powerClock))
    return false;
  return workspace.options.elaborate.mines ? prepareSpace() : read();
}

/// All kinds of devices of the target.
std::vector<accel::AcceleratorOp> JobTarget::accelerators() {
  std::vector<accel::AcceleratorOp> all;
  if (workspace.program().cluster())
    all = workspace.program().machines();
  if (all.empty())
    all.push_back(workspace.accelerator());
  return all;
}

/// Lets each device that has it be at the level of the command line; one with a cap at a clock, 0: the lowest one.
bool JobTarget::usePowerLevel(double clock) {
  const std::string &name = workspace.options.powerLevel;
  if (name.empty())
    return true;
  bool isKnown = false;
  std::vector<std::string> known;
  for (accel::AcceleratorOp accelerator : accelerators())
    for (PowerLevel &level : powerLevelsOf(accelerator)) {
      if (!llvm::is_contained(known, level.name))
        known.push_back(level.name);
      if (level.name != name)
        continue;
      isKnown = true;
      if (accelerator->hasAttr(kPowerLevelAttribute)) // devices of several servers
        continue;
      auto machine = machineOf(accelerator);
      if (machine && machine->costModel.starts_with(kOperationsModel)) {
        diags.error(Code::NotSupported, rangeOf(diags, level.origin.location),
                    fmt::format("not supported yet: power levels of '{}', whose operations were measured at one clock",
                                machine->name));
        return false;
      }
      if (level.cap.value > 0) {
        auto lowest = machine ? lowestClockUnder(level, *machine) : Result<double>(1.0);
        if (!lowest) {
          workspace.report(lowest.error());
          return false;
        }
        const PowerLevel at = levelAt(std::max(clock, *lowest));
        level.clock = at.clock, level.power = at.power;
      }
      accord::usePowerLevel(accelerator, level);
      workspace.job().assumptions.push_back(fmt::format(
          "power level '{}' of '{}': arithmetic at {:.3g} of its rates, and {:.3g} of the power above idle; "
          "device memory, links and launches as before",
          name, accelerator.getSymName().str(), level.clock, level.power));
    }
  if (isKnown)
    return true;
  auto error = diags.error(Code::UnknownName, {},
                           fmt::format("--power-level: '{}' has no power level '{}'", this->name(), name));
  error.suggest(nearest(name, known))
      .help(known.empty() ? "in the accelerator: power { level eco { clock = 0.75 } }"
                          : fmt::format("it has {}", fmt::join(known, ", ")));
  return false;
}

bool JobTarget::read() {
  accel::AcceleratorOp target = workspace.accelerator();
  const ElaborateOptions &options = workspace.options.elaborate;
  auto machine = machineOf(target);
  if (!machine) {
    if (!diags.hasErrors())
      diags.error(Code::InternalError, {}, "the machine cannot be used");
    return false;
  }
  theMachine = std::move(*machine);
  if (!workspace.program().cluster())
    return true;
  return options.placement ? prepareGroups() : prepareCluster();
}

bool JobTarget::prepareCluster(const std::string &name, SourceRange at) {
  if (!workspace.program().machine(name, at))
    return false;
  if (workspace.program().cluster())
    return prepareGroups();
  diags.error(Code::WrongNameKind, at, fmt::format("'{}' is one accelerator, and jobs share a cluster", name))
      .help(fmt::format("cluster lab {{ server node[4] {{ device gpu[8] : {} … }} }}", name));
  return false;
}

std::string JobTarget::name() const {
  if (workspace.options.elaborate.placement && workspace.program().cluster())
    return workspace.program().cluster().getSymName().str();
  return workspace.accelerator().getSymName().str();
}

/// While it lives, what MLIR says of a machine becomes errors at their places.
mlir::ScopedDiagnosticHandler JobTarget::errorsOf(accel::AcceleratorOp accelerator) {
  return {&workspace.context(), [this, accelerator](mlir::Diagnostic &d) mutable {
            reportMachineError(d, diags, rangeOf(diags, sourceOf(accelerator.getLoc())));
            return mlir::success();
          }};
}

std::optional<Machine> JobTarget::machineOf(accel::AcceleratorOp accelerator) {
  mlir::ScopedDiagnosticHandler handler = errorsOf(accelerator);
  mlir::FailureOr<Machine> machine = machineFrom(accelerator);
  if (mlir::failed(machine))
    return std::nullopt;
  return std::move(*machine);
}

void JobTarget::assume(const std::string &text) {
  if (theCluster && !llvm::is_contained(theCluster->assumptions, text))
    theCluster->assumptions.push_back(text);
}

/// Of a cluster one kind of devices is mined.
bool JobTarget::prepareSpace() {
  std::vector<accel::AcceleratorOp> kinds = workspace.program().machines();
  accel::ClusterOp cluster = workspace.program().cluster();
  if (!cluster)
    return true;
  if (kinds.size() == 1) {
    auto made = ClusterSpace::of(cluster);
    if (!made)
      return !workspace.reportAll(made.error());
    theClusters = std::make_unique<ClusterSpace>(std::move(*made));
    chooseCluster(theClusters->points().at(0));
    return true;
  }
  std::string names;
  for (accel::AcceleratorOp kind : kinds)
    names += (names.empty() ? "'" : ", '") + kind.getSymName().str() + "'";
  SourceRange declared = rangeOf(diags, sourceOf(cluster.getLoc()));
  SourceRange at = workspace.job().targetAt.valid() ? workspace.job().targetAt : declared;
  auto error =
      diags.error(Code::NotSupported, at,
                  fmt::format("not supported yet: mining the devices of a cluster of several kinds ('{}' has {})",
                              cluster.getSymName().str(), names));
  error.note(declared, "the cluster is declared here")
      .help(fmt::format("train on a cluster of one of them alone, or mine one device: --space {}",
                        kinds.front().getSymName().str()));
  return false;
}

bool JobTarget::minesCluster() const { return workspace.options.elaborate.mines && workspace.program().cluster(); }

std::string JobTarget::clusterText(const Design &choices) const {
  return theClusters ? workspace.program().clusterText(theClusters->labels(choices)) : "";
}

std::string JobTarget::spaceName() const { return workspace.accelerator().getSymName().str(); }

std::optional<DesignSpace> JobTarget::designSpace() {
  mlir::ScopedDiagnosticHandler handler = errorsOf(workspace.accelerator());
  auto space = DesignSpace::of(workspace.accelerator(),
                               theClusters ? theClusters->parameters() : std::vector<DesignParameter>());
  if (!space) {
    workspace.reportAll(space.error());
    return std::nullopt;
  }
  return std::move(*space);
}

/// The cluster as plain data, and whether it has as many devices as the job needs.
bool JobTarget::prepareCluster() {
  auto cluster = clusterFrom(workspace.program().cluster(), theMachine);
  if (!cluster) {
    workspace.report(cluster.error());
    return false;
  }
  theCluster = std::move(*cluster);
  int64_t has = theCluster->fabric.devices(), needs;
  const Degrees &degrees = workspace.job().degrees;
  if (__builtin_mul_overflow(degrees.tensor, degrees.data, &needs) || needs > has) {
    SourceRange at;
    for (const DegreeChoice &choice : workspace.job().parallel)
      if (choice.key == "tensor_parallel" || choice.key == "data_parallel")
        at = choice.at;
    auto error = diags.error(Code::TooFewDevices, at,
                             fmt::format("tensor_parallel {} x data_parallel {} devices are needed, "
                                         "cluster '{}' has {}",
                                         degrees.tensor, degrees.data, theCluster->name, has));
    error.note(rangeOf(diags, theCluster->location), "the cluster is declared here");
    return false;
  }
  if (needs < has)
    theCluster->assumptions.push_back(
        fmt::format("the step takes {} of the {} devices of '{}'", needs, has, theCluster->name));
  return true;
}

/// The groups of equal devices of a cluster for a placement.
bool JobTarget::prepareGroups() {
  std::vector<Machine> machines;
  for (accel::AcceleratorOp one : workspace.program().machines()) {
    auto machine = machineOf(one);
    if (!machine)
      return false;
    machines.push_back(std::move(*machine));
  }
  return takeGroups(std::move(machines));
}

bool JobTarget::takeGroups(std::vector<Machine> machines) {
  auto made = clusterTarget(workspace.program().cluster(), std::move(machines));
  if (!made) {
    workspace.report(made.error());
    return false;
  }
  theGroups = std::move(*made);
  theCluster = theGroups.cluster;
  return true;
}

bool JobTarget::useDevice(const Machine &machine, PlacementObjective objective) {
  theMachine = machine;
  TrainingJob &job = workspace.job();
  job.objective = objective == PlacementObjective::StepTime ? Objective::StepTime : Objective::OfCluster;
  job.placementObjective = objective;
  if (!takeGroups({machine}))
    return false;
  job.limits = workspace.program().limitsOn(job, machine);
  return !diags.hasErrors();
}

double JobTarget::maxMemoryOn(const Machine &machine) const {
  TrainingJob limited;
  limited.limits = workspace.program().limitsOn(workspace.job(), machine);
  return memoryLimit(limited);
}

} // namespace accord
