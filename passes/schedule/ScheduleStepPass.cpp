// The pass: the plan of a request on one machine.
#include "dialects/accel/AccelDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "lib/compilation/Planning.h"
#include "lib/compilation/SingleDevicePlanner.h"
#include "lib/planning/output/PlanMlir.h"
#include "passes/analyze/Target.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RequestErrors.h"

using namespace mlir;

namespace accord {
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
} // namespace accord
