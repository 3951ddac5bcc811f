#include "lib/tuning/verify/TuningVerifier.h"
#include "lib/tuning/problem/CurveModel.h"
#include "lib/tuning/verify/BranchProof.h"
#include "lib/tuning/verify/CurveProof.h"
#include "lib/tuning/verify/PopulationProof.h"
#include "lib/tuning/verify/ScaleProof.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::tuning {
namespace {

/// Of times that are computed in another order.
bool areEqual(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }

class Verifier {
public:
  Verifier(const TuningProblem &problem, const TuningResult &result, const PricedTuning *priced)
      : problem_(problem), result_(result), priced_(priced) {}

  Verification run() {
    if (!areReferences())
      return std::move(out_);
    configurations();
    if (out_.holds())
      proveScales(problem_, result_, out_);
    courses();
    devices();
    if (out_.holds() && problem_.population)
      provePopulation(problem_, result_, priced_ != nullptr, out_);
    if (out_.holds() && !problem_.population && hasBranches())
      proveBranches(problem_, result_, out_);
    if (out_.holds() && !problem_.population)
      rungs();
    if (out_.holds() && !problem_.population)
      curves();
    incumbents();
    sums();
    if (out_.holds())
      out_.trusted.push_back("values of trials, as programs or the table said them");
    return std::move(out_);
  }

private:
  template <class... Args> void finding(fmt::format_string<Args...> format, Args &&...args) {
    out_.findings.push_back({Code::CertificateDisagrees, fmt::format(format, std::forward<Args>(args)...)});
  }

  bool areReferences() {
    for (const Segment &segment : result_.segments) {
      if (segment.trial >= result_.trials.size())
        finding("a segment is of trial {}, but there are {}", segment.trial, result_.trials.size());
      for (int64_t device : segment.devices)
        if (device < 0 || device >= problem_.devices)
          finding("trial {} runs on device {}, but there are {}", segment.trial, device, problem_.devices);
    }
    for (const Trial &trial : result_.trials)
      if (trial.configuration.size() != problem_.space.size())
        finding("a configuration has {} values for {} hyper-parameters", trial.configuration.size(),
                problem_.space.size());
    if (static_cast<int64_t>(result_.trials.size()) > problem_.trials)
      finding("{} trials, but at most {} are allowed", result_.trials.size(), problem_.trials);
    for (size_t i = 0; i < result_.trials.size(); ++i) {
      const Trial &trial = result_.trials[i];
      if (!problem_.population && ((trial.origin && !hasBranches()) || trial.state == Trial::State::Replaced))
        finding("trial {} is part of a population, and there is none", i);
      if (trial.origin && trial.origin->trial >= result_.trials.size())
        finding("trial {} begins from trial {}, but there are {}", i, trial.origin->trial, result_.trials.size());
    }
    return out_.holds();
  }

  bool hasBranches() const { return problem_.branches > 1 && !branchUnits(problem_.space).empty(); }

  void configurations() {
    for (size_t i = 0; i < result_.trials.size(); ++i)
      for (size_t p = 0; p < problem_.space.size(); ++p) {
        const HyperParameter &parameter = problem_.space[p];
        const double value = result_.trials[i].configuration[p];
        const bool isWhole = value == std::round(value);
        const bool isRight = parameter.kind == HyperParameter::Kind::Choice
                                 ? isWhole && value >= 0 && value < static_cast<double>(parameter.choices.size())
                                 : value >= parameter.min && value <= parameter.max &&
                                       (isWhole || parameter.kind == HyperParameter::Kind::Real);
        if (!isRight)
          finding("trial {}: {} is no value of '{}'", i, value, parameter.name);
      }
    if (out_.holds())
      out_.checked.push_back(fmt::format("{} configurations lie in the space", result_.trials.size()));
  }

  /// 0: the trial does not run there.
  double speedOf(size_t trial, int64_t slots) const {
    for (const Width &width : problem_.widths)
      if (width.slots == slots)
        return priced_ && slots >= problem_.slotsPerDevice ? pricedSpeed(trial, slots / problem_.slotsPerDevice)
                                                           : width.speed;
    return 0;
  }
  double pricedSpeed(size_t trial, int64_t devices) const {
    if (trial >= priced_->trials.size())
      return 0;
    const std::vector<DevicePrice> &prices = priced_->trials[trial].training;
    for (const DevicePrice &one : prices)
      if (one.devices == devices && one.fits && one.unitSeconds > 0)
        return prices.front().unitSeconds / one.unitSeconds;
    return 0;
  }

  /// Segments and reports of each trial, one after the other.
  void courses() {
    std::vector<std::vector<const Segment *>> of(result_.trials.size());
    for (const Segment &segment : result_.segments)
      of[segment.trial].push_back(&segment);
    for (size_t i = 0; i < result_.trials.size(); ++i) {
      const Trial &trial = result_.trials[i];
      const int64_t inherited = trial.inherited(), units = inherited + static_cast<int64_t>(trial.reports.size());
      int64_t done = inherited;
      double now = 0;
      for (const Segment *segment : of[i]) {
        const double speed = speedOf(i, segment->slots);
        const bool isPart = segment->slots < problem_.slotsPerDevice;
        if (speed <= 0 ||
            static_cast<int64_t>(segment->devices.size()) != (isPart ? 1 : segment->slots / problem_.slotsPerDevice))
          finding("trial {} runs on {} slots of {} devices, on which trials do not run", i, segment->slots,
                  segment->devices.size());
        if (segment->from != done || segment->to < segment->from || segment->to > units || segment->start < now)
          return finding("trial {} goes on from unit {} at {} s, but it had done {} at {} s", i, segment->from,
                         segment->start, done, now);
        const double unit = speed > 0 ? trial.unitSeconds / speed : 0;
        for (int64_t u = segment->from; u < segment->to; ++u) {
          const Report &report = trial.reports[static_cast<size_t>(u - inherited)];
          const double due = segment->start + problem_.restart + unit * static_cast<double>(u + 1 - segment->from);
          if (report.unit != u + 1 || !areEqual(report.time, due))
            return finding("trial {} ends unit {} at {} s, but its segment gives {} s", i, report.unit, report.time,
                           due);
          if (!std::isfinite(report.value) && (u + 1 < units || trial.state != Trial::State::Diverged))
            return finding("trial {} goes on behind a value that is not finite", i);
        }
        done = segment->to, now = segment->end;
        if (done > segment->from && segment->end < trial.reports[static_cast<size_t>(done - inherited) - 1].time)
          finding("a segment of trial {} ends at {} s, before its last unit", i, segment->end);
      }
      if (done != units)
        finding("trial {} has {} values, but its segments have {} units", i, units, done);
      if ((trial.state == Trial::State::Complete) != (units == problem_.maxUnits && isFiniteAtEnd(trial)))
        finding("trial {} has {} of {} units, which is not the state that it has", i, units, problem_.maxUnits);
    }
    if (out_.holds())
      out_.checked.push_back(fmt::format("{} segments follow each other and are as long as their {} units take",
                                         result_.segments.size(), result_.units));
  }
  static bool isFiniteAtEnd(const Trial &trial) {
    return !trial.reports.empty() && std::isfinite(trial.reports.back().value);
  }

  /// No device has more trials than it has room for, at any time.
  void devices() {
    std::map<int64_t, std::vector<std::pair<double, int64_t>>> changes; // by device: when, slots
    for (const Segment &segment : result_.segments)
      for (int64_t device : segment.devices) {
        const int64_t slots = std::min(segment.slots, problem_.slotsPerDevice);
        changes[device].push_back({segment.start, slots});
        changes[device].push_back({segment.end, -slots});
      }
    for (auto &[device, list] : changes) {
      std::ranges::sort(list); // what ends at a time ends before what begins
      int64_t taken = 0;
      for (auto [time, slots] : list)
        if ((taken += slots) > problem_.slotsPerDevice)
          return finding("device {} has more trials at {} s than it has room for", device, time);
    }
    if (out_.holds())
      out_.checked.push_back(fmt::format("{} devices never have more trials than they have room for", changes.size()));
  }

  /// Who went on behind a rung was among the best of those that had come there.
  void rungs() {
    size_t count = 0;
    const std::vector<int64_t> all = tuning::rungs(problem_);
    for (const Segment &segment : result_.segments)
      for (size_t r = 0; r + 1 < all.size(); ++r)
        if (segment.from == all[r] && result_.trials[segment.trial].at(all[r])) { // else it begins there
          ++count;
          const size_t silent = silentRungs(all, segment.start);
          const bool isFree =
              problem_.stops == Stops::Curves || r < silent || (r == silent && segment.trial < probes());
          if (!isFree && !isAmongTheBest(segment, all, r) && !isLastOneLeft(segment))
            return finding("trial {} goes on behind unit {} at {} s, but it is not among the best 1/{} there",
                           segment.trial, all[r], segment.start, problem_.reduction);
        }
    out_.checked.push_back(fmt::format("{} trials that went on behind a rung were among its best", count));
  }

  size_t probes() const { return static_cast<size_t>(std::min(problem_.probes, problem_.trials)); }

  /// Rungs that are known to say nothing at a time; the first trials may go on behind the next one.
  size_t silentRungs(const std::vector<int64_t> &all, double time) const {
    size_t silent = 0;
    for (; problem_.probes > 0 && silent + 1 < all.size(); ++silent) {
      std::vector<std::pair<double, double>> pairs;
      for (size_t i = 0; i < probes(); ++i) {
        const auto next = static_cast<size_t>(all[silent + 1]);
        if (i >= result_.trials.size())
          return silent;
        const auto &reports = result_.trials[i].reports;
        if (reports.size() >= next && reports[next - 1].time <= time && std::isfinite(reports[next - 1].value))
          pairs.emplace_back(reports[static_cast<size_t>(all[silent]) - 1].value, reports[next - 1].value);
        else if (!hasEnded(i, time))
          return silent;
      }
      // Spearman's correlation by signs of differences: the sum over pairs of pairs of products of ranks.
      double xy = 0, xx = 0, yy = 0;
      for (const auto &a : pairs) {
        double x = 0, y = 0;
        for (const auto &b : pairs) {
          x += (b.first < a.first) - (b.first > a.first);
          y += (b.second < a.second) - (b.second > a.second);
        }
        xy += x * y, xx += x * x, yy += y * y;
      }
      if (pairs.size() >= 3 && xx > 0 && yy > 0 && xy >= (kMinAgreement - 1e-12) * std::sqrt(xx * yy))
        return silent;
    }
    return silent;
  }
  /// It diverged or failed before, whose time is the end of its last segment.
  bool hasEnded(size_t trial, double time) const {
    const Trial::State state = result_.trials[trial].state;
    if (state != Trial::State::Diverged && state != Trial::State::Failed && state != Trial::State::Stopped)
      return false;
    double end = 0;
    for (const Segment &segment : result_.segments)
      if (segment.trial == trial)
        end = std::max(end, segment.end);
    return end <= time;
  }

  bool isAmongTheBest(const Segment &segment, const std::vector<int64_t> &all, size_t rung) const {
    const int64_t low = rung ? all[rung - 1] : 0;
    const double own = result_.trials[segment.trial].at(all[rung])->value;
    size_t reached = 0, better = 0;
    for (size_t i = 0; i < result_.trials.size(); ++i) {
      const Trial &other = result_.trials[i];
      const Report *there = other.at(all[rung]);
      const bool isThere = there && there->time <= segment.start;
      const bool isOut = other.state == Trial::State::Diverged || other.state == Trial::State::Stopped;
      const bool hasDiverged = isOut && !other.reports.empty() && other.reports.back().unit > low &&
                               other.reports.back().unit <= all[rung] && other.reports.back().time <= segment.start;
      if (!isThere && !hasDiverged)
        continue;
      ++reached;
      const bool isFinite = isThere && std::isfinite(there->value);
      if (!isFinite)
        continue;
      const double value = problem_.maximizes ? there->value : -there->value;
      const double mine = problem_.maximizes ? own : -own;
      better += value > mine || (value == mine && i < segment.trial);
    }
    return better < reached / static_cast<size_t>(problem_.reduction);
  }

  /// Nothing else runs then, and no trial was complete.
  bool isLastOneLeft(const Segment &segment) const {
    for (const Segment &other : result_.segments)
      if (&other != &segment && other.start <= segment.start && segment.start < other.end)
        return false;
    return std::ranges::none_of(result_.trials, [&](const Trial &trial) {
      return trial.state == Trial::State::Complete && trial.reports.back().time <= segment.start;
    });
  }

  /// Who was stopped by its curve was improbable to become the best, by what was known then.
  void curves() {
    size_t count = 0;
    for (size_t i = 0; i < result_.trials.size(); ++i) {
      const Trial &trial = result_.trials[i];
      if (trial.state != Trial::State::Stopped)
        continue;
      ++count;
      if (problem_.stops == Stops::Halving || trial.reports.empty() ||
          trial.reports.back().unit < std::max(kMinCurveUnits, problem_.minUnits))
        return finding("trial {} is stopped after {} units, before curves are looked at", i, trial.reports.size());
      const double now = trial.reports.back().time;
      const std::vector<double> own = curveOf(result_, static_cast<unsigned>(i));
      std::vector<double> last;
      std::optional<double> best;
      for (size_t other = 0; other < result_.trials.size(); ++other) {
        std::optional<double> latest;
        for (const Report &report : result_.trials[other].reports)
          if (report.time < now || (report.time == now && other <= i)) {
            latest = report.value;
            if (std::isfinite(report.value) &&
                (!best || (problem_.maximizes ? report.value > *best : report.value < *best)))
              best = report.value;
          }
        if (latest && std::isfinite(*latest))
          last.push_back(*latest);
      }
      const double probability = probabilityToBeat(own, problem_.maxUnits, std::move(last), *best, problem_.maximizes);
      if (!(probability <= problem_.stopBelow + 1e-6))
        return finding("trial {} is stopped after {} units, but its curve comes to {} with probability {}", i,
                       trial.reports.size(), *best, probability);
    }
    if (problem_.stops != Stops::Halving)
      out_.checked.push_back(
          fmt::format("{} trials that were stopped by their curves become the best with a probability of at most {}",
                      count, problem_.stopBelow));
  }

  void incumbents() {
    std::vector<std::tuple<double, unsigned, int64_t, double>> values;
    for (unsigned i = 0; i < result_.trials.size(); ++i)
      for (const Report &report : result_.trials[i].reports)
        if (std::isfinite(report.value))
          values.emplace_back(report.time, i, report.unit, report.value);
    std::ranges::sort(values);
    std::vector<Incumbent> best;
    for (auto &[time, trial, unit, value] : values)
      if (best.empty() || (problem_.maximizes ? value > best.back().value : value < best.back().value))
        best.push_back({time, trial, unit, value});
    bool isSame = best.size() == result_.incumbents.size();
    for (size_t i = 0; isSame && i < best.size(); ++i)
      isSame = best[i].trial == result_.incumbents[i].trial && best[i].unit == result_.incumbents[i].unit &&
               best[i].value == result_.incumbents[i].value && best[i].time == result_.incumbents[i].time;
    if (!isSame)
      return finding("the best values that are listed are not those of the trials");
    out_.checked.push_back(fmt::format("{} values, each the best so far", best.size()));
  }

  void sums() {
    double seconds = 0, deviceSeconds = 0;
    int64_t units = 0;
    for (const Segment &segment : result_.segments) {
      seconds = std::max(seconds, segment.end);
      deviceSeconds += static_cast<double>(segment.slots) / static_cast<double>(problem_.slotsPerDevice) *
                       (segment.end - segment.start);
    }
    for (const Trial &trial : result_.trials)
      units += static_cast<int64_t>(trial.reports.size());
    if (!areEqual(seconds, result_.seconds) || !areEqual(deviceSeconds, result_.deviceSeconds) ||
        units != result_.units)
      finding("{} s, {} device-seconds and {} units are stated, but the segments give {} s, {} and {}", result_.seconds,
              result_.deviceSeconds, result_.units, seconds, deviceSeconds, units);
  }

  const TuningProblem &problem_;
  const TuningResult &result_;
  const PricedTuning *const priced_;
  Verification out_;
};

} // namespace

Verification verifyTuning(const TuningProblem &problem, const TuningResult &result, const PricedTuning *priced) {
  return Verifier(problem, result, priced).run();
}

} // namespace accord::tuning
