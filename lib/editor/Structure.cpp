#include "lib/editor/Structure.h"
#include "lib/editor/Around.h"
#include "lib/editor/Describe.h"
#include "lib/editor/Hover.h"
#include "lib/language/syntax/Ranges.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord::editor {
namespace {

using Bytes = std::pair<uint32_t, uint32_t>;

/// Brackets with what is between them, and what is between them alone.
void addBrackets(const Snapshot &snapshot, const ast::Declaration &declaration, uint32_t offset,
                 std::vector<Bytes> &all) {
  llvm::StringRef text = snapshot.text();
  llvm::ArrayRef<ast::Layout::Token> tokens = snapshot.tree()->layout.tokens;
  tokens = tokens.drop_front(
      llvm::partition_point(
          tokens, [&](const ast::Layout::Token &token) { return token.range.begin < declaration.range.begin; }) -
      tokens.begin());
  std::vector<uint32_t> open;
  for (const ast::Layout::Token &token : tokens) {
    if (token.range.begin >= declaration.range.end)
      break;
    if (token.range.end != token.range.begin + 1)
      continue;
    char c = text[token.range.begin];
    if (c == '{' || c == '(' || c == '[') {
      open.push_back(token.range.begin);
    } else if ((c == '}' || c == ')' || c == ']') && !open.empty()) {
      all.emplace_back(open.back(), token.range.end);
      all.emplace_back(open.back() + 1, token.range.begin);
      open.pop_back();
    }
  }
}

/// Which argument is being written: by its place among those of the open bracket, or by its name.
struct ArgumentPlace {
  size_t index = 0;
  std::string name;
};

ArgumentPlace argumentAt(llvm::StringRef written) {
  ArgumentPlace place;
  int depth = 0;
  std::vector<llvm::StringRef> pieces = piecesOf(written);
  size_t begin = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    llvm::StringRef piece = pieces[i];
    if (piece == "(" || piece == "[" || piece == "{")
      ++depth;
    else if (piece == ")" || piece == "]" || piece == "}")
      --depth;
    else if (piece == "," && depth == 0) {
      ++place.index;
      begin = i + 1;
    }
  }
  if (begin + 1 < pieces.size() && pieces[begin + 1] == "=" && isNameCharacter(pieces[begin][0]))
    place.name = pieces[begin].str();
  return place;
}

class SignatureWriter {
public:
  SignatureWriter(Snapshot &snapshot, const ArgumentPlace &place) : snapshot(snapshot), place(place) {}

  std::optional<Signature> write(llvm::StringRef callee) {
    const Sources::Unit *unit = snapshot.main();
    const ast::Declaration *called = unit ? snapshot.find(*unit, callee) : nullptr;
    const OperationSpec *operation = called ? nullptr : findOperation(callee);
    if (!called && !operation)
      return std::nullopt;
    result.label = callee.str() + "(";
    result.documentation = called ? called->doc : operationAbout(*operation);
    if (called) {
      if (!called->hasParameters)
        return std::nullopt;
      for (const ast::Parameter &one : called->parameters)
        add(one.name.text,
            one.name.text + (one.defaultValue ? " = " + snapshot.sources().text(one.defaultValue->range).str() : ""));
    } else {
      for (llvm::StringRef operand : operation->operands)
        add(operand.str(), operand.str() + (operation->variadic ? ", ..." : ""));
      operands = result.parameters.size();
      for (const AttributeSpec &one : operation->attributes)
        add(one.name.str(), one.name.str() + (one.required ? "" : "?"));
      if (place.name.empty() && place.index >= operands) // attributes have names
        result.active = operation->variadic && operands > 0 ? operands - 1 : result.parameters.size();
    }
    result.label += ")";
    return std::move(result);
  }

private:
  void add(const std::string &name, const std::string &shown) {
    size_t index = result.parameters.size();
    if (index > 0)
      result.label += ", ";
    auto begin = static_cast<uint32_t>(result.label.size());
    result.label += shown;
    result.parameters.emplace_back(begin, static_cast<uint32_t>(result.label.size()));
    if (place.name.empty() ? index == place.index : name == place.name)
      result.active = index;
    else if (index == 0)
      result.active = SIZE_MAX; // until it is found
  }

  Snapshot &snapshot;
  const ArgumentPlace &place;
  Signature result;
  size_t operands = 0;
};

} // namespace

std::vector<Bytes> enclosingParts(const Snapshot &snapshot, uint32_t offset) {
  llvm::StringRef text = snapshot.text();
  std::vector<Bytes> all{{0, static_cast<uint32_t>(text.size())}};
  uint32_t begin = offset, end = offset;
  while (begin > 0 && isNameCharacter(text[begin - 1]))
    --begin;
  while (end < text.size() && isNameCharacter(text[end]))
    ++end;
  if (begin < end)
    all.emplace_back(begin, end);
  if (const ast::File *file = snapshot.tree()) {
    for (const ast::Declaration &one : file->declarations)
      if (one.range.begin <= offset && offset <= one.range.end) {
        forEachRange(one, [&](SourceRange range) { all.emplace_back(range.begin, range.end); });
        addBrackets(snapshot, one, offset, all);
      }
    for (const ast::Import &one : file->imports)
      for (SourceRange range : {one.range, one.pathRange})
        all.emplace_back(range.begin, range.end);
    for (const ast::Comment &one : file->comments)
      all.emplace_back(one.range.begin, one.range.end);
  }
  llvm::erase_if(all, [&](const Bytes &one) { return offset < one.first || one.second < offset; });
  llvm::sort(all, [](const Bytes &a, const Bytes &b) {
    return std::tuple(a.second - a.first, a.first) < std::tuple(b.second - b.first, b.first);
  });
  // Two parts that meet at the place hold neither each other.
  std::vector<Bytes> nested;
  for (const Bytes &one : all)
    if (nested.empty() ||
        (one != nested.back() && one.first <= nested.back().first && nested.back().second <= one.second))
      nested.push_back(one);
  return nested;
}

std::optional<Signature> signatureAt(llvm::StringRef text, uint32_t offset, Snapshot &snapshot) {
  Around place = around(text, offset);
  if (place.inComment || place.inText)
    return std::nullopt;
  // The innermost round bracket behind a name; brackets of lists and of sums in it are a part of an argument.
  for (const OpenBracket &one : llvm::reverse(place.open)) {
    if (one.bracket == '{' && !one.head.ends_with("="))
      return std::nullopt;
    llvm::StringRef head = one.head, before = head;
    while (!before.empty() && isNameCharacter(before.back()))
      before = before.drop_back();
    llvm::StringRef callee = head.drop_front(before.size());
    if (one.bracket != '(' || callee.empty())
      continue;
    ArgumentPlace argument = argumentAt(text.slice(one.at + 1, offset));
    return SignatureWriter(snapshot, argument).write(callee);
  }
  return std::nullopt;
}

} // namespace accord::editor
