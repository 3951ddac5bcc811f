#include "lib/language/syntax/Ast.h"

namespace accord::ast {

llvm::StringRef spelling(BinaryOp op) {
  static constexpr const char *words[] = {"or", "and", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "^"};
  return words[static_cast<size_t>(op)];
}

llvm::StringRef spelling(UnaryOp op) {
  static constexpr const char *words[] = {"-", "+", "not"};
  return words[static_cast<size_t>(op)];
}

llvm::StringRef spelling(DeclarationKind kind) {
  static constexpr const char *words[] = {
      "let",      "accelerator", "cluster", "microarchitecture", "operation", "module", "model", "train",
      "sparsity", "ensemble",    "jobs",    "framework",         "infer",     "tuning"};
  return words[static_cast<size_t>(kind)];
}

std::string withArticle(DeclarationKind kind) {
  llvm::StringRef word = spelling(kind);
  return (llvm::StringRef("aeiou").contains(word[0]) ? "an " : "a ") + word.str();
}

bool runsModel(DeclarationKind kind) { return kind == DeclarationKind::Train || kind == DeclarationKind::Infer; }

} // namespace accord::ast
