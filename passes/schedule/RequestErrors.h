// Errors of a phase that works on a request: for the caller with their places, or as diagnostics of MLIR.
#pragma once
#include "lib/support/Diagnostics.h"
#include "lib/support/EmitError.h"
#include "mlir/IR/Operation.h"

namespace accord {

/// What is reported here becomes diagnostics of MLIR at its end, unless the caller has diagnostics of its own.
class RequestErrors {
public:
  RequestErrors(Diagnostics *given, mlir::Operation *op) : own(sources), given(given), op(op) {}
  ~RequestErrors() {
    if (given)
      return;
    for (const Diagnostic &one : own.sorted()) {
      mlir::Location at = op->getLoc();
      if (one.range.valid()) {
        Position position = sources.position(one.range);
        at = mlir::FileLineColLoc::get(op->getContext(), sources.path(one.range.file), position.line, position.column);
      }
      if (one.severity == Severity::Error)
        emitError(at, one.code) << one.message;
      else
        mlir::emitWarning(at) << one.message;
    }
  }
  Diagnostics &diagnostics() { return given ? *given : own; }

private:
  SourceManager sources;
  Diagnostics own;
  Diagnostics *given;
  mlir::Operation *op;
};

} // namespace accord
