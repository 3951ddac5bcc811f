// MLIR errors that carry their code: as metadata of the diagnostic, so that whoever listens reads the code instead of
// guessing it from the text.
#pragma once
#include "lib/support/ErrorCodes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include <optional>
#include <utility>

namespace accord {

inline mlir::InFlightDiagnostic withCode(mlir::InFlightDiagnostic error, Code code) {
  if (mlir::Diagnostic *diagnostic = error.getUnderlyingDiagnostic())
    diagnostic->getMetadata().push_back(mlir::DiagnosticArgument(static_cast<unsigned>(code)));
  return error;
}

inline mlir::InFlightDiagnostic emitError(mlir::Location at, Code code) { return withCode(mlir::emitError(at), code); }
inline mlir::InFlightDiagnostic emitError(mlir::Operation *op, Code code) { return withCode(op->emitError(), code); }

/// An error of type inference, which is silent where nobody gave a place.
template <typename... Arguments>
mlir::LogicalResult emitOptionalError(std::optional<mlir::Location> at, Code code, Arguments &&...arguments) {
  return at ? emitError(*at, code).append(std::forward<Arguments>(arguments)...) : mlir::failure();
}

/// The code that an error carries; `otherwise` for the errors of MLIR's own verifiers, which carry none.
inline Code codeOf(mlir::Diagnostic &error, Code otherwise) {
  for (const mlir::DiagnosticArgument &argument : error.getMetadata())
    if (argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::Unsigned)
      return static_cast<Code>(argument.getAsUnsigned());
  return otherwise;
}

} // namespace accord
