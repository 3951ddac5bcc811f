#include "lib/run/verify/RunVerifier.h"
#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace accord {
namespace {

constexpr int kPoints = 2039, kGenerator = 760;
constexpr double kTail = 0.01;       ///< what a probability may be off
constexpr double kClose = 0.01;      ///< what a number may be off, as a share
constexpr double kOfInterval = 0.02; ///< what a mean may be off, as a share of its interval
constexpr double kOfPart = 0.1,
                 kOfTime = 5e-4; ///< what a part of the time may be off, as shares of it and of the time

/// One point of the lattice, in seconds, with what follows from it.
struct Case {
  double plain = 0, steps = 0, interval = 0, segment = 0, count = 0;
  double hazard = 0, success = 1, failure = 0; ///< of one try to make a segment
  double again = 0;                            ///< failures during one outage, mean
  double failures = 0, stop = 0, outage = 0, redone = 0, lostSquare = 0, blocked = 0, joules = 0;
  double time() const { return count * segment + failures * (stop + redone); }
};

double inputAt(const RunInput &input, double u) {
  double z = boost::math::erf_inv(2 * std::clamp(u, 0.01, 0.99) - 1) / boost::math::erf_inv(0.9);
  if (z < 0)
    return input.low > 0 ? input.value * std::exp(-z * std::log(input.low / input.value))
                         : std::max(0.0, input.value + z * (input.value - input.low));
  if (input.low > 0)
    return input.value * std::exp(z * std::log(input.high / input.value));
  return std::max(0.0, input.value + z * (input.high - input.value));
}

/// Probability that all spares are in repair, from the stationary distribution of the states.
double allInRepair(int64_t spares, double load) {
  double term = 1, sum = 1;
  for (int64_t k = spares; k >= 1 && term > 0 && std::isfinite(sum); --k)
    sum += term *= static_cast<double>(k) / load;
  return load > 0 ? 1 / sum : spares == 0 ? 1 : 0;
}

/// `u` are the quantiles of step, slowdown, failure rate, detection, restart, bandwidth, repair and energy of a step.
using Quantiles = std::array<double, 8>;
Case caseAt(const RunProblem &p, const Quantiles &u, double interval) {
  Case c;
  c.plain = p.steps * inputAt(p.step, u[0]);
  c.steps = c.plain + c.plain * inputAt(p.slowdown, u[1]);
  double rate = std::max(1e-300, static_cast<double>(p.devices) * inputAt(p.failureRate, u[2]));
  double speed = inputAt(p.checkpointBandwidth, u[5]), writing = speed > 0 ? p.checkpointBytes / speed : 0;
  double blocking = p.asynchronous ? std::min(writing, inputAt(p.blocking, u[5])) : writing;
  c.interval = std::min(interval, c.steps);
  c.segment = c.interval + blocking;
  c.count = c.steps / c.interval;
  c.blocked = c.count * blocking;
  c.hazard = rate * c.segment;
  c.success = std::exp(-c.hazard), c.failure = -std::expm1(-c.hazard);
  // Tries until one succeeds are geometric.
  c.failures = c.count * c.failure * std::exp(c.hazard);
  // Moments of the time of a failed try: integrals of t rate exp(-rate t) over the segment, by Simpson's rule.
  double first = 0, second = 0;
  constexpr int kParts = 64;
  for (int i = 0; i <= kParts; ++i) {
    double t = c.segment * i / kParts, weight = (i == 0 || i == kParts ? 1 : i % 2 ? 4 : 2) / (3.0 * kParts);
    double density = c.segment * rate * std::exp(-rate * t) * weight;
    first += t * density, second += t * t * density;
  }
  first /= c.failure, second /= c.failure;
  c.redone = first + (p.asynchronous ? writing : 0);
  c.lostSquare = std::max(0.0, second - first * first);
  c.outage = inputAt(p.detection, u[3]) + inputAt(p.restart, u[4]);
  c.again = rate * c.outage;
  double repair = inputAt(p.repair, u[6]);
  double wait = p.spareServers < 0 ? 0
                                   : p.repairShare * allInRepair(p.spareServers, rate * p.repairShare * repair) *
                                         repair / static_cast<double>(p.spareServers + 1);
  c.stop = c.outage + wait;
  c.joules = inputAt(p.joulesPerStep, u[7]);
  return c;
}

std::vector<Case> casesOf(const RunProblem &p, double interval) {
  std::vector<Case> all;
  for (int i = 0; i < kPoints; ++i) {
    Quantiles u{};
    int64_t factor = 1;
    for (double &one : u) {
      one = (static_cast<double>(i * factor % kPoints) + 0.5) / kPoints;
      one = one < 0.5 ? 2 * one : 2 - 2 * one;
      factor = factor * kGenerator % kPoints;
    }
    all.push_back(caseAt(p, u, interval));
  }
  return all;
}

/// Probability that base + outages + lost work is at most `x`; a second of either costs so much.
double costCdf(const Case &c, double x, double base, double outage, double work) {
  double mean = outage * c.stop + work * c.redone;
  double variance = outage * outage * c.stop * c.stop + work * work * c.lostSquare;
  double over = x - base;
  if (over < 0)
    return 0;
  if (mean <= 0)
    return 1;
  auto gamma = [&](double m, double v) {
    return v > 0 ? boost::math::gamma_p(m * m / v, over * m / v) : over >= m ? 1.0 : 0.0;
  };
  if (c.failures > 40)
    return gamma(c.failures * mean, c.failures * variance + mean * mean * c.failures / c.success);
  double sum = 0, seen = 0;
  for (int64_t k = 0; seen < 1 - 1e-6 && k < 4000; ++k) {
    double n = static_cast<double>(k), chance = std::exp(std::lgamma(c.count + n) - std::lgamma(c.count) -
                                                         std::lgamma(n + 1) - c.count * c.hazard) *
                                                std::pow(c.failure, n);
    sum += chance * (k == 0 ? 1 : gamma(n * mean, n * variance));
    seen += chance;
  }
  return sum;
}

/// Failures, and a geometric number of them in the outage after each: negative binomial with the same mean and
/// variance, by the incomplete beta function.
double failuresCdf(const Case &c, double x) {
  double each = 1 + c.again, mean = c.failures * each;
  double beyond = std::max(c.failures * each * each / c.success + c.failures * c.again * each - mean, 1e-9 * mean);
  return x < 0 || mean <= 0 ? x >= 0
                            : boost::math::ibetac(std::floor(x) + 1, mean * mean / beyond, beyond / (mean + beyond));
}

class RunVerifier {
public:
  explicit RunVerifier(const TrainingRun &run)
      : p(run.problem), e(run.estimate), cases(casesOf(run.problem, run.estimate.interval)) {}

  void times() {
    double plain = 0, slow = 0, blocked = 0, lost = 0, outage = 0, wait = 0, failures = 0, goodput = 0;
    for (const Case &c : cases) {
      plain += c.plain, slow += c.steps - c.plain, blocked += c.blocked, lost += c.failures * c.redone;
      outage += c.failures * c.outage, wait += c.failures * (c.stop - c.outage);
      failures += c.failures * (1 + c.again);
      goodput += c.steps / c.time();
    }
    double whole = e.time.value * static_cast<double>(cases.size());
    part("the time of steps", e.stepTime, plain);
    part("the time that stragglers add", e.stragglerTime, slow);
    part("the time of checkpoints", e.blockedTime, blocked);
    part("the time of lost work", e.lostTime, lost);
    part("the time of outages", e.outageTime, outage);
    part("the time of waiting for repair", e.repairTime, wait);
    mean("the number of interruptions", e.interruptions.value, failures, 3 * failures, {});
    mean("the goodput", e.goodput.value, goodput, goodput, e.goodput);
    double sum = e.stepTime + e.stragglerTime + e.blockedTime + e.lostTime + e.outageTime + e.repairTime;
    same("the calendar time", e.time.value, sum);
    mean("the calendar time", e.time.value, plain + slow + blocked + lost + outage + wait, whole, e.time);
  }

  void intervals() {
    auto time = [&](double x) {
      return average([&](const Case &c) { return costCdf(c, x, c.count * c.segment, 1, 1); });
    };
    interval("the calendar time", e.time, time);
    interval("the goodput", e.goodput, [&](double g) {
      return average([&](const Case &c) {
        return g >= 1 ? 1.0 : 1 - costCdf(c, c.steps / g * (1 - 1e-12), c.count * c.segment, 1, 1);
      });
    });
    for (auto [end, share] : {std::pair(e.interruptions.low, 0.05), std::pair(e.interruptions.high, 0.95)}) {
      // Where the mean lies beyond the quantile, the end is the whole number beyond the mean.
      bool isLow = share < 0.5,
           isMean = end == (isLow ? std::floor(e.interruptions.value) : std::ceil(e.interruptions.value - 1e-9));
      double margin = std::max(1.0, kClose * end);
      double below = average([&](const Case &c) { return failuresCdf(c, end - margin); });
      double above = average([&](const Case &c) { return failuresCdf(c, end + margin); });
      if (!((below <= share + kTail || (isMean && !isLow)) && (above >= share - kTail || (isMean && isLow))))
        find(fmt::format("{} interruptions are stated as the {:.0f} % quantile, but that many or fewer come with "
                         "probability {:.4g}",
                         end, share * 100, average([&](const Case &c) { return failuresCdf(c, end); })));
    }
    if (!(e.interruptions.low <= e.interruptions.value && e.interruptions.value <= e.interruptions.high + 1e-9))
      find("the mean of the interruptions is not in their interval");
    if (p.joulesPerStep.value > 0) {
      double energy = 0;
      for (const Case &c : cases) {
        double work = workJoules(c);
        energy += work + c.blocked * p.idleWatts + c.failures * (p.idleWatts * c.stop + work / c.steps * c.redone);
      }
      mean("the energy", e.energy.value, energy, energy, e.energy);
      interval("the energy", e.energy, [&](double x) {
        return average([&](const Case &c) {
          double work = workJoules(c);
          return costCdf(c, x, work + c.blocked * p.idleWatts, p.idleWatts, work / c.steps);
        });
      });
    } else {
      for (double stated : {e.energy.value, e.energy.low, e.energy.high})
        same("the energy", stated, 0);
    }
  }

  void checkpoints() {
    double writing = 0;
    if (p.checkpointBandwidth.value > 0)
      writing = p.checkpointBytes / p.checkpointBandwidth.value;
    same("the time of a checkpoint", e.checkpointTime, writing);
    if (p.interval > 0)
      return same("the checkpoint interval", e.interval, p.interval);
    Quantiles median{};
    median.fill(0.5);
    auto timeAt = [&](double interval) { return caseAt(p, median, interval).time(); };
    double steps = p.steps * p.step.value * (1 + p.slowdown.value);
    double min = std::max(steps / p.steps, p.asynchronous ? writing : 0);
    if (!(e.interval >= min * (1 - 1e-9) || e.interval >= steps * (1 - 1e-9)) || e.interval > steps * (1 + 1e-9))
      find(fmt::format("a checkpoint every {:.6g} s is stated, but between two of them are {:.6g} s to {:.6g} s",
                       e.interval, min, steps));
    double here = timeAt(e.interval);
    for (double other : {e.interval * 0.9, e.interval * 1.1})
      if (other >= min && other <= steps && timeAt(other) < here * (1 - 1e-9))
        find(fmt::format("a checkpoint every {:.6g} s is stated as the best, but with {:.6g} s the training takes "
                         "{:.6g} s instead of {:.6g} s",
                         e.interval, other, timeAt(other), here));
  }

  /// With so many spare servers the share of steps spent waiting is at most 0.1 %, and with one less it is not.
  void spares() {
    double rate = static_cast<double>(p.devices) * p.failureRate.value, load = rate * p.repairShare * p.repair.value;
    auto wait = [&](int64_t spares) { return load * allInRepair(spares, load) / static_cast<double>(spares + 1); };
    int64_t stated = e.sparesNeeded;
    constexpr int64_t kMax = 1'000'000;
    bool enough = stated >= 0 && stated <= kMax && (stated == kMax || wait(stated) <= 1e-3 * (1 + 1e-9));
    if (!enough || (stated > 0 && wait(stated - 1) < 1e-3 * (1 - 1e-9)))
      find(fmt::format("{} are stated as the minimum of spare servers with which at most 0.1 % of the time is spent "
                       "waiting for repair, but it is not",
                       stated));
  }

  void products() {
    auto scaled = [&](const char *what, const RunValue &stated, const RunValue &of, double by) {
      same(what, stated.value, of.value * by);
      same(what, stated.low, of.low * by);
      same(what, stated.high, of.high * by);
    };
    scaled("the device hours", e.deviceHours, e.time, static_cast<double>(p.devices) / 3600);
    scaled("the price", e.price, e.time, p.pricePerSecond);
    scaled("the carbon", e.carbon, e.energy, p.gramsPerJoule);
  }

  Errors findings;

private:
  void find(const std::string &what) { findings.push_back({Code::WrongObjective, "run: " + what, {}, {}}); }
  double average(const std::function<double(const Case &)> &value) const {
    double sum = 0;
    for (const Case &c : cases)
      sum += value(c);
    return sum / static_cast<double>(cases.size());
  }
  /// `sum` over all cases; off by a share of `whole`, or of the interval `of`.
  void mean(const char *what, double stated, double sum, double whole, const RunValue &of) {
    double n = static_cast<double>(cases.size());
    double margin = std::max(kClose * std::abs(whole / n), kOfInterval * (of.high - of.low));
    if (!(std::abs(stated - sum / n) <= margin + 1e-12))
      find(fmt::format("{} is {:.6g} on average, recomputed {:.6g}", what, stated, sum / n));
  }
  /// A mean of what the calendar time consists of. What is rare, such as waiting for repair with many spare servers, is
  /// a few points of the lattice, and a small share of the time.
  void part(const char *what, double stated, double sum) {
    double n = static_cast<double>(cases.size());
    if (!(std::abs(stated - sum / n) <= std::max(kOfPart * sum / n, kOfTime * e.time.value) + 1e-12))
      find(fmt::format("{} is {:.6g} on average, recomputed {:.6g}", what, stated, sum / n));
  }
  /// Steps work with what they were planned to, and idle for what they and stragglers take besides.
  double workJoules(const Case &c) const {
    return std::max(0.0, p.steps * (c.joules - p.step.value * p.idleWatts) + c.steps * p.idleWatts);
  }
  void same(const char *what, double stated, double given) {
    if (!(std::abs(stated - given) <= 1e-6 * std::abs(given) + 1e-12))
      find(fmt::format("{} is {:.9g}, recomputed {:.9g}", what, stated, given));
  }
  void interval(const char *what, const RunValue &stated, const std::function<double(double)> &cdf) {
    if (!(stated.low <= stated.value && stated.value <= stated.high))
      find(fmt::format("the mean of {} is not in its interval", what));
    // Where the mean lies beyond a quantile, the end is the mean.
    for (auto [end, share] : {std::pair(stated.low, 0.05), std::pair(stated.high, 0.95)})
      if (!((cdf(end * (1 - kClose)) <= share + kTail || (share > 0.5 && end == stated.value)) &&
            (cdf(end * (1 + kClose)) >= share - kTail || (share < 0.5 && end == stated.value))))
        find(fmt::format("{:.6g} is stated as the {:.0f} % quantile of {}, but so much or less has probability {:.4g}",
                         end, share * 100, what, cdf(end)));
  }
  const RunProblem &p;
  const RunEstimate &e;
  std::vector<Case> cases;
};

} // namespace

Verification verifyRun(const TrainingRun &run) {
  Verification proof;
  proof.findings = check(run.problem);
  if (!proof.findings.empty())
    return proof;
  if (!(run.estimate.interval > 0) || !isBounded(run.estimate)) {
    proof.findings.push_back({Code::WrongObjective, "run: what is stated of it is of no training that ends", {}, {}});
    return proof;
  }
  RunVerifier verifier(run);
  verifier.times();
  verifier.checkpoints();
  verifier.spares();
  verifier.products();
  if (verifier.findings.empty()) // distributions take a hundred times as long as means
    verifier.intervals();
  proof.findings = std::move(verifier.findings);
  if (proof.findings.empty())
    proof.checked.push_back(fmt::format("the whole training: {:.6g} days, {:.4g} interruptions, goodput {:.4g}, and "
                                        "their 90 % intervals",
                                        run.estimate.time.value / 86400, run.estimate.interruptions.value,
                                        run.estimate.goodput.value));
  proof.trusted.push_back(
      fmt::format("{:.6g} samples to train on; failure rate, outages, checkpoints, slowdown, grid intensity and the "
                  "interval of the energy, as stated or assumed",
                  run.problem.samples));
  return proof;
}

} // namespace accord
