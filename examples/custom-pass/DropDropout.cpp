// A pass: training without dropout, so that one sees what dropout costs.
#include "Plugin.h"
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace accord;

namespace {

/// Replaces the result of each `dnn.dropout` by its operand. It runs on a `dnn.model`: what is not
/// there when the training graph is built has no gradient and stashes no mask.
///
/// Before:  %y, %mask = dnn.dropout %x {rate = 0.1 : f64} : …
///          %z = dnn.gelu %y : …
/// After:   %z = dnn.gelu %x : …
struct DropDropout : mlir::PassWrapper<DropDropout, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropDropout)

  llvm::StringRef getArgument() const override { return "drop-dropout"; }
  llvm::StringRef getDescription() const override { return "remove dropout from models"; }

  void runOnOperation() override {
    bool failed = false;
    getOperation().walk([&](dnn::DropoutOp dropout) {
      if (!dropout.getMask().use_empty()) {
        // A training graph: the backward pass, and perhaps a stash, hold on to the mask.
        mlir::InFlightDiagnostic error = dropout.emitError() << "the mask of '" << dnn::nameOf(dropout)
                                                             << "' is used: run 'drop-dropout' on the model, before "
                                                                "'build-training-graph'";
        error.attachNote((*dropout.getMask().user_begin())->getLoc()) << "it is used here";
        failed = true;
        return;
      }
      dropout.getY().replaceAllUsesWith(dropout.getX());
      dropout.erase();
    });
    if (failed)
      signalPassFailure();
  }
};

} // namespace

void custom::registerDropDropout() { mlir::PassRegistration<DropDropout>(); }
