// The tokens of a file as the parser gets them: brackets balanced, units joined to their numbers,
// contextual words marked. Internal to lib/syntax.
#pragma once
#include "lib/language/syntax/Ast.h"
#include "lib/support/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include <vector>

namespace accord::syntax {

struct Token {
  uint32_t begin = 0, end = 0;
  uint32_t line = 1;
  uint16_t type = 0;  ///< a constant of the generated parsers, the same in both
  bool first = false; ///< of its line
};

struct TokenList {
  std::vector<Token> tokens; ///< without comments and without the end of the file
  std::vector<ast::Comment> comments;
  llvm::DenseMap<uint32_t, std::string> docs; ///< documentation comment before the token of this index
  bool brackets = true;                       ///< false if some had to be added or dropped
};

/// Tokens of a list by their indices, half-open.
struct TokenInterval {
  size_t begin = 0, end = 0;
};

/// The words only the language knows: `import`, `step`, … get their token types in `mark`.
/// Steps, in order: split the text into tokens; repair brackets; mark words; join units.
/// Each reports its errors and goes on. False if the file cannot be parsed at all (nested too
/// deep).
bool tokenize(Diagnostics &diags, FileId file, ast::Language language, TokenList &result);

struct Scanned {
  uint16_t type; ///< a token rule of Common.g4
  size_t end;    ///< of the token, in bytes
};
/// The token that starts at byte `at` of UTF-8 text, where no blank is: the longest match of the
/// token rules of Common.g4.
Scanned scan(llvm::StringRef text, size_t at);
/// Splits the text, reporting characters and texts that are none.
std::vector<Token> lex(Diagnostics &diags, FileId file, std::vector<ast::Comment> &comments);
/// Drops closing brackets without partner, adds missing ones. False if nested deeper than
/// kMaxDepth.
bool balance(Diagnostics &diags, FileId file, std::vector<Token> &tokens, bool &balanced);
/// Gives contextual words their type and joins `else if`.
void markWords(llvm::StringRef text, ast::Language language, std::vector<Token> &tokens);
/// Whether some place gives the word a meaning; elsewhere it is a name.
bool isContextualWord(llvm::StringRef word, ast::Language language);
/// The name or number at the start of `text`, or "" if another thing stands there.
llvm::StringRef leadingAtom(llvm::StringRef text);
/// Whether `body`, the text of a comment after a value, is what follows a division: a number, or one of `names`, which
/// are those of the file, and then nothing, a bracket that is open, or more of an expression.
bool readsAsDivisor(llvm::StringRef body, bool inBracket, const llvm::StringSet<> &names);
/// 16 GiB, 64 B/cycle: one token.
void joinUnits(llvm::StringRef text, ast::Language language, std::vector<Token> &tokens);

/// What the formatter needs to know of a token type.
ast::Layout::Kind layoutKind(size_t type);

constexpr unsigned kMaxDepth = 256;

} // namespace accord::syntax
