// Regression of a function of several parameters that was measured at a few points: a Gaussian process.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace accord::prediction {

/// Matérn's covariance of smoothness 5/2 at a scaled distance r (0 or more), 1 at 0:
/// (1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r) (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
/// equation 4.17).
double matern52(double r);

struct GaussianScales {
  double signal = 1;           ///< standard deviation of the function; more than 0
  std::vector<double> lengths; ///< by dimension: distance over which it changes; more than 0
  double noise = 0.1;          ///< standard deviation of one measurement; more than 0
};

/// Log-normal priors of the scales: medians, and standard deviations of their logarithms.
struct GaussianPrior {
  GaussianScales median;
  double signalSpread = 0.5, lengthSpread = 0.5, noiseSpread = 0.5;
};

/// One measured point. Its noise has the variance `noiseFactor` times that of one measurement; 0: it is exact.
struct GaussianRow {
  std::vector<double> point;
  double value = 0, noiseFactor = 1;
};

struct GaussianPosterior {
  double mean = 0, deviation = 0; ///< of the function itself, without noise
};

/// A zero-mean Gaussian process with the kernel signal^2 matern52(|(a - b) / lengths|), by Cholesky's factors of the
/// covariance (Rasmussen and Williams, algorithm 2.1). A dimension that is a `word` has the distance 1 between
/// different values. Deterministic.
class GaussianProcess {
public:
  /// `isWord`: by dimension; `scales` have as many lengths.
  GaussianProcess(GaussianScales scales, std::vector<bool> isWord, std::vector<GaussianRow> rows);
  ~GaussianProcess();
  GaussianProcess(GaussianProcess &&) noexcept;
  GaussianProcess &operator=(GaussianProcess &&) noexcept;

  /// Without rows: mean 0, and the signal as deviation.
  GaussianPosterior at(const std::vector<double> &point) const;
  /// Covariance of the function at two points, under the rows.
  double covariance(const std::vector<double> &a, const std::vector<double> &b) const;
  /// Logarithm of the marginal likelihood of the rows, with its constant; minus infinity where the covariance cannot be
  /// factorized.
  double logLikelihood() const;
  const GaussianScales &scales() const;

private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// Scales of the largest posterior density, marginal likelihood times prior, by coordinate ascent from the medians over
/// factors of 2, sqrt(2) and 2^(1/4): a local maximum, never worse than the medians. Without rows: the medians.
GaussianScales fitScales(const GaussianPrior &prior, const std::vector<bool> &isWord,
                         const std::vector<GaussianRow> &rows);
/// What it maximizes, without the constant of the prior.
double logDensity(const GaussianPrior &prior, const GaussianScales &scales, const std::vector<bool> &isWord,
                  const std::vector<GaussianRow> &rows);

/// The number that a standard normal variable is below with probability `p`, which is above 0 and below 1; by bisection
/// to the last digits.
double normalQuantile(double p);

} // namespace accord::prediction
