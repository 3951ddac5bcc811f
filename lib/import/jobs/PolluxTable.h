// A CSV file of the Pollux artefact with a header, and its cells as checked values. Internal to lib/import/jobs.
#pragma once
#include "lib/support/documents/Csv.h"
#include <span>

namespace accord::jobs {

using calibrate::Cell, calibrate::Record;

/// Numbers in these files are at most this.
constexpr int64_t kMaxPolluxNumber = int64_t(1) << 40;

class PolluxTable {
public:
  /// Reads a text whose first record names the columns; all of `columns` have to be there, in any order, and each
  /// record has as many cells as the header. Errors have the code A1101 and the place of the cell.
  static Result<PolluxTable> read(std::string_view text, const std::string &path,
                                  std::span<const std::string_view> columns);

  size_t rows() const { return records.size(); }
  /// `column` is an index into the `columns` of `read`.
  const Cell &cell(size_t row, size_t column) const { return records[row][places[column]]; }
  /// A whole number of at least `min`.
  Result<int64_t> whole(size_t row, size_t column, int64_t min) const;
  /// A finite number of at least `min`.
  Result<double> real(size_t row, size_t column, double min) const;
  /// Error A1101 at a cell.
  Error wrong(size_t row, size_t column, std::string message) const;

private:
  Result<void> findColumns(const Record &header, std::span<const std::string_view> columns);

  std::string path;
  std::vector<std::string> names;
  std::vector<size_t> places; ///< of each column, in a record
  std::vector<Record> records;
};

/// The whole text of a file; error A1101 at the file if it cannot be read.
Result<std::string> readPolluxFile(const std::string &path);

} // namespace accord::jobs
