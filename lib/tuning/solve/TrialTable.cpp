#include "lib/tuning/solve/TrialTable.h"
#include "lib/support/Number.h"
#include "lib/support/documents/Csv.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace accord::tuning {
namespace {

using calibrate::Cell;
using calibrate::Record;

class Reader {
public:
  Reader(const std::string &path, const SearchSpace &space) : path_(path), space_(space), columnOf_(space.size()) {}

  Result<TrialTable, Errors> read(const std::vector<Record> &records) {
    if (records.size() < 2)
      return Error{Code::BadTable, "a table of trials has a row of names and a row for each configuration", {path_}};
    header(records[0]);
    std::map<Configuration, unsigned> seen;
    for (size_t i = 1; i < records.size() && errors_.size() < 20 && isHeaderGood_; ++i)
      row(records[i], records[0].size(), seen);
    if (!errors_.empty())
      return std::move(errors_);
    return std::move(table_);
  }

private:
  void error(Code code, const Cell &at, std::string message, std::string suggestion = "") {
    errors_.push_back({code, std::move(message), {path_, at.line, at.column}, {}, std::move(suggestion)});
  }

  void header(const Record &names) {
    std::map<std::string, size_t> seen;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string &name = names[i].text;
      if (!seen.emplace(name, i).second) {
        error(Code::BadColumn, names[i], fmt::format("column '{}' stands twice", name));
        continue;
      }
      const size_t parameter =
          static_cast<size_t>(std::ranges::find(space_, name, &HyperParameter::name) - space_.begin());
      uint64_t unit = 0;
      if (parameter < space_.size())
        columnOf_[parameter] = i;
      else if (name == "seconds")
        secondsColumn_ = i;
      else if (!name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; }) &&
               name.size() < 10 && (unit = std::stoull(name)) == unitColumns_.size() + 1)
        unitColumns_.push_back(i);
      else
        error(Code::BadColumn, names[i],
              fmt::format("column '{}' is no hyper-parameter of the tuning, 'seconds' or the next unit, {}", name,
                          unitColumns_.size() + 1));
    }
    for (size_t parameter = 0; parameter < space_.size(); ++parameter)
      if (!columnOf_[parameter])
        error(Code::BadColumn, names[0], fmt::format("there is no column '{}'", space_[parameter].name));
    if (unitColumns_.empty())
      error(Code::BadColumn, names[0], "there is no column '1' with values after the first unit");
    table_.units = static_cast<int64_t>(unitColumns_.size());
    isHeaderGood_ = errors_.empty();
  }

  std::optional<double> parameterOf(const HyperParameter &parameter, const Cell &cell) {
    if (parameter.kind == HyperParameter::Kind::Choice) {
      auto found = std::ranges::find(parameter.choices, cell.text);
      if (found != parameter.choices.end())
        return static_cast<double>(found - parameter.choices.begin());
      error(Code::BadCell, cell, fmt::format("'{}' is no choice of '{}'", cell.text, parameter.name));
      return std::nullopt;
    }
    auto value = parseReal(cell.text);
    if (!value || !(*value >= parameter.min && *value <= parameter.max) ||
        (parameter.kind == HyperParameter::Kind::Integer && *value != std::round(*value))) {
      error(Code::BadCell, cell,
            fmt::format("'{}' of '{}' is no {} from {} to {}", cell.text, parameter.name,
                        parameter.kind == HyperParameter::Kind::Integer ? "whole number" : "number", parameter.min,
                        parameter.max));
      return std::nullopt;
    }
    return *value;
  }

  void row(const Record &cells, size_t count, std::map<Configuration, unsigned> &seen) {
    if (cells.size() != count) {
      error(Code::BadTable, cells[0], fmt::format("a row has {} cells, and the first row {}", cells.size(), count));
      return;
    }
    TrialTable::Row out;
    for (size_t parameter = 0; parameter < space_.size(); ++parameter) {
      auto value = parameterOf(space_[parameter], cells[*columnOf_[parameter]]);
      if (!value)
        return;
      out.configuration.push_back(*value);
    }
    if (auto [earlier, isNew] = seen.emplace(out.configuration, cells[0].line); !isNew)
      return error(Code::BadTable, cells[0],
                   fmt::format("the configuration of line {} stands here again", earlier->second));
    if (secondsColumn_) {
      auto seconds = parseReal(cells[*secondsColumn_].text);
      if (!seconds || !(*seconds > 0) || !(*seconds < 1e9))
        return error(Code::BadCell, cells[*secondsColumn_],
                     fmt::format("'{}' is no number of seconds above 0", cells[*secondsColumn_].text));
      out.seconds = *seconds;
    }
    for (size_t column : unitColumns_) {
      const std::string &text = cells[column].text;
      if (text.empty())
        out.values.push_back(std::nullopt);
      else if (text == "nan")
        out.values.push_back(std::numeric_limits<double>::quiet_NaN());
      else if (text == "inf" || text == "-inf")
        out.values.push_back(std::numeric_limits<double>::infinity());
      else if (auto value = parseReal(text))
        out.values.push_back(*value);
      else
        return error(Code::BadCell, cells[column],
                     fmt::format("'{}' is no value: a number, nan, inf, -inf, or empty where the trial ends", text));
    }
    if (!continuesPrefixes(cells[0], out))
      return;
    out.point = toCube(space_, out.configuration);
    table_.rows.push_back(std::move(out));
  }

  /// Whether the values up to each unit behind which hyper-parameters begin to act are those of the first row that is
  /// the same before it; an error where they are not. A value that either lacks says nothing.
  bool continuesPrefixes(const Cell &at, const TrialTable::Row &row) {
    for (int64_t unit : branchUnits(space_)) {
      Configuration prefix = row.configuration;
      for (size_t i = 0; i < prefix.size(); ++i)
        if (space_[i].from >= unit)
          prefix[i] = 0;
      const auto [first, isNew] = prefixes_.try_emplace({unit, prefix}, at.line, row.values);
      const std::vector<std::optional<double>> &known = first->second.second;
      for (size_t i = 0; i < std::min(known.size(), static_cast<size_t>(unit)); ++i)
        if (known[i] && row.values[i] && *known[i] != *row.values[i] && std::isfinite(*known[i] + *row.values[i])) {
          error(Code::BadTable, at,
                fmt::format("line {} has the same of all that acts before unit {}, but another value after unit {}",
                            first->second.first, unit, i + 1));
          return false;
        }
    }
    return true;
  }

  const std::string &path_;
  const SearchSpace &space_;
  /// Lines and values of the first rows with what acts before a unit.
  std::map<std::pair<int64_t, Configuration>, std::pair<unsigned, std::vector<std::optional<double>>>> prefixes_;
  std::vector<std::optional<size_t>> columnOf_;
  std::optional<size_t> secondsColumn_;
  std::vector<size_t> unitColumns_;
  bool isHeaderGood_ = false;
  TrialTable table_;
  Errors errors_;
};

} // namespace

Result<TrialTable, Errors> readTrialTable(const std::string &text, const std::string &path, const SearchSpace &space) {
  ACCORD_TRY(records, calibrate::readCsv(text, path));
  return Reader(path, space).read(records);
}

std::vector<CubePoint> TableRunner::candidates() {
  std::vector<CubePoint> out;
  for (size_t row = 0; row < table_.rows.size(); ++row)
    if (!isUsed_[row])
      out.push_back(table_.rows[row].point);
  return out;
}

/// Of those that have not run; nothing where all have.
std::optional<size_t> TableRunner::nearestRow(const Configuration &configuration, int64_t unit) const {
  const CubePoint point = toCube(problem_.space, configuration);
  std::optional<size_t> nearest;
  double smallest = 0;
  for (size_t row = 0; row < table_.rows.size(); ++row) {
    if (isUsed_[row] || !haveSamePrefix(problem_.space, table_.rows[row].configuration, configuration, unit))
      continue;
    const double far = distance(problem_.space, point, table_.rows[row].point);
    if (!nearest || far < smallest)
      nearest = row, smallest = far;
  }
  return nearest;
}

std::optional<Configuration> TableRunner::acceptBranch(Configuration proposed, int64_t unit) {
  const std::optional<size_t> nearest = nearestRow(proposed, unit);
  if (!nearest)
    return std::nullopt;
  isUsed_[*nearest] = true;
  rowOf_.push_back(*nearest);
  return table_.rows[*nearest].configuration;
}

std::optional<double> TableRunner::unitSeconds(const Configuration &configuration) {
  const auto known = rows_.find(configuration);
  const std::optional<size_t> row = known != rows_.end() ? known->second : nearestRow(configuration);
  return row ? table_.rows[*row].seconds : std::nullopt;
}

Result<TrialValue> TableRunner::value(unsigned trial, const Configuration & /*configuration*/, int64_t unit) {
  const auto &values = table_.rows[rowOf_[trial]].values;
  const auto index = static_cast<size_t>(unit) - 1;
  if (index >= values.size() || !values[index])
    return TrialValue{std::nullopt, fmt::format("the table has no value after unit {}", unit)};
  return TrialValue{*values[index]};
}

} // namespace accord::tuning
