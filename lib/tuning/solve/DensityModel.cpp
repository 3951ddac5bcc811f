#include "lib/tuning/solve/DensityModel.h"
#include "lib/support/StableSort.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace accord::tuning {

static constexpr double kGoodShare = 0.15, kWidening = 3, kMinWidth = 1e-3;
static constexpr int kDraws = 64;

static double normalCdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

KernelDensity::KernelDensity(const SearchSpace &space, std::vector<CubePoint> points)
    : space_(space), points_(std::move(points)) {
  const double count = static_cast<double>(points_.size());
  const double scott = std::pow(count, -1 / (static_cast<double>(space.size()) + 4));
  for (size_t i = 0; i < space.size(); ++i) {
    if (space[i].kind == HyperParameter::Kind::Choice) {
      const double others = static_cast<double>(space[i].size()) - 1;
      widths_.push_back(others > 0 ? std::clamp(scott, kMinWidth, others / (others + 1)) : 0);
      continue;
    }
    double mean = 0, squares = 0;
    for (const CubePoint &point : points_)
      mean += point[i] / count;
    for (const CubePoint &point : points_)
      squares += (point[i] - mean) * (point[i] - mean);
    widths_.push_back(std::max(kMinWidth, scott * std::sqrt(squares / std::max(1.0, count - 1))));
  }
  for (const CubePoint &center : points_) {
    double factor = 1;
    for (size_t i = 0; i < space.size(); ++i)
      if (const double width = widths_[i]; space[i].kind != HyperParameter::Kind::Choice)
        factor /= std::sqrt(2 * std::numbers::pi) * width *
                  (normalCdf((1 - center[i]) / width) - normalCdf(-center[i] / width));
    factors_.push_back(factor);
  }
}

double KernelDensity::at(const CubePoint &point) const {
  double sum = 0;
  for (size_t p = 0; p < points_.size(); ++p) {
    const CubePoint &center = points_[p];
    double product = factors_[p], exponent = 0;
    for (size_t i = 0; i < space_.size(); ++i) {
      const double width = widths_[i];
      if (space_[i].kind == HyperParameter::Kind::Choice) {
        const double others = static_cast<double>(space_[i].size()) - 1;
        product *= point[i] == center[i] ? 1 - width : width / std::max(1.0, others);
      } else {
        const double far = (point[i] - center[i]) / width;
        exponent -= far * far / 2;
      }
    }
    sum += product * std::exp(exponent);
  }
  return sum / static_cast<double>(points_.size());
}

CubePoint KernelDensity::draw(SplitMix &random, double widening) const {
  CubePoint out = points_[random.below(points_.size())];
  for (size_t i = 0; i < space_.size(); ++i) {
    if (space_[i].kind == HyperParameter::Kind::Choice) {
      if (random.unit() < widths_[i])
        out[i] = static_cast<double>(random.below(space_[i].size()));
      continue;
    }
    const double center = out[i], width = widths_[i] * widening;
    do { // Box and Muller; again where it falls out of the cube
      const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
      out[i] = center + width * radius * std::cos(2 * std::numbers::pi * random.unit());
    } while (out[i] < 0 || out[i] > 1);
  }
  return out;
}

size_t minDensityPoints(const SearchSpace &space) { return 2 * (space.size() + 1); }

std::optional<CubePoint> proposeByDensity(const SearchSpace &space, std::vector<ScoredPoint> points, SplitMix &random,
                                          const std::vector<CubePoint> &among,
                                          const std::function<double(const CubePoint &)> &price) {
  const size_t each = space.size() + 1;
  if (points.size() < minDensityPoints(space))
    return std::nullopt;
  stableSort(points, [](const ScoredPoint &a, const ScoredPoint &b) {
    return std::isfinite(a.loss) && (!std::isfinite(b.loss) || a.loss < b.loss);
  });
  const size_t good =
      std::clamp(static_cast<size_t>(kGoodShare * static_cast<double>(points.size())), each, points.size() - each);
  std::vector<CubePoint> goodPoints, badPoints;
  for (size_t i = 0; i < points.size(); ++i)
    (i < good ? goodPoints : badPoints).push_back(std::move(points[i].point));
  const KernelDensity goods(space, std::move(goodPoints)), bads(space, std::move(badPoints));
  std::optional<CubePoint> best;
  double bestRatio = -1;
  for (int i = 0; i < kDraws; ++i) {
    CubePoint one = among.empty() ? goods.draw(random, kWidening) : among[random.below(among.size())];
    const double ratio = goods.at(one) / std::max(bads.at(one), 1e-32) / (price ? price(one) : 1);
    if (ratio > bestRatio)
      bestRatio = ratio, best = std::move(one);
  }
  return best;
}

} // namespace accord::tuning
