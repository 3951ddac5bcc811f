// Columns of text for the terminal, in colour or not.
#pragma once
#include "lib/support/documents/TextStyle.h"
#include <string>
#include <vector>

namespace accord {

/// Cells are measured in characters, not bytes. A column is as wide as its widest cell; when the
/// table is wider than the style allows, the first column (names) is shortened in the middle.
class TextTable {
public:
  /// One character per column: 'l' or 'r' for the side it is aligned to.
  TextTable(std::string alignment, std::vector<std::string> heading);
  void row(std::vector<std::string> cells);
  std::string text(const TextStyle &style) const;

private:
  std::string alignment;
  std::vector<std::string> heading;
  std::vector<std::vector<std::string>> rows;
};

enum class Ink : uint8_t { Bold, Dim, Red, Green, Yellow };
/// `text` in colour when the style has it.
std::string inked(const TextStyle &style, Ink ink, const std::string &text);
/// A bar of `width` cells, `share` of it full: "██████▌···" or "######----".
std::string shareBar(const TextStyle &style, double share, unsigned width);
/// Characters of valid UTF-8.
size_t columnsOf(llvm::StringRef text);
/// At most `width` characters, the middle left out.
std::string shortened(const std::string &text, size_t width, const TextStyle &style);
/// Lines of at most `style.width` characters, each after `indent`.
std::string wrapped(llvm::StringRef text, const std::string &indent, const TextStyle &style);

} // namespace accord
