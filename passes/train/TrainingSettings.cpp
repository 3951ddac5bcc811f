#include "passes/train/TrainingSettings.h"

using namespace mlir;

namespace accord {

std::optional<dnn::OptimizerKind> optimizerFrom(StringRef text) {
  auto kind = dnn::symbolizeOptimizerKind(text);
  return kind == dnn::OptimizerKind::RowwiseAdagrad ? std::nullopt : kind; // of tables alone
}

static Type formatFrom(StringRef text, MLIRContext *context) {
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

FailureOr<TrainingSettings> settingsFor(dnn::ModelOp model, ModuleOp module, TrainingSettings given) {
  dnn::TrainOp first;
  for (auto train : module.getOps<dnn::TrainOp>()) {
    if (train.getModel() != model.getSymName())
      continue;
    if (first && (!given.optimizer || !given.precision) &&
        (first.getOptimizer() != train.getOptimizer() || first.getPrecisionAttr() != train.getPrecisionAttr())) {
      InFlightDiagnostic error = train.emitError()
                                 << "'" << train.getSymName() << "' trains model '" << model.getSymName()
                                 << "' with other settings than '" << first.getSymName() << "'";
      error.attachNote(first.getLoc()) << "the other training";
      return error;
    }
    if (!first)
      first = train;
  }
  if (!given.optimizer && first)
    given.optimizer = first.getOptimizer();
  if (!given.optimizer)
    given.optimizer = model.getOptimizer();
  if (!given.precision && first)
    given.precision = first.getPrecisionAttr();
  if (!given.precision)
    given.precision = model.getPrecisionAttr();
  if (!given.optimizer)
    return model.emitError() << "nothing says which optimizer trains model '" << model.getSymName() << "'";
  if (!given.precision)
    return model.emitError() << "nothing says in which precision model '" << model.getSymName() << "' is trained";
  return given;
}

} // namespace accord
