// A file as the formatter sees it: entries of tokens, nested blocks, and comments where they stand.
// Internal.
#pragma once
#include "lib/language/syntax/Ast.h"

namespace accord::syntax {

struct FormatItem;

struct FormatBlock {
  bool oneLine = false;    ///< written on one line
  std::string openComment; ///< after '{' on its line
  std::vector<FormatItem> items;
};

struct FormatPiece {
  enum class Kind : uint8_t { Token, Block, TrailingComment, OwnComment };
  Kind kind;
  std::string text; ///< of a token (units and `else if` already in their form) or a comment
  ast::Layout::Kind token = ast::Layout::Kind::Symbol;
  FormatBlock block;
};

/// An entry, statement, declaration or import; or a comment on lines of its own.
struct FormatItem {
  bool comment = false;
  bool blankBefore = false;
  bool comma = false;        ///< a comma was written after it
  bool commentReads = false; ///< without that comma the comment after it would read as the rest of a division
  std::vector<FormatPiece> pieces;
};

std::vector<FormatItem> formatTree(const SourceManager &sources, const ast::File &file);

} // namespace accord::syntax
