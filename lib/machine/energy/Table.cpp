#include "lib/machine/energy/Table.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Quantity.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

std::string_view trimmed(std::string_view text) {
  size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos)
    return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

/// The cells of one line; nothing when quotes stay open.
bool split(std::string_view line, std::vector<TableCell> &cells) {
  for (size_t at = 0;;) {
    size_t start = std::min(line.find_first_not_of(" \t", at), line.size()), end = start;
    bool quoted = start < line.size() && line[start] == '"';
    if (quoted) {
      size_t close = line.find('"', start + 1);
      if (close == std::string_view::npos)
        return false;
      end = line.find(',', close);
      cells.push_back({std::string(line.substr(start + 1, close - start - 1)), static_cast<unsigned>(start) + 1});
    } else {
      end = line.find(',', at);
      cells.push_back({std::string(trimmed(line.substr(at, end - at))), static_cast<unsigned>(start) + 1});
    }
    if (end == std::string_view::npos)
      return true;
    at = end + 1;
  }
}

} // namespace

Result<Table> Table::parse(std::string_view text, const std::string &file, const std::vector<std::string> &keys) {
  Table table;
  table.file_ = file;
  table.keys_ = keys;
  bool header = false;
  unsigned number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (trimmed(line).empty() || trimmed(line).front() == '#')
      continue;
    TableRow row{number, {}};
    auto error = [&](Code code, unsigned column, std::string message) {
      return Error{code, std::move(message), {file, number, column}, {}};
    };
    if (!split(line, row.cells))
      return error(Code::UnclosedText, 1, "a text in quotes does not end on its line");
    for (size_t i = 0; !header && i < std::min(keys.size(), row.cells.size()); ++i)
      if (row.cells[i].text != keys[i])
        return error(Code::UnknownKey, row.cells[i].column,
                     fmt::format("'{}' is not the key that stands here, '{}'", row.cells[i].text, keys[i]));
    if (row.cells.size() > keys.size())
      return error(Code::UnknownKey, row.cells[keys.size()].column,
                   fmt::format("a cell too many, after {}", fmt::join(keys, ", ")));
    if (row.cells.size() < keys.size())
      return error(Code::MissingKey, static_cast<unsigned>(line.size()) + 1,
                   fmt::format("the row has no '{}'", keys[row.cells.size()]));
    if (header)
      table.rows_.push_back(std::move(row));
    header = true;
  }
  if (!header)
    return Error{
        Code::MissingKey, fmt::format("the table has no line of keys: {}", fmt::join(keys, ", ")), {file, 1, 1}, {}};
  return table;
}

const TableCell &Table::cell(const TableRow &row, std::string_view key) const {
  return row.cells[std::find(keys_.begin(), keys_.end(), key) - keys_.begin()];
}

const std::string &Table::text(const TableRow &row, std::string_view key) const { return cell(row, key).text; }

Result<double> Table::number(const TableRow &row, std::string_view key, const Dimension &dimension,
                             bool negative) const {
  const TableCell &where = cell(row, key);
  auto error = [&](Code code, std::string message) {
    return Error{code, std::move(message), {file_, row.line, where.column}, {}};
  };
  auto value = parseQuantity(where.text);
  if (!value)
    return error(value.error().code, value.error().message);
  if (value->dimension != dimension)
    return error(value->dimensionless() ? Code::MissingUnit : Code::WrongDimension,
                 fmt::format("'{}' is a {}, not {}", key, describe(dimension), where.text));
  if (!negative && value->value.sign() < 0)
    return error(Code::OutOfRange, fmt::format("'{}' is not negative, found {}", key, where.text));
  return value->toDouble();
}

} // namespace accord
