#include "passes/analyze/Target.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/machine/model/Check.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/EmitError.h"

using namespace mlir;

namespace accord {

FailureOr<Machine> machineNamed(ModuleOp module, StringRef name) {
  SmallVector<accel::AcceleratorOp> all(module.getOps<accel::AcceleratorOp>());
  for (accel::AcceleratorOp accelerator : all)
    if (accelerator.getSymName() == name || (name.empty() && all.size() == 1))
      return machineFrom(accelerator);
  InFlightDiagnostic error = module.emitError();
  if (name.empty())
    error << (all.empty() ? "the module has no accelerator"
                          : "the module has several accelerators, say which: 'machine=name'");
  else
    error << "the module has no accelerator '" << name << "'";
  for (accel::AcceleratorOp accelerator : all)
    error.attachNote(accelerator.getLoc()) << "'" << accelerator.getSymName() << "' is described here";
  return failure();
}

static Location placeOf(mlir::Operation *fallback, const SourceLocation &at) {
  if (at.file.empty())
    return fallback->getLoc();
  return FileLineColLoc::get(fallback->getContext(), at.file, at.line, at.column);
}

LogicalResult emitErrors(mlir::Operation *fallback, ArrayRef<Error> issues) {
  for (const Error &issue : issues) {
    InFlightDiagnostic error = accord::emitError(placeOf(fallback, issue.location), issue.code);
    error << issue.message;
    for (const auto &[at, message] : issue.notes)
      error.attachNote(placeOf(fallback, at)) << message;
  }
  return failure();
}

void emitDiagnostics(mlir::Operation *fallback, const Diagnostics &diags) {
  for (const Diagnostic &one : diags.sorted()) {
    Location at = fallback->getLoc();
    if (one.range.valid()) {
      Position position = diags.sources().position(one.range);
      at = FileLineColLoc::get(fallback->getContext(), diags.sources().path(one.range.file), position.line,
                               position.column);
    }
    if (one.severity == Severity::Error)
      accord::emitError(at, one.code) << one.message;
    else
      mlir::emitWarning(at) << one.message;
  }
}

FailureOr<WorkGraph> checkedWork(dnn::TrainingGraphOp graph, int64_t microbatch, int64_t microbatches,
                                 std::vector<mlir::Operation *> *origins) {
  if (microbatch < 1)
    return graph.emitError() << "a micro-batch of " << microbatch << " samples; it has at least 1";
  std::string error;
  std::optional<WorkGraph> work = workGraphFrom(graph, microbatch, microbatches, error, origins);
  if (!work)
    return graph.emitError() << error;
  if (Errors issues = check(*work); !issues.empty())
    return emitErrors(graph, issues);
  return std::move(*work);
}

} // namespace accord
