// Runs ANTLR on the tokens of a file; nothing it throws leaves this file.
#include "BailErrorStrategy.h"
#include "Exceptions.h"
#include "atn/ParserATNSimulator.h"
#include "grammar/AccelParser.h"
#include "grammar/DnnParser.h"
#include "lib/syntax/Builder.h"
#include "lib/syntax/Parser.h"
#include "lib/syntax/SyntaxErrors.h"
#include "lib/syntax/ParserTokens.h"

namespace accord {
namespace {
using namespace syntax;

/// Deeper nesting of rules than any bracket limit allows: `if` inside `if` without brackets.
constexpr unsigned kMaxRules = 4000;

template <class Grammar> class DepthChecked : public Grammar {
public:
  using Grammar::Grammar;
  // Leaving a rule is not virtual in ANTLR, so what was left is found when the next one is entered.
  void enterRule(antlr4::ParserRuleContext *context, size_t state, size_t rule) override {
    while (!open.empty() && open.back() != context->parent)
      open.pop_back();
    open.push_back(context);
    if (open.size() > kMaxRules)
      throw TooDeep{this->getCurrentToken()->getTokenIndex()};
    Grammar::enterRule(context, state, rule);
  }

private:
  std::vector<antlr4::tree::ParseTree *> open;
};

/// For files without errors, which is nearly all of them: no check for recovery at every step, and
/// the first error ends the parse without a word.
class NoErrors : public antlr4::BailErrorStrategy {
  void reportError(antlr4::Parser *, const antlr4::RecognitionException &) override {}
};

template <class Grammar> class GrammarOf : public DepthChecked<Grammar> {
public:
  GrammarOf(syntax::TokenStream &stream, std::shared_ptr<antlr4::ANTLRErrorStrategy> strategy)
      : DepthChecked<Grammar>(&stream) {
    stream.seek(0);
    this->removeErrorListeners();
    this->template getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
        antlr4::atn::PredictionMode::SLL);
    this->setErrorHandler(std::move(strategy));
  }
};

template <class Grammar> void run(Diagnostics &diags, ast::File &file, const TokenList &list) {
  syntax::TokenStream stream(list);
  auto build = [&](Grammar &parser, antlr4::ParserRuleContext *tree) {
    Builder(diags, file, list, ruleTable(parser.getRuleNames())).build(tree);
  };
  {
    GrammarOf<Grammar> parser(stream, std::make_shared<NoErrors>());
    antlr4::ParserRuleContext *tree = nullptr;
    try {
      tree = parser.file();
    } catch (const antlr4::ParseCancellationException &) {
    }
    if (tree)
      return build(parser, tree);
  }
  auto strategy = std::make_shared<ErrorStrategy>(diags, file.id, list);
  GrammarOf<Grammar> parser(stream, strategy);
  antlr4::ParserRuleContext *tree = parser.file();
  if (strategy->reported())
    file.complete = false;
  build(parser, tree);
}

} // namespace

namespace syntax {
void parseTokens(Diagnostics &diags, ast::File &file, const TokenList &list) {
  try {
    if (file.language == ast::Language::Accel)
      run<grammar::AccelParser>(diags, file, list);
    else
      run<grammar::DnnParser>(diags, file, list);
  } catch (const TooDeep &deep) {
    const Token &token = list.tokens[std::min(deep.token, list.tokens.size() - 1)];
    diags.error(Code::NestedTooDeep, {file.id, token.begin, token.end},
                "conditions or expressions nested too deep");
    file.complete = false;
  } catch (const std::exception &e) {
    diags.error(Code::InternalError, {file.id, 0, 0},
                std::string("the parser failed: ") + e.what());
    file.complete = false;
  }
}
} // namespace syntax
} // namespace accord
