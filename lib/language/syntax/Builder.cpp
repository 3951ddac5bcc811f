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
    if (parseChild.rule == Rule::ImportLine)
      importLine(parseChild.context);
    else if (parseChild.rule == Rule::Declaration)
      declaration(parseChild.context);
  }
}

} // namespace accord::syntax
