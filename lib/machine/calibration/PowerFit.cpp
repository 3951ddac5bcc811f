#include "lib/machine/calibration/PowerFit.h"
#include "ceres/ceres.h"
#include "lib/machine/energy/NodeScaling.h"
#include "lib/machine/energy/Table.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::calibrate {
namespace {

constexpr size_t kCount = 5;
struct Prior {
  double mean, deviation, min;
};
/// busy, vector, tensor, memory, host in kW.
constexpr Prior kPriors[kCount] = {{0.60, 0.15, 0}, {0.25, 0.15, 0}, {0.50, 0.30, 0}, {0.20, 0.10, 0}, {1.4, 0.2, 0}};
constexpr double kErrorScale = 0.1;

PowerFit fitOf(const double *x) {
  PowerFit fit;
  fit.law.busy = x[0];
  fit.law.vector = x[1];
  fit.law.tensor = x[2];
  fit.law.memory = x[3];
  fit.host = Watts(x[4] * 1000);
  return fit;
}

struct RowError {
  const PowerRow &row;
  bool operator()(const double *x, double *error) const {
    error[0] = std::log(powerOf(row, fitOf(x)).value / row.measured.value) / kErrorScale;
    return std::isfinite(error[0]);
  }
};

struct PriorError {
  bool operator()(const double *x, double *error) const {
    for (size_t i = 0; i < kCount; ++i)
      error[i] = (x[i] - kPriors[i].mean) / kPriors[i].deviation;
    return true;
  }
};

bool isFitted(const PowerRow &row) { return row.level != "idle" && row.level != "run"; }

} // namespace

Result<std::vector<PowerRow>> readPowerRows(std::string_view text, const std::string &file) {
  ACCORD_TRY(table, Table::parse(text, file,
                                 {"id", "level", "board", "boards", "idle", "tdp", "limit", "busy", "vector", "tensor",
                                  "memory", "power", "slowdown", "origin", "source"}));
  const Dimension watts = Dimension::of(Base::Joule) / Dimension::of(Base::Second), none;
  std::vector<PowerRow> rows;
  for (const TableRow &row : table.rows()) {
    PowerRow one;
    one.id = table.text(row, "id");
    one.level = table.text(row, "level");
    constexpr std::string_view kLevels[] = {"board", "idle", "node_ac", "node_dc", "node_air", "run"};
    if (std::ranges::find(kLevels, one.level) == std::end(kLevels))
      return Error{Code::UnknownKey, fmt::format("'{}' is no level of power", one.level), {file, row.line, 1}};
    one.board = table.text(row, "board");
    one.origin = table.text(row, "origin");
    ACCORD_TRY(boards, table.number(row, "boards", none));
    one.boards = static_cast<int>(boards);
    for (auto [key, into] : {std::pair("idle", &one.rating.idle),
                             {"tdp", &one.rating.max},
                             {"limit", &one.rating.limit},
                             {"power", &one.measured}}) {
      ACCORD_TRY(value, table.number(row, key, watts));
      *into = Watts(value);
    }
    for (auto [key, into] : {std::pair("busy", &one.shares.busy),
                             {"vector", &one.shares.vector},
                             {"tensor", &one.shares.tensor},
                             {"memory", &one.shares.memory},
                             {"slowdown", &one.slowdown}}) {
      ACCORD_TRY(value, table.number(row, key, none));
      *into = value;
    }
    rows.push_back(std::move(one));
  }
  if (rows.empty())
    return Error{Code::MissingKey, "the table has no row", {file, 1, 1}};
  return rows;
}

const std::vector<PowerRow> &shippedPowerRows() {
  static const auto rows = readPowerRows(shippedTable("measured-power"), "catalog/measured-power.csv");
  return *rows;
}

Watts powerOf(const PowerRow &row, const PowerFit &fit) {
  Watts board = boardPower(row.rating, row.shares, fit.law).average;
  if (!row.level.starts_with("node"))
    return board;
  bool air = row.level == "node_air";
  return serverPower({row.boards, Watts(fit.host.value * row.boards / 8),
                      air ? Watts(fit.fans.value * row.boards / 8) : Watts(),
                      row.level == "node_dc" ? 1 : fit.supplyEfficiency},
                     board);
}

PowerFit fitPower(const std::vector<PowerRow> &rows) {
  double x[kCount];
  ceres::Problem problem;
  for (size_t i = 0; i < kCount; ++i)
    x[i] = kPriors[i].mean;
  problem.AddParameterBlock(x, kCount);
  for (size_t i = 0; i < kCount; ++i)
    problem.SetParameterLowerBound(x, static_cast<int>(i), kPriors[i].min);
  for (const PowerRow &row : rows)
    if (isFitted(row))
      problem.AddResidualBlock(
          new ceres::NumericDiffCostFunction<RowError, ceres::CENTRAL, 1, kCount>(new RowError{row}),
          new ceres::HuberLoss(1), x);
  problem.AddResidualBlock(
      new ceres::NumericDiffCostFunction<PriorError, ceres::CENTRAL, kCount, kCount>(new PriorError), nullptr, x);
  ceres::Solver::Options options;
  options.num_threads = 1;
  options.max_num_iterations = 200;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return fitOf(x);
}

std::vector<PowerScore> scorePower(const std::vector<PowerRow> &rows) {
  std::vector<PowerScore> scores;
  PowerFit all = fitPower(rows);
  std::set<std::string> origins;
  for (const PowerRow &row : rows) {
    origins.insert(row.origin);
    scores.push_back({&row, powerOf(row, all) / row.measured - 1});
  }
  for (const std::string &origin : origins) {
    std::vector<PowerRow> others;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(others),
                 [&](const PowerRow &row) { return row.origin != origin; });
    PowerFit without = fitPower(others);
    for (PowerScore &score : scores)
      if (score.row->origin == origin)
        score.unseen = powerOf(*score.row, without) / score.row->measured - 1;
  }
  return scores;
}

PowerInterval powerInterval(const std::vector<PowerScore> &scores) {
  std::vector<double> ratios;
  for (const PowerScore &score : scores)
    if (isFitted(*score.row))
      ratios.push_back(1 / (1 + score.unseen));
  if (ratios.empty())
    return {};
  std::sort(ratios.begin(), ratios.end());
  auto at = [&](double share) { return ratios[static_cast<size_t>(std::lround(share * (ratios.size() - 1)))]; };
  return {at(0.05), at(0.95)};
}

} // namespace accord::calibrate
