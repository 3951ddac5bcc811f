#include "lib/tuning/solve/SafeTuner.h"
#include "lib/prediction/GaussianProcess.h"
#include "lib/support/SplitMix.h"
#include "lib/tuning/solve/BaselineTrack.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::tuning {

using prediction::GaussianPosterior;
using prediction::GaussianPrior;
using prediction::GaussianProcess;
using prediction::GaussianRow;
using Kind = ServerInterval::Kind;
using Outcome = ServerInterval::Outcome;

static constexpr double kMinNoise = 0.002;
/// Of the upper bound by which settings are chosen.
static constexpr double kOptimism = 2;

/// Posteriors of progress and of the objective after a record.
struct SafeTuner::Model {
  Model(const SafeTuner &tuner, const std::vector<ServerInterval> &record)
      : tuner(tuner), problem(tuner.problem_), noise(windowNoise(record)), progress(processOf(record, false)) {
    if (problem.objective == ServerObjective::SamplesPerJoule)
      efficiency.emplace(processOf(record, true));
    z = prediction::normalQuantile(1 - (1 - problem.confidence) / static_cast<double>(problem.intervals));
    const BaselineTrack track(record, false);
    for (size_t i = 0; i < record.size(); ++i) {
      if (record[i].outcome == Outcome::Failed || (record[i].outcome == Outcome::RolledBack && track.at(i)))
        banned.insert(record[i].setting);
      if (record[i].outcome == Outcome::Complete)
        tried.insert(record[i].setting);
    }
    banned.erase(problem.baseline);
  }

  GaussianProcess processOf(const std::vector<ServerInterval> &record, bool isPerJoule) const {
    const BaselineTrack track(record, isPerJoule), online(record, false);
    std::vector<GaussianRow> rows{{pointOf(problem.baseline), 0, 0}};
    for (size_t i = 0; i < record.size(); ++i) {
      const ServerInterval &interval = record[i];
      if (interval.setting == problem.baseline)
        continue;
      GaussianRow row{pointOf(interval.setting), kFailedLog, 1};
      if (interval.outcome != Outcome::Failed) {
        const auto reference = track.at(i);
        const double value = isPerJoule ? interval.samples() / interval.joules() : interval.rate();
        if (!reference || !online.at(i) || !std::isfinite(value))
          continue; // the machine changed around it, or its windows were shorter than its meter's steps
        row.value = value > 0 ? std::max(kFailedLog, std::log(value) - *reference) : kFailedLog;
        row.noiseFactor = static_cast<double>(kWindows) / static_cast<double>(interval.windows.size());
      }
      rows.push_back(std::move(row));
    }
    GaussianPrior prior;
    prior.median.signal = kSignalMedian;
    for (bool isWord : tuner.isWord_)
      prior.median.lengths.push_back(isWord ? kWordLength : kLengthMedian);
    prior.median.noise = std::max(kMinNoise, noise * std::sqrt(2.0 / static_cast<double>(kWindows)));
    auto scales = rows.size() > 1 ? prediction::fitScales(prior, tuner.isWord_, rows) : prior.median;
    if (problem.strategy == ServerStrategy::Safe) { // few measurements do not show that progress is smoother
      scales.signal = std::max(scales.signal, prior.median.signal);
      for (size_t i = 0; i < scales.lengths.size(); ++i)
        scales.lengths[i] = std::min(scales.lengths[i], prior.median.lengths[i]);
    }
    return {std::move(scales), tuner.isWord_, std::move(rows)};
  }

  GaussianPosterior progressAt(const Setting &setting) const { return progress.at(pointOf(setting)); }
  GaussianPosterior objectiveAt(const Setting &setting) const {
    return (efficiency ? *efficiency : progress).at(pointOf(setting));
  }
  bool isSafe(const GaussianPosterior &at) const { return at.mean - z * at.deviation >= std::log(problem.floor); }

  /// Of settings that ran a whole interval, the one with the best mean of those that are safe.
  Setting best() const {
    Setting best = problem.baseline;
    double value = 0;
    for (const Setting &setting : tried) {
      if (banned.contains(setting) || setting == problem.baseline)
        continue;
      if (problem.strategy == ServerStrategy::Safe && !isSafe(progressAt(setting)))
        continue;
      const double mean = objectiveAt(setting).mean;
      if (mean > value)
        value = mean, best = setting;
    }
    return best;
  }

  /// Settings that ran and are safe: trials are few steps from one.
  std::vector<Setting> anchors() const {
    std::vector<Setting> out{problem.baseline};
    for (const Setting &setting : tried)
      if (!banned.contains(setting) && isSafe(progressAt(setting)))
        out.push_back(setting);
    return out;
  }

  const SafeTuner &tuner;
  const ServerProblem &problem;
  double noise = 0, z = 0;
  GaussianProcess progress; ///< logarithm of the ratio to the baseline
  std::optional<GaussianProcess> efficiency;
  std::set<Setting> banned, tried;
};

SafeTuner::SafeTuner(const ServerProblem &problem) : problem_(problem) {
  const int64_t count = numSettings(problem.parameters);
  for (int64_t i = 0; i < count; ++i)
    points_.push_back(pointOf(settingOf(problem.parameters, i)));
  for (const ServerParameter &parameter : problem.parameters)
    isWord_.push_back(!parameter.words.empty());
}

std::string failureOf(const std::vector<ServerInterval> &record) {
  int64_t failures = 0;
  for (size_t i = 0; i < record.size(); ++i) {
    const ServerInterval &interval = record[i];
    if (interval.outcome != Outcome::Failed)
      continue;
    ++failures;
    if (interval.kind != Kind::Trial)
      return fmt::format("the training failed with a setting that is known to be safe: {}", interval.reason);
    if (failures > kMaxFailures)
      return fmt::format("{} settings failed, the last one because {}", failures, interval.reason);
  }
  return {};
}

std::optional<ServerChoice> SafeTuner::next(const std::vector<ServerInterval> &record) const {
  if (static_cast<int64_t>(record.size()) >= problem_.intervals || !failureOf(record).empty())
    return std::nullopt;
  ServerChoice out;
  const BaselineTrack track(record, false);
  out.reference = track.now() ? std::exp(*track.now()) : 0;
  out.setting = problem_.baseline;
  out.lower = out.mean = 1;
  int64_t baselines = 0, since = 0;
  for (const ServerInterval &interval : record) {
    ++since;
    if (interval.kind == Kind::Baseline)
      ++baselines, since = 0;
  }
  if (baselines < kFirstBaselines)
    return out;
  const Model model(*this, record);
  auto choose = [&](Kind kind, const Setting &setting) {
    const GaussianPosterior at = model.progressAt(setting);
    out.kind = kind, out.setting = setting;
    out.lower = std::exp(at.mean - model.z * at.deviation), out.mean = std::exp(at.mean);
    const auto &scales = model.progress.scales();
    out.scales = ServerScales{scales.signal, scales.noise, scales.lengths};
  };
  if (record.back().outcome != Outcome::Complete) {
    if (Setting best = model.best(); best != problem_.baseline)
      choose(Kind::Recovery, best);
    return out;
  }
  if (record.back().kind == Kind::Recovery || since + 1 >= kBaselineEvery)
    return out;

  if (problem_.strategy == ServerStrategy::Random) {
    SplitMix random(problem_.seed * 1'000'003 + record.size());
    choose(Kind::Trial, settingOf(problem_.parameters, static_cast<int64_t>(random.below(points_.size()))));
    return out;
  }
  const bool isCareful = problem_.strategy == ServerStrategy::Safe;
  const std::vector<Setting> anchors = isCareful ? model.anchors() : std::vector<Setting>();
  double bestBound = 0;
  std::optional<Setting> best;
  for (size_t i = points_.size(); i-- > 0;) { // of equal ones that with more workers, power, memory
    Setting setting = settingOf(problem_.parameters, static_cast<int64_t>(i));
    if (setting == problem_.baseline || model.banned.contains(setting) ||
        (isCareful && std::ranges::none_of(anchors, [&](const Setting &other) {
           return stepsBetween(problem_.parameters, setting, other) <= kMaxSteps;
         })))
      continue;
    const GaussianPosterior at = model.progress.at(points_[i]);
    if (isCareful && !model.isSafe(at))
      continue;
    const GaussianPosterior objective = model.efficiency ? model.efficiency->at(points_[i]) : at;
    const double bound = objective.mean + kOptimism * objective.deviation;
    if (!best || bound > bestBound)
      bestBound = bound, best = std::move(setting);
  }
  if (best)
    choose(Kind::Trial, *best);
  return out; // the baseline again where nothing else is safe
}

ServerResult SafeTuner::resultOf(std::vector<ServerInterval> record) const {
  ServerResult out;
  const BaselineTrack track(record, false);
  for (size_t i = 0; i < record.size(); ++i) {
    const ServerInterval &interval = record[i];
    out.trials += interval.kind == Kind::Trial;
    out.rollbacks += interval.outcome == Outcome::RolledBack;
    out.failures += interval.outcome == Outcome::Failed;
    if (interval.kind == Kind::Baseline)
      continue;
    const double seconds =
        interval.outcome == Outcome::Failed ? problem_.intervalSeconds - problem_.settleSeconds : interval.seconds();
    const double ahead = interval.samples() - interval.reference * seconds;
    if (interval.outcome == Outcome::Complete)
      out.gainedSamples += ahead;
    else
      out.lostSamples -= std::min(0.0, ahead);
  }
  out.best = problem_.baseline;
  if (track.now()) {
    const Model model(*this, record);
    out.best = model.best();
    auto keep = [](const GaussianProcess &process) {
      return ServerScales{process.scales().signal, process.scales().noise, process.scales().lengths};
    };
    out.scales = keep(model.progress);
    if (model.efficiency)
      out.objectiveScales = keep(*model.efficiency);
    if (out.best != problem_.baseline) {
      const GaussianPosterior at = model.objectiveAt(out.best);
      out.gain = std::expm1(at.mean);
      out.gainLow = std::expm1(at.mean - kInterval95 * at.deviation);
      out.gainHigh = std::expm1(at.mean + kInterval95 * at.deviation);
    }
  }
  out.intervals = std::move(record);
  return out;
}

Result<ServerResult> tuneServer(const ServerProblem &problem, ServerRunner &runner, std::vector<ServerInterval> record,
                                const std::function<Result<void>(const std::vector<ServerInterval> &)> &done,
                                const std::atomic<bool> *stop) {
  const SafeTuner tuner(problem);
  while (!stop || !stop->load()) {
    auto choice = tuner.next(record);
    if (!choice)
      break;
    const BaselineTrack track(record, false);
    const double noise = windowNoise(record), deviation = track.deviation();
    const bool isWatched =
        problem.strategy == ServerStrategy::Safe && choice->kind == Kind::Trial && choice->setting != problem.baseline;
    ACCORD_TRY(measured, runner.run(choice->setting, [&](const std::vector<ServerWindow> &windows) {
      return isWatched && isBelowFloor(windows, choice->reference, deviation, noise, problem.floor);
    }));
    if (measured.hasEnded)
      break;
    choice->outcome = measured.outcome, choice->windows = std::move(measured.windows);
    choice->reason = std::move(measured.reason);
    record.push_back(std::move(*choice));
    if (done)
      if (auto kept = done(record); !kept)
        return kept.takeError();
  }
  return tuner.resultOf(std::move(record));
}

} // namespace accord::tuning
