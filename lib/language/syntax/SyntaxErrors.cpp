#include "lib/language/syntax/SyntaxErrors.h"
#include "Exceptions.h"
#include "FailedPredicateException.h"
#include "InputMismatchException.h"
#include "NoViableAltException.h"
#include "TokenStream.h"
#include "grammar/DnnParser.h"
#include "misc/IntervalSet.h"

namespace accord::syntax {
using P = grammar::DnnParser;
namespace {

bool opens(size_t type) { return type == P::LBRACE || type == P::LPAREN || type == P::LBRACKET; }
bool closes(size_t type) { return type == P::RBRACE || type == P::RPAREN || type == P::RBRACKET; }

/// What ends an expression here, inside of which nearly everything may follow; nothing if this is none.
std::optional<std::string> endOfExpression(const antlr4::misc::IntervalSet &expected, bool startsEntry) {
  auto has = [&](size_t type) { return expected.contains(type); };
  if (!has(P::PLUS) || !has(P::STAR))
    return std::nullopt;
  if (has(P::RPAREN) || has(P::RBRACKET)) {
    std::string bracket = has(P::RPAREN) ? "')'" : "']'";
    return has(P::COMMA) ? "',' or " + bracket : bracket;
  }
  if (has(P::RBRACE))
    return startsEntry ? "the end of this entry" : "',' or '}'";
  return std::nullopt;
}

/// What could have stood here, in the user's words and by what the user most likely wanted to write.
std::string expectation(const antlr4::misc::IntervalSet &expected, const std::string &rule) {
  auto has = [&](size_t type) { return expected.contains(type); };
  bool entry = has(P::REQUIRE) && has(P::IDENT), statement = has(P::REPEAT) && has(P::IDENT);
  if (rule == "file" || rule == "declaration")
    return "a declaration such as 'accelerator name { … }' or 'model name { … }'";
  if (has(P::NUMBER) && has(P::LPAREN))
    return rule == "argument" || rule == "arguments" ? "an argument" : "a value";
  if (has(P::THEN))
    return "'then'";
  if (has(P::ELSE))
    return "'else'";
  if (auto end = endOfExpression(expected, entry || statement))
    return *end;
  std::vector<std::string> parts;
  if (entry)
    parts.push_back("an entry such as 'name = value'");
  if (statement)
    parts.push_back("a statement such as 'let name = value'");
  // At the start of an entry or a statement only its end is worth naming beside it.
  static constexpr std::pair<size_t, const char *> tokens[] = {
      {P::IDENT, "a name"}, {P::ASSIGN, "'='"}, {P::COLON, "':'"},  {P::LBRACE, "'{'"},
      {P::RBRACE, "'}'"},   {P::LPAREN, "'('"}, {P::RPAREN, "')'"}, {P::COMMA, "','"},
      {P::RBRACKET, "']'"}, {P::ARROW, "'->'"}, {P::RANGE, "'..'"}, {P::STRING, "a text in quotes"},
      {P::IN, "'in'"},      {P::AS, "'as'"}};
  for (const auto &[type, words] : tokens)
    if (has(type) && (type == P::RBRACE || !(entry || statement)))
      parts.push_back(words);
  if (parts.size() > 4)
    parts.resize(4);
  std::string result;
  for (size_t i = 0; i < parts.size(); ++i)
    result += (i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + parts[i];
  return result.empty() ? "something else" : result;
}

} // namespace

ErrorStrategy::ErrorStrategy(Diagnostics &diags, FileId file, const TokenList &list)
    : diags(diags), file(file), list(list), partner(list.tokens.size()) {
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < list.tokens.size(); ++i)
    if (opens(list.tokens[i].type))
      open.push_back(i);
    else if (closes(list.tokens[i].type) && !open.empty()) {
      partner[open.back()] = i;
      open.pop_back();
    }
}

void ErrorStrategy::report(antlr4::Parser *parser, antlr4::Token *at, const antlr4::misc::IntervalSet &expected) {
  bool again = !places.empty();
  size_t index = at->getTokenIndex();
  bool atEnd = index >= list.tokens.size();
  places.push_back(atEnd ? ~0u : list.tokens[index].begin);
  if (atEnd && (list.tokens.empty() || again))
    return; // what is missing at the end follows from what was not understood before
  const Token &token = atEnd ? list.tokens.back() : list.tokens[index];
  uint32_t line = atEnd ? ~0u : token.line;
  if (line == lastLine)
    return;
  lastLine = line;
  // Brackets that were added or dropped are already reported, and what follows from them is noise.
  if (!list.brackets && (atEnd || token.begin == token.end))
    return;
  SourceRange range{file, atEnd ? token.end : token.begin, token.end};
  if (!atEnd && token.type == P::IMPORT) {
    diags.error(Code::MisplacedImport, range, "imports stand before the first declaration")
        .help("move this line to the top of the file");
    return;
  }
  if (!atEnd && diags.sources().text(range) == "step")
    for (size_t back = 1; back <= std::min<size_t>(index, 8); ++back)
      if (list.tokens[index - back].type == P::POW2) {
        diags.error(Code::BadStep, range, "powers of two take no step");
        return;
      }
  const std::string &rule = parser->getRuleNames()[parser->getContext()->getRuleIndex()];
  std::string message = "expected " + expectation(expected, rule) + ", found ";
  if (atEnd)
    message += "the end of the file";
  else
    message += "'" + diags.sources().text({file, token.begin, token.end}).take_front(60).str() + "'";
  auto error = diags.error(Code::SyntaxError, range, message);
  // The block this happened in, if it is not on the same line.
  if (!atEnd && token.type == P::IDENT) {
    llvm::StringRef word = diags.sources().text(range);
    if (word == "def" || word == "const" || word == "fn")
      error.help("values are bound with 'let name = value'");
  }
  if (!atEnd && token.type == P::ASSIGN && (expected.contains(size_t(P::EQ)) || rule == "when"))
    error.help("'==' compares, '=' binds");
}

void ErrorStrategy::reportNoViableAlternative(antlr4::Parser *parser, const antlr4::NoViableAltException &e) {
  report(parser, e.getOffendingToken(), parser->getExpectedTokens());
}
void ErrorStrategy::reportInputMismatch(antlr4::Parser *parser, const antlr4::InputMismatchException &e) {
  report(parser, e.getOffendingToken(), e.getExpectedTokens());
}
void ErrorStrategy::reportFailedPredicate(antlr4::Parser *parser, const antlr4::FailedPredicateException &e) {
  report(parser, e.getOffendingToken(), parser->getExpectedTokens());
}
void ErrorStrategy::reportUnwantedToken(antlr4::Parser *parser) {
  if (inErrorRecoveryMode(parser))
    return;
  beginErrorCondition(parser);
  report(parser, parser->getCurrentToken(), getExpectedTokens(parser));
}
void ErrorStrategy::reportMissingToken(antlr4::Parser *parser) { reportUnwantedToken(parser); }

void ErrorStrategy::sync(antlr4::Parser *parser) {
  const std::string &rule = parser->getRuleNames()[parser->getContext()->getRuleIndex()];
  if (rule != "block" && rule != "body" && rule != "file")
    return DefaultErrorStrategy::sync(parser);
  // A list of entries goes on at its next entry, whatever stood between: ANTLR would leave the
  // block at a missing ','.
  const antlr4::atn::ATN &atn = parser->getATN();
  antlr4::misc::IntervalSet next = atn.nextTokens(atn.states[parser->getState()]);
  if (next.contains(antlr4::Token::EPSILON) || next.contains(parser->getCurrentToken()->getType()))
    return;
  reportUnwantedToken(parser);
  consumeUntil(parser, next);
}

void ErrorStrategy::consumeUntil(antlr4::Parser *parser, const antlr4::misc::IntervalSet &set) {
  while (true) {
    size_t index = parser->getCurrentToken()->getTokenIndex();
    if (index >= list.tokens.size())
      return;
    const Token &token = list.tokens[index];
    if (set.contains(size_t{token.type}) && (token.first || closes(token.type) || token.type == P::COMMA))
      return;
    // A whole bracket is skipped: what is in it belongs to the part that was not understood.
    size_t last = opens(token.type) && partner[index] > index ? partner[index] : index;
    for (; index <= last && index < list.tokens.size(); index = parser->getCurrentToken()->getTokenIndex())
      parser->consume();
  }
}

} // namespace accord::syntax
