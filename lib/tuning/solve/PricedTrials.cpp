#include "lib/tuning/solve/PricedTrials.h"
#include "lib/support/StableSort.h"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace accord::tuning {

/// The widths on which a trial may run, ascending, with the speeds of its own prices: of whole devices those that fit,
/// of parts of one those whose part of the memory holds it on one device. `capacity`: bytes of a device.
static std::vector<Width> widthsOf(const TuningProblem &problem, const PricedTuning &priced, const Price &price) {
  std::vector<Width> out;
  for (const Width &width : problem.widths) {
    const bool isPart = width.slots < problem.slotsPerDevice;
    for (const DevicePrice &one : price.training) {
      if (one.devices != (isPart ? 1 : width.slots / problem.slotsPerDevice) || !one.fits)
        continue;
      const double part = static_cast<double>(width.slots) / static_cast<double>(problem.slotsPerDevice);
      if (!isPart)
        out.push_back({width.slots, price.training.front().unitSeconds / one.unitSeconds});
      else if (one.memory <= priced.capacity * part)
        out.push_back(width);
    }
  }
  return out;
}

bool countPrice(PricedTuning &priced, const Result<Price, Errors> &price) {
  ++priced.proposed;
  if (price && price->mayRun())
    return true;
  ++priced.rejected;
  if (!price) {
    ++priced.rejectedBy["the network does not exist"];
    return false;
  }
  const BrokenLimit &reason = price->reason();
  ++priced.rejectedBy[reason.limit + " of '" + reason.block + "'"];
  for (const DevicePrice &one : price->training)
    for (const BrokenLimit &broken : one.broken)
      if (broken.limit == kDeviceMemory && one.memory > priced.largestMemory)
        priced.largestMemory = one.memory, priced.largest = broken.detail;
  return false;
}

bool PricedTrials::admits(const Configuration &proposed) {
  return knowsAll_ || countPrice(priced_, pricer_.price(proposed));
}

std::optional<double> PricedTrials::unitSeconds(const Configuration &configuration) {
  const auto price = pricer_.price(configuration);
  // An inference that breaks a limit is not priced as a training.
  return price && !price->training.empty() ? std::optional(price->training.front().unitSeconds) : std::nullopt;
}

std::vector<Width> PricedTrials::widths(const Configuration &configuration) {
  const auto price = pricer_.price(configuration);
  return price ? widthsOf(problem_, priced_, *price) : problem_.widths;
}

void priceResult(const TuningProblem &problem, const TuningResult &result, Pricer &pricer, PricedTuning &priced) {
  struct Point {
    unsigned trial;
    double value, cost;
  };
  std::vector<Point> points;
  priced.trials.clear();
  for (unsigned i = 0; i < result.trials.size(); ++i) {
    auto price = pricer.price(result.trials[i].configuration);
    priced.trials.push_back(price ? std::move(*price) : Price());
    const double value = bestValue(problem, result.trials[i]);
    if (std::isfinite(value))
      points.push_back({i, problem.maximizes ? -value : value, frontCost(priced.trials.back())});
  }
  stableSort(points,
             [](const Point &a, const Point &b) { return std::tie(a.cost, a.value) < std::tie(b.cost, b.value); });
  priced.front.clear();
  double best = std::numeric_limits<double>::infinity();
  for (const Point &point : points)
    if (point.value < best)
      best = point.value, priced.front.push_back(point.trial);
}

std::optional<std::vector<Configuration>> allConfigurations(const SearchSpace &space,
                                                            const std::vector<std::string> &bound, size_t max) {
  Configuration first;
  for (const HyperParameter &parameter : space)
    first.push_back(parameter.kind == HyperParameter::Kind::Choice ? 0 : parameter.min);
  std::vector<Configuration> out{first};
  for (size_t i = 0; i < space.size(); ++i) {
    const HyperParameter &parameter = space[i];
    if (std::ranges::find(bound, parameter.name) == bound.end())
      continue;
    if (parameter.kind == HyperParameter::Kind::Real)
      return std::nullopt;
    const double values = parameter.kind == HyperParameter::Kind::Choice ? static_cast<double>(parameter.size())
                                                                         : parameter.max - parameter.min + 1;
    if (values * static_cast<double>(out.size()) > static_cast<double>(max))
      return std::nullopt;
    std::vector<Configuration> more;
    for (const Configuration &one : out)
      for (double value = first[i]; value < first[i] + values; ++value) {
        more.push_back(one);
        more.back()[i] = value;
      }
    out = std::move(more);
  }
  return out;
}

std::vector<Configuration> sampleConfigurations(const SearchSpace &space, size_t count) {
  std::vector<Configuration> out;
  CubePoint low, high;
  for (const HyperParameter &parameter : space) {
    low.push_back(0);
    high.push_back(parameter.kind == HyperParameter::Kind::Choice ? static_cast<double>(parameter.size()) - 1 : 1);
  }
  out.push_back(fromCube(space, low)), out.push_back(fromCube(space, high));
  for (size_t i = 0; i < space.size(); ++i) {
    CubePoint one = low;
    one[i] = high[i];
    out.push_back(fromCube(space, one));
  }
  SplitMix random(1);
  while (out.size() < count)
    out.push_back(fromCube(space, drawPoint(space, random)));
  return out;
}

} // namespace accord::tuning
