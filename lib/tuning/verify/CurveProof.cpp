#include "lib/tuning/verify/CurveProof.h"
#include "lib/tuning/problem/CurveModel.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace accord::tuning {
namespace {

/// Units that are looked at, by equal ratios.
std::vector<double> unitsOf(int64_t seen) {
  const int64_t first = std::max<int64_t>(1, std::min(seen - 2, (seen - 1) / kCurveLeftOut + 1));
  std::vector<double> out;
  if (seen - first + 1 < kCurvePoints) {
    for (int64_t unit = first; unit <= seen; ++unit)
      out.push_back(static_cast<double>(unit));
    return out;
  }
  const double low = static_cast<double>(first), ratio = static_cast<double>(seen) / low;
  for (int64_t i = 0; i < kCurvePoints; ++i)
    out.push_back(std::round(low * std::pow(ratio, static_cast<double>(i) / static_cast<double>(kCurvePoints - 1))));
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// The logarithm of Student's density of a value at distance `t` (in units of the scale), without the scale.
double logDensity(double t, double freedom) {
  return std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2) - std::log(freedom * std::numbers::pi) / 2 -
         (freedom + 1) / 2 * std::log1p(t * t / freedom);
}

/// The probability of more than t: with t = sqrt(freedom) tan(a) it is a multiple of the integral of
/// cos(a)^(freedom-1).
double tailOf(double t, double freedom) {
  constexpr int kSteps = 2000;
  const double from = std::atan(t / std::sqrt(freedom)), step = (std::numbers::pi / 2 - from) / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double weight = i == 0 || i == kSteps ? 1 : i % 2 ? 4 : 2;
    sum += weight * std::pow(std::max(0.0, std::cos(from + i * step)), freedom - 1);
  }
  return sum * step / 3 * std::exp(logDensity(0, freedom)) * std::sqrt(freedom);
}

} // namespace

double probabilityToBeat(const std::vector<double> &values, int64_t unit, std::vector<double> last, double best,
                         bool maximizes) {
  std::vector<double> x = unitsOf(static_cast<int64_t>(values.size())), y;
  const size_t count = x.size();
  const double base = values.back(), seen = static_cast<double>(values.size());
  double scale = 0, spread = 0;
  for (double at : x)
    y.push_back(values[static_cast<size_t>(at) - 1] - base), scale = std::max(scale, std::abs(y.back()));
  if (scale == 0)
    scale = std::max(std::abs(base) / 1000, 1e-12);
  x.push_back(static_cast<double>(unit));
  if (last.size() > 3) {
    std::ranges::sort(last);
    spread = last[3 * last.size() / 4] - last[last.size() / 4];
  }
  const double noise = kCurveOwnNoise * kCurveOwnNoise + std::pow(kCurveSpreadNoise * spread / scale, 2);
  struct Part {
    double logWeight, tail;
  };
  std::vector<Part> parts;
  for (double share : kCurveNoise)
    for (const CurveShape &shape : kCurveShapes) {
      // f of each point: what is common to all and a multiple change nothing but the variance of b.
      std::vector<double> f;
      for (double at : x)
        f.push_back(shape.kind == CurveShape::Kind::Flat    ? 0
                    : shape.kind == CurveShape::Kind::Power ? std::exp(-shape.p * std::log(at / seen))
                                                            : std::exp(-at / (seen * shape.p)));
      const double end = f[count - 1], width = f[0] - end;
      for (double &one : f)
        one = width == 0 ? 0 : (one - end) / width;
      std::vector<std::vector<double>> covariance(count + 1, std::vector<double>(count + 1));
      for (size_t i = 0; i <= count; ++i)
        for (size_t j = 0; j <= count; ++j) {
          const double a = std::log(std::min(x[i], x[j]) / x[0]), b = std::log(std::max(x[i], x[j]) / x[0]);
          covariance[i][j] = (1 - share) * (a + kCurveIntegral * (a * a * b / 2 - a * a * a / 6)) +
                             kCurveVariance * (1 + f[i] * f[j]) + (i == j ? share : 0);
        }
      std::vector<double> mean(count + 1);
      double freedom = kCurveFreedom, scatter = kCurveFreedom * noise, logWeight = 0;
      for (size_t i = 0; i < count; ++i) { // the value i becomes known
        const double variance = covariance[i][i], off = y[i] / scale - mean[i];
        const double unitScale = std::sqrt(scatter / freedom * variance);
        logWeight += logDensity(off / unitScale, freedom) - std::log(unitScale);
        scatter += off * off / variance, ++freedom;
        for (size_t j = i + 1; j <= count; ++j)
          mean[j] += covariance[j][i] / variance * off;
        for (size_t j = i + 1; j <= count; ++j)
          for (size_t k = i + 1; k <= count; ++k)
            covariance[j][k] -= covariance[j][i] * covariance[i][k] / variance;
      }
      const double t = ((best - base) / scale - mean[count]) / std::sqrt(scatter / freedom * covariance[count][count]);
      parts.push_back({logWeight, tailOf(maximizes ? t : -t, freedom)});
    }
  const double top = std::ranges::max_element(parts, {}, &Part::logWeight)->logWeight;
  double sum = 0, weighed = 0;
  for (const Part &part : parts) {
    const double weight = std::exp(part.logWeight - top);
    sum += weight, weighed += weight * part.tail;
  }
  return weighed / sum;
}

} // namespace accord::tuning
