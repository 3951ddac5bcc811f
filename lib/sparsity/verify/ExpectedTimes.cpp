#include "lib/sparsity/verify/ExpectedTimes.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

using Real = long double;
constexpr double kTolerance = 1e-9;
constexpr double kLogTolerance = 1e-12; ///< of differences of logarithms, which may be next to 0
constexpr size_t kNobody = -1;

bool isNear(double found, Real expected) {
  return std::abs(found - expected) <= kTolerance * std::max<Real>(std::abs(expected), std::abs(found));
}

/// Exponents of the weights of all products at a shape: -d^2 / (2 width^2), and the largest of them.
struct WeightExponents {
  std::vector<Real> values;
  Real max = -HUGE_VALL;
  Real nearest = HUGE_VALL; ///< octaves
};

WeightExponents exponentsAt(const SparseKernelTable &table, const SparseKernelPoint &at, Real width, size_t leftOut) {
  WeightExponents result;
  for (size_t i = 0; i < table.points.size(); ++i) {
    const SparseKernelPoint &point = table.points[i];
    const Real rows = std::log2(Real(at.rows)) - std::log2(Real(point.rows));
    const Real depth = std::log2(Real(at.depth)) - std::log2(Real(point.depth));
    const Real columns = std::log2(Real(at.columns)) - std::log2(Real(point.columns));
    const Real distance = std::sqrt(rows * rows + 2 * depth * depth + 2 * columns * columns);
    result.values.push_back(-distance * distance / (2 * width * width));
    if (i == leftOut)
      continue;
    result.max = std::max(result.max, result.values.back());
    result.nearest = std::min(result.nearest, distance);
  }
  return result;
}

Real logSpeedupAt(const SparseKernelTable &table, const WeightExponents &weights, size_t leftOut) {
  Real all = 0, sum = 0;
  for (size_t i = 0; i < table.points.size(); ++i) {
    if (i == leftOut)
      continue;
    const Real weight = std::exp(weights.values[i] - weights.max);
    all += weight;
    sum += weight * std::log(Real(table.points[i].speedup));
  }
  return sum / all;
}

/// |log(estimated / measured)| of each product from all others, ascending, and the largest distance to the nearest.
std::pair<std::vector<Real>, Real> leftOutErrors(const SparseKernelTable &table, Real width) {
  std::vector<Real> errors;
  Real reach = 0;
  for (size_t i = 0; i < table.points.size(); ++i) {
    const WeightExponents weights = exponentsAt(table, table.points[i], width, i);
    errors.push_back(std::abs(logSpeedupAt(table, weights, i) - std::log(Real(table.points[i].speedup))));
    reach = std::max(reach, weights.nearest);
  }
  std::sort(errors.begin(), errors.end());
  return {errors, reach};
}

Real sumOf(const std::vector<Real> &values) {
  Real sum = 0;
  for (Real value : values)
    sum += value;
  return sum;
}

const SparseKernelTable *tableOf(const std::vector<SparseKernelTable> &kernels, const std::string &type) {
  for (const SparseKernelTable &table : kernels)
    if (table.type == type)
      return &table;
  return nullptr;
}

struct Times {
  Real mean = 0, min = 0, max = 0;
};

Times kernelTimes(const SparseProductTime &product, const SparseKernelTable *table) {
  Real mean = 1.32L, low = 0.78L, high = 1.69L;
  if (table && !table->points.empty()) {
    const WeightExponents weights =
        exponentsAt(*table, {product.rows, product.depth, product.columns}, table->width, kNobody);
    mean = std::exp(logSpeedupAt(*table, weights, kNobody));
    low = mean * std::exp(-Real(table->deviation)), high = mean * std::exp(Real(table->deviation));
    // A hair beyond the reach is rounding.
    if (weights.nearest > table->reach * (1 + 1e-15L))
      for (const SparseKernelPoint &point : table->points)
        low = std::min<Real>(low, point.speedup), high = std::max<Real>(high, point.speedup);
  } else if (product.rows >= 1024 && product.depth >= 1024 && product.columns >= 1024) {
    mean = 1.56L, low = 1.18L, high = 1.79L;
  } else if (product.rows < 64 || product.depth < 64 || product.columns < 64) {
    mean = 1, low = 0.11L;
  }
  auto at = [&](Real speedup) { return std::max<Real>(product.ideal, product.dense / speedup); };
  return {at(mean), at(high), at(low)};
}

Times maskTimes(const MaskSearchTime &masks, const SparseKernelTable *table) {
  std::vector<MaskKernelPoint> points;
  if (table)
    for (const MaskKernelPoint &point : table->masks)
      if (point.transposable == masks.transposable)
        points.push_back(point);
  const Real times = Real(masks.matrices) / masks.period;
  if (points.empty()) {
    const Real copy = masks.bandwidth > 0 ? times * masks.elements * masks.bits / 4 / masks.bandwidth : 0;
    return {1.9L * copy, 1.7L * copy, 2.4L * copy};
  }
  std::ranges::sort(points, {}, &MaskKernelPoint::elements);
  const auto above = std::ranges::upper_bound(points, masks.elements, {}, &MaskKernelPoint::elements);
  Real seconds = points.front().seconds;
  if (above == points.end())
    seconds = points.back().seconds * (masks.elements / points.back().elements);
  else if (above != points.begin()) {
    const MaskKernelPoint &below = *std::prev(above);
    const Real part = std::log(masks.elements / below.elements) / std::log(above->elements / below.elements);
    seconds = std::exp((1 - part) * std::log(Real(below.seconds)) + part * std::log(Real(above->seconds)));
  }
  return {times * seconds, times * seconds, times * seconds};
}

} // namespace

std::vector<std::string> findWrongKernels(const std::vector<SparseKernelTable> &kernels) {
  std::vector<std::string> errors;
  for (const SparseKernelTable &table : kernels) {
    const std::string name = fmt::format("products of '{}' in {}", table.device, table.type);
    auto isWrong = [](double value) { return !(value > 0) || !std::isfinite(value); };
    if (std::ranges::any_of(table.points,
                            [&](const SparseKernelPoint &p) {
                              return isWrong(p.rows) || isWrong(p.depth) || isWrong(p.columns) || isWrong(p.speedup);
                            }) ||
        std::ranges::any_of(table.masks,
                            [&](const MaskKernelPoint &m) { return isWrong(m.elements) || isWrong(m.seconds); })) {
      errors.push_back(fmt::format("{} have a size or time that is not above 0", name));
      continue;
    }
    if (table.points.size() < 9) {
      errors.push_back(fmt::format("{}: {} are stated, and an interval of 90 % needs 9", name, table.points.size()));
      continue;
    }
    const auto [stated, reach] = leftOutErrors(table, table.width > 0 ? table.width : 1);
    const Real sum = sumOf(stated);
    bool isKnown = false;
    for (double width : {0.25, 0.375, 0.5, 0.75, 1.0, 1.5, 2.0}) {
      isKnown |= width == table.width;
      if (sumOf(leftOutErrors(table, width).first) < sum * (1 - Real(kTolerance)) - kLogTolerance)
        errors.push_back(
            fmt::format("{} are estimated better with a width of {} than of {}", name, width, table.width));
    }
    if (!isKnown)
      errors.push_back(fmt::format("{} have a width of {}, which is none of the choices", name, table.width));
    const auto rank = static_cast<size_t>(std::ceil(0.9 * static_cast<double>(stated.size() + 1)));
    const Real deviation = stated[std::min(rank, stated.size()) - 1];
    if (!isNear(table.deviation, deviation) && !(std::abs(table.deviation - deviation) <= kLogTolerance))
      errors.push_back(
          fmt::format("{} have a deviation of {}, and it is {}", name, table.deviation, double(deviation)));
    if (!isNear(table.reach, reach))
      errors.push_back(fmt::format("{} have a reach of {}, and it is {}", name, table.reach, double(reach)));
  }
  return errors;
}

std::vector<std::string> findWrongExpectations(const PruneOption &option,
                                               const std::vector<SparseKernelTable> &kernels) {
  std::vector<std::string> errors;
  auto same = [&](const std::string &what, double found, Real expected) {
    if (!isNear(found, expected))
      errors.push_back(fmt::format("{} is shown as {}, and is {}", what, found, double(expected)));
  };
  auto sameAll = [&](const std::string &what, const Times &times, double mean, double min, double max) {
    same("the expected time of " + what, mean, times.mean);
    same("the least expected time of " + what, min, times.min);
    same("the largest expected time of " + what, max, times.max);
  };
  Times sum{option.seconds, option.seconds, option.quantile};
  for (const SparseProductTime &product : option.products) {
    if (!(product.rows > 0 && product.depth > 0 && product.columns > 0 && product.dense >= 0 && product.ideal >= 0)) {
      errors.push_back(fmt::format("'{}' has a size or time below 0", product.operation));
      continue;
    }
    sameAll(fmt::format("'{}'", product.operation), kernelTimes(product, tableOf(kernels, product.type)),
            product.expected, product.min, product.max);
    sum.mean += product.executions * (Real(product.expected) - product.ideal);
    sum.min += product.executions * (Real(product.min) - product.ideal);
    sum.max += product.executions * (Real(product.max) - product.ideal);
  }
  if (option.masks) {
    const MaskSearchTime &masks = *option.masks;
    if (!(masks.elements > 0 && masks.period >= 1 && masks.matrices > 0))
      errors.push_back("masks have a size or a period that is none");
    else
      sameAll("masks", maskTimes(masks, tableOf(kernels, masks.type)), masks.seconds, masks.min, masks.max);
    sum.mean += masks.seconds, sum.min += masks.min, sum.max += masks.max;
  }
  sameAll("all", sum, option.expected, option.expectedMin, option.expectedMax);
  return errors;
}

} // namespace accord
