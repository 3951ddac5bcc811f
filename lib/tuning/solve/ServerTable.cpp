#include "lib/tuning/solve/ServerTable.h"
#include "lib/support/Number.h"
#include "lib/support/Quantity.h"
#include "lib/support/documents/Csv.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace accord::tuning {
namespace {
using calibrate::Cell;
using calibrate::Record;

class Reader {
public:
  Reader(const std::string &path, const ServerProblem &problem) : path_(path), problem_(problem) {}

  Result<ServerTable, Errors> read(const std::vector<Record> &records) {
    const auto count = static_cast<size_t>(numSettings(problem_.parameters));
    if (records.size() < 2)
      return Error{Code::BadTable, "a table of settings has a row of names and a row for each setting", {path_}};
    header(records[0]);
    table_.rates.assign(count, 0), table_.deviations.assign(count, kDeviation);
    if (watts_)
      table_.watts.assign(count, 0);
    lines_.assign(count, 0);
    for (size_t i = 1; i < records.size() && errors_.size() < 20 && isHeaderGood_; ++i)
      row(records[i], records[0].size());
    for (size_t i = 0; i < count && errors_.empty(); ++i)
      if (!lines_[i])
        error(Code::BadTable, records[0][0],
              fmt::format("the table has no row of {}",
                          settingText(problem_.parameters, settingOf(problem_.parameters, static_cast<int64_t>(i)))));
    const auto baseline = static_cast<size_t>(numberOf(problem_.parameters, problem_.baseline));
    if (errors_.empty() && !(table_.rates[baseline] > 0))
      error(Code::BadTable, records[0][0], "the training dies with the baseline");
    if (!errors_.empty())
      return std::move(errors_);
    return std::move(table_);
  }

private:
  static constexpr double kDeviation = 0.02;

  void error(Code code, const Cell &at, std::string message) {
    errors_.push_back({code, std::move(message), {path_, at.line, at.column}, {}, {}});
  }

  void header(const Record &names) {
    columns_.resize(problem_.parameters.size());
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string &name = names[i].text;
      const auto found = std::ranges::find(problem_.parameters, name, &ServerParameter::name);
      std::optional<size_t> *column = name == "samples_per_second" ? &rate_
                                      : name == "watts"            ? &watts_
                                      : name == "deviation"        ? &deviation_
                                      : found != problem_.parameters.end()
                                          ? &columns_[static_cast<size_t>(found - problem_.parameters.begin())]
                                          : nullptr;
      if (!column)
        error(Code::BadColumn, names[i],
              fmt::format("column '{}' is no parameter of the server, 'samples_per_second', 'watts' or 'deviation'",
                          name));
      else if (*column)
        error(Code::BadColumn, names[i], fmt::format("column '{}' stands twice", name));
      else
        *column = i;
    }
    for (size_t i = 0; i < columns_.size(); ++i)
      if (!columns_[i])
        error(Code::BadColumn, names[0], fmt::format("there is no column '{}'", problem_.parameters[i].name));
    if (!rate_)
      error(Code::BadColumn, names[0], "there is no column 'samples_per_second'");
    if (!watts_ && problem_.objective == ServerObjective::SamplesPerJoule)
      error(Code::BadColumn, names[0], "there is no column 'watts', which samples per joule need");
    isHeaderGood_ = errors_.empty();
  }

  std::optional<int64_t> valueOf(const ServerParameter &parameter, const Cell &cell) {
    if (!parameter.words.empty()) {
      auto found = std::ranges::find(parameter.words, cell.text);
      if (found != parameter.words.end())
        return found - parameter.words.begin();
    } else {
      std::optional<double> value;
      if (auto plain = parseReal(cell.text))
        value = *plain;
      else if (auto quantity = parseQuantity(cell.text), unit = parseQuantity("1 " + parameter.unit);
               quantity && unit && accord::compare(*quantity, *unit))
        value = quantity->toDouble();
      for (size_t i = 0; value && i < parameter.values.size(); ++i)
        if (std::abs(parameter.values[i] - *value) <= 1e-9 * std::abs(*value))
          return static_cast<int64_t>(i);
    }
    error(Code::BadCell, cell, fmt::format("'{}' is no value of '{}'", cell.text, parameter.name));
    return std::nullopt;
  }

  std::optional<double> numberIn(const Cell &cell, double min, double max, const char *what) {
    auto value = parseReal(cell.text);
    if (value && *value >= min && *value <= max)
      return *value;
    error(Code::BadCell, cell, fmt::format("'{}' is no {} from {} to {}", cell.text, what, min, max));
    return std::nullopt;
  }

  void row(const Record &cells, size_t count) {
    if (cells.size() != count)
      return error(Code::BadTable, cells[0],
                   fmt::format("a row has {} cells, and the first row {}", cells.size(), count));
    Setting setting;
    for (size_t i = 0; i < columns_.size(); ++i) {
      auto value = valueOf(problem_.parameters[i], cells[*columns_[i]]);
      if (!value)
        return;
      setting.push_back(*value);
    }
    const auto number = static_cast<size_t>(numberOf(problem_.parameters, setting));
    if (lines_[number])
      return error(Code::BadTable, cells[0], fmt::format("the setting of line {} stands here again", lines_[number]));
    lines_[number] = cells[0].line;
    if (const Cell &cell = cells[*rate_]; !cell.text.empty()) {
      auto rate = numberIn(cell, 0, 1e15, "number of samples per second");
      if (!rate)
        return;
      table_.rates[number] = *rate;
    }
    if (watts_ && table_.rates[number] > 0)
      if (auto watts = numberIn(cells[*watts_], 1e-3, 1e9, "power in watts"))
        table_.watts[number] = *watts;
    if (deviation_ && !cells[*deviation_].text.empty())
      if (auto deviation = numberIn(cells[*deviation_], 0, 1, "deviation"))
        table_.deviations[number] = *deviation;
  }

  const std::string &path_;
  const ServerProblem &problem_;
  std::vector<std::optional<size_t>> columns_;
  std::optional<size_t> rate_, watts_, deviation_;
  std::vector<unsigned> lines_; ///< by number; 0: no row yet
  bool isHeaderGood_ = false;
  ServerTable table_;
  Errors errors_;
};

} // namespace

int64_t numberOf(const std::vector<ServerParameter> &parameters, const Setting &setting) {
  int64_t number = 0;
  for (size_t i = 0; i < parameters.size(); ++i)
    number = number * static_cast<int64_t>(parameters[i].size()) + setting[i];
  return number;
}

Result<ServerTable, Errors> readServerTable(llvm::StringRef text, const std::string &path,
                                            const ServerProblem &problem) {
  auto records = calibrate::readCsv(text, path);
  if (!records)
    return records.takeError();
  return Reader(path, problem).read(*records);
}

Result<ServerRunner::Measured> ServerTableRunner::run(const Setting &setting, const Watch &watch) {
  const auto number = static_cast<size_t>(numberOf(problem_.parameters, setting));
  SplitMix random(problem_.seed * 1'000'003 + interval_++);
  Measured out;
  if (!(table_.rates[number] > 0)) {
    out.outcome = ServerInterval::Outcome::Failed, out.reason = "the training died";
    return out;
  }
  const double seconds = (problem_.intervalSeconds - problem_.settleSeconds) / static_cast<double>(kWindows);
  for (size_t i = 0; i < kWindows; ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    const double normal = radius * std::cos(2 * std::numbers::pi * random.unit());
    out.windows.push_back({seconds, table_.rates[number] * seconds * std::exp(table_.deviations[number] * normal),
                           table_.watts.empty() ? 0 : table_.watts[number] * seconds});
    if (watch(out.windows)) {
      out.outcome = ServerInterval::Outcome::RolledBack;
      break;
    }
  }
  return out;
}

} // namespace accord::tuning
