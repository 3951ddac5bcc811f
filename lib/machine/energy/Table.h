// Tables of published numbers, as lib/catalog/*.csv has them: a line of keys, then a row per line;
// cells between commas, the last one may stand in double quotes; `#` starts a comment line.
#pragma once
#include "lib/support/Dimension.h"
#include "lib/support/Result.h"
#include <string>
#include <string_view>
#include <vector>

namespace accord {

struct TableCell {
  std::string text; ///< without quotes and the blanks around it
  unsigned column = 1;
};
struct TableRow {
  unsigned line = 1;
  std::vector<TableCell> cells; ///< as many as there are keys
};

class Table {
public:
  /// The file must have exactly these keys in this order. Issues with their place: A0101 another
  /// key, A0103 a cell too few, A0101 one too many, A0004 quotes that do not end.
  static Result<Table> parse(std::string_view text, const std::string &file, const std::vector<std::string> &keys);

  const std::vector<TableRow> &rows() const { return rows_; }
  /// Text of a cell. `key` is one of the table's.
  const std::string &text(const TableRow &row, std::string_view key) const;
  /// Value of a cell in base units. Issues at the cell: what `parseQuantity` says of it, A0203 for
  /// another dimension (A0202 for a number without a unit), A0302 below zero where `negative` is
  /// not allowed.
  Result<double> number(const TableRow &row, std::string_view key, const Dimension &dimension,
                        bool negative = false) const;

private:
  const TableCell &cell(const TableRow &row, std::string_view key) const;
  std::string file_;
  std::vector<std::string> keys_;
  std::vector<TableRow> rows_;
};

} // namespace accord
