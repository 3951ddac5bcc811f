// The part of ANTLR's meta-language that grammars without embedded code use.
#include "test/fuzz/Grammar.h"
#include <cctype>

namespace accord::fuzz {

class GrammarReader {
public:
  GrammarReader(std::string_view text, Grammar &into) : text(text), into(into) {}

  void run() {
    for (skip(); at < text.size(); skip()) {
      std::string word = name();
      if (word.empty()) {
        if (text[at] == '@')
          skipTo('{'), balanced('{', '}');
        else
          ++at;
      } else if (word == "tokens") {
        declaredTokens();
      } else if (word == "options" || word == "channels") {
        skipTo('{'), balanced('{', '}');
      } else if (word == "grammar" || word == "lexer" || word == "parser" || word == "import" || word == "mode") {
        skipTo(';'), ++at;
      } else if (word != "fragment") {
        rule(word);
      }
    }
  }

private:
  char peek() { return skip(), at < text.size() ? text[at] : '\0'; }

  void skip() {
    while (at < text.size()) {
      if (std::isspace(static_cast<unsigned char>(text[at]))) {
        ++at;
      } else if (text.substr(at, 2) == "//") {
        at = std::min(text.find('\n', at), text.size());
      } else if (text.substr(at, 2) == "/*") {
        size_t end = text.find("*/", at);
        at = end == std::string_view::npos ? text.size() : end + 2;
      } else {
        return;
      }
    }
  }
  void skipTo(char c) { at = std::min(text.find(c, at), text.size()); }

  void balanced(char open, char close) {
    int depth = 0;
    for (; at < text.size(); ++at) {
      depth += text[at] == open ? 1 : text[at] == close ? -1 : 0;
      if (depth == 0) {
        ++at;
        return;
      }
    }
  }

  std::string name() {
    skip();
    size_t begin = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
      ++at;
    return std::string(text.substr(begin, at - begin));
  }

  /// Tokens without a rule are made in lib/syntax from words: CROSS is an `x`, QUANTITY a number
  /// and a unit, a LABEL any name, every other one the word itself.
  void declaredTokens() {
    skipTo('{'), ++at;
    for (std::string token = name(); !token.empty(); token = name()) {
      std::string word;
      for (char c : token)
        word += c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      Element body{Element::Literal, token == "CROSS" ? "x" : word, {}, 0};
      if (token == "LABEL")
        body = {Element::Rule, "IDENT", {}, 0};
      if (token == "QUANTITY") {
        body = {};
        for (const char *part : {"1 GHz", "16 GiB", "900 GB/s", "64 B/cycle", "3.9 pJ/bit", "8 cycles", "312 TFLOP/s",
                                 "1.5e-3 s", "600 mm2", "4.10 USD/h", "1_000 W", "0.5 MB"})
          body.children.push_back({Element::Literal, part, {}, 0});
        body.kind = Element::Alternatives;
      }
      into.rules.try_emplace(token, std::move(body));
      if (peek() == ',')
        ++at;
    }
    skipTo('}'), ++at;
  }

  void rule(const std::string &called) {
    skipTo(':'), ++at;
    Element body = alternatives();
    if (peek() == ';')
      ++at;
    if (into.first.empty() && std::islower(static_cast<unsigned char>(called[0])))
      into.first = called;
    into.rules.try_emplace(called, std::move(body));
  }

  Element alternatives() {
    Element result{Element::Alternatives, {}, {}, 0};
    result.children.push_back(sequence());
    while (peek() == '|') {
      ++at;
      result.children.push_back(sequence());
    }
    return result;
  }

  Element sequence() {
    Element result;
    for (char c = peek(); c && c != '|' && c != ';' && c != ')'; c = peek()) {
      if (c == '#') { // a label of the alternative
        ++at, name();
      } else if (text.substr(at, 2) == "->") { // skip, channel(HIDDEN), …
        while (at < text.size() && text[at] != ';' && text[at] != '|')
          ++at;
      } else if (c == '{') {
        balanced('{', '}');
        if (peek() == '?')
          ++at;
      } else if (c == '<') {
        skipTo('>'), ++at;
      } else {
        size_t before = at;
        Element part = atom();
        if (char suffix = peek(); suffix == '?' || suffix == '*' || suffix == '+') {
          part.repeat = suffix, ++at;
          if (peek() == '?')
            ++at;
        }
        result.children.push_back(std::move(part));
        if (at == before)
          ++at;
      }
    }
    return result;
  }

  Element atom() {
    char c = peek();
    if (c == '(') {
      ++at;
      Element group = alternatives();
      if (peek() == ')')
        ++at;
      return group;
    }
    if (c == '\'') {
      std::string low = literal();
      if (text.substr(at, 2) != "..")
        return {Element::Literal, low, {}, 0};
      at += 2, skip();
      std::string high = literal(), all;
      for (int b = static_cast<unsigned char>(low[0]); b <= static_cast<unsigned char>(high[0]); ++b)
        all += static_cast<char>(b);
      return {Element::Characters, all, {}, 0};
    }
    if (c == '[')
      return {Element::Characters, set(), {}, 0};
    if (c == '.')
      return ++at, Element{Element::Characters, complement(""), {}, 0};
    if (c == '~') {
      ++at;
      Element without = atom();
      std::string no = without.text;
      for (const Element &alternative : without.children)
        for (const Element &part : alternative.children)
          no += part.text;
      return {Element::Characters, complement(no), {}, 0};
    }
    std::string word = name();
    skip();
    if (at < text.size() && (text[at] == '=' || text.substr(at, 2) == "+=")) {
      at += text[at] == '=' ? 1 : 2;
      return atom();
    }
    return {word.empty() ? Element::Sequence : Element::Rule, word, {}, 0};
  }

  char escaped() {
    char c = text[at++];
    if (c != '\\' || at >= text.size())
      return c;
    c = text[at++];
    if (c == 'u') { // every character beyond ASCII is one and the same here
      if (at < text.size() && text[at] == '{')
        balanced('{', '}');
      else
        at = std::min(at + 4, text.size());
      return '\x7f';
    }
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'f' ? '\f' : c;
  }

  std::string literal() {
    std::string result;
    for (++at; at < text.size() && text[at] != '\'';)
      result += escaped();
    ++at;
    return result;
  }

  std::string set() {
    std::string result;
    for (++at; at < text.size() && text[at] != ']';) {
      char low = escaped();
      if (at + 1 < text.size() && text[at] == '-' && text[at + 1] != ']') {
        ++at;
        char high = escaped();
        for (int b = static_cast<unsigned char>(low); b <= static_cast<unsigned char>(high); ++b)
          result += static_cast<char>(b);
      } else {
        result += low;
      }
    }
    ++at;
    return result;
  }

  static std::string complement(const std::string &without) {
    std::string result;
    for (char c = ' '; c < '\x7f'; ++c)
      if (without.find(c) == std::string::npos)
        result += c;
    return result.empty() ? " " : result;
  }

  std::string_view text;
  Grammar &into;
  size_t at = 0;
};

void Grammar::read(std::string_view text) {
  GrammarReader(text, *this).run();
  computeCosts();
}

} // namespace accord::fuzz
