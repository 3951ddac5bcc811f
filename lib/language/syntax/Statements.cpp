// Statements of modules and models.
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Builder.h"

namespace accord::syntax {
using P = grammar::DnnParser;

void Builder::body(antlr4::ParserRuleContext *context, std::vector<ast::Statement> &result) {
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.type == P::LBRACE)
      file.layout.blocks.push_back(range(parseChild).begin);
    else if (parseChild.rule == Rule::Statement)
      statement(parseChild.context, result);
  }
}

bool Builder::bind(antlr4::ParserRuleContext *context, ast::Statement &result) {
  ast::Bind bind;
  bind.kind = ast::BindKind::Assign;
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.type == P::LET)
      bind.kind = ast::BindKind::Let;
    else if (parseChild.type == P::VAR)
      bind.kind = ast::BindKind::Var;
    else if (parseChild.type == P::GRADIENT)
      bind.kind = ast::BindKind::Gradient;
    else if (parseChild.type == P::SURROGATE)
      bind.kind = ast::BindKind::Surrogate;
    else if (parseChild.type == P::IDENT)
      bind.names.push_back(name(parseChild));
    else if (parseChild.rule == Rule::Expr)
      bind.value = expr(parseChild.context);
  }
  if (bind.names.empty() || !bind.value)
    return false;
  result.node = std::move(bind);
  return true;
}

void Builder::statement(antlr4::ParserRuleContext *context, std::vector<ast::Statement> &result) {
  ParseChildren parts = parseChildren(context);
  if (parts.empty() || !parts[0].context)
    return;
  ast::Statement made;
  made.range = range(context);
  made.doc = docOf(context);
  start(made.range);
  ParseChildren inner = parseChildren(parts[0].context);
  switch (parts[0].rule) {
  case Rule::Input: {
    ast::Input input;
    for (const ParseChild &parseChild : inner)
      if (parseChild.type == P::IDENT)
        (input.name.empty() ? input.name : input.type) = name(parseChild);
      else if (parseChild.rule == Rule::Expr)
        input.dims.push_back(expr(parseChild.context));
    if (input.type.empty())
      return;
    made.node = std::move(input);
    break;
  }
  case Rule::Bind:
    if (!bind(parts[0].context, made))
      return;
    break;
  case Rule::Repeat: {
    ast::Repeat repeat;
    for (const ParseChild &parseChild : inner)
      if (parseChild.type == P::IDENT)
        repeat.name = name(parseChild);
      else if (parseChild.rule == Rule::Expr)
        repeat.count = expr(parseChild.context);
      else if (parseChild.rule == Rule::Body)
        body(parseChild.context, repeat.body);
    if (!repeat.count)
      return;
    made.node = std::move(repeat);
    break;
  }
  case Rule::Scan: {
    ast::Scan scan;
    bool results = false;
    for (const ParseChild &parseChild : inner)
      if (parseChild.type == P::REVERSE)
        scan.reverse = true;
      else if (parseChild.type == P::ARROW)
        results = true;
      else if (parseChild.type == P::IDENT)
        (results ? scan.results : scan.steps).push_back(name(parseChild));
      else if (parseChild.rule == Rule::Expr)
        scan.sources.push_back(expr(parseChild.context));
      else if (parseChild.rule == Rule::Body)
        body(parseChild.context, scan.body);
    if (scan.sources.empty() || scan.steps.empty())
      return;
    made.node = std::move(scan);
    break;
  }
  case Rule::ForLoop: {
    ast::For loop;
    for (const ParseChild &parseChild : inner)
      if (parseChild.type == P::IDENT)
        loop.variable = name(parseChild);
      else if (parseChild.rule == Rule::Expr)
        loop.range = expr(parseChild.context);
      else if (parseChild.rule == Rule::Body)
        body(parseChild.context, loop.body);
    if (!loop.range)
      return;
    made.node = std::move(loop);
    break;
  }
  case Rule::When: {
    ast::When when;
    ast::ExprPtr condition;
    for (const ParseChild &parseChild : inner)
      if (parseChild.rule == Rule::Expr) {
        condition = expr(parseChild.context);
      } else if (parseChild.rule == Rule::Body) {
        when.branches.push_back({std::move(condition), {}});
        body(parseChild.context, when.branches.back().body);
      }
    if (when.branches.empty())
      return;
    made.node = std::move(when);
    break;
  }
  case Rule::Loss: {
    ast::Loss loss;
    for (const ParseChild &parseChild : inner)
      if (parseChild.rule == Rule::Expr)
        loss.value = expr(parseChild.context);
    if (!loss.value)
      return;
    made.node = std::move(loss);
    break;
  }
  default:
    return;
  }
  result.push_back(std::move(made));
}

} // namespace accord::syntax
