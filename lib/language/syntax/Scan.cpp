// The token rules of Common.g4, one character at a time. ANTLR's generated lexer makes the same
// tokens at ten times the cost; test/lib/language/ScanTest.cpp holds the two together, so the grammar stays
// the definition.
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Tokens.h"
#include "lib/support/Number.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace accord::syntax {
using P = grammar::DnnParser;
namespace {

bool isNameByte(char c) { return llvm::isAlnum(c) || c == '_'; }

uint16_t wordType(llvm::StringRef word) {
  if (word.size() < 2 || word.size() > 5)
    return P::IDENT;
  return llvm::StringSwitch<uint16_t>(word)
      .Case("if", P::IF)
      .Case("then", P::THEN)
      .Case("else", P::ELSE)
      .Case("and", P::AND)
      .Case("or", P::OR)
      .Case("not", P::NOT)
      .Case("true", P::TRUE)
      .Case("false", P::FALSE)
      .Default(P::IDENT);
}

size_t numberEnd(llvm::StringRef text, size_t at) {
  if (llvm::StringRef hexadecimal = leadingHexadecimal(text.substr(at)); !hexadecimal.empty())
    return at + hexadecimal.size();
  auto digit = [&](size_t i) { return i < text.size() && llvm::isDigit(text[i]); };
  auto digits = [&](size_t i) {
    while (digit(i))
      ++i;
    return i;
  };
  while (digit(at) || (at < text.size() && text[at] == '_'))
    ++at;
  if (at < text.size() && text[at] == '.' && digit(at + 1))
    at = digits(at + 1);
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t exponent = at + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-'))
      ++exponent;
    if (digit(exponent))
      at = digits(exponent);
  }
  return at;
}

/// After the opening quote. An escape takes its character with it, but never a line end.
Scanned string(llvm::StringRef text, size_t at) {
  auto ends = [&](size_t i) { return i >= text.size() || text[i] == '\r' || text[i] == '\n'; };
  while (!ends(at) && text[at] != '"') {
    if (text[at] == '\\') {
      if (ends(at + 1))
        break;
      ++at;
    }
    ++at;
  }
  if (!ends(at) && text[at] == '"')
    return {P::STRING, at + 1};
  return {P::OPEN_STRING, at};
}

Scanned symbol(llvm::StringRef text, size_t at) {
  char next = at + 1 < text.size() ? text[at + 1] : '\0';
  auto either = [&](char second, uint16_t both, uint16_t one) {
    return next == second ? Scanned{both, at + 2} : Scanned{one, at + 1};
  };
  static constexpr llvm::StringLiteral kSingle = "{}()[],:+*%^";
  static constexpr uint16_t kSingleTypes[] = {P::LBRACE, P::RBRACE, P::LPAREN, P::RPAREN, P::LBRACKET, P::RBRACKET,
                                              P::COMMA,  P::COLON,  P::PLUS,   P::STAR,   P::PERCENT,  P::CARET};
  if (size_t single = kSingle.find(text[at]); single != llvm::StringRef::npos)
    return {kSingleTypes[single], at + 1};
  switch (text[at]) {
  case '-':
    return either('>', P::ARROW, P::MINUS);
  case '.':
    return either('.', P::RANGE, P::DOT);
  case '=':
    return either('=', P::EQ, P::ASSIGN);
  case '!':
    return either('=', P::NE, P::OTHER);
  case '<':
    return either('=', P::LE, P::LT);
  case '>':
    return either('=', P::GE, P::GT);
  case '/':
    if (next == '/')
      return {P::COMMENT, std::min(text.find_first_of("\r\n", at), text.size())};
    return {P::SLASH, at + 1};
  default:
    break;
  }
  // One character of any other kind, with all of its bytes.
  for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;)
    ++at;
  return {P::OTHER, at};
}

} // namespace

Scanned scan(llvm::StringRef text, size_t at) {
  char c = text[at];
  if (llvm::isAlpha(c) || c == '_') {
    size_t end = at + 1;
    while (end < text.size() && isNameByte(text[end]))
      ++end;
    return {wordType(text.slice(at, end)), end};
  }
  if (llvm::isDigit(c))
    return {P::NUMBER, numberEnd(text, at)};
  return c == '"' ? string(text, at + 1) : symbol(text, at);
}

} // namespace accord::syntax
