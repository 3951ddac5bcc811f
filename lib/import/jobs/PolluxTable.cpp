#include "lib/import/jobs/PolluxTable.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <sstream>

namespace accord::jobs {

Result<PolluxTable> PolluxTable::read(std::string_view text, const std::string &path,
                                      std::span<const std::string_view> columns) {
  auto parsed = calibrate::readCsv(text, path);
  if (!parsed) {
    Error first = parsed.takeError().front();
    first.code = Code::WrongJobsFile;
    return first;
  }
  PolluxTable table;
  table.path = path;
  table.records = std::move(*parsed);
  if (table.records.empty())
    return Error{Code::WrongJobsFile, "the file is empty, but a header is expected", {path, 1, 1}};
  const Record header = std::move(table.records.front());
  table.records.erase(table.records.begin());
  if (auto found = table.findColumns(header, columns); !found)
    return found.takeError();
  for (const Record &record : table.records)
    if (record.size() != header.size())
      return Error{Code::WrongJobsFile,
                   fmt::format("the line has {} cells, but the header has {}", record.size(), header.size()),
                   {path, record.front().line, record.front().column}};
  return table;
}

Result<void> PolluxTable::findColumns(const Record &header, std::span<const std::string_view> columns) {
  for (std::string_view name : columns) {
    const auto found = std::ranges::find(header, name, &Cell::text);
    if (found == header.end())
      return Error{Code::WrongJobsFile,
                   fmt::format("the header has no column '{}'", name),
                   {path, header.front().line, header.front().column}};
    const auto again = std::find_if(found + 1, header.end(), [&](const Cell &cell) { return cell.text == name; });
    if (again != header.end())
      return Error{Code::WrongJobsFile,
                   fmt::format("the header has column '{}' twice", name),
                   {path, again->line, again->column}};
    names.emplace_back(name);
    places.push_back(static_cast<size_t>(found - header.begin()));
  }
  return {};
}

Result<int64_t> PolluxTable::whole(size_t row, size_t column, int64_t min) const {
  const std::string &text = cell(row, column).text;
  // pandas writes whole numbers of a column with gaps as "20.0".
  const size_t digits = text.ends_with(".0") ? text.size() - 2 : text.size();
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + digits, value);
  if (problem != std::errc() || end != text.data() + digits || value < min || value > kMaxPolluxNumber)
    return wrong(row, column,
                 fmt::format("'{}' is '{}', but a whole number from {} to {} is expected", names[column], text, min,
                             kMaxPolluxNumber));
  return value;
}

Result<double> PolluxTable::real(size_t row, size_t column, double min) const {
  const std::string &text = cell(row, column).text;
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < min)
    return wrong(row, column,
                 fmt::format("'{}' is '{}', but a number{} is expected", names[column], text,
                             min > std::numeric_limits<double>::lowest() ? fmt::format(" of at least {}", min) : ""));
  return value;
}

Error PolluxTable::wrong(size_t row, size_t column, std::string message) const {
  const Cell &at = cell(row, column);
  return {Code::WrongJobsFile, std::move(message), {path, at.line, at.column}};
}

Result<std::string> readPolluxFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return Error{Code::WrongJobsFile, fmt::format("file '{}' cannot be read, or is empty", path), {path}};
  return text.str();
}

} // namespace accord::jobs
