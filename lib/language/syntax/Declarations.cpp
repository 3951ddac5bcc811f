// Imports and declarations.
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Builder.h"
#include "llvm/ADT/StringSwitch.h"

namespace accord::syntax {
using P = grammar::DnnParser;

void Builder::importLine(antlr4::ParserRuleContext *context) {
  start(range(context));
  for (const ParseChild &parseChild : parseChildren(context))
    if (parseChild.type == P::STRING)
      file.imports.push_back({range(context), range(parseChild), text(parseChild).value});
}

void Builder::declaration(antlr4::ParserRuleContext *context) {
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
  case Rule::Constant:
    result.kind = ast::DeclarationKind::Constant;
    for (const ParseChild &parseChild : inner)
      if (parseChild.type == P::IDENT)
        result.name = name(parseChild);
      else if (parseChild.rule == Rule::Expr)
        result.value = expr(parseChild.context);
    if (!result.value)
      return;
    break;
  case Rule::Operation:
  case Rule::Module:
  case Rule::Model:
    result.kind = parts[0].rule == Rule::Operation ? ast::DeclarationKind::Operation
                  : parts[0].rule == Rule::Module  ? ast::DeclarationKind::Module
                                                   : ast::DeclarationKind::Model;
    module(parts[0].context, result);
    break;
  default: {
    llvm::StringRef kind = diags.sources().text(result.kindRange);
    using K = ast::DeclarationKind;
    static const std::vector<std::string> accel = {"accelerator", "cluster", "microarchitecture", "let"};
    static const std::vector<std::string> dnn = {"operation", "module",   "model", "train",
                                                 "sparsity",  "ensemble", "jobs",  "let"};
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
    result.kind = llvm::StringSwitch<K>(kind)
                      .Case("accelerator", K::Accelerator)
                      .Case("cluster", K::Cluster)
                      .Case("microarchitecture", K::Microarchitecture)
                      .Case("operation", K::Operation)
                      .Case("module", K::Module)
                      .Case("model", K::Model)
                      .Case("train", K::Train)
                      .Case("sparsity", K::Sparsity)
                      .Case("ensemble", K::Ensemble)
                      .Case("jobs", K::Jobs)
                      .Default(K::Constant);
    describe(parts[0].context, result);
    if (result.kind == K::Operation || result.kind == K::Module || result.kind == K::Model ||
        result.kind == K::Constant)
      return; // `model {`: the missing name is reported below
  }
  }
  file.declarations.push_back(std::move(result));
}

void Builder::describe(antlr4::ParserRuleContext *context, ast::Declaration &result) {
  size_t before = P::IDENT; // what the next name means
  bool first = true, hasBlock = false;
  const char *relation = nullptr;
  SourceRange relationRange, valueRange, parameterRange;
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (first) {
      first = false;
      continue;
    }
    switch (parseChild.type) {
    case P::OF:
    case P::FOR:
    case P::ON:
      before = parseChild.type;
      relation = parseChild.type == P::OF ? "of" : parseChild.type == P::FOR ? "for" : "on";
      relationRange = range(parseChild);
      continue;
    case P::IDENT:
      (before == P::IDENT ? result.name : result.target) = name(parseChild);
      continue;
    default:
      break;
    }
    if (parseChild.rule == Rule::Parameters) {
      result.hasParameters = true;
      parameterRange = range(parseChild);
      parameters(parseChild.context, result.parameters);
    } else if (parseChild.rule == Rule::Expr) {
      result.value = expr(parseChild.context);
      valueRange = range(parseChild);
    } else if (parseChild.rule == Rule::Block) {
      block(parseChild.context, result.entries);
      hasBlock = true;
    }
  }
  using K = ast::DeclarationKind;
  std::string kind = spelling(result.kind).str();
  const char *wanted = result.kind == K::Train      ? "on"
                       : result.kind == K::Sparsity ? "for"
                       : result.kind == K::Ensemble ? "of"
                                                    : nullptr;
  if (relation && (!wanted || std::string_view(wanted) != relation))
    diags.error(Code::UnexpectedClause, relationRange, "'" + kind + "' takes no '" + relation + "'");
  if (!relation && (result.kind == K::Sparsity || result.kind == K::Ensemble))
    diags.error(Code::SyntaxError, result.kindRange, "'" + kind + "' needs '" + wanted + " NAME'")
        .help(result.kind == K::Sparsity ? "sparsity for NAME { … }" : "ensemble NAME of MODEL { … }");
  if (result.name.empty() && result.kind != K::Sparsity)
    diags.error(Code::SyntaxError, result.kindRange, "expected a name after '" + kind + "'");
  if (result.value && result.kind != K::Train && hasBlock)
    diags.error(Code::UnexpectedClause, valueRange, "'" + kind + "' takes no value");
  if (!result.value && result.kind == K::Train && !result.name.empty())
    diags.error(Code::SyntaxError, result.name.range, "expected '= MODEL(…)' after 'train " + result.name.text + "'");
  if (result.hasParameters && result.kind != K::Accelerator && result.kind != K::Cluster &&
      result.kind != K::Microarchitecture)
    diags.error(Code::UnexpectedClause, parameterRange, "'" + kind + "' takes no parameters");
  reportOperands(result);
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
    else if (parseChild.rule == Rule::Indices) {
      hasIndices = true;
      indices(parseChild.context, result.indices);
    } else if (parseChild.rule == Rule::Parameters) {
      result.hasParameters = true;
      parameters(parseChild.context, result.parameters);
    } else if (parseChild.rule == Rule::Body)
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
    if (parseChild.rule != Rule::Parameter)
      continue;
    ast::Parameter parameter;
    for (const ParseChild &part : parseChildren(parseChild.context))
      if (part.type == P::IDENT)
        (parameter.name.empty() ? parameter.name : parameter.type) = name(part);
      else if (part.rule == Rule::Indices) {
        parameter.isOperand = true;
        indices(part.context, parameter.indices);
      } else if (part.rule == Rule::Expr)
        parameter.defaultValue = expr(part.context);
    for (const ast::Parameter &earlier : result)
      if (earlier.name.text == parameter.name.text)
        diags.error(Code::DuplicateName, parameter.name.range, "parameter '" + parameter.name.text + "' declared twice")
            .note(earlier.name.range, "first declared here");
    result.push_back(std::move(parameter));
  }
}

} // namespace accord::syntax
