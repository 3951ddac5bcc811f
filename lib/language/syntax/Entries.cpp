// Entries of machines, trainings, sparsity, ensembles and jobs.
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Builder.h"

namespace accord::syntax {
using P = grammar::DnnParser;

void Builder::block(antlr4::ParserRuleContext *context, std::vector<ast::Entry> &result, llvm::StringRef of) {
  size_t first = result.size();
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.type == P::LBRACE)
      file.layout.blocks.push_back(range(parseChild).begin);
    else if (parseChild.rule == Rule::Entry)
      entry(parseChild.context, result);
  }
  if (of == "joint_error")
    return;
  for (size_t i = first; i < result.size(); ++i)
    if (auto *node = result[i].as<ast::Node>(); node && !node->more.empty())
      diags.error(Code::SyntaxError, node->more.front().range,
                  "unexpected name '" + node->more.front().text + "' after '" + node->name.text + "'");
}

void Builder::addArguments(antlr4::ParserRuleContext *context, std::vector<ast::Argument> &arguments) {
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.rule != Rule::Argument)
      continue;
    ast::Argument argument;
    for (const ParseChild &part : parseChildren(parseChild.context)) {
      if (part.rule != Rule::Expr)
        continue;
      if (argument.value) { // `name = value`: the first expression is the name
        auto *reference = argument.value->as<ast::Reference>();
        if (reference)
          argument.name = ast::Name{reference->name, argument.value->range};
        else
          diags.error(Code::SyntaxError, argument.value->range, "expected a name before '='").help("'==' compares");
      }
      argument.value = expr(part.context);
    }
    if (argument.value)
      arguments.push_back(std::move(argument));
  }
}

void Builder::clause(antlr4::ParserRuleContext *context, ast::Entry &entry) {
  ParseChildren parts = parseChildren(context);
  if (parts.empty())
    return;
  if (!entry.given)
    entry.given = std::make_unique<ast::Clauses>();
  ast::Clauses &result = *entry.given;
  SourceRange place = range(context);
  auto twice = [&](bool given) {
    if (given)
      diags.error(Code::DuplicateKey, range(parts[0]),
                  "'" + diags.sources().text(range(parts[0])).str() + "' given twice");
  };
  const ParseChild &last = parts.back();
  switch (parts[0].type) {
  case P::SOURCE:
  case P::FROM:
    if (last.type == P::STRING) {
      bool isSource = parts[0].type == P::SOURCE;
      auto &slot = isSource ? result.source : result.from;
      twice(slot.has_value());
      slot = text(last);
      (isSource ? result.sourceRange : result.fromRange) = place;
    }
    return;
  case P::TRANSPOSABLE:
    result.transposable = true;
    return;
  default:
    break;
  }
  if (last.rule != Rule::Chain)
    return;
  ast::ExprPtr *slot = nullptr;
  switch (parts[0].type) {
  case P::PER:
    slot = &result.per;
    break;
  case P::WEIGHT:
    slot = &result.weight;
    break;
  case P::CONFIDENCE:
    slot = &result.confidence;
    break;
  case P::SAMPLES:
    slot = &result.samples;
    break;
  case P::ERROR:
    slot = &result.error;
    break;
  default:
    return;
  }
  twice(*slot != nullptr);
  *slot = chain(last.context);
}

bool Builder::item(antlr4::ParserRuleContext *context, ast::Entry &result) {
  ast::Node node;
  bool onlyValue = true;
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.type == P::ASSIGN)
      continue;
    if (parseChild.rule == Rule::Clause) {
      clause(parseChild.context, result);
      continue;
    }
    if (parseChild.rule == Rule::Expr) {
      node.value = expr(parseChild.context);
      continue;
    }
    if (parseChild.type == P::IDENT && node.kind.empty()) {
      node.kind = name(parseChild);
      continue;
    }
    onlyValue = false;
    if (parseChild.type == P::IDENT) {
      if (node.name.empty())
        node.name = name(parseChild);
      else
        node.more.push_back(name(parseChild));
    } else if (parseChild.type == P::STRING) {
      node.label = text(parseChild);
      node.name.range = range(parseChild);
    } else if (parseChild.rule == Rule::Arguments) {
      node.hasArguments = true;
      addArguments(parseChild.context, node.arguments);
    } else if (parseChild.rule == Rule::Count) {
      for (const ParseChild &part : parseChildren(parseChild.context))
        if (part.rule == Rule::Expr)
          node.count = expr(part.context);
    } else if (parseChild.rule == Rule::Type) {
      for (const ParseChild &part : parseChildren(parseChild.context))
        if (part.type == P::IDENT)
          node.type = name(part);
        else if (part.rule == Rule::Arguments)
          addArguments(part.context, node.typeArguments);
    } else if (parseChild.rule == Rule::Pattern) {
      node.pattern = name(parseChild);
    } else if (parseChild.rule == Rule::Block) {
      node.hasBlock = true;
      block(parseChild.context, node.entries, node.kind.text);
    }
  }
  if (node.kind.empty())
    return false;
  if (onlyValue && node.value) {
    result.node = ast::KeyValue{std::move(node.kind), std::move(node.value)};
    return true;
  }
  result.node = std::make_unique<ast::Node>(std::move(node));
  return true;
}

void Builder::entry(antlr4::ParserRuleContext *context, std::vector<ast::Entry> &result) {
  ParseChildren parts = parseChildren(context);
  if (parts.empty() || !parts[0].context)
    return;
  ast::Entry made;
  made.range = range(context);
  made.doc = docOf(context);
  start(made.range);
  if (parts[0].rule == Rule::Item) {
    if (!item(parts[0].context, made))
      return;
  } else if (parts[0].rule == Rule::Path) {
    ast::Path path;
    for (const ParseChild &parseChild : parseChildren(parts[0].context)) {
      if (parseChild.rule != Rule::Stop)
        continue;
      auto &stop = path.stops.emplace_back();
      for (const ParseChild &part : parseChildren(parseChild.context))
        if (part.type == P::IDENT)
          stop.push_back(name(part));
    }
    made.node = std::move(path);
  } else if (parts[0].rule == Rule::Constraint) {
    ast::Rule rule;
    for (const ParseChild &parseChild : parseChildren(parts[0].context)) {
      if (parseChild.type >= P::REQUIRE && parseChild.type <= P::MINIMIZE)
        rule.kind = static_cast<ast::RuleKind>(parseChild.type - P::REQUIRE);
      else if (parseChild.type == P::LABEL)
        rule.label = name(parseChild);
      else if (parseChild.rule == Rule::Expr)
        rule.expr = expr(parseChild.context);
      else if (parseChild.rule == Rule::Clause)
        clause(parseChild.context, made);
    }
    if (!rule.expr)
      return;
    if (made.clauses().weight && rule.kind != ast::RuleKind::Prefer)
      diags.error(Code::UnexpectedClause, made.clauses().weight->range, "only 'prefer' takes a 'weight'")
          .help("what is required must hold, whatever it weighs");
    made.node = std::move(rule);
  }
  result.push_back(std::move(made));
}

} // namespace accord::syntax
