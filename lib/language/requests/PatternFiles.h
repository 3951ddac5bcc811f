// Files that say which elements are zero: histograms and masks; and tables beside a program in
// general.
#pragma once
#include "lib/machine/model/Sparsity.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/Csv.h"

namespace accord {

/// A table of comma-separated values, its first record the names of columns, without repetition,
/// every other one as long. Nothing after an error (A1009), at its cell, with a note at the place
/// `from` that names the file.
struct QualityTable {
  FileId file;
  std::vector<calibrate::Record> rows; ///< without the first
  std::vector<std::string> columns;
  SourceRange at(const Diagnostics &diags, const calibrate::Cell &cell) const;
};
std::optional<QualityTable> readTable(const std::string &path, SourceRange from, Diagnostics &diags);

/// Columns `zeros` (0 to `window`, each once; those left out have none) and `count` or `share`:
/// windows of `window` elements by how many of them are zero. Shares sum to 1 within 1e-6. Sets
/// kind, window, histogram and density; false after errors.
bool readHistogram(const std::string &path, SourceRange from, int64_t window, SparsityPattern &pattern,
                   Diagnostics &diags);

/// A line for each row, of 1 (kept) and 0, with commas or blanks between them or none. Sets kind,
/// mask and density; false after errors.
bool readMask(const std::string &path, SourceRange from, SparsityPattern &pattern, Diagnostics &diags);

} // namespace accord
