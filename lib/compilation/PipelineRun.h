// Runs a pipeline that is registered under a name, and keeps what its passes say.
#pragma once
#include "lib/support/Result.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class PassManager;
}

namespace accord {

/// What the passes of one run said.
struct PipelineRun {
  /// Errors in their order; one whose pass states no code (`withCode`) is internal. A run that failed has at least one.
  Errors errors;
  std::vector<std::string> remarks;
};

/// Runs a pipeline, as text, on a module. Dialects must be loaded and passes registered.
PipelineRun runPipeline(mlir::ModuleOp module, const std::string &pipeline);
/// The same for passes that are already in a manager.
PipelineRun runPasses(mlir::ModuleOp module, mlir::PassManager &passes);

/// Why a text is not a pipeline; empty if it is one.
std::string pipelineError(mlir::MLIRContext &context, const std::string &pipeline);

} // namespace accord
