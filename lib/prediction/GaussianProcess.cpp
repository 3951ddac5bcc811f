#include "lib/prediction/GaussianProcess.h"
#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <numbers>

namespace accord::prediction {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Added to the diagonal, as a share of the variance of the signal, so that exact rows can be factorized.
static constexpr double kJitter = 1e-9;

double matern52(double r) {
  const double scaled = std::sqrt(5.0) * r;
  return (1 + scaled + scaled * scaled / 3) * std::exp(-scaled);
}

struct GaussianProcess::Data {
  GaussianScales scales;
  std::vector<bool> isWord;
  std::vector<GaussianRow> rows;
  Eigen::LLT<MatrixXd> factor;
  VectorXd weights; ///< inverse covariance times values
  bool isFactorized = true;

  double kernel(const std::vector<double> &a, const std::vector<double> &b) const {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double difference = isWord[i] ? double(a[i] != b[i]) : a[i] - b[i];
      sum += difference * difference / (scales.lengths[i] * scales.lengths[i]);
    }
    return scales.signal * scales.signal * matern52(std::sqrt(sum));
  }

  VectorXd across(const std::vector<double> &point) const {
    VectorXd out(static_cast<Index>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i)
      out(static_cast<Index>(i)) = kernel(rows[i].point, point);
    return out;
  }

  void factorize() {
    const auto size = static_cast<Index>(rows.size());
    MatrixXd covariance(size, size);
    VectorXd values(size);
    for (Index i = 0; i < size; ++i) {
      const GaussianRow &row = rows[static_cast<size_t>(i)];
      values(i) = row.value;
      for (Index j = 0; j <= i; ++j)
        covariance(i, j) = covariance(j, i) = kernel(row.point, rows[static_cast<size_t>(j)].point);
      covariance(i, i) += row.noiseFactor * scales.noise * scales.noise + kJitter * scales.signal * scales.signal;
    }
    factor.compute(covariance);
    isFactorized = factor.info() == Eigen::Success;
    weights = isFactorized ? VectorXd(factor.solve(values)) : VectorXd(VectorXd::Zero(size));
  }
};

GaussianProcess::GaussianProcess(GaussianScales scales, std::vector<bool> isWord, std::vector<GaussianRow> rows)
    : data_(std::make_unique<Data>()) {
  data_->scales = std::move(scales), data_->isWord = std::move(isWord), data_->rows = std::move(rows);
  if (!data_->rows.empty())
    data_->factorize();
}
GaussianProcess::~GaussianProcess() = default;
GaussianProcess::GaussianProcess(GaussianProcess &&) noexcept = default;
GaussianProcess &GaussianProcess::operator=(GaussianProcess &&) noexcept = default;

const GaussianScales &GaussianProcess::scales() const { return data_->scales; }

GaussianPosterior GaussianProcess::at(const std::vector<double> &point) const {
  const double prior = data_->scales.signal;
  if (data_->rows.empty() || !data_->isFactorized)
    return {0, prior};
  const VectorXd across = data_->across(point);
  const VectorXd half = data_->factor.matrixL().solve(across);
  return {across.dot(data_->weights), std::sqrt(std::max(0.0, prior * prior - half.squaredNorm()))};
}

double GaussianProcess::covariance(const std::vector<double> &a, const std::vector<double> &b) const {
  const double prior = data_->kernel(a, b);
  if (data_->rows.empty() || !data_->isFactorized)
    return prior;
  return prior - data_->across(a).dot(data_->factor.solve(data_->across(b)));
}

double GaussianProcess::logLikelihood() const {
  if (data_->rows.empty())
    return 0;
  if (!data_->isFactorized)
    return -std::numeric_limits<double>::infinity();
  double out = -0.5 * std::log(2 * std::numbers::pi) * static_cast<double>(data_->rows.size());
  for (size_t i = 0; i < data_->rows.size(); ++i) {
    const auto index = static_cast<Index>(i);
    out -= 0.5 * data_->rows[i].value * data_->weights(index) + std::log(data_->factor.matrixLLT()(index, index));
  }
  return std::isfinite(out) ? out : -std::numeric_limits<double>::infinity();
}

double logDensity(const GaussianPrior &prior, const GaussianScales &scales, const std::vector<bool> &isWord,
                  const std::vector<GaussianRow> &rows) {
  double out = GaussianProcess(scales, isWord, rows).logLikelihood();
  auto add = [&out](double scale, double median, double spread) {
    const double z = std::log(scale / median) / spread;
    out -= 0.5 * z * z;
  };
  add(scales.signal, prior.median.signal, prior.signalSpread);
  add(scales.noise, prior.median.noise, prior.noiseSpread);
  for (size_t i = 0; i < scales.lengths.size(); ++i)
    add(scales.lengths[i], prior.median.lengths[i], prior.lengthSpread);
  return out;
}

GaussianScales fitScales(const GaussianPrior &prior, const std::vector<bool> &isWord,
                         const std::vector<GaussianRow> &rows) {
  GaussianScales scales = prior.median;
  if (rows.empty())
    return scales;
  double best = logDensity(prior, scales, isWord, rows);
  std::vector<double *> all{&scales.signal, &scales.noise};
  for (double &length : scales.lengths)
    all.push_back(&length);
  constexpr double kSteps[] = {2, 1.4142135623730951, 1.189207115002721};
  constexpr double kGain = 1e-6; // less is rounding
  constexpr int kSweeps = 4;
  for (const double step : kSteps)
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool isChanged = false;
      for (double *scale : all) {
        const double before = *scale;
        for (const double changed : {before * step, before / step}) {
          *scale = changed;
          const double density = logDensity(prior, scales, isWord, rows);
          if (density > best + kGain) {
            best = density, isChanged = true;
            break;
          }
          *scale = before;
        }
      }
      if (!isChanged)
        break;
    }
  return scales;
}

double normalQuantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

} // namespace accord::prediction
