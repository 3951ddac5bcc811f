// A table of a trace, with its columns by name and its cells as checked values. Internal to lib/import/jobs.
#pragma once
#include "lib/support/documents/Csv.h"
#include <algorithm>
#include <optional>
#include <span>

namespace accord::jobs {

class TraceTable {
public:
  /// Reads comma-separated values (`Csv.h`). If the first record has the cell `firstColumn`, it names the columns;
  /// otherwise the table has no header and its columns are `columns`.
  static Result<TraceTable> fromCsv(std::string_view text, const std::string &path,
                                    std::span<const std::string_view> columns, std::string_view firstColumn);
  /// Reads lines with "|" between cells, the first of which names the columns. A last empty column is left out. A line
  /// with more cells than the header has its surplus in column `absorbing`, which may hold "|" itself.
  static Result<TraceTable> fromPipes(std::string_view text, const std::string &path, std::string_view absorbing);

  size_t rows() const { return cells.size() / std::max<size_t>(1, names.size()); }
  unsigned line(size_t row) const { return at(row, 0).line; }
  /// The number of a column, upper and lower case alike.
  std::optional<size_t> find(std::string_view column) const;
  /// The number of a column; error A1101 at the header if it is not there.
  Result<size_t> need(std::string_view column) const;
  std::string_view text(size_t row, size_t column) const {
    const Cell &cell = at(row, column);
    return std::string_view(bytes).substr(cell.begin, cell.size);
  }
  /// A finite number from `min` to `max`; nothing for an empty cell and "nan".
  Result<std::optional<double>> number(size_t row, size_t column, double min, double max) const;
  /// The same, which has to be there.
  Result<double> needNumber(size_t row, size_t column, double min, double max) const;
  /// Error A1101 at a cell.
  Error wrong(size_t row, size_t column, std::string message) const;
  /// Error A1101 at the header.
  Error wrongHeader(std::string message) const;
  const std::string &name(size_t column) const { return names[column]; }
  const std::string &file() const { return path; }

private:
  /// Of the table's `bytes`: a table of a year has tens of millions of cells.
  struct Cell {
    size_t begin = 0;
    unsigned size = 0, line = 0, column = 0;
  };
  const Cell &at(size_t row, size_t column) const { return cells[row * names.size() + column]; }
  Result<void> checkHeader() const;
  Result<void> add(const calibrate::Record &record);
  Result<void> addPart(std::string_view text, unsigned linesBefore, std::span<const std::string_view> columns,
                       std::string_view firstColumn);

  std::string path;
  unsigned headerLine = 1;
  std::vector<std::string> names;
  std::string bytes;
  std::vector<Cell> cells; ///< row after row
};

} // namespace accord::jobs
