// The placement of a session's job on a cluster: what may be chosen, and the choice.

#include "dialects/accel/AccelDialect.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/driver/Session.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/SourceLocationOf.h"

namespace accord {
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
  auto made = clusterTarget(theProgram->cluster(), std::move(machines));
  if (!made) {
    report(made.error());
    return false;
  }
  theGroups = std::move(*made);
  theCluster = theGroups.cluster;
  return true;
}

bool Session::useDevice(const Machine &machine, PlacementObjective objective) {
  theMachine = machine;
  theJob->objective = objective == PlacementObjective::StepTime ? Objective::StepTime : Objective::OfCluster;
  theJob->placementObjective = objective;
  if (!takeGroups({machine}))
    return false;
  theJob->limits = theProgram->limitsOn(*theJob, machine);
  return !diags.hasErrors();
}

double Session::maxMemoryOn(const Machine &machine) {
  TrainingJob limited;
  limited.limits = theProgram->limitsOn(*theJob, machine);
  return memoryLimit(limited);
}

PlacementPlanner &Session::planner() {
  trainingRequest();
  thePlanner = std::make_unique<PlacementPlanner>(theRequest, theGroups, *graphs, diags);
  return *thePlanner;
}

std::optional<PlacementProblemRequest> Session::placementRequest(std::vector<std::string> &assumptions) {
  return planner().problemRequest(assumptions);
}

std::optional<BuiltPlacementProblem> Session::buildPlacement() { return planner().problem(); }

std::optional<std::vector<std::string>> Session::unshardedAt(const Degrees &degrees) {
  if (!trainingGraph(recompute, std::nullopt, degrees))
    return std::nullopt;
  return graphs->at(optionsAt(recompute, degrees)).remarks;
}

std::optional<PlacementPlan> Session::placement() {
  Planning planning;
  if (minesCluster()) { // its devices are no part of the module
    planning.gap = search.gap, planning.stop = search.stop, planning.progress = search.progress;
    planning.known = search.known;
    return planner().plan(planning);
  }
  theDecisions = requestModule();
  if (!theDecisions || !runPhases(*theDecisions, PipelinePhase::Cost, PipelinePhase::Schedule, planning))
    return std::nullopt;
  return std::move(planning.placement);
}

} // namespace accord
