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

/// The operations of `made` come to the end of a module, in the place of the decision of an earlier run.
template <typename Decision> void replaceIn(ModuleOp module, StringRef name, ModuleOp made) {
  if (auto before = module.lookupSymbol<Decision>(name))
    before->erase();
  module.getBody()->getOperations().splice(module.getBody()->end(), made.getBody()->getOperations());
}

} // namespace

#define GEN_PASS_DEF_PLACE
#include "passes/schedule/Passes.h.inc"

namespace {

FailureOr<ClusterTarget> targetOf(accel::ClusterOp cluster) {
  auto accelerators = acceleratorsOf(cluster);
  if (!accelerators)
    return emitErrors(cluster, accelerators.error());
  std::vector<Machine> machines;
  for (accel::AcceleratorOp one : *accelerators) {
    FailureOr<Machine> machine = machineFrom(one);
    if (failed(machine))
      return failure();
    machines.push_back(std::move(*machine));
  }
  auto target = clusterTarget(cluster, std::move(machines));
  if (!target)
    return emitErrors(cluster, target.error());
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
    replaceIn<plan::ClusterPlacementOp>(getOperation(), placed->job, *toPlanDialect(getContext(), *placed));
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
        (void)emitErrors(op, planned.error());
      how.errors = planned.takeError();
      return failure();
    }
    Plan &found = *planned;
    replaceIn<plan::PlacementOp>(getOperation(), found.job, *toPlanDialect(getContext(), found));
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
