// Means and quantiles over scenarios of equal weight.
#include "lib/run/solve/RunEstimator.h"
#include <algorithm>
#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace accord {
namespace {

constexpr double kNinetyFifth = 1.6448536269514722; ///< standard normal quantile of 95 %
constexpr double kNinetyNinth = 2.3263478740408408; ///< and of 99 %
/// Of all generators of 1,021 points in 8 dimensions, the one with the least worst-case error P2 of weights 0.1.
constexpr int kGenerator = 346;
/// Spare servers are enough when a training waits for repair during at most this share of its steps.
constexpr double kWaitShare = 1e-3;
constexpr int64_t kMaxSpares = 1'000'000;
/// Above so many failures their number is taken as continuous.
constexpr double kManyFailures = 40;

double normalCdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// The quantile of an input at `z` standard deviations.
double at(const RunInput &input, double z) {
  double end = z < 0 ? input.low : input.high, share = std::min(std::abs(z), kNinetyNinth) / kNinetyFifth;
  if (end == input.value)
    return input.value;
  if (input.low > 0)
    return input.value * std::pow(end / input.value, share);
  return std::max(0.0, input.value + (end - input.value) * share);
}

/// The uncertain inputs, each with a standard normal number of its own.
using Point = std::array<double, 8>;

struct LatticeScenario {
  RunScenario scenario;
  double step = 0;   ///< seconds of all steps without stragglers
  double joules = 0; ///< of one step
};

LatticeScenario scenarioAt(const RunProblem &p, const Point &z, double interval) {
  LatticeScenario made;
  RunScenario &s = made.scenario;
  made.step = p.steps * at(p.step, z[0]);
  s.steps = made.step * (1 + at(p.slowdown, z[1]));
  s.rate = std::max(1e-300, at(p.failureRate, z[2]) * static_cast<double>(p.devices));
  s.outage = at(p.detection, z[3]) + at(p.restart, z[4]);
  double bandwidth = at(p.checkpointBandwidth, z[5]);
  s.writing = bandwidth > 0 ? p.checkpointBytes / bandwidth : 0;
  s.asynchronous = p.asynchronous;
  s.blocking = p.asynchronous ? std::min(s.writing, at(p.blocking, z[5])) : s.writing;
  s.wait = repairWait(p.spareServers, s.rate, p.repairShare, at(p.repair, z[6]));
  s.interval = std::min(interval, s.steps);
  made.joules = at(p.joulesPerStep, z[7]);
  return made;
}

double chosenInterval(const RunProblem &p) {
  if (p.interval > 0)
    return p.interval;
  LatticeScenario median = scenarioAt(p, {}, std::numeric_limits<double>::max());
  const RunScenario &s = median.scenario;
  double whole = s.steps, step = s.steps / p.steps;
  double min = std::max(step, s.asynchronous ? s.writing : 0.0);
  double best = bestInterval(s.blocking, s.rate);
  return std::min(whole, std::max(min, best));
}

/// What is linear in outages and lost work: time, or energy. A failure costs `outage` for each second that the training
/// stands and `work` for each second of steps that are made again.
struct Cost {
  double base = 0, outage = 1, work = 1;
};

/// The distribution of a cost in one scenario.
class CostDistribution {
public:
  CostDistribution(const RunScenario &s, const Cost &cost) : base(cost.base), failures(s.failures()) {
    double stop = s.outage + s.wait;
    mean = cost.outage * stop + cost.work * s.redone();
    variance = cost.outage * cost.outage * stop * stop + cost.work * cost.work * s.lostVariance();
    successes = s.segments();
    none = std::exp(-s.rate * s.segment() * successes);
    failure = -std::expm1(-s.rate * s.segment());
    countVariance = s.failureVariance();
  }
  /// Probability of at most `x`.
  double cdf(double x) const {
    double over = x - base;
    if (over < 0)
      return 0;
    if (mean <= 0)
      return 1;
    if (failures > kManyFailures)
      return gammaCdf(over, failures * mean, failures * variance + mean * mean * countVariance);
    double chance = none, sum = chance, left = 1 - chance;
    for (int64_t k = 1; left > 1e-9 && k < 4000; ++k) {
      chance *= (successes + static_cast<double>(k - 1)) / static_cast<double>(k) * failure;
      sum += chance * gammaCdf(over, static_cast<double>(k) * mean, static_cast<double>(k) * variance);
      left -= chance;
    }
    return std::min(1.0, sum);
  }

private:
  /// Of a gamma distribution with this mean and variance, as Wilson and Hilferty approximate it.
  static double gammaCdf(double x, double mean, double variance) {
    if (variance <= 0)
      return x >= mean ? 1 : 0;
    double shape = mean * mean / variance, ninth = 1 / (9 * shape);
    return normalCdf((std::cbrt(x / mean) - (1 - ninth)) / std::sqrt(ninth));
  }
  double base, failures, mean = 0, variance = 0, countVariance = 0;
  double successes = 0, none = 1, failure = 0; ///< negative binomial: probabilities of no failure, and of a try to fail
};

/// Probability of at most `x` failures in one scenario, those in outages among them: of a negative binomial
/// distribution of the right mean and variance.
double failureCdf(const RunScenario &s, double x) {
  double mean = s.interruptions(), excess = s.interruptionExcess();
  if (x < 0)
    return 0;
  if (mean > kManyFailures)
    return normalCdf((std::floor(x) + 0.5 - mean) / std::sqrt(mean + excess));
  double successes = mean * mean / excess, failure = excess / (mean + excess);
  if (!(excess > 1e-9 * mean)) // then it is a Poisson distribution
    successes = 1e9 * mean, failure = 1e-9;
  double chance = std::exp(successes * std::log1p(-failure)), sum = chance;
  for (int64_t k = 1; k <= static_cast<int64_t>(x) && chance > 1e-18; ++k) {
    chance *= (successes + static_cast<double>(k - 1)) / static_cast<double>(k) * failure;
    sum += chance;
  }
  return std::min(1.0, sum);
}

/// The minimum x in [low, high] with cdf(x) >= share, to a relative 1e-9; infinite where `high` is.
double quantile(const std::function<double(double)> &cdf, double share, double low, double high) {
  if (!std::isfinite(high))
    return high;
  for (int i = 0; i < 200 && high - low > 1e-9 * std::abs(high); ++i) {
    double middle = low + (high - low) / 2;
    (cdf(middle) >= share ? high : low) = middle;
  }
  return high;
}

std::vector<LatticeScenario> latticeScenarios(const RunProblem &p, double interval) {
  std::vector<LatticeScenario> all;
  all.reserve(kRunScenarios);
  for (int i = 0; i < kRunScenarios; ++i) {
    Point z{};
    int64_t power = 1;
    for (double &one : z) {
      double u = (static_cast<double>(i * power % kRunScenarios) + 0.5) / kRunScenarios;
      u = 1 - std::abs(2 * u - 1); // folded, as Hickernell (2002) does for integrands that are not periodic
      u = std::clamp(u, 1e-6, 1 - 1e-6);
      one = -std::numbers::sqrt2 * boost::math::erfc_inv(2 * u);
      power = power * kGenerator % kRunScenarios;
    }
    all.push_back(scenarioAt(p, z, interval));
  }
  return all;
}

double meanOf(const std::vector<LatticeScenario> &all, const std::function<double(const LatticeScenario &)> &value) {
  double sum = 0;
  for (const LatticeScenario &one : all)
    sum += value(one);
  return sum / static_cast<double>(all.size());
}

/// The interval with the mean in it: see `RunValue`.
RunValue withMean(RunValue value) {
  value.low = std::min(value.low, value.value);
  value.high = std::max(value.high, value.value);
  return value;
}

/// Mean and 90 % interval of a cost over all scenarios.
RunValue valueOf(const std::vector<LatticeScenario> &all, const std::function<Cost(const LatticeScenario &)> &cost) {
  std::vector<CostDistribution> parts;
  RunValue made;
  double low = std::numeric_limits<double>::max(), high = 0;
  for (const LatticeScenario &one : all) {
    Cost of = cost(one);
    parts.emplace_back(one.scenario, of);
    const RunScenario &s = one.scenario;
    double stop = of.outage * (s.outage + s.wait), work = of.work * s.redone();
    made.value += (of.base + s.failures() * (stop + work)) / static_cast<double>(all.size());
    low = std::min(low, of.base);
    high = std::max(high, of.base + (s.failures() + 10 * std::sqrt(s.failureVariance()) + 10) * 6 * (stop + work));
  }
  auto cdf = [&](double x) {
    double sum = 0;
    for (const CostDistribution &one : parts)
      sum += one.cdf(x);
    return sum / static_cast<double>(parts.size());
  };
  made.low = quantile(cdf, 0.05, low, high);
  made.high = quantile(cdf, 0.95, made.low, high);
  return withMean(made);
}

RunValue scaled(const RunValue &value, double by) { return {value.value * by, value.low * by, value.high * by}; }

RunValue goodputOf(const std::vector<LatticeScenario> &all) {
  std::vector<CostDistribution> times;
  for (const LatticeScenario &one : all)
    times.emplace_back(one.scenario, Cost{one.scenario.segments() * one.scenario.segment(), 1, 1});
  RunValue made;
  made.value = meanOf(all, [](const LatticeScenario &one) { return one.scenario.steps / one.scenario.time(); });
  // Less than g of the time counts where it all takes more than steps / g.
  auto cdf = [&](double g) {
    double sum = 0;
    for (size_t i = 0; i < all.size(); ++i)
      sum += 1 - times[i].cdf(all[i].scenario.steps / g * (1 - 1e-12));
    return sum / static_cast<double>(all.size());
  };
  made.low = quantile(cdf, 0.05, 0, 1);
  made.high = quantile(cdf, 0.95, made.low, 1);
  return withMean(made);
}

RunValue interruptionsOf(const std::vector<LatticeScenario> &all) {
  RunValue made;
  double max = 0;
  for (const LatticeScenario &one : all)
    max = std::max(max, one.scenario.interruptions() +
                            10 * std::sqrt(one.scenario.interruptions() + one.scenario.interruptionExcess()) + 10);
  made.value = meanOf(all, [](const LatticeScenario &one) { return one.scenario.interruptions(); });
  if (!(max < 1e15)) // so many are none of a training that ends
    return {made.value, 0, std::numeric_limits<double>::infinity()};
  auto quantileOf = [&](double share) {
    int64_t low = -1, high = static_cast<int64_t>(max);
    while (high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      double cdf = meanOf(
          all, [&](const LatticeScenario &one) { return failureCdf(one.scenario, static_cast<double>(middle)); });
      (cdf >= share ? high : low) = middle;
    }
    return static_cast<double>(high);
  };
  made.low = std::min(quantileOf(0.05), std::floor(made.value));
  made.high = std::max(quantileOf(0.95), std::ceil(made.value - 1e-9)); // fewer than that are none
  return made;
}

int64_t sparesNeeded(const RunProblem &p) {
  double rate = medianScenario(p).rate, load = rate * p.repairShare * p.repair.value, blocked = 1;
  int64_t spares = 0; // `blocked` is erlangB(spares, load)
  while (load * blocked / static_cast<double>(spares + 1) > kWaitShare && spares < kMaxSpares) {
    ++spares;
    blocked = load * blocked / (static_cast<double>(spares) + load * blocked);
  }
  return spares;
}

} // namespace

RunScenario medianScenario(const RunProblem &problem) {
  return scenarioAt(problem, {}, chosenInterval(problem)).scenario;
}

static RunValue timeOf(const std::vector<LatticeScenario> &all) {
  return valueOf(
      all, [](const LatticeScenario &one) { return Cost{one.scenario.segments() * one.scenario.segment(), 1, 1}; });
}

RunTime estimateRunTime(const RunProblem &problem) {
  RunTime made;
  made.interval = chosenInterval(problem);
  const std::vector<LatticeScenario> all = latticeScenarios(problem, made.interval);
  made.time = timeOf(all);
  made.interruptions = meanOf(all, [](const LatticeScenario &one) { return one.scenario.interruptions(); });
  return made;
}

RunEstimate estimateRun(const RunProblem &problem) {
  RunEstimate made;
  made.interval = chosenInterval(problem);
  made.checkpointTime = medianScenario(problem).writing;
  std::vector<LatticeScenario> all = latticeScenarios(problem, made.interval);
  made.goodput = goodputOf(all);
  made.interruptions = interruptionsOf(all);
  made.time = timeOf(all);
  made.deviceHours = scaled(made.time, static_cast<double>(problem.devices) / 3600);
  made.price = scaled(made.time, problem.pricePerSecond);
  if (problem.joulesPerStep.value > 0)
    made.energy = valueOf(all, [&](const LatticeScenario &one) {
      // A step takes its energy, and what idles while a straggler works.
      const RunScenario &s = one.scenario;
      double longer = s.steps - problem.steps * problem.step.value; // than planned: devices wait, or wait less
      double work = std::max(0.0, problem.steps * one.joules + longer * problem.idleWatts);
      double waits = s.segments() * s.blocking * problem.idleWatts;
      return Cost{work + waits, problem.idleWatts, work / s.steps};
    });
  made.carbon = scaled(made.energy, problem.gramsPerJoule);
  made.stepTime = meanOf(all, [](const LatticeScenario &one) { return one.step; });
  made.stragglerTime = meanOf(all, [](const LatticeScenario &one) { return one.scenario.steps - one.step; });
  made.blockedTime =
      meanOf(all, [](const LatticeScenario &one) { return one.scenario.segments() * one.scenario.blocking; });
  made.lostTime =
      meanOf(all, [](const LatticeScenario &one) { return one.scenario.failures() * one.scenario.redone(); });
  made.outageTime =
      meanOf(all, [](const LatticeScenario &one) { return one.scenario.failures() * one.scenario.outage; });
  made.repairTime = meanOf(all, [](const LatticeScenario &one) { return one.scenario.failures() * one.scenario.wait; });
  made.sparesNeeded = sparesNeeded(problem);
  return made;
}

} // namespace accord
