// Statements of modules and models.
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Builder.h"

namespace accord::syntax {
using P = grammar::DnnParser;

void Builder::body(antlr4::ParserRuleContext *context, std::vector<ast::Statement> &result) {
  for (const Kid &kid : kids(context)) {
    if (kid.type == P::LBRACE)
      file.layout.blocks.push_back(range(kid).begin);
    else if (kid.rule == Rule::Statement)
      statement(kid.context, result);
  }
}

bool Builder::bind(antlr4::ParserRuleContext *context, ast::Statement &result) {
  ast::Bind bind;
  bind.kind = ast::BindKind::Assign;
  for (const Kid &kid : kids(context)) {
    if (kid.type == P::LET)
      bind.kind = ast::BindKind::Let;
    else if (kid.type == P::VAR)
      bind.kind = ast::BindKind::Var;
    else if (kid.type == P::GRADIENT)
      bind.kind = ast::BindKind::Gradient;
    else if (kid.type == P::SURROGATE)
      bind.kind = ast::BindKind::Surrogate;
    else if (kid.type == P::IDENT)
      bind.names.push_back(name(kid));
    else if (kid.rule == Rule::Expr)
      bind.value = expr(kid.context);
  }
  if (bind.names.empty() || !bind.value)
    return false;
  result.node = std::move(bind);
  return true;
}

void Builder::statement(antlr4::ParserRuleContext *context, std::vector<ast::Statement> &result) {
  Kids parts = kids(context);
  if (parts.empty() || !parts[0].context)
    return;
  ast::Statement made;
  made.range = range(context);
  made.doc = docOf(context);
  start(made.range);
  Kids inner = kids(parts[0].context);
  switch (parts[0].rule) {
  case Rule::Input: {
    ast::Input input;
    for (const Kid &kid : inner)
      if (kid.type == P::IDENT)
        (input.name.empty() ? input.name : input.type) = name(kid);
      else if (kid.rule == Rule::Expr)
        input.dims.push_back(expr(kid.context));
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
    for (const Kid &kid : inner)
      if (kid.type == P::IDENT)
        repeat.name = name(kid);
      else if (kid.rule == Rule::Expr)
        repeat.count = expr(kid.context);
      else if (kid.rule == Rule::Body)
        body(kid.context, repeat.body);
    if (!repeat.count)
      return;
    made.node = std::move(repeat);
    break;
  }
  case Rule::Scan: {
    ast::Scan scan;
    bool results = false;
    for (const Kid &kid : inner)
      if (kid.type == P::REVERSE)
        scan.reverse = true;
      else if (kid.type == P::ARROW)
        results = true;
      else if (kid.type == P::IDENT)
        (results ? scan.results : scan.steps).push_back(name(kid));
      else if (kid.rule == Rule::Expr)
        scan.sources.push_back(expr(kid.context));
      else if (kid.rule == Rule::Body)
        body(kid.context, scan.body);
    if (scan.sources.empty() || scan.steps.empty())
      return;
    made.node = std::move(scan);
    break;
  }
  case Rule::ForLoop: {
    ast::For loop;
    for (const Kid &kid : inner)
      if (kid.type == P::IDENT)
        loop.variable = name(kid);
      else if (kid.rule == Rule::Expr)
        loop.range = expr(kid.context);
      else if (kid.rule == Rule::Body)
        body(kid.context, loop.body);
    if (!loop.range)
      return;
    made.node = std::move(loop);
    break;
  }
  case Rule::When: {
    ast::When when;
    ast::ExprPtr condition;
    for (const Kid &kid : inner)
      if (kid.rule == Rule::Expr) {
        condition = expr(kid.context);
      } else if (kid.rule == Rule::Body) {
        when.branches.push_back({std::move(condition), {}});
        body(kid.context, when.branches.back().body);
      }
    if (when.branches.empty())
      return;
    made.node = std::move(when);
    break;
  }
  case Rule::Loss: {
    ast::Loss loss;
    for (const Kid &kid : inner)
      if (kid.rule == Rule::Expr)
        loss.value = expr(kid.context);
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
