// Runs ANTLR on the tokens of a file; nothing it throws leaves this file.
#include "CommonTokenStream.h"
#include "ListTokenSource.h"
#include "atn/ParserATNSimulator.h"
#include "grammar/AccelParser.h"
#include "grammar/DnnParser.h"
#include "lib/syntax/Builder.h"
#include "lib/syntax/Parser.h"
#include "lib/syntax/SyntaxErrors.h"

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

std::vector<std::unique_ptr<antlr4::Token>> antlrTokens(const TokenList &list) {
  std::vector<std::unique_ptr<antlr4::Token>> result;
  result.reserve(list.tokens.size() + 1);
  for (const syntax::Token &token : list.tokens) {
    auto made = std::make_unique<antlr4::CommonToken>(token.type);
    made->setStartIndex(token.begin);
    made->setStopIndex(token.end - 1);
    made->setLine(token.line);
    result.push_back(std::move(made));
  }
  result.push_back(std::make_unique<antlr4::CommonToken>(antlr4::Token::EOF));
  return result;
}

template <class Grammar> void run(Diagnostics &diags, ast::File &file, const TokenList &list) {
  antlr4::ListTokenSource source(antlrTokens(list));
  antlr4::CommonTokenStream stream(&source);
  DepthChecked<Grammar> parser(&stream);
  parser.removeErrorListeners();
  parser.template getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
      antlr4::atn::PredictionMode::SLL);
  auto strategy = std::make_shared<ErrorStrategy>(diags, file.id, list);
  parser.setErrorHandler(strategy);
  antlr4::ParserRuleContext *tree = parser.file();
  if (strategy->reported())
    file.complete = false;
  Builder(diags, file, list, ruleTable(parser.getRuleNames())).build(tree);
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
