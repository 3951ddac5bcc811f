// Places in a text as editors count them: lines from 0, and columns in units of UTF-16, which the language server
// protocol prescribes where nothing else is agreed on.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace accord::editor {

struct EditorPosition {
  uint32_t line = 0, column = 0;
  friend auto operator<=>(const EditorPosition &, const EditorPosition &) = default;
};

/// Where the lines of one text begin. A line ends with "\n", "\r\n" or a lone "\r". The text is kept by reference.
class LineTable {
public:
  explicit LineTable(llvm::StringRef text);

  /// The place of a byte; beyond the text that of its end. A byte inside of a character counts as its beginning.
  EditorPosition position(uint32_t offset) const;
  /// The byte of a place. Beyond the end of a line it is that end (before the line break), beyond the text its end; a
  /// column between the two halves of a surrogate pair is the beginning of the character.
  uint32_t offset(EditorPosition position) const;
  uint32_t lines() const { return starts.size(); }

private:
  llvm::StringRef text;
  std::vector<uint32_t> starts;
};

/// The change of a part of a text, or of all of it where no range is given.
struct TextChange {
  std::optional<std::pair<EditorPosition, EditorPosition>> range;
  std::string text;
};

/// Puts a change into a text. A range that ends before it begins is empty.
void apply(const TextChange &change, std::string &text);

} // namespace accord::editor
