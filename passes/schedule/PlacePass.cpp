// The pass: the placement of a request on its cluster.
#include "dialects/accel/AccelDialect.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromCluster.h"
#include "lib/placement/output/PlacementMlir.h"
#include "passes/analyze/Target.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RequestErrors.h"

using namespace mlir;

namespace accord {
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
} // namespace accord
