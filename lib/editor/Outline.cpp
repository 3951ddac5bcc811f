#include "lib/editor/Outline.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <set>

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

/// Bytes at which the first words of declarations are: accelerator, train.
std::set<uint32_t> kindPlaces(const ast::File &file) {
  std::set<uint32_t> places;
  for (const ast::Declaration &one : file.declarations)
    places.insert(one.kindRange.begin);
  return places;
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
  const std::set<uint32_t> kinds = kindPlaces(*file);
  std::map<uint32_t, const Occurrence *> names;
  for (const Occurrence &one : snapshot.namesOf(*snapshot.main()))
    names.try_emplace(one.range.begin, &one);
  for (const ast::Layout::Token &token : file->layout.tokens) {
    using Kind = ast::Layout::Kind;
    auto name = names.find(token.range.begin);
    bool known = name != names.end() && name->second->range.end == token.range.end;
    if (token.kind == Kind::Number)
      tokens.push_back({token.range, TokenKind::Number});
    else if (token.kind == Kind::Text)
      tokens.push_back({token.range, TokenKind::String});
    else if (known)
      tokens.push_back({token.range, kindOf(*name->second), name->second->isDeclaration()});
    else if (token.kind == Kind::Word || (token.kind == Kind::Name && kinds.count(token.range.begin)))
      tokens.push_back({token.range, TokenKind::Keyword});
    else if (token.kind == Kind::Name)
      tokens.push_back({token.range, llvm::is_contained(reservedWords(), snapshot.sources().text(token.range))
                                         ? TokenKind::Keyword
                                         : TokenKind::Variable});
  }
  for (const ast::Comment &comment : file->comments)
    tokens.push_back({comment.range, TokenKind::Comment});
  std::sort(tokens.begin(), tokens.end(),
            [](const ColouredToken &a, const ColouredToken &b) { return a.range.begin < b.range.begin; });
  return tokens;
}

} // namespace accord::editor
