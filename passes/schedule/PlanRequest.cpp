// The passes: the plan of a request, on a cluster or on one machine.
#include "dialects/accel/AccelDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/compilation/Planning.h"
#include "lib/compilation/SingleDevicePlanner.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromCluster.h"
#include "lib/placement/output/PlacementMlir.h"
#include "lib/planning/output/PlanMlir.h"
#include "lib/support/Diagnostics.h"
#include "passes/analyze/Target.h"
#include "passes/schedule/Passes.h"

using namespace mlir;

namespace accord {
namespace {

/// What is reported here becomes diagnostics of MLIR at its end, unless the caller has diagnostics of its own.
class RequestErrors {
public:
  RequestErrors(Diagnostics *given, mlir::Operation *op) : own(sources), given(given), op(op) {}
  ~RequestErrors() {
    if (!given)
      emitDiagnostics(op, own);
  }
  Diagnostics &diagnostics() { return given ? *given : own; }

private:
  SourceManager sources;
  Diagnostics own;
  Diagnostics *given;
  mlir::Operation *op;
};

} // namespace

#define GEN_PASS_DEF_PLACE
#include "passes/schedule/Passes.h.inc"

namespace {

FailureOr<ClusterTarget> targetOf(accel::ClusterOp cluster) {
  auto accelerators = acceleratorsOf(cluster);
  if (!accelerators) {
    emitErrors(cluster, accelerators.error());
    return failure();
  }
  std::vector<Machine> machines;
  for (accel::AcceleratorOp one : *accelerators) {
    FailureOr<Machine> machine = machineFrom(one);
    if (failed(machine))
      return failure();
    machines.push_back(std::move(*machine));
  }
  auto target = clusterTarget(cluster, std::move(machines));
  if (!target) {
    emitErrors(cluster, target.error());
    return failure();
  }
  return std::move(*target);
}

struct PlacePass : impl::PlaceBase<PlacePass> {
  PlacePass() = default;
  explicit PlacePass(Planning *planning) : planning(planning) {}

  LogicalResult place(plan::RequestOp op, accel::ClusterOp cluster) {
    RequestErrors errors(planning ? planning->diagnostics : nullptr, op);
    auto request = readRequest(op, errors.diagnostics().sources());
    FailureOr<ClusterTarget> target = targetOf(cluster);
    if (!request || failed(target))
      return failure();
    TrainingGraphs own([&](std::optional<int64_t>) { return cast<dnn::ModelOp>(op.getModel()->clone()); });
    Planning defaults;
    Planning &how = planning ? *planning : defaults;
    auto placed = PlacementPlanner(*request, *target, how.graphs ? *how.graphs : own, errors.diagnostics()).plan(how);
    if (!placed)
      return failure();
    OwningOpRef<ModuleOp> made = toPlanDialect(getContext(), *placed);
    if (auto before = getOperation().lookupSymbol<plan::ClusterPlacementOp>(placed->job))
      before->erase(); // of an earlier run
    for (mlir::Operation &one : llvm::make_early_inc_range(*made->getBody()))
      one.moveBefore(getOperation().getBody(), getOperation().getBody()->end());
    if (planning)
      planning->placement = std::move(*placed);
    return success();
  }

  void runOnOperation() override {
    for (auto request : llvm::to_vector(getOperation().getOps<plan::RequestOp>()))
      if (auto cluster = getOperation().lookupSymbol<accel::ClusterOp>(request.getTarget()))
        if (failed(place(request, cluster)))
          return signalPassFailure();
  }

private:
  Planning *planning = nullptr;
};

} // namespace

std::unique_ptr<mlir::Pass> createPlacePass(Planning *planning) { return std::make_unique<PlacePass>(planning); }

#define GEN_PASS_DEF_SCHEDULESTEP
#include "passes/schedule/Passes.h.inc"

namespace {

struct ScheduleStepPass : impl::ScheduleStepBase<ScheduleStepPass> {
  ScheduleStepPass() = default;
  explicit ScheduleStepPass(Planning *planning) : planning(planning) {}

  LogicalResult plan(plan::RequestOp op) {
    RequestErrors errors(planning ? planning->diagnostics : nullptr, op);
    auto request = readRequest(op, errors.diagnostics().sources());
    FailureOr<Machine> machine = machineNamed(getOperation(), op.getTarget());
    if (!request || failed(machine))
      return failure();
    std::map<std::string, dnn::TrainingGraphOp> graphs;
    for (auto graph : getOperation().getOps<dnn::TrainingGraphOp>())
      if (auto policy = graph->getAttrOfType<StringAttr>(kRecomputePolicy))
        graphs[policy.str()] = graph;
    for (const std::string &policy : request->job.recomputes)
      if (!graphs.count(policy))
        return op.emitError() << "there is no training graph for recomputation '" << policy
                              << "': run the phases from 'train' on";
    Planning defaults;
    Planning &how = planning ? *planning : defaults;
    auto planned = planOnDevice(*request, *machine, graphs, how);
    if (!planned) {
      if (!planning)
        emitErrors(op, planned.error());
      how.errors = planned.takeError();
      return failure();
    }
    Plan &found = *planned;
    OwningOpRef<ModuleOp> made = toPlanDialect(getContext(), found);
    if (auto before = getOperation().lookupSymbol<plan::PlacementOp>(found.job))
      before->erase(); // of an earlier run
    for (mlir::Operation &one : llvm::make_early_inc_range(*made->getBody()))
      one.moveBefore(getOperation().getBody(), getOperation().getBody()->end());
    if (planning)
      planning->plan = std::move(found);
    return success();
  }

  void runOnOperation() override {
    for (auto request : llvm::to_vector(getOperation().getOps<plan::RequestOp>()))
      if (getOperation().lookupSymbol<accel::AcceleratorOp>(request.getTarget()) && failed(plan(request)))
        return signalPassFailure();
  }

private:
  Planning *planning = nullptr;
};

} // namespace

std::unique_ptr<mlir::Pass> createSchedulePass(Planning *planning) {
  return std::make_unique<ScheduleStepPass>(planning);
}

#define GEN_PASS_DEF_EMITPLAN
#include "passes/schedule/Passes.h.inc"

namespace {

struct EmitPlan : impl::EmitPlanBase<EmitPlan> {
  using EmitPlanBase::EmitPlanBase;

  void runOnOperation() override {
    for (mlir::Operation &one : llvm::make_early_inc_range(*getOperation().getBody()))
      if (!isa<plan::PlacementOp, plan::ClusterPlacementOp, plan::DesignChoiceOp, plan::SparsityOp, plan::EnsembleOp>(
              one))
        one.erase();
  }
};

} // namespace

} // namespace accord
