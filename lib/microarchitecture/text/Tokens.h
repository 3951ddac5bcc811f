// Words, numbers and signs of programs as text.
#pragma once
#include "lib/support/Result.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace accord::microarchitecture {

/// Line and column from 1; a column is a character (code point), not a byte.
struct TextPlace {
  uint32_t line = 0, column = 0;
};

struct Token {
  enum class Kind : uint8_t {
    Word,   ///< letters, digits, `_` and `.`; no digit first
    Number, ///< decimal, or 0x and hexadecimal; at most 2^63
    Quoted, ///< a name between quotes; \" \\ and \n stand for a quote, a backslash and a new line
    Sign,   ///< one character
    Line,   ///< end of a line
    End     ///< of the text
  };
  Kind kind = Kind::End;
  TextPlace place;
  std::string text;   ///< of a word, a sign, a number as written; of a quoted name without the quotes
  uint64_t value = 0; ///< of a number

  bool is(char sign) const { return kind == Kind::Sign && text[0] == sign; }
  bool isWord(llvm::StringRef word) const { return kind == Kind::Word && text == word; }
  bool isName() const { return kind == Kind::Word || kind == Kind::Quoted; }
  bool ends() const { return kind == Kind::Line || kind == Kind::End; }
};

/// All tokens, the last of kind End. Comments reach from `//` to the end of the line, where `assembly` also from `#` or
/// `;`. What is no token is an error (A0003, A0004, A0205), and left out.
std::vector<Token> tokens(llvm::StringRef text, const std::string &file, bool assembly, Errors &errors);

/// "'mac'", "number 4", "end of the line": as messages say what was found.
std::string found(const Token &token);

/// Whether a name is one word, so that it needs no quotes.
bool isPlainWord(llvm::StringRef name);
/// A name as it stands in a text: between quotes unless it is one word.
std::string nameText(llvm::StringRef name);

} // namespace accord::microarchitecture
