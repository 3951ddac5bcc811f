// Cells of a table with named columns, each refused at its place.
#pragma once
#include "lib/support/documents/Csv.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accord::operations {

using calibrate::Cell;
using calibrate::Record;

/// Reads the line of column names and then cells by name.
class Table {
public:
  Table(std::string path, std::vector<std::string> columns, std::vector<std::string> required)
      : path(std::move(path)), known(std::move(columns)), required(std::move(required)) {}

  /// Error A0461 for a column that is unknown, twice there or missing.
  bool header(const Record &record);
  /// Error A0460 for a record with another number of cells.
  bool fits(const Record &record);
  /// The cell of a column; null where the table lacks the column.
  const Cell *cell(const Record &record, std::string_view column) const;
  std::string text(const Record &record, std::string_view column) const;
  /// A number above 0, whole if `whole`; nothing where the cell is empty. Error A0462 for anything else.
  std::optional<double> number(const Record &record, std::string_view column, bool whole);
  /// At most 20 are kept.
  void complain(Code code, const Cell &cell, std::string message, std::string suggestion = {});

  Errors errors;

private:
  std::string path;
  std::vector<std::string> known, required, columns;
};

} // namespace accord::operations
