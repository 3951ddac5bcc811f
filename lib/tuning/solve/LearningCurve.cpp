#include "lib/tuning/solve/LearningCurve.h"
#include "lib/prediction/StudentDistribution.h"
#include "lib/tuning/problem/CurveModel.h"
#include <algorithm>
#include <cmath>

namespace accord::tuning {
namespace {

/// Values of a training, and the unit asked about.
struct CurvePoints {
  std::vector<double> x; ///< units that are looked at, then the one asked about
  std::vector<double> y; ///< of those that are looked at: distance from `base` in `scale`; the largest is 1
  double base = 0;       ///< the last value
  double scale = 1;
  double noise = 0.15; ///< expected before, in `scale`
  double seen = 1;     ///< units
};

/// The last 7/8 of the values, at most 24 of them, by equal ratios of units.
CurvePoints curvePoints(const std::vector<double> &values, int64_t unit, double spread) {
  CurvePoints out;
  const auto seen = static_cast<int64_t>(values.size());
  const int64_t from = std::max<int64_t>(1, std::min((seen + kCurveLeftOut - 1) / kCurveLeftOut, seen - 2));
  const int64_t count = std::min(seen - from + 1, kCurvePoints);
  const double ratio = static_cast<double>(seen) / static_cast<double>(from);
  for (int64_t i = 0; i < count; ++i) {
    const double share = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
    const double x = count < kCurvePoints ? static_cast<double>(from + i)
                                          : std::round(static_cast<double>(from) * std::pow(ratio, share));
    if (out.x.empty() || x > out.x.back())
      out.x.push_back(x);
  }
  out.base = values.back(), out.seen = static_cast<double>(seen), out.scale = 0;
  for (double x : out.x) {
    out.y.push_back(values[static_cast<size_t>(x) - 1] - out.base);
    out.scale = std::max(out.scale, std::abs(out.y.back()));
  }
  if (out.scale == 0)
    out.scale = std::max(1e-3 * std::abs(out.base), 1e-12);
  for (double &y : out.y)
    y /= out.scale;
  out.noise = std::hypot(kCurveOwnNoise, kCurveSpreadNoise * spread / out.scale);
  out.x.push_back(static_cast<double>(unit));
  return out;
}

/// From 1 at the first point to 0 at the last one that is seen.
double shapeAt(const CurvePoints &points, const CurveShape &shape, double x) {
  if (shape.kind == CurveShape::Kind::Flat || points.y.size() < 2)
    return 0;
  auto raw = [&](double unit) {
    return shape.kind == CurveShape::Kind::Power ? std::pow(unit / points.seen, -shape.p)
                                                 : std::exp(-unit / points.seen / shape.p);
  };
  const double last = raw(points.x[points.y.size() - 1]);
  return (raw(x) - last) / (raw(points.x[0]) - last);
}

/// Of the points i and j (the one asked about comes last) in units of the scale's square, a and b included.
double curveCovariance(const CurvePoints &points, const CurveShape &shape, double noise, size_t i, size_t j) {
  const double first = points.x[0];
  const double near = std::log(std::min(points.x[i], points.x[j]) / first);
  const double far = std::log(std::max(points.x[i], points.x[j]) / first);
  const double path = near + kCurveIntegral * near * near * (3 * far - near) / 6;
  return (i == j ? noise : 0) + (1 - noise) * path +
         kCurveVariance * (1 + shapeAt(points, shape, points.x[i]) * shapeAt(points, shape, points.x[j]));
}

} // namespace

double quartileDistance(std::vector<double> values) {
  if (values.size() < 4)
    return 0;
  std::ranges::sort(values);
  return values[values.size() * 3 / 4] - values[values.size() / 4];
}

double CurvePrediction::below(double value) const {
  double sum = 0;
  for (const CurvePart &part : parts_) {
    const double t = (value - part.location) / part.scale, tail = studentTail(std::abs(t), part.freedom);
    sum += part.weight * (t > 0 ? 1 - tail : tail);
  }
  return sum;
}

double CurvePrediction::quantile(double share) const {
  double low = 0, high = 0;
  for (const CurvePart &part : parts_) {
    low = std::min(low, part.location - part.scale), high = std::max(high, part.location + part.scale);
  }
  for (double step = high - low; below(low) > share || below(high) < share; step *= 2)
    low -= step, high += step;
  for (int i = 0; i < 100; ++i) {
    const double middle = low + (high - low) / 2;
    (below(middle) < share ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

CurvePrediction predictCurve(const std::vector<double> &values, int64_t unit, double spread) {
  const CurvePoints points = curvePoints(values, unit, spread);
  const size_t count = points.y.size();
  const double prior = kCurveFreedom * points.noise * points.noise;
  std::vector<CurvePart> parts;
  std::vector<double> logs;
  std::vector<double> root((count + 1) * (count + 1)); // Cholesky's, of the covariance of the values and the later one
  auto at = [&](size_t i, size_t j) -> double & { return root[i * (count + 1) + j]; };
  for (double noise : kCurveNoise)
    for (const CurveShape &shape : kCurveShapes) {
      std::vector<double> white(count);
      double squares = 0, logRoot = 0, ahead = 0;
      for (size_t i = 0; i <= count; ++i) {
        for (size_t j = 0; j <= i; ++j) {
          double rest = curveCovariance(points, shape, noise, i, j);
          for (size_t k = 0; k < j; ++k)
            rest -= at(i, k) * at(j, k);
          at(i, j) = j < i ? rest / at(j, j) : std::sqrt(rest);
        }
        if (i == count)
          break;
        double rest = points.y[i];
        for (size_t k = 0; k < i; ++k)
          rest -= at(i, k) * white[k];
        white[i] = rest / at(i, i);
        squares += white[i] * white[i], logRoot += std::log(at(i, i));
      }
      for (size_t k = 0; k < count; ++k)
        ahead += at(count, k) * white[k];
      const auto freedom = kCurveFreedom + static_cast<double>(count);
      logs.push_back(-logRoot - freedom / 2 * std::log(prior + squares));
      parts.push_back({0, points.base + points.scale * ahead,
                       points.scale * std::sqrt((prior + squares) / freedom) * at(count, count),
                       static_cast<unsigned>(freedom)});
    }
  const double top = *std::ranges::max_element(logs);
  double sum = 0;
  for (size_t i = 0; i < parts.size(); ++i)
    sum += parts[i].weight = std::exp(logs[i] - top);
  for (CurvePart &part : parts)
    part.weight /= sum;
  return CurvePrediction(std::move(parts));
}

} // namespace accord::tuning
