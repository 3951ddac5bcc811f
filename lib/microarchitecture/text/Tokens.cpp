#include "lib/microarchitecture/text/Tokens.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

bool startsWord(char c) { return isAlpha(c) || c == '_'; }
bool inWord(char c) { return isAlnum(c) || c == '_' || c == '.'; }

class Scanner {
public:
  Scanner(StringRef text, const std::string &file, bool assembly, Errors &errors)
      : text(text), file(file), assembly(assembly), errors(errors) {}

  std::vector<Token> run() {
    while (at < text.size())
      next();
    push(Token::Kind::End, "");
    return std::move(all);
  }

private:
  char here(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  void error(Code code, std::string message) {
    if (errors.size() < 100)
      errors.push_back({code, std::move(message), {file, place.line, place.column}});
  }

  /// A token of the next bytes, or of none; moves on.
  Token &push(Token::Kind kind, StringRef bytes) {
    all.push_back({kind, place, bytes.str(), 0});
    skip(bytes.size());
    return all.back();
  }
  void skip(size_t bytes) {
    for (const size_t end = at + bytes; at < end; ++at)
      place.column += (uint8_t(text[at]) & 0xc0) != 0x80;
  }

  void next() {
    const char c = here();
    if (c == '\n') {
      all.push_back({Token::Kind::Line, place, "", 0});
      ++at, ++place.line, place.column = 1;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      skip(1);
    } else if ((c == '/' && here(1) == '/') || (assembly && (c == '#' || c == ';'))) {
      skip(std::min(text.find('\n', at), text.size()) - at);
    } else if (startsWord(c) || (assembly && c == '.')) {
      push(Token::Kind::Word, text.substr(at).take_while(inWord));
    } else if (isDigit(c)) {
      number();
    } else if (c == '"') {
      quoted();
    } else if (StringRef("{}[]():,+-*").contains(c) || (!assembly && (c == '=' || c == ';'))) {
      push(Token::Kind::Sign, text.substr(at, 1));
    } else {
      size_t length = 1;
      while ((uint8_t(here(length)) & 0xc0) == 0x80)
        ++length;
      error(Code::BadCharacter, isPrint(c) ? fmt::format("'{}' means nothing here", c)
                                           : fmt::format("a character means nothing here (byte 0x{:02x})", uint8_t(c)));
      skip(length);
    }
  }

  void number() {
    const bool isHex = here() == '0' && (here(1) == 'x' || here(1) == 'X') && isHexDigit(here(2));
    StringRef digits =
        text.substr(at + (isHex ? 2 : 0)).take_while([&](char c) { return isHex ? isHexDigit(c) : isDigit(c); });
    uint64_t value = 0;
    if (digits.getAsInteger(isHex ? 16 : 10, value) || value > uint64_t(1) << 63) {
      error(Code::NumberTooLarge, "a number is at most 2^63");
      value = 0;
    }
    push(Token::Kind::Number, text.substr(at, digits.size() + (isHex ? 2 : 0))).value = value;
  }

  void quoted() {
    std::string name;
    size_t end = at + 1;
    for (; end < text.size() && text[end] != '"' && text[end] != '\n'; ++end) {
      const bool isEscape = text[end] == '\\' && end + 1 < text.size() && text[end + 1] != '\n';
      if (isEscape)
        ++end;
      name += isEscape && text[end] == 'n' ? '\n' : text[end];
    }
    const bool isClosed = end < text.size() && text[end] == '"';
    if (!isClosed)
      error(Code::UnclosedText, "a quoted name does not end in its line");
    push(Token::Kind::Quoted, text.slice(at, end + isClosed)).text = name;
  }

  StringRef text;
  const std::string &file;
  const bool assembly;
  Errors &errors;
  size_t at = 0;
  TextPlace place{1, 1};
  std::vector<Token> all;
};

} // namespace

std::vector<Token> tokens(StringRef text, const std::string &file, bool assembly, Errors &errors) {
  return Scanner(text, file, assembly, errors).run();
}

std::string found(const Token &token) {
  switch (token.kind) {
  case Token::Kind::Line:
    return "the end of the line";
  case Token::Kind::End:
    return "the end of the text";
  case Token::Kind::Number:
    return fmt::format("the number {}", token.text);
  case Token::Kind::Quoted:
    return fmt::format("\"{}\"", token.text);
  default:
    return fmt::format("'{}'", token.text);
  }
}

bool isPlainWord(StringRef name) { return !name.empty() && startsWord(name[0]) && all_of(name, inWord); }

std::string nameText(StringRef name) {
  if (isPlainWord(name))
    return name.str();
  std::string quoted = "\"";
  for (char c : name)
    quoted += c == '\n' ? std::string("\\n") : c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return quoted + "\"";
}

} // namespace accord::microarchitecture
