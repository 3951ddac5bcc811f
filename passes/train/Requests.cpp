// The passes: the models of a request, and what its user wants to run besides the pipeline.
#include "dialects/plan/PlanDialect.h"
#include "lib/compilation/TrainingGraphs.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
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

#define GEN_PASS_DEF_RUNREQUESTEDPASSES
#include "passes/train/Passes.h.inc"

namespace {

struct RunRequestedPasses : impl::RunRequestedPassesBase<RunRequestedPasses> {
  using RunRequestedPassesBase::RunRequestedPassesBase;

  LogicalResult run(plan::RequestOp request, StringRef key, StringRef pipeline) {
    OpPassManager passes(ModuleOp::getOperationName());
    std::string error;
    llvm::raw_string_ostream errors(error);
    if (failed(parsePassPipeline(pipeline, passes, errors)))
      return request.emitOpError() << "has '" << key << "', which is no pipeline: '" << pipeline << "': " << error;
    // Passes of a plugin may bring dialects that nobody has loaded yet.
    DialectRegistry registry;
    passes.getDependentDialects(registry);
    getContext().appendDialectRegistry(registry);
    for (StringRef dialect : registry.getDialectNames())
      getContext().getOrLoadDialect(dialect);
    return runPipeline(passes, getOperation());
  }

  void runOnOperation() override {
    auto requests = getOperation().getOps<plan::RequestOp>();
    if (requests.empty())
      return;
    plan::RequestOp request = *requests.begin();
    StringRef key = onModels ? "model_passes" : "passes";
    if (auto pipeline = request->getAttrOfType<StringAttr>(key); pipeline && failed(run(request, key, pipeline)))
      return signalPassFailure();
    if (!onModels && request->hasAttr("fuse") && failed(run(request, "fuse", "dnn.training_graph(fuse)")))
      signalPassFailure();
  }
};

} // namespace

} // namespace accord
