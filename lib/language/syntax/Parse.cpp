// Runs ANTLR on the tokens of a file; nothing it throws leaves this file.
#include "BailErrorStrategy.h"
#include "Exceptions.h"
#include "atn/ParserATNSimulator.h"
#include "grammar/AccelParser.h"
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Builder.h"
#include "lib/language/syntax/KeptParts.h"
#include "lib/language/syntax/Parser.h"
#include "lib/language/syntax/ParserTokens.h"
#include "lib/language/syntax/SyntaxErrors.h"

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

template <class Grammar> class GrammarOf : public DepthChecked<Grammar> {
public:
  GrammarOf(syntax::TokenStream &stream, const std::shared_ptr<antlr4::ANTLRErrorStrategy> &strategy)
      : DepthChecked<Grammar>(&stream) {
    stream.seek(0);
    this->removeErrorListeners();
    this->template getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
        antlr4::atn::PredictionMode::SLL);
    this->setErrorHandler(strategy);
  }
};

/// The first error ends the parse without a word.
class NoErrors : public antlr4::BailErrorStrategy {
  void reportError(antlr4::Parser *, const antlr4::RecognitionException &) override {}
};

/// For files without errors, which is nearly all of them: no check for recovery at every step, and
/// the tree is put together without ANTLR's casts and its growth of lists from nothing.
template <class Grammar> class Quick : public GrammarOf<Grammar> {
public:
  explicit Quick(syntax::TokenStream &stream) : GrammarOf<Grammar>(stream, std::make_shared<NoErrors>()) {
    this->setBuildParseTree(false); // done here
  }

  void enterRule(antlr4::ParserRuleContext *context, size_t state, size_t rule) override {
    context->children.reserve(4);
    if (context->parent)
      context->parent->children.push_back(context);
    GrammarOf<Grammar>::enterRule(context, state, rule);
  }
  antlr4::Token *consume() override {
    antlr4::Token *token = this->_input->LT(1);
    this->_input->consume();
    auto *leaf = this->_tracker.template createInstance<antlr4::tree::TerminalNodeImpl>(token);
    leaf->parent = this->_ctx;
    this->_ctx->children.push_back(leaf);
    return token;
  }
  /// Ends the tree of the last rule called from outside.
  void forget() { this->_tracker.reset(); }
};

/// `file : importLine* (declaration ','?)* EOF`, and the tree of each part is gone before that of
/// the next is made: the tree of a long file does not fit the caches. False at the first error.
template <class Grammar>
bool runQuick(Diagnostics &diags, ast::File &file, const TokenList &list, llvm::ArrayRef<TokenInterval> omitted) {
  syntax::TokenStream stream(list, omitted);
  Quick<Grammar> parser(stream);
  Builder builder(diags, file, list, ruleTable(parser.getRuleNames()), /*clean=*/true);
  try {
    while (stream.LA(1) == Grammar::IMPORT) {
      builder.importLine(parser.importLine());
      parser.forget();
    }
    while (stream.LA(1) != antlr4::Token::EOF) {
      builder.declaration(parser.declaration());
      parser.forget();
      if (stream.LA(1) == Grammar::COMMA)
        stream.consume();
    }
  } catch (const antlr4::ParseCancellationException &) {
    return false;
  }
  return true;
}

/// Forgets what an attempt has understood.
void clear(Diagnostics &diags, ast::File &file, size_t errors) {
  diags.dropErrors(errors);
  file.imports.clear();
  file.declarations.clear();
  file.layout = {};
  file.errorOffsets.clear();
}

template <class Grammar>
void runRecovering(Diagnostics &diags, ast::File &file, const TokenList &list, llvm::ArrayRef<TokenInterval> omitted) {
  syntax::TokenStream stream(list, omitted);
  auto strategy = std::make_shared<ErrorStrategy>(diags, file.id, list);
  GrammarOf<Grammar> parser(stream, strategy);
  antlr4::ParserRuleContext *tree = parser.file();
  if (strategy->reported())
    file.complete = false;
  Builder(diags, file, list, ruleTable(parser.getRuleNames()), /*clean=*/false).build(tree);
  file.errorOffsets.insert(file.errorOffsets.end(), strategy->errorOffsets().begin(), strategy->errorOffsets().end());
}

template <class Grammar> void run(Diagnostics &diags, ast::File &file, const TokenList &list, KeptParts *parts) {
  size_t before = diags.errors();
  bool isClean = true; // as far as is known
  for (bool more = parts && !parts->omitted().empty(); more; more = parts->dropMoved()) {
    isClean = isClean && runQuick<Grammar>(diags, file, list, parts->omitted());
    if (!isClean) {
      clear(diags, file, before);
      runRecovering<Grammar>(diags, file, list, parts->omitted());
    }
    if (parts->insert(file))
      return;
    clear(diags, file, before);
  }
  if (isClean && runQuick<Grammar>(diags, file, list, {}))
    return;
  clear(diags, file, before);
  runRecovering<Grammar>(diags, file, list, {});
}

} // namespace

namespace syntax {
void parseTokens(Diagnostics &diags, ast::File &file, const TokenList &list, KeptParts *parts) {
  try {
    if (file.language == ast::Language::Accel)
      run<grammar::AccelParser>(diags, file, list, parts);
    else
      run<grammar::DnnParser>(diags, file, list, parts);
  } catch (const TooDeep &deep) {
    const Token &token = list.tokens[std::min(deep.token, list.tokens.size() - 1)];
    diags.error(Code::NestedTooDeep, {file.id, token.begin, token.end}, "conditions or expressions nested too deep");
    file.complete = false;
    file.errorOffsets.push_back(0);
  } catch (const std::exception &e) {
    diags.error(Code::InternalError, {file.id, 0, 0}, std::string("the parser failed: ") + e.what());
    file.complete = false;
    file.errorOffsets.push_back(0);
  }
}
} // namespace syntax
} // namespace accord
