// The pass: what each operation costs, beside it.
#include "dialects/accel/AccelDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "lib/compilation/Planning.h"
#include "lib/machine/cost/Estimate.h"
#include "mlir/IR/Builders.h"
#include "passes/analyze/Passes.h"
#include "passes/analyze/Target.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_ESTIMATECOST
#include "passes/analyze/Passes.h.inc"

namespace {

LogicalResult annotate(dnn::TrainingGraphOp graph, const Machine &machine, int64_t microbatch,
                       const EstimateOptions &options) {
  std::vector<mlir::Operation *> origins;
  FailureOr<WorkGraph> work = checkedWork(graph, microbatch, 1, &origins);
  if (failed(work))
    return failure();
  auto priced = estimate(*work, machine, options);
  if (!priced)
    return emitErrors(graph, priced.error());
  Builder builder(graph.getContext());
  const Costs &costs = *priced;
  for (OperationId id = 0; id < origins.size(); ++id) {
    if (work->operations[id].body != kNone)
      continue;
    const OperationCost &cost = costs.operations[id];
    if (cost.core >= 0)
      origins[id]->setAttr("plan.core", builder.getStringAttr(machine.cores[cost.core].name));
    origins[id]->setAttr("plan.time", builder.getI64IntegerAttr(Picoseconds::ceil(cost.time).value));
    origins[id]->setAttr("plan.bound", builder.getStringAttr(cost.bound));
  }
  graph->setAttr("plan.machine", builder.getStringAttr(machine.name));
  graph->setAttr("plan.microbatch", builder.getI64IntegerAttr(microbatch));
  return success();
}

struct EstimateCost : impl::EstimateCostBase<EstimateCost> {
  using EstimateCostBase::EstimateCostBase;
  explicit EstimateCost(const Planning *planning) : EstimateCostBase(requestedOnly()) {
    if (planning)
      pricing.fabric = planning->fabric, pricing.axes = planning->axes;
  }
  static EstimateCostOptions requestedOnly() {
    EstimateCostOptions options;
    options.requested = true;
    return options;
  }

  /// False where there is nothing to price.
  bool takeRequest() {
    for (auto request : getOperation().getOps<plan::RequestOp>()) {
      if (!getOperation().lookupSymbol<accel::AcceleratorOp>(request.getTarget()))
        return false;
      machine = request.getTarget().str();
      if (auto model = request->getAttrOfType<StringAttr>("cost_model"))
        costModel = model.str();
      for (int64_t size : request.getMicrobatches())
        if (request.getBatch() % size == 0) {
          microbatch = size;
          return true;
        }
    }
    return false;
  }

  void runOnOperation() override {
    if (requested && !takeRequest())
      return;
    FailureOr<Machine> target = machineNamed(getOperation(), machine);
    if (failed(target))
      return signalPassFailure();
    pricing.costModel = costModel;
    for (auto graph : getOperation().getOps<dnn::TrainingGraphOp>())
      if (failed(annotate(graph, *target, microbatch, pricing)))
        return signalPassFailure();
  }

private:
  EstimateOptions pricing; ///< with what connects the devices that share the step
};

} // namespace

std::unique_ptr<mlir::Pass> createCostPass(const Planning *planning) {
  return std::make_unique<EstimateCost>(planning);
}
} // namespace accord
