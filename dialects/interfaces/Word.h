// A bare word in the text of an operation: `tensor`.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

namespace accord {

inline mlir::ParseResult parseWord(mlir::OpAsmParser &parser, mlir::StringAttr &word) {
  llvm::StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return mlir::failure();
  word = parser.getBuilder().getStringAttr(keyword);
  return mlir::success();
}
inline void printWord(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::StringAttr word) {
  printer << word.getValue();
}

} // namespace accord
