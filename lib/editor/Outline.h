// The structure of a file: what it declares, what can be folded, and what its words are.
#pragma once
#include "lib/editor/Diagnose.h"
#include "lib/editor/Names.h"

namespace accord::editor {

struct Symbol {
  std::string name, detail;
  ast::DeclarationKind kind = ast::DeclarationKind::Constant; ///< of the declaration that it is, or is a part of
  bool isPart = false;
  SourceRange range, nameRange;
  std::vector<Symbol> parts;
};
/// Declarations of the main file, with the parts of machines, jobs and members.
std::vector<Symbol> outline(const Snapshot &snapshot);

/// A declaration of a program.
struct FoundSymbol {
  std::string name;
  ast::DeclarationKind kind;
  FilePlace at;
};
/// Declarations of the file and of all that it imports, directly or not, whose names have `query` (in lower case) in
/// them; an empty one finds all.
std::vector<FoundSymbol> symbolsOf(Snapshot &snapshot, llvm::StringRef query);

/// First and last line (from 0) of what can be folded: blocks, lists over several lines, comments over several lines.
struct Fold {
  uint32_t begin = 0, end = 0;
  bool isComment = false;
};
std::vector<Fold> folds(Snapshot &snapshot);

/// Kinds of words, in the order of the protocol's legend.
enum class TokenKind : uint8_t {
  Keyword,
  Type,
  Function,
  Method,
  Property,
  Parameter,
  Variable,
  Namespace,
  EnumMember,
  Number,
  String,
  Comment
};
/// Names of the kinds, as editors know them.
llvm::ArrayRef<const char *> tokenKindNames();

struct ColouredToken {
  SourceRange range;
  TokenKind kind;
  bool isDeclaration = false;
};
/// In the order of their places; none overlaps another, and none goes over the end of a line.
std::vector<ColouredToken> tokensOf(Snapshot &snapshot);

} // namespace accord::editor
