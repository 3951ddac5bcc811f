// ANTLR's recovery and its messages in plain sentences. Internal to lib/language/syntax.
#pragma once
#include "DefaultErrorStrategy.h"
#include "Parser.h"
#include "lib/language/syntax/Tokens.h"

namespace accord::syntax {

/// Thrown out of the parser when rules nest too deep; caught in Parse.cpp.
struct TooDeep {
  size_t token;
};

/// After an error the parser goes on at the next line, ',' or closing bracket, and one line gives
/// one error.
class ErrorStrategy : public antlr4::DefaultErrorStrategy {
public:
  ErrorStrategy(Diagnostics &diags, FileId file, const TokenList &list);
  bool reported() const { return !places.empty(); }
  /// First bytes of the tokens that were not expected, those included that no error was shown for; ~0 for the end.
  const std::vector<uint32_t> &errorOffsets() const { return places; }

  void reportNoViableAlternative(antlr4::Parser *parser, const antlr4::NoViableAltException &e) override;
  void reportInputMismatch(antlr4::Parser *parser, const antlr4::InputMismatchException &e) override;
  void reportFailedPredicate(antlr4::Parser *parser, const antlr4::FailedPredicateException &e) override;
  void reportUnwantedToken(antlr4::Parser *parser) override;
  void reportMissingToken(antlr4::Parser *parser) override;
  void sync(antlr4::Parser *parser) override;
  bool singleTokenInsertion(antlr4::Parser *parser) override { return false; }
  void consumeUntil(antlr4::Parser *parser, const antlr4::misc::IntervalSet &set) override;

private:
  void report(antlr4::Parser *parser, antlr4::Token *token, const antlr4::misc::IntervalSet &expected);

  Diagnostics &diags;
  FileId file;
  const TokenList &list;
  std::vector<uint32_t> partner; ///< of an opening bracket: the token that closes it
  std::vector<uint32_t> places;
  uint32_t lastLine = 0;
};

} // namespace accord::syntax
