// From a model to the graph of a training step: forward, both gradients and the update.
#pragma once
#include "dialects/dnn/Dnn.h"

namespace accord {

/// What a training says of all parameters of its model.
struct TrainingSettings {
  std::optional<dnn::OptimizerKind> optimizer;
  dnn::PrecisionAttr precision;
};

/// Replaces the model by its training graph; with the optimizer `none`, by a forward pass alone, as its
/// `dnn::ForwardOptions` say. `settings` are complete. Fails, with an error at the operation, where a
/// parameter does not reach the loss, an operation has no gradient, or a table cannot have the sparse gradient that its
/// lookups ask for.
llvm::FailureOr<dnn::TrainingGraphOp> buildTrainingGraph(dnn::ModelOp model, const TrainingSettings &settings);

} // namespace accord
