#include "lib/import/jobs/TraceTable.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace accord::jobs {
namespace {

using calibrate::Record;

/// The cells of a line. With more than `expected`, those from `absorbing` on are joined until there are as many.
Record cellsOf(std::string_view content, unsigned line, size_t expected, size_t absorbing) {
  Record cells;
  for (size_t start = 0;;) {
    const size_t end = content.find('|', start);
    cells.push_back({std::string(content.substr(start, end - start)), line, static_cast<unsigned>(start + 1)});
    if (end == std::string_view::npos)
      break;
    start = end + 1;
  }
  if (cells.size() <= expected || absorbing >= expected)
    return cells;
  const auto first = cells.begin() + static_cast<std::ptrdiff_t>(absorbing);
  const auto surplus = static_cast<std::ptrdiff_t>(cells.size() - expected);
  for (auto cell = first + 1; cell != first + 1 + surplus; ++cell)
    first->text += "|" + cell->text;
  cells.erase(first + 1, first + 1 + surplus);
  return cells;
}

/// Where a part of a table of about 8 MiB ends that starts at `start`: behind a line outside of quotes.
size_t endOfPart(std::string_view text, size_t start, unsigned &lines) {
  constexpr size_t kPart = size_t(8) << 20;
  bool quoted = false;
  for (size_t at = start; at < text.size(); ++at) {
    quoted ^= text[at] == '"';
    if (text[at] != '\n')
      continue;
    ++lines;
    if (!quoted && at - start >= kPart)
      return at + 1;
  }
  return text.size();
}

} // namespace

Result<void> TraceTable::add(const Record &record) {
  if (record.size() != names.size())
    return Error{Code::WrongJobsFile,
                 fmt::format("the line has {} cells, but there are {} columns", record.size(), names.size()),
                 {path, record.front().line, record.front().column}};
  for (const calibrate::Cell &cell : record) {
    cells.push_back({bytes.size(), static_cast<unsigned>(cell.text.size()), cell.line, cell.column});
    bytes += cell.text;
  }
  return {};
}

/// Adds the records of a part of a table.
Result<void> TraceTable::addPart(std::string_view text, unsigned linesBefore, std::span<const std::string_view> columns,
                                 std::string_view firstColumn) {
  auto part = calibrate::readCsv(text, path);
  if (!part) {
    Error first = part.takeError().front();
    first.code = Code::WrongJobsFile;
    first.location.line += linesBefore;
    return first;
  }
  for (Record &record : *part) {
    for (calibrate::Cell &cell : record)
      cell.line += linesBefore;
    if (!names.empty()) {
      if (auto added = add(record); !added)
        return added;
      continue;
    }
    const bool isHeader = std::ranges::count(record, firstColumn, &calibrate::Cell::text) > 0;
    headerLine = record.front().line;
    if (isHeader)
      std::ranges::transform(record, std::back_inserter(names), &calibrate::Cell::text);
    else
      names.assign(columns.begin(), columns.end());
    if (auto checked = checkHeader(); !checked)
      return checked;
    if (auto added = isHeader ? Result<void>() : add(record); !added)
      return added;
  }
  return {};
}

Result<TraceTable> TraceTable::fromCsv(std::string_view text, const std::string &path,
                                       std::span<const std::string_view> columns, std::string_view firstColumn) {
  TraceTable table;
  table.path = path;
  unsigned before = 0; // lines of the parts before
  for (size_t start = 0; start < text.size();) {
    unsigned lines = 0;
    const size_t end = endOfPart(text, start, lines);
    if (auto added = table.addPart(text.substr(start, end - start), before, columns, firstColumn); !added)
      return added.takeError();
    before += lines;
    start = end;
  }
  if (table.names.empty())
    return table.wrongHeader("the file is empty, but a table is expected");
  return table;
}

Result<TraceTable> TraceTable::fromPipes(std::string_view text, const std::string &path, std::string_view absorbing) {
  TraceTable table;
  table.path = path;
  bool trailing = false; // each line ends with a "|"
  size_t absorbed = SIZE_MAX;
  unsigned line = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    std::string_view content = text.substr(start, end - start);
    start = end + 1;
    ++line;
    if (!content.empty() && content.back() == '\r')
      content.remove_suffix(1);
    if (content.find_first_not_of(" \t") == std::string_view::npos)
      continue;
    if (table.names.empty()) {
      trailing = content.size() > 1 && content.back() == '|';
      content.remove_suffix(trailing ? 1 : 0);
      for (const calibrate::Cell &cell : cellsOf(content, line, SIZE_MAX, SIZE_MAX))
        table.names.push_back(llvm::StringRef(cell.text).trim().str());
      table.headerLine = line;
      absorbed = table.find(absorbing).value_or(SIZE_MAX);
      if (auto checked = table.checkHeader(); !checked)
        return checked.takeError();
      continue;
    }
    if (trailing && content.back() == '|')
      content.remove_suffix(1);
    if (auto added = table.add(cellsOf(content, line, table.names.size(), absorbed)); !added)
      return added.takeError();
  }
  if (table.names.empty())
    return table.wrongHeader("the file is empty, but a header is expected");
  return table;
}

Result<void> TraceTable::checkHeader() const {
  for (size_t i = 0; i < names.size(); ++i)
    if (!names[i].empty() && *find(names[i]) != i)
      return wrongHeader(fmt::format("the header has column '{}' twice", names[i]));
  return {};
}

std::optional<size_t> TraceTable::find(std::string_view column) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (llvm::StringRef(names[i]).equals_insensitive(column))
      return i;
  return std::nullopt;
}

Result<size_t> TraceTable::need(std::string_view column) const {
  if (const auto found = find(column))
    return *found;
  return wrongHeader(fmt::format("the header has no column '{}'", column));
}

Result<std::optional<double>> TraceTable::number(size_t row, size_t column, double min, double max) const {
  const std::string_view cell = text(row, column);
  if (cell.empty() || llvm::StringRef(cell).equals_insensitive("nan"))
    return std::optional<double>();
  double value = 0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (failure != std::errc() || end != cell.data() + cell.size() || !(value >= min && value <= max))
    return wrong(row, column,
                 fmt::format("'{}' is '{}', but a number from {} to {} is expected", names[column], cell, min, max));
  return std::optional<double>(value);
}

Result<double> TraceTable::needNumber(size_t row, size_t column, double min, double max) const {
  ACCORD_TRY(value, number(row, column, min, max));
  if (!value)
    return wrong(row, column,
                 fmt::format("'{}' is '{}', but a number from {} to {} is expected", names[column], text(row, column),
                             min, max));
  return *value;
}

Error TraceTable::wrong(size_t row, size_t column, std::string message) const {
  const Cell &cell = at(row, column);
  return {Code::WrongJobsFile, std::move(message), {path, cell.line, cell.column}};
}

Error TraceTable::wrongHeader(std::string message) const {
  return {Code::WrongJobsFile, std::move(message), {path, headerLine, 1}};
}

} // namespace accord::jobs
