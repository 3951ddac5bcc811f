#include "lib/syntax/Ast.h"

namespace accord::ast {

llvm::StringRef spelling(BinaryOp op) {
  static constexpr const char *words[] = {"or", "and", "==", "!=", "<", "<=", ">",
                                          ">=", "+",   "-",  "*",  "/", "%",  "^"};
  return words[static_cast<size_t>(op)];
}

llvm::StringRef spelling(UnaryOp op) {
  static constexpr const char *words[] = {"-", "+", "not"};
  return words[static_cast<size_t>(op)];
}

llvm::StringRef spelling(DeclarationKind kind) {
  static constexpr const char *words[] = {"let",      "accelerator", "cluster", "microarchitecture",
                                          "module",   "model",       "train",   "sparsity",
                                          "ensemble", "jobs"};
  return words[static_cast<size_t>(kind)];
}

} // namespace accord::ast
