// Notes of an error, said with the error in one statement.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include <string>
#include <utility>

namespace accord {

/// What is to be seen at another place: `op.emitError() << "…" << note(first.getLoc(), "the first one is here")`.
struct Note {
  mlir::Location at;
  std::string text;
};
template <typename... Parts> Note note(mlir::Location at, Parts &&...parts) {
  mlir::Diagnostic made(at, mlir::DiagnosticSeverity::Note);
  ((made << std::forward<Parts>(parts)), ...);
  return {at, made.str()};
}
inline mlir::InFlightDiagnostic &&operator<<(mlir::InFlightDiagnostic &&error, Note &&note) {
  error.attachNote(note.at) << note.text;
  return std::move(error);
}

} // namespace accord
