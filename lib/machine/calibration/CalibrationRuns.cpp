#include "lib/machine/calibration/CalibrationRuns.h"
#include <algorithm>
#include <map>
#include <set>

namespace accord::calibrate {

std::optional<std::string> keepMatchingRows(std::vector<Row> &rows, const std::vector<std::string> &where) {
  std::map<std::string, std::set<std::string>> wanted;
  std::vector<std::string> columns = columnNames();
  for (const std::string &text : where) {
    size_t equals = text.find('=');
    std::string column = text.substr(0, equals);
    if (std::find(columns.begin(), columns.end(), column) == columns.end())
      return column;
    wanted[column].insert(equals == std::string::npos ? "" : text.substr(equals + 1));
  }
  std::erase_if(rows, [&](const Row &row) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const auto &one) {
      auto cell = row.text.find(one.first);
      return !one.second.count(cell == row.text.end() ? std::string() : cell->second);
    });
  });
  return std::nullopt;
}

Result<CalibrationFit> fitCalibration(const Prepared &prepared) {
  if (prepared.cases.empty())
    return Error{Code::NothingFitted, "no row is left to fit", {}, {}};
  auto made = fit(prepared.cases);
  if (!made)
    return made.takeError();
  Fit &good = *made;
  const Case &first = prepared.cases.front();
  CalibrationFile file =
      calibrationOf(first.machine, first.prior, good, residualsOf(prepared.cases, good.factors), prepared.assumptions);
  return CalibrationFit{std::move(file), std::move(good)};
}

Result<CalibrationScore> scoreCalibration(CalibrationFile file, const Machine &machine, std::vector<Case> cases) {
  CalibrationScore out;
  out.seen = std::erase_if(cases, [&](const Case &one) {
    return std::any_of(file.rows.begin(), file.rows.end(), [&](const Residual &row) { return row.id == one.id; });
  });
  if (cases.empty())
    return Error{Code::NothingFitted, "the calibration has seen every row of the table", {}, {}};
  file.rows = residualsOf(cases, factorsOf(file, priorOf(machine)));
  out.file = std::move(file);
  return out;
}

} // namespace accord::calibrate
