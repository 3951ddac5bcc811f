#include "lib/tuning/verify/ServerVerifier.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::tuning {
namespace {
using Kind = ServerInterval::Kind;
using Outcome = ServerInterval::Outcome;
using Record = std::vector<ServerInterval>;

/// Of logarithms and ratios that are computed in another order.
bool areEqual(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max({1.0, std::abs(a), std::abs(b)}); }

struct Belief {
  double mean = 0, variance = 0;
};

/// A normal distribution over settings, conditioned on one measurement after the other.
class Beliefs {
public:
  Beliefs(const ServerProblem &problem, const ServerScales &scales) : problem_(problem), scales_(scales) {}

  /// Settings whose beliefs follow, before any measurement.
  void add(const Setting &setting) {
    if (!index_.emplace(setting, points_.size()).second)
      return;
    points_.push_back(pointOf(setting));
    means_.push_back(0);
    for (size_t i = 0; i + 1 < points_.size(); ++i)
      covariances_[i].push_back(kernel(points_[i], points_.back()));
    covariances_.emplace_back();
    for (const auto &point : points_)
      covariances_.back().push_back(kernel(point, points_.back()));
  }
  /// Kalman's update by one value with this variance.
  void measure(const Setting &setting, double value, double variance) {
    const size_t at = index_.at(setting);
    const std::vector<double> column = covariances_[at];
    const double total = column[at] + variance;
    const double surprise = (value - means_[at]) / total;
    for (size_t i = 0; i < means_.size(); ++i) {
      means_[i] += column[i] * surprise;
      for (size_t j = 0; j < means_.size(); ++j)
        covariances_[i][j] -= column[i] * column[j] / total;
    }
  }
  Belief at(const Setting &setting) const {
    const size_t i = index_.at(setting);
    return {means_[i], std::max(0.0, covariances_[i][i])};
  }

private:
  /// Matérn 5/2.
  double kernel(const std::vector<double> &a, const std::vector<double> &b) const {
    double square = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const bool hasWords = !problem_.parameters[i].words.empty();
      square += std::pow((hasWords ? double(a[i] != b[i]) : a[i] - b[i]) / scales_.lengths[i], 2);
    }
    const double r = std::sqrt(5 * square);
    return std::pow(scales_.signal, 2) * (1 + r + r * r / 3) * std::exp(-r);
  }

  const ServerProblem &problem_;
  const ServerScales &scales_;
  std::map<Setting, size_t> index_;
  std::vector<std::vector<double>> points_, covariances_;
  std::vector<double> means_;
};

/// The baseline over the first `size` intervals of a record, by its definition.
struct Baselines {
  Baselines(const Record &record, size_t size, bool isPerJoule) : size(size) {
    double squares = 0;
    double freedom = 0;
    for (size_t i = 0; i < size; ++i) {
      const ServerInterval &one = record[i];
      if (one.outcome != Outcome::Complete)
        continue;
      double sum = 0, square = 0, count = 0;
      for (const ServerWindow &window : one.windows)
        if (window.samples > 0) {
          const double log = std::log(window.samples) - std::log(window.seconds);
          sum += log, square += log * log, ++count;
        }
      if (count > 0)
        squares += std::max(0.0, square - sum * sum / count), freedom += count - 1;
      const double value = isPerJoule ? one.samples() / one.joules() : one.rate();
      if (one.kind == Kind::Baseline && value > 0 && std::isfinite(value))
        values[i] = std::log(value);
    }
    noise = freedom > 0 ? std::max(1e-4, std::sqrt(squares / freedom)) : 1e-4;
    std::vector<double> steps;
    for (auto one = values.begin(); one != values.end(); ++one)
      if (auto next = std::next(one); next != values.end())
        steps.push_back(std::abs(next->second - one->second));
    std::ranges::sort(steps);
    sigma = noise / std::sqrt(double(kWindows));
    if (!steps.empty())
      sigma = std::max(sigma, steps[steps.size() / 2] / (0.6745 * std::sqrt(2.0)));
    std::map<size_t, double> before; // of the part that lasts
    for (auto [at, value] : values) {
      const double limit =
          std::max(kMinJump, kJumpDeviations * sigma * std::sqrt(1 + 1 / double(std::max<size_t>(1, before.size()))));
      if (before.empty() || std::abs(value - meanOf(before, at)) > limit)
        before.clear(), starts.insert(at);
      before[at] = value;
    }
  }
  static double meanOf(const std::map<size_t, double> &among, size_t at) {
    double sum = 0, weights = 0;
    for (auto [where, value] : among) {
      const double weight = std::exp(-std::abs(double(where) - double(at)) / kReferenceReach);
      sum += weight * value, weights += weight;
    }
    return sum / weights;
  }
  /// The part between jumps, as its ends; nothing where a jump lies around the interval.
  std::optional<std::map<size_t, double>> around(size_t at) const {
    auto next = values.upper_bound(at);
    if (next == values.begin())
      return std::nullopt;
    const size_t last = std::prev(next)->first;
    if (next != values.end() && starts.contains(next->first) && last != at)
      return std::nullopt;
    auto begin = std::prev(starts.upper_bound(last));
    auto end = std::next(begin);
    return std::map<size_t, double>(values.lower_bound(*begin),
                                    end == starts.end() ? values.end() : values.lower_bound(*end));
  }
  std::optional<double> at(size_t interval) const {
    auto part = around(interval);
    return part ? std::optional(meanOf(*part, interval)) : std::nullopt;
  }
  double deviation() const {
    auto part = around(size);
    double squares = 0, weights = 0;
    for (auto [where, value] : part.value_or(std::map<size_t, double>())) {
      const double weight = std::exp(-(double(size) - double(where)) / kReferenceReach);
      squares += weight * weight, weights += weight;
    }
    const double beyond = std::max(0.0, sigma * sigma - noise * noise / double(kWindows));
    return weights > 0 ? std::hypot(sigma * std::sqrt(squares) / weights, std::sqrt(beyond)) : 0;
  }

  size_t size;
  std::map<size_t, double> values;
  std::set<size_t> starts; ///< of parts
  double noise = 0, sigma = 0;
};

class Verifier {
public:
  Verifier(const ServerProblem &problem, const ServerResult &result)
      : problem_(problem), record_(result.intervals), result_(result) {}

  Verification run() {
    if (!isWellFormed())
      return std::move(out_);
    schedule();
    for (size_t i = 0; i < record_.size(); ++i)
      interval(i);
    if (out_.holds() && problem_.strategy == ServerStrategy::Safe)
      out_.checked.push_back(
          fmt::format("{} settings were chosen with lower bounds above the floor {:g}; {} rollbacks came at once, and "
                      "settings known to be safe behind them",
                      chosen_, problem_.floor, result_.rollbacks));
    if (out_.holds())
      best();
    sums();
    if (out_.holds()) {
      out_.trusted.push_back("what the training reported");
      out_.trusted.push_back("that progress is a Gaussian process with the scales that were fitted");
    }
    return std::move(out_);
  }

private:
  template <class... Args> void finding(fmt::format_string<Args...> format, Args &&...args) {
    out_.findings.push_back({Code::CertificateDisagrees, fmt::format(format, std::forward<Args>(args)...)});
  }

  bool areScales(const std::optional<ServerScales> &scales) const {
    return !scales || scales->lengths.size() == problem_.parameters.size();
  }

  bool isWellFormed() {
    for (const ServerParameter &parameter : problem_.parameters) {
      bool isRight = parameter.size() > 0 && (parameter.words.empty() || parameter.values.empty());
      for (size_t i = 0; i < parameter.values.size(); ++i)
        isRight = isRight && (i == 0 || parameter.values[i - 1] < parameter.values[i]);
      if (!isRight)
        finding("'{}' has no ascending values", parameter.name);
    }
    if (out_.holds() && (numSettings(problem_.parameters) > kMaxSettings || problem_.parameters.empty()))
      finding("there are no settings, or more than {}", kMaxSettings);
    if (!isSetting(problem_.parameters, problem_.baseline) || !isSetting(problem_.parameters, result_.best))
      finding("the baseline or the best setting is none of the parameters");
    if (!(problem_.settleSeconds < problem_.intervalSeconds) || !(problem_.floor > 0) || !(problem_.confidence < 1) ||
        !(problem_.confidence > 0))
      finding("the floor, the confidence or the times are none");
    if (!areScales(result_.scales) || !areScales(result_.objectiveScales))
      finding("the scales are not those of the parameters");
    return out_.holds() && areIntervals();
  }

  bool areIntervals() {
    if (const int64_t allowed = std::min(problem_.intervals, kMaxIntervals);
        static_cast<int64_t>(record_.size()) > allowed) {
      finding("{} intervals, but at most {} are allowed", record_.size(), allowed);
      return false;
    }
    for (size_t i = 0; i < record_.size(); ++i) {
      const ServerInterval &one = record_[i];
      if (!isSetting(problem_.parameters, one.setting) || !areScales(one.scales))
        finding("interval {} has no setting of the parameters", i + 1);
      if (one.windows.size() > kWindows || (one.outcome == Outcome::Complete && one.windows.size() != kWindows) ||
          (one.outcome == Outcome::RolledBack && one.windows.empty()))
        finding("interval {} has {} windows of {}", i + 1, one.windows.size(), kWindows);
      if (problem_.objective == ServerObjective::SamplesPerJoule && one.outcome == Outcome::Complete &&
          !(one.joules() > 0))
        finding("interval {} took no energy", i + 1);
      if ((one.outcome == Outcome::Failed) == one.reason.empty())
        finding("interval {} failed without a reason, or has one without a failure", i + 1);
      if (one.kind == Kind::Trial && problem_.strategy == ServerStrategy::Safe && !one.scales)
        finding("interval {} was chosen without a posterior", i + 1);
    }
    return out_.holds();
  }

  /// Which kind of interval follows which.
  void schedule() {
    int64_t since = 0, failures = 0;
    for (size_t i = 0; i < record_.size(); ++i) {
      const ServerInterval &one = record_[i];
      const bool isBehindTrouble = i > 0 && record_[i - 1].outcome != Outcome::Complete;
      if (i > 0 && record_[i - 1].outcome == Outcome::Failed &&
          (record_[i - 1].kind != Kind::Trial || failures > kMaxFailures))
        finding("the tuning goes on behind the failure of interval {}", i);
      failures += one.outcome == Outcome::Failed;
      since = one.kind == Kind::Baseline ? 0 : since + 1;
      if (one.kind == Kind::Baseline && one.setting != problem_.baseline)
        finding("interval {} is not of the baseline", i + 1);
      if (static_cast<int64_t>(i) < kFirstBaselines && one.kind != Kind::Baseline)
        finding("interval {} comes before the baseline was measured", i + 1);
      if (since >= kBaselineEvery && !isBehindTrouble)
        finding("interval {} comes when the baseline was due", i + 1);
      if ((one.kind == Kind::Recovery) != (isBehindTrouble && one.kind != Kind::Baseline))
        finding("interval {} is no setting known to be safe, behind a rollback or failure", i + 1);
      if (i > 0 && record_[i - 1].kind == Kind::Recovery && one.kind == Kind::Trial)
        finding("interval {} comes before the baseline was measured again", i + 1);
      if (one.kind != Kind::Trial && one.outcome == Outcome::RolledBack)
        finding("interval {} was rolled back, though it is known to be safe", i + 1);
    }
  }

  /// Beliefs after the first `size` intervals.
  Beliefs beliefs(size_t size, const ServerScales &scales, bool isPerJoule, const std::set<Setting> &asked) const {
    Beliefs out(problem_, scales);
    out.add(problem_.baseline);
    for (const Setting &setting : asked)
      out.add(setting);
    for (size_t i = 0; i < size; ++i)
      out.add(record_[i].setting);
    const double jitter = 1e-9 * scales.signal * scales.signal;
    out.measure(problem_.baseline, 0, jitter);
    const Baselines own(record_, size, isPerJoule), rates(record_, size, false);
    for (size_t i = 0; i < size; ++i) {
      const ServerInterval &one = record_[i];
      if (one.setting == problem_.baseline)
        continue;
      double value = kFailedLog, share = 1;
      if (one.outcome != Outcome::Failed) {
        const auto reference = own.at(i);
        if (!reference || !rates.at(i))
          continue;
        if (isPerJoule && !(one.joules() > 0))
          continue;
        const double measured = isPerJoule ? one.samples() / one.joules() : one.rate();
        value = measured > 0 ? std::max(kFailedLog, std::log(measured) - *reference) : kFailedLog;
        share = double(kWindows) / double(one.windows.size());
      }
      out.measure(one.setting, value, share * scales.noise * scales.noise + jitter);
    }
    return out;
  }

  /// The quantile of each choice, by Newton's steps on the normal distribution.
  double quantile() const {
    const double share = (1 - problem_.confidence) / double(problem_.intervals);
    double z = 3;
    for (int i = 0; i < 60; ++i) {
      const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
      z += (std::erfc(z / std::sqrt(2.0)) / 2 - share) / std::max(density, 1e-300);
    }
    return z;
  }
  bool isSafe(const Belief &belief, double slack) const {
    return belief.mean - quantile() * std::sqrt(belief.variance) >= std::log(problem_.floor) - slack;
  }
  static constexpr double kSlack = 1e-6;

  /// Settings that may not be tried after the first `size` intervals, and those that ran.
  std::pair<std::set<Setting>, std::set<Setting>> known(size_t size) const {
    std::set<Setting> banned, ran;
    const Baselines baselines(record_, size, false);
    for (size_t i = 0; i < size; ++i) {
      const ServerInterval &one = record_[i];
      if (one.outcome == Outcome::Complete)
        ran.insert(one.setting);
      else if (one.outcome == Outcome::Failed || baselines.at(i))
        banned.insert(one.setting);
    }
    banned.erase(problem_.baseline);
    return {banned, ran};
  }

  bool isCautious(const ServerScales &scales) const {
    bool is = scales.signal >= kSignalMedian;
    for (size_t i = 0; i < scales.lengths.size(); ++i)
      is = is && scales.lengths[i] <= (problem_.parameters[i].words.empty() ? kLengthMedian : kWordLength);
    return is;
  }

  void interval(size_t i) {
    const ServerInterval &one = record_[i];
    const Baselines baselines(record_, i, false);
    const auto reference = baselines.at(i);
    if (!areEqual(one.reference, reference ? std::exp(*reference) : 0))
      return finding("interval {} has the reference {}, but the baseline gives {}", i + 1, one.reference,
                     reference ? std::exp(*reference) : 0);
    if (one.kind == Kind::Baseline && (one.lower != 1 || one.mean != 1))
      return finding("interval {} expects of the baseline {} of its own progress", i + 1, one.mean);
    if (problem_.strategy != ServerStrategy::Safe)
      return;
    if (one.kind != Kind::Baseline && one.scales) {
      ++chosen_;
      if (!isCautious(*one.scales))
        finding("interval {} takes progress for smoother than the prior", i + 1);
      const auto [banned, ran] = known(i);
      const Beliefs all = beliefs(i, *one.scales, false, {one.setting});
      const Belief belief = all.at(one.setting);
      const double lower = std::exp(belief.mean - quantile() * std::sqrt(belief.variance));
      if (!areEqual(one.lower, lower) || !areEqual(one.mean, std::exp(belief.mean)))
        finding("interval {} states the lower bound {}, but the intervals before give {}", i + 1, one.lower, lower);
      if (!isSafe(belief, kSlack))
        finding("interval {} was chosen with the lower bound {}, below the floor {}", i + 1, lower, problem_.floor);
      if (banned.contains(one.setting))
        finding("interval {} has a setting that failed or was rolled back before", i + 1);
      if (one.kind == Kind::Recovery && !ran.contains(one.setting))
        finding("interval {} recovers to a setting that never ran", i + 1);
      const bool isNear = std::ranges::any_of(ran, [&](const Setting &other) {
        return stepsBetween(problem_.parameters, one.setting, other) <= kMaxSteps && !banned.contains(other) &&
               (other == problem_.baseline || isSafe(all.at(other), kSlack));
      });
      if (one.kind == Kind::Trial && !isNear)
        finding("interval {} is more than {} steps from all that ran and is safe", i + 1, kMaxSteps);
    }
    if (one.kind == Kind::Trial)
      watch(i, baselines);
  }

  /// The sequential test, window by window.
  void watch(size_t i, const Baselines &baselines) {
    const ServerInterval &one = record_[i];
    double sum = 0;
    for (size_t n = 1; n <= one.windows.size(); ++n) {
      const ServerWindow &window = one.windows[n - 1];
      sum += std::max(kMinWindowLog, std::log(window.samples) - std::log(window.seconds) - std::log(one.reference) -
                                         std::log(problem_.floor));
      const double count = double(n), wide = (count + 3) / 3;
      const double limit = baselines.noise * std::sqrt(6 * wide * std::log1p(std::sqrt(wide) / (2 * kFalseRollback))) +
                           count * 1.645 * baselines.deviation();
      const bool isLast = n == one.windows.size();
      const double slack = 1e-9 * count;
      if (isLast && one.outcome == Outcome::RolledBack && sum > -limit + slack)
        finding("interval {} was rolled back without evidence", i + 1);
      if (!(isLast && one.outcome == Outcome::RolledBack) && sum < -limit - slack &&
          (one.outcome != Outcome::Failed || !isLast))
        return finding("interval {} went on behind window {}, when it was below the floor", i + 1, n);
    }
  }

  void best() {
    const bool isPerJoule = problem_.objective == ServerObjective::SamplesPerJoule;
    const auto [banned, ran] = known(record_.size());
    double gain = 0, low = 0, high = 0;
    if (result_.scales && (!isPerJoule || result_.objectiveScales)) {
      const Beliefs progress = beliefs(record_.size(), *result_.scales, false, {result_.best});
      const Beliefs objective =
          beliefs(record_.size(), isPerJoule ? *result_.objectiveScales : *result_.scales, isPerJoule, {result_.best});
      const double mean = result_.best == problem_.baseline ? 0 : objective.at(result_.best).mean;
      for (const Setting &setting : ran)
        if (!banned.contains(setting) && setting != problem_.baseline &&
            (problem_.strategy != ServerStrategy::Safe || isSafe(progress.at(setting), -kSlack)) &&
            objective.at(setting).mean > mean + kSlack)
          finding("'{}' is better than the best setting", settingText(problem_.parameters, setting));
      if (result_.best != problem_.baseline) {
        const double deviation = std::sqrt(objective.at(result_.best).variance);
        gain = std::expm1(mean), low = std::expm1(mean - kInterval95 * deviation),
        high = std::expm1(mean + kInterval95 * deviation);
        if (!ran.contains(result_.best) || banned.contains(result_.best) ||
            (problem_.strategy == ServerStrategy::Safe && !isSafe(progress.at(result_.best), kSlack)))
          finding("the best setting never ran a whole interval, or is not known to be safe");
      }
    } else if (result_.best != problem_.baseline) {
      finding("the best setting is not the baseline, but there is no posterior");
    }
    constexpr double kGainSlack = 1e-5;
    if (std::abs(gain - result_.gain) > kGainSlack || std::abs(low - result_.gainLow) > kGainSlack ||
        std::abs(high - result_.gainHigh) > kGainSlack)
      finding("the gain {} is stated, but the intervals give {}", result_.gain, gain);
    if (out_.holds())
      out_.checked.push_back("the best setting is the best one of those that ran and are safe");
  }

  void sums() {
    int64_t trials = 0, rollbacks = 0, failures = 0;
    double lost = 0, gained = 0;
    for (const ServerInterval &one : record_) {
      trials += one.kind == Kind::Trial;
      rollbacks += one.outcome == Outcome::RolledBack, failures += one.outcome == Outcome::Failed;
      double samples = 0, seconds = 0;
      for (const ServerWindow &window : one.windows)
        samples += window.samples, seconds += window.seconds;
      if (one.outcome == Outcome::Failed)
        seconds = problem_.intervalSeconds - problem_.settleSeconds;
      const double ahead = samples - one.reference * seconds;
      if (one.kind != Kind::Baseline)
        (one.outcome == Outcome::Complete ? gained : lost) +=
            one.outcome == Outcome::Complete ? ahead : std::max(0.0, -ahead);
    }
    if (trials != result_.trials || rollbacks != result_.rollbacks || failures != result_.failures ||
        !areEqual(lost, result_.lostSamples) || !areEqual(gained, result_.gainedSamples))
      finding("{} trials, {} rollbacks, {} failures, {} samples lost and {} gained are stated, but the intervals give "
              "{}, {}, {}, {} and {}",
              result_.trials, result_.rollbacks, result_.failures, result_.lostSamples, result_.gainedSamples, trials,
              rollbacks, failures, lost, gained);
    else
      out_.checked.push_back(fmt::format("sums of {} intervals", record_.size()));
  }

  const ServerProblem &problem_;
  const Record &record_;
  const ServerResult &result_;
  size_t chosen_ = 0;
  Verification out_;
};

} // namespace

Verification verifyServerTuning(const ServerProblem &problem, const ServerResult &result) {
  return Verifier(problem, result).run();
}

} // namespace accord::tuning
