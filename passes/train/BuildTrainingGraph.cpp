// The pass: one training graph for each model.
#include "lib/differentiate/Differentiator.h"
#include "passes/train/Passes.h"
#include "passes/train/TrainingSettings.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_BUILDTRAININGGRAPH
#include "passes/train/Passes.h.inc"

namespace {

void addUpdates(dnn::TrainingGraphOp graph, Block &step, Names &names) {
  OpBuilder builder = OpBuilder::atBlockEnd(&step);
  for (auto parameter : graph.getParameters()) {
    auto update = dnn::UpdateOp::create(builder, parameter.getLoc(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                                        parameter.getTypeAttr(), parameter.getCopiesAttr(), graph.getOptimizerAttr(),
                                        graph.getPrecisionAttr());
    names.give(update, (parameter.getSymName() + ".update").str(), dnn::Phase::Update);
  }
}

/// Every parameter must have got a gradient.
LogicalResult checkReached(dnn::TrainingGraphOp graph) {
  llvm::DenseSet<StringAttr> reached;
  graph.walk([&](dnn::GradientOp gradient) { reached.insert(gradient.getParameterAttr().getAttr()); });
  bool all = true;
  for (auto parameter : graph.getParameters())
    if (!reached.contains(parameter.getSymNameAttr())) {
      parameter.emitError() << "parameter '" << parameter.getSymName() << "' does not reach the loss";
      all = false;
    }
  return success(all);
}

LogicalResult buildTrainingGraph(dnn::ModelOp model, const TrainingSettings &settings) {
  OpBuilder builder(model);
  auto graph = dnn::TrainingGraphOp::create(
      builder, model.getLoc(), model.getSymName(), settings.precision,
      dnn::OptimizerKindAttr::get(model.getContext(), *settings.optimizer));
  if (model.getInputNamesAttr())
    graph.setInputNamesAttr(model.getInputNamesAttr());
  builder.setInsertionPointToEnd(&graph.getBlock());
  auto microbatch = dnn::MicrobatchOp::create(builder, model.getLoc());
  auto step = dnn::OptimizerStepOp::create(builder, model.getLoc());

  Block &body = microbatch.getBlock();
  for (BlockArgument input : model.getInputs())
    input.replaceAllUsesWith(body.addArgument(input.getType(), input.getLoc()));
  body.getOperations().splice(body.end(), model.getBlock().getOperations());
  for (auto parameter : llvm::make_early_inc_range(body.getOps<dnn::ParameterOp>()))
    parameter->moveBefore(microbatch);
  model.erase();

  Names names;
  names.giveForward(body);
  if (failed(Differentiator(body, names).run()) || failed(checkReached(graph)))
    return failure();
  addUpdates(graph, step.getBlock(), names);
  return success();
}

struct BuildTrainingGraph : impl::BuildTrainingGraphBase<BuildTrainingGraph> {
  using BuildTrainingGraphBase::BuildTrainingGraphBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    TrainingSettings given;
    if (!optimizer.empty() && !(given.optimizer = optimizerFrom(optimizer))) {
      module.emitError() << "there is no optimizer '" << optimizer << "'; there are sgd, momentum, adam and adamw";
      return signalPassFailure();
    }
    if (!precision.empty() && !(given.precision = precisionFrom(precision, &getContext()))) {
      module.emitError() << "there is no precision '" << precision
                         << "'; there are fp32, bf16, fp16, tf32, fp64 and mixed(bf16)";
      return signalPassFailure();
    }
    for (auto model : llvm::make_early_inc_range(module.getOps<dnn::ModelOp>())) {
      FailureOr<TrainingSettings> settings = settingsFor(model, module, given);
      if (failed(settings) || failed(buildTrainingGraph(model, *settings)))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace accord
