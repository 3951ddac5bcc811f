#include "lib/language/syntax/Builder.h"
#include "grammar/DnnParser.h"
#include "tree/TerminalNodeImpl.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace accord::syntax {
using P = grammar::DnnParser;

std::vector<size_t> ruleTable(const std::vector<std::string> &names) {
  static const std::vector<std::string> known = P(nullptr).getRuleNames();
  std::vector<size_t> result;
  for (const std::string &name : names)
    result.push_back(llvm::find(known, name) - known.begin());
  return result;
}

Builder::ParseChildren Builder::parseChildren(antlr4::ParserRuleContext *context) const {
  ParseChildren result;
  for (antlr4::tree::ParseTree *child : context->children) {
    ParseChild parseChild;
    // Asking for the type is dear, and seldom needed: tokens have no children.
    bool token = clean ? child->children.empty() : typeid(*child) == typeid(antlr4::tree::TerminalNodeImpl);
    auto *rule = token   ? nullptr
                 : clean ? static_cast<antlr4::ParserRuleContext *>(child)
                         : dynamic_cast<antlr4::ParserRuleContext *>(child);
    if (rule) {
      // A rule that failed before its first token has nothing to say.
      if (rule->children.empty())
        continue;
      parseChild.context = rule;
      parseChild.rule = rules[rule->getRuleIndex()];
    } else if (!token) {
      continue; // an error node
    } else {
      antlr4::Token *symbol = static_cast<antlr4::tree::TerminalNode *>(child)->getSymbol();
      parseChild.token = symbol->getTokenIndex();
      parseChild.type = symbol->getType();
      if (parseChild.token >= list.tokens.size())
        continue;
    }
    result.push_back(parseChild);
  }
  return result;
}

SourceRange Builder::range(const ParseChild &parseChild) const {
  if (parseChild.context)
    return range(parseChild.context);
  return {file.id, list.tokens[parseChild.token].begin, list.tokens[parseChild.token].end};
}

SourceRange Builder::range(antlr4::ParserRuleContext *context) const {
  size_t last = list.tokens.size() - 1;
  size_t from = std::min(context->start ? context->start->getTokenIndex() : 0, last);
  size_t to = std::min(context->stop ? context->stop->getTokenIndex() : from, last);
  return {file.id, list.tokens[from].begin, list.tokens[std::max(from, to)].end};
}

ast::Name Builder::name(const ParseChild &parseChild) const {
  SourceRange place = range(parseChild);
  return {diags.sources().text(place).str(), place};
}

std::string Builder::docOf(antlr4::ParserRuleContext *context) {
  return context->start ? list.docs.lookup(static_cast<uint32_t>(context->start->getTokenIndex())) : std::string();
}

ast::Text Builder::text(const ParseChild &parseChild) {
  llvm::StringRef raw = diags.sources().text(range(parseChild));
  raw.consume_front("\"");
  ast::Text result;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '"')
      break;
    if (raw[i] == '\\' && i + 1 < raw.size()) {
      ++i;
      result.value += raw[i] == 'n' ? '\n' : raw[i] == 't' ? '\t' : raw[i];
    } else {
      result.value += raw[i];
    }
  }
  return result;
}

void Builder::build(antlr4::ParserRuleContext *tree) {
  for (const ParseChild &parseChild : parseChildren(tree)) {
    if (parseChild.rule == P::RuleImportLine)
      importLine(parseChild.context);
    else if (parseChild.rule == P::RuleDeclaration)
      declaration(parseChild.context);
  }
}

// ---- Imports and declarations

void Builder::importLine(antlr4::ParserRuleContext *context) {
  start(range(context));
  for (const ParseChild &parseChild : parseChildren(context))
    if (parseChild.type == P::STRING)
      file.imports.push_back({range(context), range(parseChild), text(parseChild).value});
}

void Builder::declaration(antlr4::ParserRuleContext *context) {
  size_t before = diags.errors();
  buildDeclaration(context);
  if (diags.errors() != before)
    file.errorOffsets.push_back(range(context).begin);
}

void Builder::buildDeclaration(antlr4::ParserRuleContext *context) {
  ParseChildren parts = parseChildren(context);
  if (parts.empty() || !parts[0].context)
    return;
  ast::Declaration result;
  result.range = range(context);
  result.doc = docOf(context);
  start(result.range);
  ParseChildren inner = parseChildren(parts[0].context);
  if (inner.empty())
    return;
  result.kindRange = range(inner[0]);
  switch (parts[0].rule) {
  case P::RuleConstant:
    result.kind = ast::DeclarationKind::Constant;
    for (const ParseChild &parseChild : inner)
      if (parseChild.type == P::IDENT)
        result.name = name(parseChild);
      else if (parseChild.rule == P::RuleExpr)
        result.value = expr(parseChild.context);
    if (!result.value)
      return;
    break;
  case P::RuleOperation:
  case P::RuleModule:
  case P::RuleModel:
    result.kind = parts[0].rule == P::RuleOperation ? ast::DeclarationKind::Operation
                  : parts[0].rule == P::RuleModule  ? ast::DeclarationKind::Module
                                                    : ast::DeclarationKind::Model;
    module(parts[0].context, result);
    break;
  default: {
    llvm::StringRef kind = diags.sources().text(result.kindRange);
    using K = ast::DeclarationKind;
    static const std::vector<std::string> accel = {"accelerator", "cluster", "microarchitecture", "framework", "let"};
    static const std::vector<std::string> dnn = {"operation", "module",   "model", "train",  "infer",
                                                 "sparsity",  "ensemble", "jobs",  "tuning", "let"};
    const auto &known = file.language == ast::Language::Accel ? accel : dnn;
    if (!llvm::is_contained(known, kind)) {
      std::string list;
      for (const std::string &word : known)
        list += (list.empty() ? "'" : ", '") + word + "'";
      bool other = llvm::is_contained(file.language == ast::Language::Accel ? dnn : accel, kind);
      auto error = diags.error(Code::UnknownDeclaration, result.kindRange,
                               "unknown declaration '" + kind.str() + "', expected one of " + list);
      if (other)
        error.help(std::string("'") + kind.str() + "' is declared in " +
                   (file.language == ast::Language::Accel ? ".dnn" : ".accel") + " files");
      else
        error.suggest(nearest(kind, known));
      return;
    }
    for (K each : {K::Constant, K::Accelerator, K::Cluster, K::Microarchitecture, K::Operation, K::Module, K::Model,
                   K::Train, K::Infer, K::Sparsity, K::Ensemble, K::Jobs, K::Framework, K::Tuning})
      if (ast::spelling(each) == kind)
        result.kind = each;
    describe(parts[0].context, result);
    if (result.kind == K::Operation || result.kind == K::Module || result.kind == K::Model ||
        result.kind == K::Constant)
      return; // `model {`: the missing name is reported below
  }
  }
  file.declarations.push_back(std::move(result));
}

void Builder::describe(antlr4::ParserRuleContext *context, ast::Declaration &result) {
  HeadRanges head;
  ParseChildren parts = parseChildren(context);
  for (const ParseChild &part : llvm::drop_begin(parts)) {
    if (part.type == P::OF || part.type == P::FOR || part.type == P::ON) {
      head.relation = part.type == P::OF ? "of" : part.type == P::FOR ? "for" : "on";
      head.relationAt = range(part);
    } else if (part.type == P::IDENT) {
      (head.relation.empty() ? result.name : result.target) = name(part);
    } else if (part.rule == P::RuleParameters) {
      result.hasParameters = true;
      head.parametersAt = range(part);
      parameters(part.context, result.parameters);
    } else if (part.rule == P::RuleExpr) {
      result.value = expr(part.context);
      head.valueAt = range(part);
    } else if (part.rule == P::RuleBlock) {
      block(part.context, result.entries);
      head.hasBlock = true;
    }
  }
  checkHead(result, head);
  reportOperands(result);
}

/// Reports what a declaration of its kind does not take, and what it lacks.
void Builder::checkHead(const ast::Declaration &result, const HeadRanges &head) {
  using K = ast::DeclarationKind;
  std::string kind = spelling(result.kind).str();
  llvm::StringRef wanted = runsModel(result.kind) || result.kind == K::Jobs ? "on"
                           : result.kind == K::Sparsity                     ? "for"
                           : result.kind == K::Ensemble                     ? "of"
                                                                            : "";
  auto unexpected = [&](SourceRange at, const std::string &what) {
    diags.error(Code::UnexpectedClause, at, "'" + kind + "' takes no " + what);
  };
  if (!head.relation.empty() && wanted != head.relation)
    unexpected(head.relationAt, "'" + head.relation.str() + "'");
  if (head.relation.empty() && (result.kind == K::Sparsity || result.kind == K::Ensemble))
    diags.error(Code::SyntaxError, result.kindRange, "'" + kind + "' needs '" + wanted.str() + " NAME'")
        .help(result.kind == K::Sparsity ? "sparsity for NAME { … }" : "ensemble NAME of MODEL { … }");
  if (result.name.empty() && result.kind != K::Sparsity)
    diags.error(Code::SyntaxError, result.kindRange, "expected a name after '" + kind + "'");
  if (result.value && !runsModel(result.kind) && head.hasBlock)
    unexpected(head.valueAt, "value");
  if (!result.value && runsModel(result.kind) && !result.name.empty())
    diags.error(Code::SyntaxError, result.name.range,
                "expected '= MODEL(…)' after '" + kind + " " + result.name.text + "'");
  if (result.hasParameters && !llvm::is_contained({K::Accelerator, K::Cluster, K::Microarchitecture}, result.kind))
    unexpected(head.parametersAt, "parameters");
}

void Builder::module(antlr4::ParserRuleContext *context, ast::Declaration &result) {
  bool results = false, hasIndices = false;
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.type == P::ARROW)
      results = true;
    else if (parseChild.type == P::IDENT && results)
      result.results.push_back(name(parseChild));
    else if (parseChild.type == P::IDENT)
      result.name = name(parseChild);
    else if (parseChild.rule == P::RuleIndices) {
      hasIndices = true;
      indices(parseChild.context, result.indices);
    } else if (parseChild.rule == P::RuleParameters) {
      result.hasParameters = true;
      parameters(parseChild.context, result.parameters);
    } else if (parseChild.rule == P::RuleBody)
      body(parseChild.context, result.body);
  }
  if (result.kind != ast::DeclarationKind::Operation)
    reportOperands(result);
  else if (!hasIndices && !result.results.empty())
    diags
        .error(Code::SyntaxError, result.results[0].range,
               "the result '" + result.results[0].text + "' of an operation has indices")
        .help("for example " + result.results[0].text + "[i, j], or " + result.results[0].text +
              "[] for one value per sample");
}

void Builder::indices(antlr4::ParserRuleContext *context, std::vector<ast::Name> &result) {
  for (const ParseChild &parseChild : parseChildren(context))
    if (parseChild.type == P::IDENT)
      result.push_back(name(parseChild));
}

/// Only the operands of an operation have indices.
void Builder::reportOperands(const ast::Declaration &declaration) {
  for (const ast::Parameter &parameter : declaration.parameters)
    if (parameter.isOperand)
      diags
          .error(Code::UnexpectedClause, parameter.name.range,
                 "'" + parameter.name.text + "' has indices, but '" + ast::spelling(declaration.kind).str() +
                     "' takes whole values")
          .help("indices belong to the operands of an 'operation'");
}

void Builder::parameters(antlr4::ParserRuleContext *context, std::vector<ast::Parameter> &result) {
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.rule != P::RuleParameter)
      continue;
    ast::Parameter parameter;
    for (const ParseChild &part : parseChildren(parseChild.context))
      if (part.type == P::IDENT)
        (parameter.name.empty() ? parameter.name : parameter.type) = name(part);
      else if (part.rule == P::RuleIndices) {
        parameter.isOperand = true;
        indices(part.context, parameter.indices);
      } else if (part.rule == P::RuleExpr)
        parameter.defaultValue = expr(part.context);
    for (const ast::Parameter &earlier : result)
      if (earlier.name.text == parameter.name.text)
        diags.error(Code::DuplicateName, parameter.name.range, "parameter '" + parameter.name.text + "' declared twice")
            .note(earlier.name.range, "first declared here");
    result.push_back(std::move(parameter));
  }
}

// ---- Entries of machines, trainings, sparsity, ensembles and jobs

void Builder::block(antlr4::ParserRuleContext *context, std::vector<ast::Entry> &result, llvm::StringRef of) {
  size_t first = result.size();
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.type == P::LBRACE)
      file.layout.blocks.push_back(range(parseChild).begin);
    else if (parseChild.rule == P::RuleEntry)
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
    if (parseChild.rule != P::RuleArgument)
      continue;
    ast::Argument argument;
    for (const ParseChild &part : parseChildren(parseChild.context)) {
      if (part.rule != P::RuleExpr)
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
  size_t type = parts[0].type;
  if (type == P::TRANSPOSABLE)
    result.transposable = true;
  if (last.type == P::STRING && (type == P::SOURCE || type == P::FROM)) {
    auto &slot = type == P::SOURCE ? result.source : result.from;
    twice(slot.has_value());
    slot = text(last);
    (type == P::SOURCE ? result.sourceRange : result.fromRange) = place;
  }
  static constexpr std::pair<size_t, ast::ExprPtr ast::Clauses::*> values[] = {
      {P::PER, &ast::Clauses::per},
      {P::WEIGHT, &ast::Clauses::weight},
      {P::CONFIDENCE, &ast::Clauses::confidence},
      {P::SAMPLES, &ast::Clauses::samples},
      {P::ERROR, &ast::Clauses::error}};
  for (auto [word, slot] : values)
    if (word == type && last.rule == P::RuleChain) {
      twice(result.*slot != nullptr);
      result.*slot = chain(last.context);
    }
}

bool Builder::item(antlr4::ParserRuleContext *context, ast::Entry &result) {
  ast::Node node;
  bool onlyValue = true;
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.type == P::ASSIGN)
      continue;
    if (parseChild.rule == P::RuleClause) {
      clause(parseChild.context, result);
      continue;
    }
    if (parseChild.rule == P::RuleExpr) {
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
    } else if (parseChild.rule == P::RuleArguments) {
      node.hasArguments = true;
      addArguments(parseChild.context, node.arguments);
    } else if (parseChild.rule == P::RuleCount) {
      for (const ParseChild &part : parseChildren(parseChild.context))
        if (part.rule == P::RuleExpr)
          node.count = expr(part.context);
    } else if (parseChild.rule == P::RuleType) {
      for (const ParseChild &part : parseChildren(parseChild.context))
        if (part.type == P::IDENT)
          node.type = name(part);
        else if (part.rule == P::RuleArguments)
          addArguments(part.context, node.typeArguments);
    } else if (parseChild.rule == P::RulePattern) {
      node.pattern = name(parseChild);
    } else if (parseChild.rule == P::RuleBlock) {
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
  if (parts[0].rule == P::RuleItem) {
    if (!item(parts[0].context, made))
      return;
  } else if (parts[0].rule == P::RulePath) {
    ast::Path path;
    for (const ParseChild &parseChild : parseChildren(parts[0].context)) {
      if (parseChild.rule != P::RuleStop)
        continue;
      auto &stop = path.stops.emplace_back();
      for (const ParseChild &part : parseChildren(parseChild.context))
        if (part.type == P::IDENT)
          stop.push_back(name(part));
    }
    made.node = std::move(path);
  } else if (parts[0].rule == P::RuleConstraint) {
    ast::Rule rule;
    for (const ParseChild &parseChild : parseChildren(parts[0].context)) {
      if (parseChild.type >= P::REQUIRE && parseChild.type <= P::MINIMIZE)
        rule.kind = static_cast<ast::RuleKind>(parseChild.type - P::REQUIRE);
      else if (parseChild.type == P::LABEL)
        rule.label = name(parseChild);
      else if (parseChild.rule == P::RuleExpr)
        rule.expr = expr(parseChild.context);
      else if (parseChild.rule == P::RuleClause)
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

// ---- Statements of modules and models

void Builder::body(antlr4::ParserRuleContext *context, std::vector<ast::Statement> &result) {
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.type == P::LBRACE)
      file.layout.blocks.push_back(range(parseChild).begin);
    else if (parseChild.rule == P::RuleStatement)
      statement(parseChild.context, result);
  }
}

bool Builder::bind(antlr4::ParserRuleContext *context, ast::Statement &result) {
  static const std::map<size_t, ast::BindKind> kinds = {{P::LET, ast::BindKind::Let},
                                                        {P::VAR, ast::BindKind::Var},
                                                        {P::GRADIENT, ast::BindKind::Gradient},
                                                        {P::SURROGATE, ast::BindKind::Surrogate}};
  auto &bind = result.node.emplace<ast::Bind>();
  bind.kind = ast::BindKind::Assign;
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (auto kind = kinds.find(parseChild.type); kind != kinds.end())
      bind.kind = kind->second;
    else if (parseChild.type == P::IDENT)
      bind.names.push_back(name(parseChild));
    else if (parseChild.rule == P::RuleExpr)
      bind.value = expr(parseChild.context);
  }
  return !bind.names.empty() && bind.value;
}

bool Builder::input(antlr4::ParserRuleContext *context, ast::Statement &result) {
  auto &input = result.node.emplace<ast::Input>();
  for (const ParseChild &part : parseChildren(context))
    if (part.type == P::IDENT)
      (input.name.empty() ? input.name : input.type) = name(part);
    else if (part.rule == P::RuleExpr)
      input.dims.push_back(expr(part.context));
  return !input.type.empty();
}

bool Builder::repeat(antlr4::ParserRuleContext *context, ast::Statement &result) {
  auto &repeat = result.node.emplace<ast::Repeat>();
  for (const ParseChild &part : parseChildren(context))
    if (part.type == P::IDENT)
      repeat.name = name(part);
    else if (part.rule == P::RuleExpr)
      repeat.count = expr(part.context);
    else if (part.rule == P::RuleBody)
      body(part.context, repeat.body);
  return repeat.count != nullptr;
}

bool Builder::scan(antlr4::ParserRuleContext *context, ast::Statement &result) {
  auto &scan = result.node.emplace<ast::Scan>();
  bool results = false;
  for (const ParseChild &part : parseChildren(context))
    if (part.type == P::REVERSE)
      scan.reverse = true;
    else if (part.type == P::ARROW)
      results = true;
    else if (part.type == P::IDENT)
      (results ? scan.results : scan.steps).push_back(name(part));
    else if (part.rule == P::RuleExpr)
      scan.sources.push_back(expr(part.context));
    else if (part.rule == P::RuleBody)
      body(part.context, scan.body);
  return !scan.sources.empty() && !scan.steps.empty();
}

bool Builder::forLoop(antlr4::ParserRuleContext *context, ast::Statement &result) {
  auto &loop = result.node.emplace<ast::For>();
  for (const ParseChild &part : parseChildren(context))
    if (part.type == P::IDENT)
      loop.variable = name(part);
    else if (part.rule == P::RuleExpr)
      loop.range = expr(part.context);
    else if (part.rule == P::RuleBody)
      body(part.context, loop.body);
  return loop.range != nullptr;
}

bool Builder::when(antlr4::ParserRuleContext *context, ast::Statement &result) {
  auto &when = result.node.emplace<ast::When>();
  ast::ExprPtr condition;
  for (const ParseChild &part : parseChildren(context))
    if (part.rule == P::RuleExpr) {
      condition = expr(part.context);
    } else if (part.rule == P::RuleBody) {
      when.branches.push_back({std::move(condition), {}});
      body(part.context, when.branches.back().body);
    }
  return !when.branches.empty();
}

bool Builder::loss(antlr4::ParserRuleContext *context, ast::Statement &result) {
  auto &loss = result.node.emplace<ast::Loss>();
  for (const ParseChild &part : parseChildren(context))
    if (part.rule == P::RuleExpr)
      loss.value = expr(part.context);
  return loss.value != nullptr;
}

void Builder::statement(antlr4::ParserRuleContext *context, std::vector<ast::Statement> &result) {
  static constexpr std::pair<size_t, bool (Builder::*)(antlr4::ParserRuleContext *, ast::Statement &)> kinds[] = {
      {P::RuleInput, &Builder::input}, {P::RuleBind, &Builder::bind},       {P::RuleRepeat, &Builder::repeat},
      {P::RuleScan, &Builder::scan},   {P::RuleForLoop, &Builder::forLoop}, {P::RuleWhen, &Builder::when},
      {P::RuleLoss, &Builder::loss}};
  ParseChildren parts = parseChildren(context);
  if (parts.empty() || !parts[0].context)
    return;
  ast::Statement made;
  made.range = range(context);
  made.doc = docOf(context);
  start(made.range);
  for (auto [rule, build] : kinds)
    if (rule == parts[0].rule) {
      if ((this->*build)(parts[0].context, made))
        result.push_back(std::move(made));
      return;
    }
}

} // namespace accord::syntax
