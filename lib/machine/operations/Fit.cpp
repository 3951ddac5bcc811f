#include "lib/machine/operations/Fit.h"
#include "ceres/ceres.h"
#include <algorithm>
#include <cmath>
#include <exception>
#include <fmt/format.h>
#include <memory>

namespace accord::operations {
namespace {

constexpr double kErrorScale = 0.05;    // relative error at which a row starts to count less than its square
constexpr double kDeviationShare = 0.8; // of a parameter's spread, between devices
constexpr double kFarthest = 5;         // spreads from the prior's median
constexpr double kStep = 1e-4;

Parameters parametersOf(const double *shared, const double *deviation) {
  Parameters values;
  for (size_t i = 0; i < kParameters; ++i)
    values[i] = std::min(info(i).median * std::exp(shared[i] + deviation[i]), info(i).upper);
  return values;
}

bool concerns(Kind kind, size_t parameter) {
  bool product = kind == Kind::Gemm || kind == Kind::BatchedGemm;
  return product == (parameter < indexOf(Parameter::Bandwidth));
}

/// e and its derivatives, which are those of the shared logarithm and of the device's deviation alike.
class RowCost : public ceres::SizedCostFunction<1, kParameters, kParameters> {
public:
  RowCost(const Row &row, const Device &device, TileSet tiles) : row(row), device(device), tiles(tiles) {}

  bool Evaluate(double const *const *blocks, double *residuals, double **jacobians) const override {
    residuals[0] = error(blocks[0], blocks[1]);
    if (jacobians && (jacobians[0] || jacobians[1])) {
      double moved[kParameters], slope[kParameters] = {};
      std::copy(blocks[0], blocks[0] + kParameters, moved);
      for (size_t i = 0; i < kParameters; ++i) {
        if (!concerns(row.operation.kind, i))
          continue;
        moved[i] = blocks[0][i] + kStep;
        slope[i] = (error(moved, blocks[1]) - residuals[0]) / kStep;
        moved[i] = blocks[0][i];
      }
      for (size_t block = 0; block < 2; ++block)
        if (jacobians[block])
          std::copy(slope, slope + kParameters, jacobians[block]);
    }
    return std::isfinite(residuals[0]);
  }

private:
  double error(const double *shared, const double *deviation) const {
    double computed = timeOf(row.operation, device, parametersOf(shared, deviation), tiles);
    return std::log(computed / row.seconds) / kErrorScale;
  }

  const Row &row;
  const Device &device;
  TileSet tiles;
};

/// A logarithm over its spread, of every parameter.
class PriorCost : public ceres::SizedCostFunction<kParameters, kParameters> {
public:
  explicit PriorCost(double share) : share(share) {}
  bool Evaluate(double const *const *blocks, double *residuals, double **jacobians) const override {
    if (jacobians && jacobians[0])
      std::fill(jacobians[0], jacobians[0] + kParameters * kParameters, 0.0);
    for (size_t i = 0; i < kParameters; ++i) {
      residuals[i] = blocks[0][i] / (share * info(i).spread);
      if (jacobians && jacobians[0])
        jacobians[0][i * kParameters + i] = 1 / (share * info(i).spread);
    }
    return true;
  }

private:
  double share;
};

TileSet tilesOf(const Fit &fit, Kind kind, const std::string &device) {
  auto found = fit.tiles.find({device, kind});
  return found == fit.tiles.end() ? kAllTiles : found->second;
}

} // namespace

double predict(const Fit &fit, const Operation &operation, const Device &device) {
  auto own = fit.device.find(device.name);
  return timeOf(operation, device, own == fit.device.end() ? fit.shared : own->second,
                tilesOf(fit, operation.kind, device.name));
}

Result<Fit> fit(const std::vector<Row> &rows, const Devices &devices) try {
  if (rows.empty())
    return Error{Code::NothingFitted, "no row is left to fit"};
  Fit result;
  result.sheets = devices;
  for (const Row &row : rows)
    if (row.tile)
      result.tiles[{row.device, row.operation.kind}] |= row.tile;
  std::array<double, kParameters> shared{};
  std::map<std::string, std::array<double, kParameters>> deviations;
  ceres::Problem problem;
  for (const Row &row : rows) {
    auto [deviation, isNew] = deviations.try_emplace(row.device);
    if (isNew)
      problem.AddResidualBlock(new PriorCost(kDeviationShare), nullptr, deviation->second.data());
    TileSet tiles = tilesOf(result, row.operation.kind, row.device);
    auto cost = std::make_unique<RowCost>(row, devices.at(row.device), tiles);
    auto loss = std::make_unique<ceres::SoftLOneLoss>(1);
    problem.AddResidualBlock(cost.release(), loss.release(), shared.data(), deviation->second.data());
  }
  problem.AddResidualBlock(new PriorCost(1), nullptr, shared.data());
  for (size_t i = 0; i < kParameters; ++i) {
    problem.SetParameterLowerBound(shared.data(), i, -kFarthest * info(i).spread);
    problem.SetParameterUpperBound(shared.data(), i, kFarthest * info(i).spread);
  }
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::DENSE_NORMAL_CHOLESKY;
  solver.logging_type = ceres::SILENT;
  solver.max_num_iterations = 30;
  solver.function_tolerance = 1e-5;
  solver.num_threads = 1;
  ceres::Solver::Summary summary;
  ceres::Solve(solver, &problem, &summary);
  if (!summary.IsSolutionUsable())
    return Error{Code::NothingFitted, "no parameters reproduce the rows"};
  const std::array<double, kParameters> none{};
  result.shared = parametersOf(shared.data(), none.data());
  for (auto &[name, deviation] : deviations)
    result.device[name] = parametersOf(shared.data(), deviation.data());
  return result;
} catch (const std::exception &e) {
  return Error{Code::NothingFitted, fmt::format("the solver gave up: {}", e.what())};
}

bool isInFittedHalf(const Row &row) {
  const Operation &o = row.operation;
  uint64_t hash = 14695981039346656037ull;
  for (char c : fmt::format("{},{},{},{},{},{},{}", o.name, o.batch, o.m, o.n, o.k, o.width, row.device))
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdull;
  return ((hash ^ (hash >> 33)) & 1) == 0;
}

} // namespace accord::operations
