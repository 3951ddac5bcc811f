// The pass: what a training graph computes, beside it.
#include "dialects/interfaces/WorkOpInterface.h"
#include "lib/training/interpret/Interpreter.h"
#include "mlir/IR/Builders.h"
#include "passes/interpret/Passes.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_INTERPRET
#include "passes/interpret/Passes.h.inc"

namespace {

/// Points of all iterations of all operations; more than this takes minutes.
constexpr double kMaxPoints = 2e8;

double pointsOf(Block &block, int64_t batch) {
  double points = 0;
  for (Operation &op : block)
    if (auto repeat = dyn_cast<dnn::RepeatOp>(op))
      points += repeat.getCount() * pointsOf(repeat.getBlock(), batch);
    else if (auto work = dyn_cast<WorkOpInterface>(op))
      points += volume(work.getWork().domain, batch).value_or(INT64_MAX);
  return points;
}

LogicalResult emitAt(dnn::TrainingGraphOp graph, llvm::Error error) {
  return graph.emitError() << llvm::toString(std::move(error));
}

DenseElementsAttr valuesOf(const interpret::Copies &copies, MLIRContext *context) {
  SmallVector<int64_t> shape(1, copies.size());
  llvm::append_range(shape, copies.front().shape);
  std::vector<double> all;
  for (const interpret::Array &copy : copies)
    llvm::append_range(all, copy.data);
  return DenseElementsAttr::get(RankedTensorType::get(shape, Float64Type::get(context)), llvm::ArrayRef(all));
}

struct Interpret : impl::InterpretBase<Interpret> {
  using InterpretBase::InterpretBase;

  LogicalResult run(dnn::TrainingGraphOp graph) {
    if (batch < 1)
      return graph.emitError() << "a micro-batch has at least one sample, found " << batch;
    if (pointsOf(graph.getMicrobatch().getBlock(), batch) > kMaxPoints)
      return graph.emitError() << "'" << graph.getSymName() << "' is too large to interpret; scale it down";
    llvm::Expected<interpret::StepInputs> inputs = interpret::randomInputs(graph, batch, seed);
    if (!inputs)
      return emitAt(graph, inputs.takeError());
    llvm::Expected<interpret::StepResult> result = interpret::interpret(graph, *inputs);
    if (!result)
      return emitAt(graph, result.takeError());
    Builder builder(&getContext());
    graph->setAttr("dnn.loss_value", builder.getF64FloatAttr(result->loss));
    for (auto parameter : graph.getParameters())
      parameter->setAttr("dnn.gradient_value",
                         valuesOf(result->gradients[parameter.getSymName().str()], &getContext()));
    return derivatives ? check(graph, *inputs) : success();
  }

  LogicalResult check(dnn::TrainingGraphOp graph, const interpret::StepInputs &inputs) {
    llvm::Expected<interpret::DerivativeCheck> check = interpret::checkDerivatives(graph, inputs);
    if (!check)
      return emitAt(graph, check.takeError());
    if (check->largestError > tolerance)
      return graph.emitError() << "the gradient of '" << graph.getSymName() << "' is off by " << check->largestError
                               << " (relative) at " << check->where;
    Builder builder(&getContext());
    graph->setAttr("dnn.derivatives_checked", builder.getI64IntegerAttr(check->checked));
    graph->setAttr("dnn.derivative_error", builder.getF64FloatAttr(check->largestError));
    return success();
  }

  void runOnOperation() override {
    for (auto graph : getOperation().getOps<dnn::TrainingGraphOp>())
      if (failed(run(graph)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace accord
