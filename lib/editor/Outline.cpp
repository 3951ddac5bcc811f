#include "lib/editor/Outline.h"
#include "lib/editor/References.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord::editor {
namespace {

Symbol partOf(const ast::Entry &entry, const ast::Node &node, ast::DeclarationKind kind) {
  Symbol symbol{node.name.text, node.kind.text, kind, true, entry.range, node.name.range, {}};
  for (const ast::Entry &inner : node.entries)
    if (auto *part = inner.as<ast::Node>(); part && !part->name.empty())
      symbol.parts.push_back(partOf(inner, *part, kind));
  return symbol;
}

TokenKind kindOf(const Occurrence &name) {
  switch (name.kind) {
  case NameKind::Declaration:
    if (!name.declaration)
      return TokenKind::Variable;
    switch (name.declaration->kind) {
    case ast::DeclarationKind::Constant:
      return TokenKind::Variable;
    case ast::DeclarationKind::Module:
    case ast::DeclarationKind::Model:
    case ast::DeclarationKind::Operation:
      return TokenKind::Function;
    default:
      return TokenKind::Type;
    }
  case NameKind::Parameter:
    return TokenKind::Parameter;
  case NameKind::Value:
  case NameKind::Part:
    return TokenKind::Variable;
  case NameKind::Layer:
    return TokenKind::Namespace;
  case NameKind::Operation:
    return TokenKind::Method;
  case NameKind::Function:
    return TokenKind::Function;
  case NameKind::Attribute:
  case NameKind::Key:
    return TokenKind::Property;
  case NameKind::Kind:
    return TokenKind::Keyword;
  case NameKind::Word:
    return TokenKind::EnumMember;
  }
  return TokenKind::Variable;
}

} // namespace

std::vector<Symbol> outline(const Snapshot &snapshot) {
  std::vector<Symbol> symbols;
  const ast::File *file = snapshot.tree();
  if (!file)
    return symbols;
  for (const ast::Declaration &one : file->declarations) {
    SourceRange named = one.name.empty() ? one.kindRange : one.name.range;
    Symbol symbol{one.name.empty() ? "for " + one.target.text : one.name.text,
                  ast::spelling(one.kind).str(),
                  one.kind,
                  false,
                  one.range,
                  named,
                  {}};
    for (const ast::Entry &entry : one.entries)
      if (auto *node = entry.as<ast::Node>(); node && !node->name.empty())
        symbol.parts.push_back(partOf(entry, *node, one.kind));
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

std::vector<FoundSymbol> symbolsOf(Snapshot &snapshot, llvm::StringRef query) {
  std::vector<FoundSymbol> found;
  for (const Sources::Unit *unit : unitsOf(snapshot))
    for (const ast::Declaration &one : unit->file->declarations)
      if (!one.name.empty() && llvm::StringRef(one.name.text).lower().find(query) != std::string::npos)
        found.push_back({one.name.text, one.kind, placeOf(snapshot, one.name.range)});
  return found;
}

std::vector<Fold> folds(Snapshot &snapshot) {
  std::vector<Fold> found;
  const ast::File *file = snapshot.tree();
  if (!file)
    return found;
  const LineTable &lines = snapshot.lines(file->id);
  llvm::StringRef text = snapshot.text();
  std::vector<uint32_t> open;
  for (const ast::Layout::Token &token : file->layout.tokens) {
    if (token.range.end != token.range.begin + 1)
      continue;
    char c = text[token.range.begin];
    uint32_t line = lines.position(token.range.begin).line;
    if (c == '{' || c == '(' || c == '[') {
      open.push_back(line);
    } else if ((c == '}' || c == ')' || c == ']') && !open.empty()) {
      if (line > open.back() + 1) // the line of the closing bracket stays
        found.push_back({open.back(), line - 1, false});
      open.pop_back();
    }
  }
  for (size_t i = 0; i < file->comments.size();) {
    uint32_t first = lines.position(file->comments[i].range.begin).line, last = first;
    size_t next = i + 1;
    while (next < file->comments.size() && lines.position(file->comments[next].range.begin).line == last + 1)
      ++last, ++next;
    if (last > first)
      found.push_back({first, last, true});
    i = next;
  }
  std::sort(found.begin(), found.end(),
            [](const Fold &a, const Fold &b) { return std::tuple(a.begin, a.end) < std::tuple(b.begin, b.end); });
  return found;
}

llvm::ArrayRef<const char *> tokenKindNames() {
  static const char *const names[] = {"keyword",  "type",      "function",   "method", "property", "parameter",
                                      "variable", "namespace", "enumMember", "number", "string",   "comment"};
  return names;
}

std::vector<ColouredToken> tokensOf(Snapshot &snapshot) {
  std::vector<ColouredToken> tokens;
  const ast::File *file = snapshot.tree();
  if (!file)
    return tokens;
  llvm::ArrayRef<Occurrence> names = snapshot.namesOf(*snapshot.main());
  llvm::ArrayRef<ast::Declaration> declarations = file->declarations;
  llvm::ArrayRef<ast::Comment> comments = file->comments;
  tokens.reserve(file->layout.tokens.size() + comments.size());
  // All of these lie in the order of their places.
  for (const ast::Layout::Token &token : file->layout.tokens) {
    using Kind = ast::Layout::Kind;
    uint32_t at = token.range.begin;
    for (; !comments.empty() && comments.front().range.begin < at; comments = comments.drop_front())
      tokens.push_back({comments.front().range, TokenKind::Comment});
    while (!names.empty() && names.front().range.begin < at)
      names = names.drop_front();
    while (!declarations.empty() && declarations.front().kindRange.begin < at)
      declarations = declarations.drop_front();
    const Occurrence *name = !names.empty() && names.front().range == token.range ? &names.front() : nullptr;
    if (token.kind == Kind::Number)
      tokens.push_back({token.range, TokenKind::Number});
    else if (token.kind == Kind::Text)
      tokens.push_back({token.range, TokenKind::String});
    else if (name)
      tokens.push_back({token.range, kindOf(*name), name->isDeclaration()});
    else if (token.kind == Kind::Word ||
             (token.kind == Kind::Name && !declarations.empty() && declarations.front().kindRange.begin == at))
      tokens.push_back({token.range, TokenKind::Keyword});
    else if (token.kind == Kind::Name)
      tokens.push_back({token.range, llvm::is_contained(reservedWords(), snapshot.sources().text(token.range))
                                         ? TokenKind::Keyword
                                         : TokenKind::Variable});
  }
  for (const ast::Comment &comment : comments)
    tokens.push_back({comment.range, TokenKind::Comment});
  return tokens;
}

} // namespace accord::editor
