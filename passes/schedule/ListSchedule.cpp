// The pass: one placement beside each training graph.
#include "dialects/plan/PlanDialect.h"
#include "lib/planning/output/PlanMlir.h"
#include "lib/planning/solve/SingleDevice.h"
#include "passes/analyze/Target.h"
#include "passes/schedule/Passes.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_LISTSCHEDULE
#include "passes/schedule/Passes.h.inc"

namespace {

struct ListSchedule : impl::ListScheduleBase<ListSchedule> {
  using ListScheduleBase::ListScheduleBase;

  LogicalResult place(dnn::TrainingGraphOp graph, const Machine &target) {
    SingleDeviceRequest request;
    request.job = (graph.getSymName() + ".plan").str();
    request.batch = batch == 0 ? microbatch : batch;
    request.costModel = costModel;
    request.effort = effort;
    if (microbatch < 1 || request.batch < 1 || request.batch % microbatch != 0)
      return graph.emitError() << "a batch of " << request.batch << " samples is no multiple of a micro-batch of "
                               << microbatch.getValue();
    FailureOr<WorkGraph> work = checkedWork(graph, microbatch, request.batch / microbatch);
    if (failed(work))
      return failure();
    auto planned = planFor(std::move(*work), target, request);
    if (!planned)
      return emitErrors(graph, planned.error());
    OwningOpRef<ModuleOp> made = toPlanDialect(getContext(), *planned);
    auto placement = *made->getOps<plan::PlacementOp>().begin();
    if (mlir::Operation *before = getOperation().lookupSymbol(request.job)) {
      if (!isa<plan::PlacementOp>(before))
        return before->emitError() << "'" << request.job << "' is in the way of the placement";
      before->erase(); // of an earlier run
    }
    placement->moveAfter(graph);
    return success();
  }

  void runOnOperation() override {
    FailureOr<Machine> target = machineNamed(getOperation(), machine);
    if (failed(target))
      return signalPassFailure();
    for (auto graph : llvm::make_early_inc_range(getOperation().getOps<dnn::TrainingGraphOp>()))
      if (failed(place(graph, *target)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace accord
