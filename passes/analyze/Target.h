// What passes that need costs share: the machine of the module, a graph's work, and lib/'s issues
// as diagnostics.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/machine/model/Machine.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Result.h"
#include "mlir/IR/BuiltinOps.h"

namespace accord {
class Diagnostics;

/// The accelerator called `name`, or the only one of the module when `name` is empty; an error
/// lists what there is.
mlir::FailureOr<Machine> machineNamed(mlir::ModuleOp module, llvm::StringRef name);

/// Each issue at its own place, or at `fallback` when it has none; fails.
llvm::LogicalResult emitErrors(mlir::Operation *fallback, llvm::ArrayRef<Error> errors);

/// The errors and warnings of a file, each at its place; at `fallback` where it has none.
void emitDiagnostics(mlir::Operation *fallback, const Diagnostics &diags);

/// The work of a graph, checked; errors at the graph. `origins` gets the operation of each
/// OperationId.
mlir::FailureOr<WorkGraph> checkedWork(dnn::TrainingGraphOp graph, int64_t microbatch, int64_t microbatches,
                                       std::vector<mlir::Operation *> *origins = nullptr);

} // namespace accord
