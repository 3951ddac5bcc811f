// The pass: forward, both gradients and the update of a model.
#include "dialects/dnn/Dnn.h"
#include "dialects/interfaces/Note.h"
#include "lib/compilation/TrainingGraphs.h"
#include "lib/training/differentiate/TrainingGraphBuilder.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/train/Passes.h"

using namespace mlir;

namespace accord {
namespace {

/// "sgd", "momentum", "adam", "adamw", "none" of inference; nullopt otherwise.
std::optional<dnn::OptimizerKind> optimizerFrom(StringRef text) {
  auto kind = dnn::symbolizeOptimizerKind(text);
  return kind == dnn::OptimizerKind::RowwiseAdagrad ? std::nullopt : kind; // of tables alone
}

Type formatFrom(StringRef text, MLIRContext *context) {
  text = text.trim();
  text.consume_front("f") && text.consume_front("p"); // fp32 and f32
  if (text == "32")
    return Float32Type::get(context);
  if (text == "16")
    return Float16Type::get(context);
  if (text == "64")
    return Float64Type::get(context);
  if (text == "bf16")
    return BFloat16Type::get(context);
  if (text == "tf32")
    return FloatTF32Type::get(context);
  return {};
}

/// "fp32", "bf16", "fp16", "tf32", "fp64" (also f32, …), "mixed(bf16)", "mixed(bf16, gradients = fp32)"; null
/// otherwise.
dnn::PrecisionAttr precisionFrom(StringRef text, MLIRContext *context) {
  text = text.trim();
  if (!text.consume_front("mixed")) {
    Type element = formatFrom(text, context);
    return element ? dnn::PrecisionAttr::get(context, false, element) : dnn::PrecisionAttr();
  }
  text = text.trim();
  if (!text.consume_front("(") || !text.consume_back(")"))
    return {};
  auto [format, rest] = text.split(',');
  Type element = formatFrom(format, context), gradients = element;
  if (!rest.empty()) {
    auto [key, value] = rest.split('=');
    gradients = key.trim() == "gradients" ? formatFrom(value, context) : Type();
  }
  return element && gradients ? dnn::PrecisionAttr::get(context, true, element, gradients) : dnn::PrecisionAttr();
}

/// The `dnn.train` that names the model, else the model's own attributes, fill what `given` leaves open. Two trains
/// that disagree and a model without a setting are errors.
FailureOr<TrainingSettings> settingsFor(dnn::ModelOp model, ModuleOp module, TrainingSettings given) {
  dnn::TrainOp first;
  for (auto train : module.getOps<dnn::TrainOp>()) {
    if (train.getModel() != model.getSymName())
      continue;
    if (first && (!given.optimizer || !given.precision) &&
        (first.getOptimizer() != train.getOptimizer() || first.getPrecisionAttr() != train.getPrecisionAttr()))
      return train.emitError() << "'" << train.getSymName() << "' trains model '" << model.getSymName()
                               << "' with other settings than '" << first.getSymName() << "'"
                               << note(first.getLoc(), "the other training");
    if (!first)
      first = train;
  }
  auto fillFrom = [&](auto op) {
    if (!given.optimizer)
      given.optimizer = op.getOptimizer();
    if (!given.precision)
      given.precision = op.getPrecisionAttr();
  };
  if (first)
    fillFrom(first);
  fillFrom(model);
  if (!given.optimizer)
    return model.emitError() << "nothing says which optimizer trains model '" << model.getSymName() << "'";
  if (!given.precision)
    return model.emitError() << "nothing says in which precision model '" << model.getSymName() << "' is trained";
  return given;
}

} // namespace

#define GEN_PASS_DEF_BUILDTRAININGGRAPH
#include "passes/train/Passes.h.inc"

namespace {

struct BuildTrainingGraph : impl::BuildTrainingGraphBase<BuildTrainingGraph> {
  using BuildTrainingGraphBase::BuildTrainingGraphBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    TrainingSettings given;
    if (!optimizer.empty() && !(given.optimizer = optimizerFrom(optimizer))) {
      module.emitError() << "there is no optimizer '" << optimizer
                         << "'; there are sgd, momentum, adam and adamw, and none for inference";
      return signalPassFailure();
    }
    if (!precision.empty() && !(given.precision = precisionFrom(precision, &getContext()))) {
      module.emitError() << "there is no precision '" << precision
                         << "'; there are fp32, bf16, fp16, tf32, fp64 and mixed(bf16)";
      return signalPassFailure();
    }
    for (auto model : llvm::make_early_inc_range(module.getOps<dnn::ModelOp>())) {
      FailureOr<TrainingSettings> settings = settingsFor(model, module, given);
      if (failed(settings))
        return signalPassFailure();
      Attribute policy = model->getAttr(kRecomputePolicy);
      FailureOr<dnn::TrainingGraphOp> graph = buildTrainingGraph(model, *settings);
      if (failed(graph))
        return signalPassFailure();
      if (policy)
        (*graph)->setAttr(kRecomputePolicy, policy);
    }
  }
};

} // namespace
} // namespace accord
