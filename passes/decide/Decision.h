// What the passes of this folder share: the session that decides, and the operation that its decision becomes.
#pragma once
#include "dialects/plan/PlanDialect.h"
#include "lib/driver/Session.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace accord {

/// At the end of a module, with a decision of an earlier run of this name removed.
template <class Decision> mlir::OpBuilder decisionBuilder(mlir::ModuleOp module, llvm::StringRef name) {
  if (auto before = module.lookupSymbol<Decision>(name))
    before.erase();
  return mlir::OpBuilder::atBlockEnd(module.getBody());
}

/// The options of a session for a file and a training of it.
Options sessionOptions(llvm::StringRef file, llvm::StringRef target, llvm::StringRef train, llvm::StringRef costModel);

/// What a session reported, as diagnostics of MLIR; what has no place is at the module. Fails, and says that there is
/// no decision where it reported no error. Warnings alone: succeeds where `decided`.
llvm::LogicalResult reportSession(mlir::ModuleOp module, Session &session, bool decided);

/// The builder moves into the decision, whose assumptions and conflict are written first.
void beginParts(mlir::OpBuilder &builder, mlir::Operation *decision, llvm::ArrayRef<std::string> assumptions,
                llvm::StringRef conflict = {});

} // namespace accord
