#include "lib/editor/LineTable.h"
#include <algorithm>

namespace accord::editor {
namespace {

bool continuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Units of UTF-16 of the character that begins with this byte: those beyond the first plane have four bytes and need
/// two.
uint32_t unitsOf(char first) { return static_cast<unsigned char>(first) >= 0xF0 ? 2 : 1; }

} // namespace

LineTable::LineTable(llvm::StringRef text) : text(text), starts{0} {
  for (uint32_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')))
      starts.push_back(i + 1);
}

EditorPosition LineTable::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, text.size());
  while (offset > 0 && offset < text.size() && continuesCharacter(text[offset]))
    --offset;
  auto line = static_cast<uint32_t>(std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin() - 1);
  uint32_t column = 0;
  for (uint32_t i = starts[line]; i < offset; ++i)
    if (!continuesCharacter(text[i]))
      column += unitsOf(text[i]);
  return {line, column};
}

uint32_t LineTable::offset(EditorPosition position) const {
  if (position.line >= starts.size())
    return text.size();
  uint32_t at = starts[position.line], column = 0;
  while (at < text.size() && text[at] != '\n' && text[at] != '\r') {
    uint32_t next = column + (continuesCharacter(text[at]) ? 0 : unitsOf(text[at]));
    if (next > position.column)
      break;
    column = next;
    // The whole character: what continues it takes no column.
    do
      ++at;
    while (at < text.size() && continuesCharacter(text[at]));
  }
  return at;
}

void apply(const TextChange &change, std::string &text) {
  if (!change.range) {
    text = change.text;
    return;
  }
  LineTable lines(text);
  uint32_t begin = lines.offset(change.range->first), end = std::max(begin, lines.offset(change.range->second));
  text.replace(begin, end - begin, change.text);
}

} // namespace accord::editor
