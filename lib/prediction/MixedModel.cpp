#include "lib/prediction/MixedModel.h"
#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace accord::prediction {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Eigen::Map<const VectorXd> vectorOf(const std::vector<double> &values) {
  return {values.data(), static_cast<Index>(values.size())};
}

MatrixXd kernelMatrix(const Kernel &kernel, size_t effect, const std::vector<size_t> &rows,
                      const std::vector<size_t> &columns) {
  MatrixXd matrix(static_cast<Index>(rows.size()), static_cast<Index>(columns.size()));
  for (Index i = 0; i < matrix.rows(); ++i)
    for (Index j = 0; j < matrix.cols(); ++j)
      matrix(i, j) = kernel(effect, rows[static_cast<size_t>(i)], columns[static_cast<size_t>(j)]);
  return matrix;
}

/// Sum over effects of scale^2 kernel.
MatrixXd covarianceMatrix(const Kernel &kernel, const std::vector<double> &scales, const std::vector<size_t> &rows,
                          const std::vector<size_t> &columns) {
  MatrixXd sum = MatrixXd::Zero(static_cast<Index>(rows.size()), static_cast<Index>(columns.size()));
  for (size_t effect = 0; effect < scales.size(); ++effect)
    sum += scales[effect] * scales[effect] * kernelMatrix(kernel, effect, rows, columns);
  return sum;
}

/// -1/2 y' K^-1 y - 1/2 log |K|; minus infinity where K cannot be factorized.
double logDensity(const MatrixXd &covariance, const VectorXd &values) {
  const Eigen::LLT<MatrixXd> factor(covariance);
  if (factor.info() != Eigen::Success)
    return -std::numeric_limits<double>::infinity();
  double density = -0.5 * values.dot(factor.solve(values));
  for (Index i = 0; i < covariance.rows(); ++i)
    density -= std::log(factor.matrixLLT()(i, i));
  return std::isfinite(density) ? density : -std::numeric_limits<double>::infinity();
}

Normal normalOf(const VectorXd &mean, const MatrixXd &covariance) {
  Normal normal;
  normal.mean.assign(mean.data(), mean.data() + mean.size());
  normal.covariance.resize(static_cast<size_t>(covariance.size()));
  for (Index i = 0; i < covariance.rows(); ++i)
    for (Index j = 0; j < covariance.cols(); ++j) // rounding leaves the two halves apart by the last digits
      normal.covariance[static_cast<size_t>(i * covariance.cols() + j)] = (covariance(i, j) + covariance(j, i)) / 2;
  for (Index i = 0; i < covariance.rows(); ++i) {
    double &variance = normal.covariance[static_cast<size_t>(i * covariance.cols() + i)];
    variance = std::max(variance, 0.0);
  }
  return normal;
}

} // namespace

Normal condition(const Normal &normal, const std::vector<size_t> &known, const std::vector<double> &values) {
  if (known.empty())
    return normal;
  const auto size = static_cast<Index>(normal.size()), numKnown = static_cast<Index>(known.size());
  const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> all(
      normal.covariance.data(), size, size);
  const Eigen::Map<const VectorXd> mean = vectorOf(normal.mean);
  MatrixXd across(size, numKnown), own(numKnown, numKnown);
  VectorXd difference(numKnown);
  for (Index j = 0; j < numKnown; ++j) {
    across.col(j) = all.col(static_cast<Index>(known[static_cast<size_t>(j)]));
    difference(j) = values[static_cast<size_t>(j)] - mean(static_cast<Index>(known[static_cast<size_t>(j)]));
  }
  for (Index i = 0; i < numKnown; ++i)
    own.row(i) = across.row(static_cast<Index>(known[static_cast<size_t>(i)]));
  // Pivots let members that follow from others pass.
  const Eigen::LDLT<MatrixXd> factor(own);
  Normal result = normalOf(mean + across * factor.solve(difference), all - across * factor.solve(across.transpose()));
  for (size_t k = 0; k < known.size(); ++k) {
    result.mean[known[k]] = values[k];
    for (size_t i = 0; i < normal.size(); ++i)
      result.covariance[known[k] * normal.size() + i] = result.covariance[i * normal.size() + known[k]] = 0;
  }
  return result;
}

MixedModel::MixedModel(std::vector<Effect> all, Kernel kernel, double noise)
    : effects(std::move(all)), kernel(std::move(kernel)), noise(noise) {
  for (const Effect &effect : effects)
    scaleOf.push_back(effect.median);
}

double MixedModel::logLikelihood(const std::vector<size_t> &rows, const std::vector<double> &values) const {
  MatrixXd covariance = covarianceMatrix(kernel, scaleOf, rows, rows);
  covariance.diagonal().array() += noise * noise;
  return logDensity(covariance, vectorOf(values));
}

void MixedModel::fit(const std::vector<size_t> &rows, const std::vector<double> &values) {
  for (size_t effect = 0; effect < effects.size(); ++effect)
    scaleOf[effect] = effects[effect].median;
  if (rows.empty())
    return;
  std::vector<size_t> used;
  std::vector<double> usedValues;
  const size_t count = std::min(rows.size(), kMaxRows);
  for (size_t i = 0; i < count; ++i) {
    used.push_back(rows[i * rows.size() / count]);
    usedValues.push_back(values[i * rows.size() / count]);
  }
  std::vector<MatrixXd> kernels;
  for (size_t effect = 0; effect < effects.size(); ++effect)
    kernels.push_back(kernelMatrix(kernel, effect, used, used));
  MatrixXd covariance = covarianceMatrix(kernel, scaleOf, used, used);
  covariance.diagonal().array() += noise * noise;
  const VectorXd y = vectorOf(usedValues);
  auto prior = [&](size_t effect, double scale) {
    const double z = std::log(scale / effects[effect].median) / effects[effect].spread;
    return -0.5 * z * z;
  };
  double priors = 0; // at the scales of now
  double best = logDensity(covariance, y);
  constexpr std::array<double, 3> kSteps = {4, 2, 1.4142135623730951};
  constexpr int kSweeps = 2;
  constexpr double kGain = 1e-6; // less is rounding
  for (const double step : kSteps)
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool isChanged = false;
      for (size_t effect = 0; effect < effects.size(); ++effect) {
        if (effects[effect].spread <= 0)
          continue;
        for (const double scale : {scaleOf[effect] * step, scaleOf[effect] / step}) {
          const MatrixXd changed = covariance + (scale * scale - scaleOf[effect] * scaleOf[effect]) * kernels[effect];
          const double changedPriors = priors + prior(effect, scale) - prior(effect, scaleOf[effect]);
          const double density = logDensity(changed, y) + changedPriors;
          if (!(density > best + kGain))
            continue;
          best = density;
          priors = changedPriors;
          scaleOf[effect] = scale;
          covariance = changed;
          isChanged = true;
          break;
        }
      }
      if (!isChanged)
        break;
    }
}

Normal MixedModel::predict(const std::vector<size_t> &rows, const std::vector<double> &values,
                           const std::vector<size_t> &queries) const {
  MatrixXd own = covarianceMatrix(kernel, scaleOf, queries, queries);
  own.diagonal().array() += noise * noise;
  if (rows.empty())
    return normalOf(VectorXd::Zero(own.rows()), own);
  MatrixXd covariance = covarianceMatrix(kernel, scaleOf, rows, rows);
  covariance.diagonal().array() += noise * noise;
  const MatrixXd across = covarianceMatrix(kernel, scaleOf, queries, rows);
  const Eigen::LDLT<MatrixXd> factor(covariance);
  return normalOf(across * factor.solve(VectorXd(vectorOf(values))), own - across * factor.solve(across.transpose()));
}

std::vector<MixedModel::LeftOut> MixedModel::leaveGroupsOut(const std::vector<size_t> &rows,
                                                            const std::vector<double> &values,
                                                            const std::vector<std::string> &groups) const {
  std::vector<LeftOut> leftOut(rows.size());
  if (rows.empty())
    return leftOut;
  MatrixXd covariance = covarianceMatrix(kernel, scaleOf, rows, rows);
  covariance.diagonal().array() += noise * noise;
  const MatrixXd inverse = covariance.ldlt().solve(MatrixXd::Identity(covariance.rows(), covariance.cols()));
  const VectorXd weights = inverse * vectorOf(values);
  std::map<std::string, std::vector<Index>> members;
  for (size_t i = 0; i < groups.size(); ++i)
    members[groups[i]].push_back(static_cast<Index>(i));
  for (const auto &[group, own] : members) {
    const auto count = static_cast<Index>(own.size());
    MatrixXd block(count, count);
    VectorXd part(count);
    for (Index i = 0; i < count; ++i) {
      part(i) = weights(own[static_cast<size_t>(i)]);
      for (Index j = 0; j < count; ++j)
        block(i, j) = inverse(own[static_cast<size_t>(i)], own[static_cast<size_t>(j)]);
    }
    // The residual of a group is the inverse of its block times its weights, and its covariance that inverse.
    const MatrixXd ownCovariance = block.ldlt().solve(MatrixXd::Identity(count, count));
    const VectorXd residuals = ownCovariance * part;
    for (Index i = 0; i < count; ++i) {
      const auto row = static_cast<size_t>(own[static_cast<size_t>(i)]);
      leftOut[row] = {values[row] - residuals(i), std::max(ownCovariance(i, i), 0.0)};
    }
  }
  return leftOut;
}

} // namespace accord::prediction
