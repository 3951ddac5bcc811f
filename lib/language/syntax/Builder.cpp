#include "lib/language/syntax/Builder.h"
#include "grammar/DnnParser.h"
#include "tree/TerminalNodeImpl.h"
#include "llvm/ADT/StringSwitch.h"

namespace accord::syntax {
using P = grammar::DnnParser;

std::vector<Rule> ruleTable(const std::vector<std::string> &names) {
  std::vector<Rule> result;
  for (const std::string &name : names)
    result.push_back(llvm::StringSwitch<Rule>(name)
                         .Case("file", Rule::File)
                         .Case("importLine", Rule::ImportLine)
                         .Case("declaration", Rule::Declaration)
                         .Case("constant", Rule::Constant)
                         .Case("description", Rule::Description)
                         .Case("operation", Rule::Operation)
                         .Case("module", Rule::Module)
                         .Case("model", Rule::Model)
                         .Case("parameters", Rule::Parameters)
                         .Case("parameter", Rule::Parameter)
                         .Case("indices", Rule::Indices)
                         .Case("block", Rule::Block)
                         .Case("entry", Rule::Entry)
                         .Case("item", Rule::Item)
                         .Case("count", Rule::Count)
                         .Case("type", Rule::Type)
                         .Case("pattern", Rule::Pattern)
                         .Case("clause", Rule::Clause)
                         .Case("constraint", Rule::Constraint)
                         .Case("path", Rule::Path)
                         .Case("stop", Rule::Stop)
                         .Case("body", Rule::Body)
                         .Case("statement", Rule::Statement)
                         .Case("input", Rule::Input)
                         .Case("bind", Rule::Bind)
                         .Case("repeat", Rule::Repeat)
                         .Case("scan", Rule::Scan)
                         .Case("forLoop", Rule::ForLoop)
                         .Case("when", Rule::When)
                         .Case("loss", Rule::Loss)
                         .Case("expr", Rule::Expr)
                         .Case("chain", Rule::Chain)
                         .Case("infix", Rule::Infix)
                         .Case("operand", Rule::Operand)
                         .Case("sign", Rule::Sign)
                         .Case("primary", Rule::Primary)
                         .Case("braceItem", Rule::BraceItem)
                         .Case("suffix", Rule::Suffix)
                         .Case("arguments", Rule::Arguments)
                         .Case("argument", Rule::Argument)
                         .Default(Rule::None));
  return result;
}

Builder::Kids Builder::kids(antlr4::ParserRuleContext *context) const {
  Kids result;
  for (antlr4::tree::ParseTree *child : context->children) {
    Kid kid;
    // Asking for the type is dear, and seldom needed: tokens have no children.
    bool token =
        clean ? child->children.empty() : typeid(*child) == typeid(antlr4::tree::TerminalNodeImpl);
    auto *rule = token   ? nullptr
                 : clean ? static_cast<antlr4::ParserRuleContext *>(child)
                         : dynamic_cast<antlr4::ParserRuleContext *>(child);
    if (rule) {
      // A rule that failed before its first token has nothing to say.
      if (rule->children.empty())
        continue;
      kid.context = rule;
      kid.rule = rules[rule->getRuleIndex()];
    } else if (!token) {
      continue; // an error node
    } else {
      antlr4::Token *symbol = static_cast<antlr4::tree::TerminalNode *>(child)->getSymbol();
      kid.token = symbol->getTokenIndex();
      kid.type = symbol->getType();
      if (kid.token >= list.tokens.size())
        continue;
    }
    result.push_back(kid);
  }
  return result;
}

SourceRange Builder::range(const Kid &kid) const {
  if (kid.context)
    return range(kid.context);
  return {file.id, list.tokens[kid.token].begin, list.tokens[kid.token].end};
}

SourceRange Builder::range(antlr4::ParserRuleContext *context) const {
  size_t last = list.tokens.size() - 1;
  size_t from = std::min(context->start ? context->start->getTokenIndex() : 0, last);
  size_t to = std::min(context->stop ? context->stop->getTokenIndex() : from, last);
  return {file.id, list.tokens[from].begin, list.tokens[std::max(from, to)].end};
}

ast::Name Builder::name(const Kid &kid) const {
  SourceRange place = range(kid);
  return {diags.sources().text(place).str(), place};
}

std::string Builder::docOf(antlr4::ParserRuleContext *context) {
  return context->start ? list.docs.lookup(static_cast<uint32_t>(context->start->getTokenIndex()))
                        : std::string();
}

ast::Text Builder::text(const Kid &kid) {
  llvm::StringRef raw = diags.sources().text(range(kid));
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
  for (const Kid &kid : kids(tree)) {
    if (kid.rule == Rule::ImportLine)
      importLine(kid.context);
    else if (kid.rule == Rule::Declaration)
      declaration(kid.context);
  }
}

} // namespace accord::syntax
