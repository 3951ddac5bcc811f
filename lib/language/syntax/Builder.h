// ANTLR's parse tree -> our tree, written once for both grammars. Internal to lib/language/syntax.
#pragma once
#include "ParserRuleContext.h"
#include "lib/language/syntax/Tokens.h"
#include "llvm/ADT/SmallVector.h"

namespace accord::syntax {

/// The rules of a generated parser as those of the same name in the parser of `.dnn`, which has all of them.
std::vector<size_t> ruleTable(const std::vector<std::string> &names);

class Builder {
public:
  /// `clean`: of trees without errors, in which every rule has a token.
  Builder(Diagnostics &diags, ast::File &file, const TokenList &list, std::vector<size_t> rules, bool clean)
      : diags(diags), file(file), list(list), rules(std::move(rules)), clean(clean) {}
  /// A whole file, or its parts one by one.
  void build(antlr4::ParserRuleContext *tree);
  void importLine(antlr4::ParserRuleContext *context);
  void declaration(antlr4::ParserRuleContext *context);

private:
  /// A child: a rule with its context, or a token with its index.
  struct ParseChild {
    antlr4::ParserRuleContext *context = nullptr;
    size_t rule = ~size_t{0}, token = ~size_t{0}, type = ~size_t{0};
  };
  using ParseChildren = llvm::SmallVector<ParseChild, 8>;
  /// The children; those that stand for errors are left out.
  ParseChildren parseChildren(antlr4::ParserRuleContext *context) const;
  SourceRange range(const ParseChild &parseChild) const;
  SourceRange range(antlr4::ParserRuleContext *context) const;
  ast::Name name(const ParseChild &parseChild) const;
  std::string docOf(antlr4::ParserRuleContext *context);
  /// Notes the start of something that stands on its own line, for the formatter.
  void start(SourceRange range) { file.layout.starts.push_back(range.begin); }
  ast::Text text(const ParseChild &parseChild);
  void addArguments(antlr4::ParserRuleContext *context, std::vector<ast::Argument> &arguments);

  // Declarations.
  void buildDeclaration(antlr4::ParserRuleContext *context);
  /// Where the parts of a declaration's first line stand that not every kind takes.
  struct HeadRanges {
    llvm::StringRef relation; ///< "of", "for", "on", or empty
    SourceRange relationAt, valueAt, parametersAt;
    bool hasBlock = false;
  };
  void describe(antlr4::ParserRuleContext *context, ast::Declaration &result);
  void checkHead(const ast::Declaration &result, const HeadRanges &head);
  void module(antlr4::ParserRuleContext *context, ast::Declaration &result);
  void indices(antlr4::ParserRuleContext *context, std::vector<ast::Name> &result);
  void reportOperands(const ast::Declaration &declaration);
  void parameters(antlr4::ParserRuleContext *context, std::vector<ast::Parameter> &result);
  // Entries.
  void block(antlr4::ParserRuleContext *context, std::vector<ast::Entry> &result, llvm::StringRef of = {});
  void entry(antlr4::ParserRuleContext *context, std::vector<ast::Entry> &result);
  bool item(antlr4::ParserRuleContext *context, ast::Entry &result);
  void clause(antlr4::ParserRuleContext *context, ast::Entry &entry);
  // Statements: those of one kind are false where the text was wrong.
  void body(antlr4::ParserRuleContext *context, std::vector<ast::Statement> &result);
  void statement(antlr4::ParserRuleContext *context, std::vector<ast::Statement> &result);
  bool input(antlr4::ParserRuleContext *context, ast::Statement &result);
  bool bind(antlr4::ParserRuleContext *context, ast::Statement &result);
  bool repeat(antlr4::ParserRuleContext *context, ast::Statement &result);
  bool scan(antlr4::ParserRuleContext *context, ast::Statement &result);
  bool forLoop(antlr4::ParserRuleContext *context, ast::Statement &result);
  bool when(antlr4::ParserRuleContext *context, ast::Statement &result);
  bool loss(antlr4::ParserRuleContext *context, ast::Statement &result);
  // Expressions.cpp: never null; where the text was wrong, an invalid number stands.
  ast::ExprPtr expr(antlr4::ParserRuleContext *context);
  ast::ExprPtr chain(antlr4::ParserRuleContext *context);
  ast::ExprPtr operand(antlr4::ParserRuleContext *context);
  ast::ExprPtr primary(antlr4::ParserRuleContext *context);
  ast::ExprPtr braces(const ParseChildren &parseChildren, SourceRange range);
  ast::ExprPtr number(const ParseChild &parseChild);
  ast::ExprPtr invalid(SourceRange range);
  template <class T> ast::ExprPtr make(SourceRange range, T node) {
    auto result = std::make_unique<ast::Expr>();
    result->range = range;
    result->node = std::move(node);
    return result;
  }
  friend class ChainBuilder;

  Diagnostics &diags;
  ast::File &file;
  const TokenList &list;
  std::vector<size_t> rules;
  bool clean;
};

} // namespace accord::syntax
