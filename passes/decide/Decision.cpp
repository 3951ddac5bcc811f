#include "passes/decide/Decision.h"
#include "passes/analyze/Target.h"

using namespace mlir;

namespace accord {

Options sessionOptions(StringRef file, StringRef target, StringRef train, StringRef costModel) {
  Options options;
  options.file = file.str();
  options.elaborate.target = target.str();
  options.elaborate.train = train.str();
  options.costModel = costModel.str();
  return options;
}

LogicalResult reportSession(ModuleOp module, Session &session, bool decided) {
  emitDiagnostics(module, session.diagnostics());
  if (session.diagnostics().hasErrors())
    return failure();
  if (!decided)
    return module.emitError("nothing was decided: see the errors above");
  return success();
}

void beginParts(OpBuilder &builder, mlir::Operation *decision, ArrayRef<std::string> assumptions, StringRef conflict) {
  builder.setInsertionPointToEnd(&decision->getRegion(0).emplaceBlock());
  for (const std::string &assumption : assumptions)
    plan::AssumptionOp::create(builder, builder.getUnknownLoc(), assumption);
  if (!conflict.empty())
    plan::ConflictOp::create(builder, builder.getUnknownLoc(), conflict, "");
}

} // namespace accord
