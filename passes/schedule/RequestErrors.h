// Errors of a phase that works on a request: for the caller with their places, or as diagnostics of MLIR.
#pragma once
#include "lib/support/Diagnostics.h"
#include "passes/analyze/Target.h"

namespace accord {

/// What is reported here becomes diagnostics of MLIR at its end, unless the caller has diagnostics of its own.
class RequestErrors {
public:
  RequestErrors(Diagnostics *given, mlir::Operation *op) : own(sources), given(given), op(op) {}
  ~RequestErrors() {
    if (!given)
      emitDiagnostics(op, own);
  }
  Diagnostics &diagnostics() { return given ? *given : own; }

private:
  SourceManager sources;
  Diagnostics own;
  Diagnostics *given;
  mlir::Operation *op;
};

} // namespace accord
