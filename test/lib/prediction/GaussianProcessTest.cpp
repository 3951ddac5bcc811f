// Gaussian processes against closed forms written down again: two rows by hand, many rows by Gauss' elimination with a
// determinant, exact rows, and scales that the marginal likelihood finds again.
#include "lib/prediction/GaussianProcess.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace accord::prediction {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// The inverse and the logarithm of the determinant, by Gauss' and Jordan's elimination with pivots.
std::pair<Matrix, double> inverted(Matrix a) {
  const size_t n = a.size();
  Matrix inverse(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i)
    inverse[i][i] = 1;
  double logDeterminant = 0;
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t j = i; j < n; ++j)
      if (std::abs(a[j][i]) > std::abs(a[pivot][i]))
        pivot = j;
    std::swap(a[i], a[pivot]), std::swap(inverse[i], inverse[pivot]);
    logDeterminant += std::log(std::abs(a[i][i]));
    const double by = a[i][i];
    for (size_t k = 0; k < n; ++k)
      a[i][k] /= by, inverse[i][k] /= by;
    for (size_t j = 0; j < n; ++j) {
      const double factor = a[j][i];
      for (size_t k = 0; j != i && k < n; ++k)
        a[j][k] -= factor * a[i][k], inverse[j][k] -= factor * inverse[i][k];
    }
  }
  return {inverse, logDeterminant};
}

double kernel(const GaussianScales &scales, const std::vector<double> &a, const std::vector<double> &b) {
  // The last dimension is a word.
  double square = 0;
  for (size_t i = 0; i + 1 < a.size(); ++i)
    square += std::pow((a[i] - b[i]) / scales.lengths[i], 2);
  square += a.back() == b.back() ? 0 : 1 / std::pow(scales.lengths.back(), 2);
  const double r = std::sqrt(square);
  return scales.signal * scales.signal * (1 + std::sqrt(5) * r + 5 * r * r / 3) * std::exp(-std::sqrt(5) * r);
}

double normal(SplitMix &random) {
  return std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(2 * std::numbers::pi * random.unit());
}

TEST(GaussianProcess, MaternByNumbersOfTheFormula) {
  EXPECT_EQ(matern52(0), 1);
  // 1 + sqrt 5 + 5/3 = 4.902734644, times exp(-sqrt 5) = 0.106877943.
  EXPECT_NEAR(matern52(1), 0.5239941088, 1e-9);
  for (double r = 0; r < 5; r += 0.1) // falls
    EXPECT_GT(matern52(r), matern52(r + 0.1));
}

TEST(GaussianProcess, IsItsClosedFormByElimination) {
  SplitMix random(7);
  const GaussianScales scales{0.8, {0.4, 1.3, 0.9}, 0.2};
  std::vector<GaussianRow> rows;
  for (int i = 0; i < 9; ++i)
    rows.push_back({{random.unit(), random.unit(), double(random.below(2))}, random.unit() - 0.5, double(i % 3)});
  Matrix covariance(rows.size(), std::vector<double>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < rows.size(); ++j)
      covariance[i][j] = kernel(scales, rows[i].point, rows[j].point) + (i == j ? rows[i].noiseFactor * 0.04 : 0);
  const auto [inverse, logDeterminant] = inverted(covariance);
  const GaussianProcess process(scales, {false, false, true}, rows);
  double quadratic = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < rows.size(); ++j)
      quadratic += rows[i].value * inverse[i][j] * rows[j].value;
  EXPECT_NEAR(process.logLikelihood(),
              -0.5 * (quadratic + logDeterminant + double(rows.size()) * std::log(2 * std::numbers::pi)), 1e-5);
  auto at = [&](const std::vector<double> &a, const std::vector<double> &b) {
    double mean = 0, covered = kernel(scales, a, b);
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t j = 0; j < rows.size(); ++j) {
        mean += kernel(scales, a, rows[i].point) * inverse[i][j] * rows[j].value;
        covered -= kernel(scales, a, rows[i].point) * inverse[i][j] * kernel(scales, rows[j].point, b);
      }
    return std::pair(mean, covered);
  };
  const std::vector<double> a{0.3, 0.9, 1}, b{0.5, 0.1, 0};
  EXPECT_NEAR(process.at(a).mean, at(a, a).first, 1e-6);
  EXPECT_NEAR(process.at(a).deviation, std::sqrt(at(a, a).second), 1e-6);
  EXPECT_NEAR(process.covariance(a, b), at(a, b).second, 1e-6);
  EXPECT_NEAR(process.at(rows[0].point).mean, rows[0].value, 1e-5); // exact rows stay
  EXPECT_LT(process.at(rows[0].point).deviation, 1e-3);
}

TEST(GaussianProcess, WithoutRowsIsThePrior) {
  const GaussianProcess process({0.5, {1}, 0.1}, {false}, {});
  EXPECT_EQ(process.at({0.3}).mean, 0);
  EXPECT_EQ(process.at({0.3}).deviation, 0.5);
  EXPECT_EQ(process.logLikelihood(), 0);
  EXPECT_NEAR(process.covariance({0}, {1}), 0.25 * matern52(1), 1e-12);
}

TEST(GaussianProcess, FindsScalesOfTheProcessAgain) {
  // Drawn by the conditional of each value on those before: a process of scale 1, length 0.2 and noise 0.05.
  SplitMix random(3);
  const GaussianScales truth{1, {0.2}, 0.05};
  std::vector<GaussianRow> exact, rows;
  for (int i = 0; i < 60; ++i) {
    const std::vector<double> point{random.unit()};
    const GaussianPosterior now = GaussianProcess(truth, {false}, exact).at(point);
    exact.push_back({point, now.mean + now.deviation * normal(random), 0});
    rows.push_back({point, exact.back().value + truth.noise * normal(random), 1});
  }
  const GaussianPrior prior{{0.3, {1}, 0.2}, 2, 2, 2};
  const GaussianScales found = fitScales(prior, {false}, rows);
  EXPECT_NEAR(found.signal, 1.25, 0.75);
  EXPECT_NEAR(found.lengths[0], 0.25, 0.15);
  EXPECT_NEAR(found.noise, 0.055, 0.025);
  EXPECT_GT(logDensity(prior, found, {false}, rows), logDensity(prior, prior.median, {false}, rows));
  EXPECT_EQ(fitScales(prior, {false}, {}).signal, 0.3);
}

TEST(GaussianProcess, QuantilesOfTablesOfTheNormalDistribution) {
  EXPECT_NEAR(normalQuantile(0.975), 1.959963985, 1e-8);
  EXPECT_NEAR(normalQuantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normalQuantile(0.9975), 2.807033768, 1e-8);
}

} // namespace
} // namespace accord::prediction
