#include "lib/tuning/problem/SearchSpace.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::tuning {

using Kind = HyperParameter::Kind;

/// Ends of a number in the space that is divided evenly; those of a whole number lie half a step beyond its own.
static std::pair<double, double> ends(const HyperParameter &parameter) {
  const double step = parameter.kind == Kind::Integer ? 0.5 : 0;
  double low = parameter.min - step, high = parameter.max + step;
  if (!parameter.isLog)
    return {low, high};
  return {std::log(low), std::log(high)};
}

Configuration fromCube(const SearchSpace &space, const CubePoint &point) {
  Configuration out(point);
  for (size_t i = 0; i < space.size(); ++i) {
    const HyperParameter &parameter = space[i];
    if (parameter.kind == Kind::Choice) {
      out[i] = std::clamp(std::floor(point[i]), 0.0, double(parameter.size() - 1));
      continue;
    }
    auto [low, high] = ends(parameter);
    double value = low + std::clamp(point[i], 0.0, 1.0) * (high - low);
    if (parameter.isLog)
      value = std::exp(value);
    if (parameter.kind == Kind::Integer)
      value = std::round(value);
    out[i] = std::clamp(value, parameter.min, parameter.max);
  }
  return out;
}

CubePoint toCube(const SearchSpace &space, const Configuration &configuration) {
  CubePoint out(configuration);
  for (size_t i = 0; i < space.size(); ++i) {
    const HyperParameter &parameter = space[i];
    if (parameter.kind == Kind::Choice)
      continue;
    auto [low, high] = ends(parameter);
    double value = parameter.isLog ? std::log(configuration[i]) : configuration[i];
    out[i] = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0;
  }
  return out;
}

CubePoint drawPoint(const SearchSpace &space, SplitMix &random) {
  CubePoint out;
  for (const HyperParameter &parameter : space)
    out.push_back(parameter.kind == Kind::Choice ? double(random.below(parameter.size())) : random.unit());
  return out;
}

double distance(const SearchSpace &space, const CubePoint &a, const CubePoint &b) {
  double sum = 0;
  for (size_t i = 0; i < space.size(); ++i)
    sum += space[i].kind == Kind::Choice ? double(a[i] != b[i]) : (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

std::string valueText(const HyperParameter &parameter, double value) {
  if (parameter.kind == Kind::Choice)
    return parameter.choices[static_cast<size_t>(value)];
  return parameter.kind == Kind::Integer ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

std::string configurationText(const SearchSpace &space, const Configuration &configuration) {
  std::string out;
  for (size_t i = 0; i < space.size(); ++i)
    out += fmt::format("{}{} {}", i ? ", " : "", space[i].name,
                       space[i].kind == Kind::Real ? fmt::format("{:.4g}", configuration[i])
                                                   : valueText(space[i], configuration[i]));
  return out;
}

std::vector<int64_t> branchUnits(const SearchSpace &space) {
  std::vector<int64_t> out;
  for (const HyperParameter &parameter : space)
    if (parameter.from > 0)
      out.push_back(parameter.from);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool haveSamePrefix(const SearchSpace &space, const Configuration &a, const Configuration &b, int64_t unit) {
  for (size_t i = 0; i < space.size(); ++i)
    if (space[i].from < unit && a[i] != b[i])
      return false;
  return true;
}

} // namespace accord::tuning
