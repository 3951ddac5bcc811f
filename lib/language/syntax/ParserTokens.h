// Our tokens as ANTLR reads them: without ANTLR's buffer, channels and a string for each token.
// Internal to lib/syntax.
#pragma once
#include "Token.h"
#include "TokenStream.h"
#include "lib/language/syntax/Tokens.h"

namespace accord::syntax {

class ParserToken final : public antlr4::Token {
public:
  ParserToken(size_t type, size_t index, uint32_t line)
      : type(static_cast<uint32_t>(type)), index(static_cast<uint32_t>(index)), line(line) {}
  size_t getType() const override {
    return type == kEnd ? antlr4::Token::EOF : type; // ANTLR's end is the largest size_t
  }
  size_t getTokenIndex() const override { return index; }
  size_t getLine() const override { return line; }
  // What follows is asked for only by ANTLR's own messages, which are never made.
  std::string getText() const override { return {}; }
  size_t getCharPositionInLine() const override { return 0; }
  size_t getChannel() const override { return antlr4::Token::DEFAULT_CHANNEL; }
  size_t getStartIndex() const override { return index; }
  size_t getStopIndex() const override { return index; }
  antlr4::TokenSource *getTokenSource() const override { return nullptr; }
  antlr4::CharStream *getInputStream() const override { return nullptr; }
  std::string toString() const override { return {}; }

private:
  static constexpr auto kEnd = static_cast<uint32_t>(antlr4::Token::EOF);
  uint32_t type, index, line;
};

/// The tokens of a list, without those that are left out, and the end of the file behind them; a token's index is that
/// in the list.
class TokenStream final : public antlr4::TokenStream {
public:
  explicit TokenStream(const TokenList &list, llvm::ArrayRef<TokenInterval> omitted = {}) {
    size_t count = list.tokens.size();
    for (const TokenInterval &one : omitted)
      count -= one.end - one.begin;
    tokens.reserve(count + 1);
    for (size_t i = 0; i < list.tokens.size(); ++i) {
      if (!omitted.empty() && omitted.front().begin == i) {
        i = omitted.front().end - 1;
        omitted = omitted.drop_front();
        continue;
      }
      tokens.emplace_back(list.tokens[i].type, i, list.tokens[i].line);
    }
    tokens.emplace_back(antlr4::Token::EOF, list.tokens.size(), 0);
  }
  void consume() override { at += at + 1 < tokens.size(); }
  antlr4::Token *LT(ssize_t k) override {
    if (k > 0)
      return &tokens[std::min(at + static_cast<size_t>(k) - 1, tokens.size() - 1)];
    auto back = static_cast<size_t>(-k);
    return k < 0 && back <= at ? &tokens[at - back] : nullptr;
  }
  size_t LA(ssize_t k) override {
    antlr4::Token *token = LT(k);
    return token ? token->getType() : antlr4::Token::INVALID_TYPE;
  }
  antlr4::Token *get(size_t index) const override { return &tokens[index]; }
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  size_t index() override { return at; }
  void seek(size_t index) override { at = std::min(index, tokens.size() - 1); }
  size_t size() override { return tokens.size(); }
  antlr4::TokenSource *getTokenSource() const override { return nullptr; }
  std::string getSourceName() const override { return {}; }
  std::string getText(const antlr4::misc::Interval &) override { return {}; }
  std::string getText() override { return {}; }
  std::string getText(antlr4::RuleContext *) override { return {}; }
  std::string getText(antlr4::Token *, antlr4::Token *) override { return {}; }

private:
  mutable std::vector<ParserToken> tokens; // ANTLR takes pointers that it never writes through
  size_t at = 0;
};

} // namespace accord::syntax
