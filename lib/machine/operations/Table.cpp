#include "lib/machine/operations/Table.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Number.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::operations {

constexpr size_t kMaxErrors = 20;
constexpr double kLargest = 1e15;

void Table::complain(Code code, const Cell &cell, std::string message, std::string suggestion) {
  if (errors.size() < kMaxErrors)
    errors.push_back({code, std::move(message), {path, cell.line, cell.column}, {}, std::move(suggestion)});
}

bool Table::header(const Record &record) {
  for (const Cell &cell : record) {
    if (std::ranges::find(known, cell.text) == known.end())
      complain(Code::BadColumn, cell,
               fmt::format("unknown column '{}'; this table has {}", cell.text, fmt::join(known, ", ")),
               nearest(cell.text, known));
    else if (std::ranges::find(columns, cell.text) != columns.end())
      complain(Code::BadColumn, cell, fmt::format("column '{}' is named twice", cell.text));
    columns.push_back(cell.text);
  }
  for (const std::string &name : required)
    if (std::ranges::find(columns, name) == columns.end())
      complain(Code::BadColumn, record.front(), fmt::format("the column '{}' is missing", name));
  return errors.empty();
}

bool Table::fits(const Record &record) {
  if (record.size() == columns.size())
    return true;
  complain(Code::BadTable, record.size() < columns.size() ? record.front() : record[columns.size()],
           fmt::format("{} cells, but the first line names {} columns", record.size(), columns.size()));
  return false;
}

const Cell *Table::cell(const Record &record, std::string_view column) const {
  auto found = std::ranges::find(columns, column);
  return found == columns.end() ? nullptr : &record[found - columns.begin()];
}

std::string Table::text(const Record &record, std::string_view column) const {
  const Cell *found = cell(record, column);
  return found ? found->text : std::string();
}

std::optional<double> Table::number(const Record &record, std::string_view column, bool whole) {
  const Cell *found = cell(record, column);
  if (!found || found->text.empty())
    return std::nullopt;
  auto value = parseReal(found->text);
  if (!value || *value <= 0 || *value > kLargest || (whole && *value != std::floor(*value))) {
    complain(Code::BadCell, *found,
             fmt::format("column '{}': expected a {} above 0 and at most 10^15, found '{}'", column,
                         whole ? "whole number" : "number", found->text));
    return std::nullopt;
  }
  return *value;
}

} // namespace accord::operations
