// Training graph -> plain data, at one micro-batch size.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class Operation;
}
namespace accord {
namespace dnn {
class TrainingGraphOp;
}

/// The work of one training step with `microbatch` samples at a time, `microbatches` times.
/// Weights, gradient buffers and optimizer states become residents; a value that is stashed for the
/// backward pass lives in its stash; a value that only feeds a gradient buffer is written there
/// directly (and reads it when micro-batches accumulate). nullopt when a size passes 2^63: `error`
/// names the operation. `origins`, if given, gets the operation of the graph that each OperationId
/// stands for.
std::optional<WorkGraph> workGraphFrom(dnn::TrainingGraphOp graph, int64_t microbatch, int64_t microbatches,
                                       std::string &error, std::vector<mlir::Operation *> *origins = nullptr);

/// Fills the `accesses` of every operation of `work`, which was made from `graph`.
void describeAccesses(WorkGraph &work, dnn::TrainingGraphOp graph);

} // namespace accord
