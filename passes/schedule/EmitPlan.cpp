// The pass: a module of plans alone.
#include "dialects/plan/PlanDialect.h"
#include "passes/schedule/Passes.h"

using namespace mlir;

namespace accord {
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
