// The pass: the candidates of a request, one model for each recomputation policy.
#include "dialects/plan/PlanDialect.h"
#include "lib/compilation/RecomputePolicy.h"
#include "passes/train/Passes.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_INSTANTIATEMODELS
#include "passes/train/Passes.h.inc"

namespace {

struct InstantiateModels : impl::InstantiateModelsBase<InstantiateModels> {
  using InstantiateModelsBase::InstantiateModelsBase;

  void runOnOperation() override {
    for (auto request : getOperation().getOps<plan::RequestOp>()) {
      auto model = cast<dnn::ModelOp>(request.getModel());
      OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
      for (auto policy : request.getRecompute().getAsRange<StringAttr>()) {
        auto candidate = cast<dnn::ModelOp>(builder.clone(*model));
        candidate.setSymName((model.getSymName() + "." + policy.getValue()).str());
        candidate->setAttr(kRecomputePolicy, policy);
      }
    }
  }
};

} // namespace
} // namespace accord
