// Comma-separated values with places: RFC 4180 (quotes, doubled quotes, CRLF or LF), no MLIR.
#pragma once
#include "lib/support/Result.h"
#include <string>
#include <string_view>
#include <vector>

namespace accord::calibrate {

struct Cell {
  std::string text;              ///< without quotes, doubled quotes as one, trimmed of blanks if unquoted
  unsigned line = 0, column = 0; ///< where it starts, from 1; a column is a byte
};
using Record = std::vector<Cell>;

/// Every record of a text; empty lines are left out. Issues of code A0460: a quote that never ends,
/// text behind a closing quote, a quote inside of an unquoted cell, a byte that is no text (NUL or
/// another control character), a text of more than `kLargestText` bytes. At most 20.
Result<std::vector<Record>, Errors> readCsv(std::string_view text, const std::string &path);
/// A cell as `readCsv` reads it: in quotes where it has a comma, a quote, a line's end or blanks at an end.
std::string csvCell(std::string_view text);
constexpr size_t kLargestText = size_t(64) << 20;

} // namespace accord::calibrate
