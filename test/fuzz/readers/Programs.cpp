#include "test/fuzz/readers/Programs.h"
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/language/program/Elaborate.h"
#include "lib/language/syntax/Format.h"
#include "lib/language/syntax/Parser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"

namespace accord::fuzz {

/// Types and attributes are never freed, so a context serves only so many inputs.
static mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> current;
  static unsigned served = 0;
  if (!current || ++served == 500) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    current = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    current->printOpOnDiagnostic(false);
    current->loadAllAvailableDialects();
    served = 0;
  }
  return *current;
}

void readProgram(std::string_view text, const std::string &path) {
  SourceManager sources;
  Diagnostics diags(sources);
  sources.add(path, std::string(text));
  ElaborateOptions options;
  options.catalog = ACCORD_SOURCE_DIR "/lib/catalog";
  mlir::ScopedDiagnosticHandler leaks(&context(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      broken("an error reaches the user as MLIR's own: " + d.str());
    return mlir::success();
  });
  Program whole(diags, context(), path, options);
  if (!diags.hasErrors())
    whole.checkAll();
  expectPlaces(diags, false);
}

void expectProgram(const std::string &text) {
  SourceManager sources;
  Diagnostics diags(sources);
  FileId file = sources.add("imported.dnn", text);
  parse(diags, file);
  if (diags.hasErrors())
    broken("what is imported is no program: " + diags.text());
}

} // namespace accord::fuzz
