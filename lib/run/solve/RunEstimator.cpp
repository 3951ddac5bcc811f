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

/// The normal distribution by its Taylor series about the nearest sixteenth, within 1e-15.
class NormalTable {
public:
  NormalTable() : nodes(2 * kEnd * kSteps + 1) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const double z = static_cast<double>(i) / kSteps - kEnd;
      Node &node = nodes[i];
      node[0] = normalCdf(z);
      // Of the density times Hermite polynomials: He_n+1 = z He_n - n He_n-1.
      double hermite = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi), before = 0, factorial = 1;
      for (size_t n = 1; n < node.size(); ++n) {
        factorial *= static_cast<double>(n);
        node[n] = (n % 2 == 1 ? 1 : -1) * hermite / factorial;
        const double next = z * hermite - static_cast<double>(n - 1) * before;
        before = hermite, hermite = next;
      }
    }
  }
  double operator()(double z) const {
    if (!(z < kEnd))
      return 1;
    if (z <= -kEnd)
      return 0;
    const double place = (z + kEnd) * kSteps + 0.5;
    const auto i = static_cast<size_t>(place);
    const double x = (place - 0.5 - static_cast<double>(i)) / kSteps;
    const Node &c = nodes[i];
    return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * (c[5] + x * (c[6] + x * c[7]))))));
  }

private:
  static constexpr int kEnd = 9, kSteps = 16;
  using Node = std::array<double, 8>;
  std::vector<Node> nodes;
};

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

/// The distribution of a cost in one scenario: a mixture over numbers of failures. What of it does not depend on where
/// it is asked is computed once.
class CostDistribution {
public:
  CostDistribution(const RunScenario &s, const Cost &cost) : base(cost.base) {
    double stop = s.outage + s.wait, failures = s.failures();
    mean = cost.outage * stop + cost.work * s.redone();
    double variance = cost.outage * cost.outage * stop * stop + cost.work * cost.work * s.lostVariance();
    if (mean <= 0) {
      none = 1;
      return;
    }
    if (failures > kManyFailures) {
      add(1, failures * mean, failures * variance + mean * mean * s.failureVariance());
      return;
    }
    // Negative binomial: probabilities of no failure, and of a try to fail.
    double successes = s.segments(), failure = -std::expm1(-s.rate * s.segment());
    double chance = none = std::exp(-s.rate * s.segment() * successes);
    double left = 1 - chance;
    for (int64_t k = 1; left > 1e-9 && k < 4000; ++k) {
      chance *= (successes + static_cast<double>(k - 1)) / static_cast<double>(k) * failure;
      add(chance, static_cast<double>(k) * mean, static_cast<double>(k) * variance);
      left -= chance;
    }
  }
  /// Probability of at most `x`.
  double cdf(double x) const {
    double over = x - base;
    if (over < 0)
      return 0;
    double sum = none;
    for (const Part &part : parts) {
      double below = part.cdf(over);
      sum += part.chance * below;
      // What is left of more failures is less: it changes no digit of the sum.
      if (below < 1e-18 && below < 1e-17 * sum)
        break;
    }
    return std::min(1.0, sum);
  }
  /// What of it is at one point, without any failure.
  std::pair<double, double> jump() const { return {base, none}; }
  /// The rest within 1e-12, several times as fast.
  double nearCdfBesideJump(double x, const NormalTable &normal) const {
    double over = x - base;
    if (over < 0)
      return 0;
    if (near.empty())
      return cdf(x) - none;
    double sum = 0, root = std::cbrt(over);
    for (const NearPart &part : near) {
      double z = part.slope * root - part.offset;
      if (z < -8) // and of more failures less
        break;
      sum += part.chance * normal(z);
    }
    return sum;
  }

private:
  /// A number of failures: a gamma distribution of this mean, as Wilson and Hilferty approximate it.
  struct Part {
    double chance, mean;
    double cubeMean, cubeDeviation; ///< of the cube root of the cost over its mean; no deviation: all of it is there
    double cdf(double x) const {
      if (cubeDeviation <= 0)
        return x >= mean ? 1 : 0;
      double z = (std::cbrt(x / mean) - cubeMean) / cubeDeviation;
      return z > 8.5 ? 1 : normalCdf(z); // it is 1 - 1e-17
    }
  };
  /// Its probability is normal(slope * cube root of the cost - offset).
  struct NearPart {
    double chance, slope, offset;
  };
  void add(double chance, double ofMean, double variance) {
    double ninth = variance > 0 ? 1 / (9 * (ofMean * ofMean / variance)) : 0;
    const Part &made = parts.emplace_back(Part{chance, ofMean, 1 - ninth, std::sqrt(ninth)});
    if (near.size() + 1 == parts.size() && made.cubeDeviation > 1e-3) // else digits are lost
      near.push_back({chance, 1 / (std::cbrt(ofMean) * made.cubeDeviation), made.cubeMean / made.cubeDeviation});
    else
      near.clear();
  }

  double base, mean = 0, none = 0;
  std::vector<Part> parts;
  std::vector<NearPart> near; ///< as many, or none
};

/// The minimum x in [low, high] of which a condition holds that holds of all above, to a relative 1e-9.
double bisected(const std::function<bool(double)> &isAbove, double low, double high) {
  for (int i = 0; i < 200 && high - low > 1e-9 * std::abs(high); ++i) {
    double middle = low + (high - low) / 2;
    (isAbove(middle) ? high : low) = middle;
  }
  return high;
}

/// Scenarios of equal weight.
class CostMixture {
public:
  explicit CostMixture(std::vector<CostDistribution> all) : parts(std::move(all)) {
    for (const CostDistribution &one : parts)
      jumps.push_back(one.jump());
    std::sort(jumps.begin(), jumps.end());
    for (size_t i = 1; i < jumps.size(); ++i)
      jumps[i].second += jumps[i - 1].second;
  }
  /// The minimum x in [low, high] with a probability of at least `share`, as bisection finds it; infinite where `high`
  /// is. Its answers outside of a bracket are known, and inside the exact distribution is asked only where the near one
  /// leaves a doubt.
  double quantile(double share, double low, double high) const {
    if (!std::isfinite(high))
      return high;
    const Bracket known = bracketOf(share, low, high);
    return bisected(
        [&](double x) {
          if (x <= known.low || x >= known.high)
            return x >= known.high;
          double found = smooth(x) + jumped(x) - share;
          return std::abs(found) > kUnsure ? found > 0 : cdf(x) >= share;
        },
        low, high);
  }

private:
  /// More than what tells two ways to compute one probability apart.
  static constexpr double kUnsure = 1e-11;
  /// The least x with a probability of at least the share is above `low` and at most `high`.
  struct Bracket {
    double low, high;
  };

  double cdf(double x) const {
    double sum = 0;
    for (const CostDistribution &one : parts)
      sum += one.cdf(x);
    return sum / static_cast<double>(parts.size());
  }
  double smooth(double x) const {
    static const NormalTable normal;
    double sum = 0;
    for (const CostDistribution &one : parts)
      sum += one.nearCdfBesideJump(x, normal);
    return sum / static_cast<double>(parts.size());
  }
  /// Probability of no failure and at most `x`: O(log(scenarios)).
  double jumped(double x) const {
    auto above = std::upper_bound(jumps.begin(), jumps.end(), x,
                                  [](double value, const auto &jump) { return value < jump.first; });
    return above == jumps.begin() ? 0 : std::prev(above)->second / static_cast<double>(jumps.size());
  }

  /// Narrows an interval to a share of about 5e-10 of its place. Jumps are cheap, and the rest is nearly a line where
  /// the interval is small: where both cross the share is asked next, a little beyond it, so that the other end moves
  /// than the last time. Where it does not, the next point is farther beyond.
  Bracket bracketOf(double share, double low, double high) const {
    constexpr double kNear = 2.5e-10;
    double atLow = smooth(low), atHigh = smooth(high);
    if (atLow + jumped(low) - share >= -kUnsure || atHigh + jumped(high) - share <= kUnsure)
      return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    bool isHighLast = false;
    double last = high, beyond = 0.25;
    for (int round = 0; round < 80 && high - low > 2 * kNear * std::abs(high); ++round) {
      const double slope = (atHigh - atLow) / (high - low);
      const double cross =
          bisected([&](double x) { return atLow + slope * (x - low) + jumped(x) >= share; }, low, high);
      const double beside = std::max(kNear * std::abs(cross), beyond * std::abs(cross - last));
      double x = isHighLast ? cross - beside : cross + beside;
      if (!(x > low && x < high))
        x = low + (high - low) / 2;
      const double value = smooth(x), excess = value + jumped(x) - share;
      if (std::abs(excess) <= kUnsure) // of no use as an end
        break;
      const bool isHigh = excess > 0;
      (isHigh ? high : low) = x;
      (isHigh ? atHigh : atLow) = value;
      beyond = isHigh == isHighLast ? 8 * beyond : 0.25;
      isHighLast = isHigh, last = cross;
    }
    return {low, high};
  }

  std::vector<CostDistribution> parts;
  std::vector<std::pair<double, double>> jumps; ///< ascending, with the sum of their probabilities
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

/// The points of the lattice rule, as standard normal numbers.
std::vector<Point> latticePoints() {
  std::vector<Point> points(kRunScenarios);
  for (int i = 0; i < kRunScenarios; ++i) {
    int64_t power = 1;
    for (double &one : points[i]) {
      double u = (static_cast<double>(i * power % kRunScenarios) + 0.5) / kRunScenarios;
      u = 1 - std::abs(2 * u - 1); // folded, as Hickernell (2002) does for integrands that are not periodic
      u = std::clamp(u, 1e-6, 1 - 1e-6);
      one = -std::numbers::sqrt2 * boost::math::erfc_inv(2 * u);
      power = power * kGenerator % kRunScenarios;
    }
  }
  return points;
}

std::vector<LatticeScenario> latticeScenarios(const RunProblem &p, double interval) {
  static const std::vector<Point> points = latticePoints();
  std::vector<LatticeScenario> all;
  all.reserve(points.size());
  for (const Point &z : points)
    all.push_back(scenarioAt(p, z, interval));
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
  const CostMixture mixture(std::move(parts));
  made.low = mixture.quantile(0.05, low, high);
  made.high = mixture.quantile(0.95, made.low, high);
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
  made.low = bisected([&](double g) { return cdf(g) >= 0.05; }, 0, 1);
  made.high = bisected([&](double g) { return cdf(g) >= 0.95; }, made.low, 1);
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
