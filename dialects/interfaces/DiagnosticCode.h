// The stable code of an error ("A0516") as data of an MLIR diagnostic, so that whoever receives it need not read its words.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace accord {

/// Adds the code to a diagnostic that is being made: `withCode(op->emitError(), "A0516") << "…"`.
inline mlir::InFlightDiagnostic withCode(mlir::InFlightDiagnostic &&diagnostic, llvm::StringRef code) {
  if (mlir::Diagnostic *made = diagnostic.getUnderlyingDiagnostic(); made && !code.empty())
    made->getMetadata().push_back(
        mlir::DiagnosticArgument(mlir::StringAttr::get(made->getLocation().getContext(), code)));
  return std::move(diagnostic);
}

/// The code that `withCode` added; empty where there is none.
inline std::string codeOf(mlir::Diagnostic &diagnostic) {
  for (mlir::DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      if (auto code = llvm::dyn_cast<mlir::StringAttr>(argument.getAsAttribute()))
        return code.str();
  return {};
}

} // namespace accord
