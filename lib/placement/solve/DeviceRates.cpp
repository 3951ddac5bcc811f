#include "lib/placement/solve/DeviceRates.h"
#include <algorithm>
#include <cmath>

namespace accord::placing {

Rates &Rates::operator+=(const Rates &b) {
  watts += b.watts, price += b.price, tdp += b.tdp, devices += b.devices;
  return *this;
}

Rates ratesOf(const PlacementProblem &problem, Id parallelConfig) {
  const PlacementProblem::DeviceType &deviceType = problem.deviceTypeOf(parallelConfig);
  auto n = static_cast<double>(problem.parallelConfigs[parallelConfig].devices());
  return {n * deviceType.idleWatts, n * deviceType.pricePerHour / 3600, n * deviceType.tdpWatts,
          problem.parallelConfigs[parallelConfig].devices()};
}

Rates minRates(Rates a, const Rates &b) {
  return {std::min(a.watts, b.watts), std::min(a.price, b.price), std::min(a.tdp, b.tdp),
          std::min(a.devices, b.devices)};
}

double valueOf(const PlacementProblem &problem, double step, const Rates &rates, double joules, double maxTdpTime) {
  constexpr double Slack = 1 + 1e-12; // sums taken in another order
  step = std::max(step, static_cast<double>(problem.minStep));
  double seconds = step * 1e-12;
  const PlacementProblem::Limits &limits = problem.limits;
  joules += rates.watts * seconds;
  double price = rates.price * seconds;
  if ((limits.step > 0 && step > limits.step * Slack) || (limits.devices > 0 && rates.devices > limits.devices) ||
      (limits.joules > 0 && joules > limits.joules * Slack) || (limits.price > 0 && price > limits.price * Slack) ||
      (limits.watts > 0 && rates.watts > limits.watts * Slack) ||
      (maxTdpTime > 0 && rates.tdp * seconds > maxTdpTime * Slack))
    return INFINITY;
  return formulaOf(problem.objective).value({step, joules, price, rates.tdp * seconds, 0}, problem.costPerJoule);
}

double stepFor(const PlacementProblem &problem, double value, const Rates &rates, double joules) {
  const ObjectiveFormula &formula = formulaOf(problem.objective);
  double rate =
      formula.perSecond ? formula.perSecond({rates.watts, rates.price, rates.tdp}, problem.costPerJoule) * 1e-12 : 1;
  double of = formula.countsJoules ? value - joules * problem.costPerJoule : value;
  double step = std::isinf(of) ? INFINITY : of <= 0 ? 0 : rate > 0 ? of / rate : INFINITY;
  if (problem.limits.step > 0)
    step = std::min(step, static_cast<double>(problem.limits.step));
  return step * (1 + 1e-9);
}

} // namespace accord::placing
