#include "lib/editor/Around.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

namespace accord::editor {
namespace {

class Reader {
public:
  Reader(llvm::StringRef text, uint32_t offset) : text(text), offset(std::min<uint32_t>(offset, text.size())) {}

  Around read() {
    while (at < offset)
      step();
    finish();
    return std::move(result);
  }

private:
  void step() {
    char c = text[at];
    if (c == '/' && at + 1 < text.size() && text[at + 1] == '/')
      return comment();
    if (c == '"')
      return quoted();
    if (c == '{' || c == '(' || c == '[') {
      result.open.push_back({c, at, text.slice(start, at).trim()});
      start = at + 1;
    } else if (c == '}' || c == ')' || c == ']') {
      close(c);
    } else if (c == ',' || (c == '\n' && endsEntry())) {
      start = at + 1;
    }
    ++at;
  }

  /// A line break ends an entry where no expression is open: nothing of it waits for more.
  bool endsEntry() const {
    if (!result.open.empty() && result.open.back().bracket != '{')
      return false;
    llvm::StringRef line = text.slice(start, at).rtrim();
    return line.empty() || !llvm::StringRef("=+-*/%^<>:.").contains(line.back());
  }

  void comment() {
    uint32_t end = std::min<size_t>(text.find_first_of("\r\n", at), text.size());
    result.inComment = end >= offset;
    at = std::min(end, offset);
  }

  void quoted() {
    uint32_t first = at + 1, end = first;
    while (end < text.size() && text[end] != '"' && text[end] != '\n' && text[end] != '\r')
      end += text[end] == '\\' && end + 1 < text.size() ? 2 : 1;
    end = std::min<uint32_t>(end, text.size());
    if (end >= offset) {
      result.inText = true;
      textFrom = first;
      at = offset;
      return;
    }
    at = end + (text[end] == '"' ? 1 : 0);
  }

  void close(char c) {
    char opener = c == '}' ? '{' : c == ')' ? '(' : '[';
    // What was never closed inside of it is closed with it; a bracket without a partner closes nothing.
    auto found = std::find_if(result.open.rbegin(), result.open.rend(),
                              [&](const OpenBracket &one) { return one.bracket == opener; });
    if (found == result.open.rend())
      return;
    size_t keep = result.open.rend() - found - 1;
    const OpenBracket partner = result.open[keep];
    result.open.resize(keep);
    start = c == '}' && isBlock(partner) ? at + 1
            : partner.head.empty()       ? partner.at
                                         : partner.head.data() - text.data();
  }

  /// Braces behind '=' hold a set or a map, after which the entry goes on.
  static bool isBlock(const OpenBracket &one) { return !one.head.rtrim().ends_with("="); }

  void finish() {
    uint32_t from = offset;
    if (result.inText)
      from = textFrom;
    else
      while (from > start && isNameCharacter(text[from - 1]))
        --from;
    result.before = text.slice(start, from);
    result.prefix = text.slice(from, offset);
    result.begin = from;
    result.end = offset;
    while (result.end < text.size() &&
           (result.inText ? text[result.end] != '"' && text[result.end] != '\n' && text[result.end] != '\r'
                          : isNameCharacter(text[result.end])))
      ++result.end;
  }

  llvm::StringRef text;
  uint32_t offset;
  uint32_t at = 0, start = 0, textFrom = 0;
  Around result;
};

} // namespace

bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

const OpenBracket *Around::block() const {
  for (const OpenBracket &one : llvm::reverse(open))
    if (one.bracket == '{' && !one.head.ends_with("="))
      return &one;
  return nullptr;
}

Around around(llvm::StringRef text, uint32_t offset) { return Reader(text, offset).read(); }

std::vector<llvm::StringRef> piecesOf(llvm::StringRef text) {
  std::vector<llvm::StringRef> pieces;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (llvm::isSpace(text[i])) {
      i = end;
      continue;
    }
    if (text[i] == '/' && end < text.size() && text[end] == '/') {
      i = text.find_first_of("\r\n", i);
      continue;
    }
    if (isNameCharacter(text[i]))
      while (end < text.size() && isNameCharacter(text[end]))
        ++end;
    else if (text[i] == '"')
      end = std::min(text.find('"', end), text.size() - 1) + 1;
    pieces.push_back(text.slice(i, end));
    i = end;
  }
  return pieces;
}

} // namespace accord::editor
