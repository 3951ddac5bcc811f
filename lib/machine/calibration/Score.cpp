#include "lib/machine/calibration/Score.h"
#include "lib/machine/calibration/CalibrationRuns.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace accord::calibrate {

Score scoreOf(const std::vector<Residual> &residuals) {
  Score score;
  score.rows = residuals.size();
  if (residuals.empty())
    return score;
  std::vector<double> sizes;
  for (const Residual &r : residuals) {
    sizes.push_back(std::abs(r.error()));
    score.mape += sizes.back();
    score.bias += r.error();
  }
  std::sort(sizes.begin(), sizes.end());
  double n = sizes.size();
  score.mape /= n;
  score.bias /= n;
  score.worst = sizes.back();
  score.median = (sizes[(sizes.size() - 1) / 2] + sizes[sizes.size() / 2]) / 2;
  return score;
}

static std::vector<double> ranks(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]])
      ++end;
    for (size_t j = i; j < end; ++j)
      rank[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

Ranking rankingOf(const std::vector<Residual> &group) {
  std::vector<double> measured, computed;
  for (const Residual &r : group) {
    measured.push_back(r.measured);
    computed.push_back(r.computed);
  }
  Ranking out;
  if (group.size() < 2)
    return out;
  std::vector<double> a = ranks(measured), b = ranks(computed);
  double mean = static_cast<double>(group.size() - 1) / 2, ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  out.spearman = aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
  auto pick = std::min_element(computed.begin(), computed.end()) - computed.begin();
  out.regret = measured[pick] / *std::min_element(measured.begin(), measured.end()) - 1;
  return out;
}

std::vector<Residual> residualsOf(const std::vector<Case> &cases, const Factors &factors) {
  std::vector<Residual> residuals;
  for (const Case &one : cases)
    residuals.push_back({one.id, one.stratum, one.seconds, predict(one, factors).total});
  return residuals;
}

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
