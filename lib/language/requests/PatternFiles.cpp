#include "lib/language/requests/PatternFiles.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/Number.h"
#include "lib/support/Rational.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

/// A file of text: one with other control characters is refused as a whole.
static std::optional<FileId> readText(const std::string &path, SourceRange from, Diagnostics &diags) {
  auto read = readFile(diags, path, from);
  if (!read || llvm::none_of(diags.sources().text(*read), [](char c) {
        return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r';
      }))
    return read;
  diags.error(Code::NotText, from, fmt::format("'{}' is no text", path));
  return std::nullopt;
}

SourceRange QualityTable::at(const Diagnostics &diags, const calibrate::Cell &cell) const {
  return diags.sources().at(file, {cell.line, cell.column});
}

std::optional<QualityTable> readTable(const std::string &path, SourceRange from, Diagnostics &diags) {
  auto read = readText(path, from, diags);
  if (!read)
    return std::nullopt;
  QualityTable table;
  table.file = *read;
  auto reject = [&](SourceRange at, const std::string &message) {
    diags.error(Code::WrongQualityFile, at, message).note(from, "the file is named here");
  };
  auto parsed = calibrate::readCsv(diags.sources().text(*read), path);
  if (!parsed) {
    for (const Error &error : parsed.error())
      reject(diags.sources().at(*read, {error.location.line, error.location.column}), error.message);
    return std::nullopt;
  }
  auto &records = *parsed;
  if (records.empty()) {
    reject({*read, 0, 0}, fmt::format("'{}' is empty", path));
    return std::nullopt;
  }
  // A file that is no table is not shown.
  auto isName = [](const calibrate::Cell &cell) {
    return llvm::all_of(cell.text,
                        [](char c) { return llvm::isAlnum(c) || llvm::StringRef("_-. +*%()[]").contains(c); });
  };
  if (!llvm::all_of(records.front(), isName)) {
    diags.error(Code::WrongQualityFile, from, fmt::format("'{}' is no table: its first line names no columns", path));
    return std::nullopt;
  }
  size_t before = diags.errors();
  for (const calibrate::Cell &cell : records.front()) {
    if (cell.text.empty() || std::ranges::count(table.columns, cell.text))
      reject(table.at(diags, cell),
             cell.text.empty() ? "a column without a name" : fmt::format("column '{}' is there already", cell.text));
    table.columns.push_back(cell.text);
  }
  for (size_t i = 1; i < records.size() && diags.errors() - before < 20; ++i)
    if (records[i].size() != table.columns.size())
      reject(table.at(diags, records[i].front()),
             fmt::format("this line has {} values, and there are {} columns", records[i].size(), table.columns.size()));
  if (diags.errors() > before)
    return std::nullopt;
  records.erase(records.begin());
  table.rows = std::move(records);
  return table;
}

namespace {
/// Reads windows of sparsity from a table of zeros and counts or shares.
class HistogramReader {
public:
  HistogramReader(const QualityTable &table, SourceRange from, int64_t window, Diagnostics &diags)
      : table(table), from(from), diags(diags), window(window), found(window + 1), seen(window + 1) {}
  bool read(SparsityPattern &pattern) {
    if (!columns() || !llvm::all_of(table.rows, [&](const calibrate::Record &row) { return add(row); }))
      return false;
    if (!(sum > 0) || !std::isfinite(sum) || (shares && std::abs(sum - 1) > 1e-6)) {
      reject({table.file, 0, 0},
             shares ? fmt::format("the shares sum to {:.6g}, not to 1", sum) : "there is no window in this histogram");
      return false;
    }
    for (double &share : found)
      share /= sum;
    pattern.kind = SparsityPattern::Kind::Histogram;
    pattern.window = window;
    pattern.histogram = std::move(found);
    pattern.density = std::clamp(kept / sum / window, 0.0, 1.0);
    return true;
  }

private:
  Diagnostics::Builder reject(SourceRange at, const std::string &message) {
    return diags.error(Code::WrongQualityFile, at, message).note(from, "the file is named here");
  }
  bool columns() {
    size_t before = diags.errors();
    for (auto [i, name] : llvm::enumerate(table.columns))
      if (name == "zeros")
        zeros = i;
      else if ((name == "count" || name == "share") && !amount)
        amount = i, shares = name == "share";
      else
        reject({table.file, 0, 0}, fmt::format("a histogram has no column '{}'", name))
            .help("its columns are zeros and count, or zeros and share");
    if ((!zeros || !amount) && diags.errors() == before)
      reject({table.file, 0, 0}, "a histogram has the columns zeros and count, or zeros and share");
    return diags.errors() == before;
  }
  bool add(const calibrate::Record &row) {
    auto count = parseNumber(row[*zeros].text);
    auto index = count ? count->toInt64() : std::nullopt;
    bool inside = index && *index >= 0 && *index <= window;
    if (!inside || seen[*index]) {
      reject(table.at(diags, row[*zeros]),
             inside ? fmt::format("windows with {} zeros are there already", *index)
                    : fmt::format("'{}' is no number of zeros: 0 to {}", row[*zeros].text, window));
      return false;
    }
    auto number = parseNumber(row[*amount].text);
    double value = number ? number->toDouble() : -1;
    if (!number || !(value >= 0) || (!shares && !number->isInteger())) {
      reject(table.at(diags, row[*amount]),
             fmt::format("'{}' is no {} of windows", row[*amount].text, shares ? "share" : "number"));
      return false;
    }
    seen[*index] = true;
    found[*index] = value;
    sum += value;
    kept += value * (window - *index);
    return true;
  }

  const QualityTable &table;
  SourceRange from;
  Diagnostics &diags;
  int64_t window;
  std::optional<size_t> zeros, amount;
  bool shares = false;
  std::vector<double> found;
  std::vector<bool> seen;
  double sum = 0, kept = 0;
};
} // namespace

bool readHistogram(const std::string &path, SourceRange from, int64_t window, SparsityPattern &pattern,
                   Diagnostics &diags) {
  auto table = readTable(path, from, diags);
  return table && HistogramReader(*table, from, window, diags).read(pattern);
}

bool readMask(const std::string &path, SourceRange from, SparsityPattern &pattern, Diagnostics &diags) {
  auto read = readText(path, from, diags);
  if (!read)
    return false;
  llvm::StringRef text = diags.sources().text(*read);
  // A file that is no mask is not shown.
  if (llvm::StringRef first = text.ltrim(", \t\r\n"); !first.empty() && first[0] != '0' && first[0] != '1') {
    diags.error(Code::WrongQualityFile, from, fmt::format("'{}' is no mask: it begins with another character", path))
        .help("a mask has a line for each row, of 1 where an element is kept and 0 where it is not");
    return false;
  }
  std::vector<std::vector<bool>> mask;
  std::vector<bool> row;
  size_t kept = 0, elements = 0;
  auto reject = [&](size_t offset, size_t length, const std::string &message) {
    auto begin = static_cast<uint32_t>(offset);
    diags.error(Code::WrongQualityFile, {*read, begin, begin + static_cast<uint32_t>(length)}, message)
        .note(from, "the file is named here")
        .help("a mask has a line for each row, of 1 where an element is kept and 0 where it is not");
    return false;
  };
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : '\n';
    if (c == '0' || c == '1') {
      row.push_back(c == '1');
      kept += c == '1';
      ++elements;
    } else if (c == '\n') {
      if (!row.empty() && !mask.empty() && mask.front().size() != row.size())
        return reject(start, i - start,
                      fmt::format("this row has {} elements, and the first has {}", row.size(), mask.front().size()));
      if (!row.empty())
        mask.push_back(std::move(row));
      row.clear();
      start = i + 1;
    } else if (c != ',' && c != ' ' && c != '\t' && c != '\r') {
      return reject(i, 1, "a mask is of 0 and 1");
    }
  }
  if (mask.empty())
    return reject(0, 0, fmt::format("'{}' is empty", path));
  pattern.kind = SparsityPattern::Kind::Mask;
  pattern.density = static_cast<double>(kept) / elements;
  pattern.mask = std::move(mask);
  return true;
}

} // namespace accord
