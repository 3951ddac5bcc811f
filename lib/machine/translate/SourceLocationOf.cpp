#include "lib/machine/translate/SourceLocationOf.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace accord {

SourceLocation sourceOf(mlir::Location location) {
  SourceLocation found;
  location->walk([&](mlir::Location inner) {
    auto file = llvm::dyn_cast<mlir::FileLineColLoc>(inner);
    if (!file)
      return mlir::WalkResult::advance();
    found = {file.getFilename().str(), file.getLine(), file.getColumn()};
    return mlir::WalkResult::interrupt();
  });
  return found;
}

} // namespace accord
