// Optimizer and precision as text, and where a model's come from.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/BuiltinOps.h"

namespace accord {

/// "sgd", "momentum", "adam", "adamw"; nullopt otherwise.
std::optional<dnn::OptimizerKind> optimizerFrom(llvm::StringRef text);
/// "fp32", "bf16", "fp16", "tf32", "fp64" (also f32, …), "mixed(bf16)", "mixed(bf16, gradients = fp32)"; null
/// otherwise.
dnn::PrecisionAttr precisionFrom(llvm::StringRef text, mlir::MLIRContext *context);

struct TrainingSettings {
  std::optional<dnn::OptimizerKind> optimizer;
  dnn::PrecisionAttr precision;
};

/// The `dnn.train` that names the model, else the model's own attributes, fill what `given` leaves open. Two trains
/// that disagree and a model without a setting are errors.
mlir::FailureOr<TrainingSettings> settingsFor(dnn::ModelOp model, mlir::ModuleOp module, TrainingSettings given);

} // namespace accord
