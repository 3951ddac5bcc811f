#include "lib/jobs/solve/StepPredictor.h"
#include "lib/prediction/StudentDistribution.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr double kQualityShare = 0.95;
constexpr double kMaxGrowth = 2;
constexpr size_t kGrowthSteps = 200; ///< tried between 0 and `kMaxGrowth`

bool isRising(const ValidationCurve &run) { return run.epochs.back().metric > run.epochs.front().metric; }

/// Factors of 2 between two batches, at least one.
double doublings(int64_t a, int64_t b) {
  return std::max(1.0, std::abs(std::log2(static_cast<double>(b) / static_cast<double>(a))));
}

/// Steps of a run until some progress; nothing if it ends before.
std::optional<double> stepsUntil(const ValidationCurve &run, double progress) {
  double before = 0, steps = 0;
  for (const ValidationEpoch &epoch : run.epochs) {
    if (epoch.progress >= progress)
      return steps + (epoch.iteration - steps) * (progress - before) / (epoch.progress - before);
    before = epoch.progress, steps = epoch.iteration;
  }
  return std::nullopt;
}

/// A run that is predicted from another one.
struct Pair {
  const ApplicationCurves *application;
  const ValidationCurve *from, *to;
  double progress; ///< until which steps are predicted, by what is known of `from`
  double measured; ///< steps of `to`

  double error(double growth) const {
    return std::log(stepsFor(*application, *from, to->batch, progress, growth) / measured);
  }
};

/// A quality that each run reaches, and none at once.
double commonQuality(const ApplicationCurves &application) {
  const bool rises = isRising(application.curves.front());
  auto better = [&](double a, double b) { return rises ? std::max(a, b) : std::min(a, b); };
  auto worse = [&](double a, double b) { return rises ? std::min(a, b) : std::max(a, b); };
  double first = application.curves.front().epochs.front().metric, last = 0;
  for (size_t i = 0; i < application.curves.size(); ++i) {
    const auto &epochs = application.curves[i].epochs;
    double best = epochs.front().metric;
    for (const ValidationEpoch &epoch : epochs)
      best = better(best, epoch.metric);
    first = worse(first, epochs.front().metric);
    last = i == 0 ? best : worse(last, best);
  }
  return first + kQualityShare * (last - first);
}

std::vector<Pair> pairsOf(const ApplicationCurves &application, StepsUntil until) {
  std::vector<Pair> pairs;
  const double quality = until == StepsUntil::Quality ? commonQuality(application) : 0;
  for (const ValidationCurve &from : application.curves)
    for (const ValidationCurve &to : application.curves) {
      if (from.batch == to.batch)
        continue;
      if (until == StepsUntil::Progress) {
        const double progress = std::min(from.epochs.back().progress, to.epochs.back().progress);
        pairs.push_back({&application, &from, &to, progress, *stepsUntil(to, progress)});
        continue;
      }
      const auto there = progressAt(from, quality), here = progressAt(to, quality);
      if (there && here && *there > from.epochs.front().progress && *here > to.epochs.front().progress)
        pairs.push_back({&application, &from, &to, *there, *stepsUntil(to, *here)});
    }
  return pairs;
}

/// The growth that leaves the smallest squares, of those that are tried.
double fittedGrowth(const std::vector<Pair> &pairs) {
  double best = 0, smallest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i <= kGrowthSteps; ++i) {
    const double growth = kMaxGrowth * static_cast<double>(i) / kGrowthSteps;
    double squares = 0;
    for (const Pair &pair : pairs)
      squares += std::pow(pair.error(growth), 2);
    if (squares < smallest)
      smallest = squares, best = growth;
  }
  return best;
}

} // namespace

double stepsFor(const ApplicationCurves &application, const ValidationCurve &run, int64_t batch, double progress,
                double growth) {
  const double scale = static_cast<double>(batch) / static_cast<double>(application.initialBatch);
  const double more = std::pow(static_cast<double>(batch) / static_cast<double>(run.batch), growth);
  double steps = 0, before = 0, gain = 1;
  for (const ValidationEpoch &epoch : run.epochs) {
    if (before >= progress)
      break;
    const double variance = epoch.gradientVariance * more;
    gain = (variance + epoch.gradientSquare) / (variance / scale + epoch.gradientSquare);
    const double until = std::min(epoch.progress, progress);
    steps += (until - before) / gain;
    before = until;
  }
  return steps + std::max(0.0, progress - before) / gain;
}

std::optional<double> progressAt(const ValidationCurve &run, double metric) {
  const bool rises = isRising(run);
  const ValidationEpoch *before = nullptr;
  for (const ValidationEpoch &epoch : run.epochs) {
    if (rises ? epoch.metric >= metric : epoch.metric <= metric)
      return before ? before->progress + (epoch.progress - before->progress) * (metric - before->metric) /
                                             (epoch.metric - before->metric)
                    : epoch.progress;
    before = &epoch;
  }
  return std::nullopt;
}

Result<StepPredictor> StepPredictor::make(const std::vector<ApplicationCurves> &applications, StepsUntil until) {
  std::vector<std::vector<Pair>> all;
  for (const ApplicationCurves &one : applications)
    if (auto pairs = pairsOf(one, until); !pairs.empty())
      all.push_back(std::move(pairs));
  if (all.size() < kMinApplications)
    return Error{Code::NothingFitted,
                 fmt::format("applications that were run with several batches: {}, but {} are needed", all.size(),
                             kMinApplications)};
  const auto count = static_cast<double>(all.size());
  StepPredictor made;
  for (const std::vector<Pair> &pairs : all)
    made.growth_ += fittedGrowth(pairs) / count;
  // What is left, for each factor of 2: it differs between applications, and within one.
  std::vector<double> means;
  double within = 0;
  for (const std::vector<Pair> &pairs : all) {
    double sum = 0, squares = 0;
    for (const Pair &pair : pairs) {
      const double error = pair.error(made.growth_) / doublings(pair.from->batch, pair.to->batch);
      sum += error, squares += error * error;
    }
    const double number = static_cast<double>(pairs.size()), mean = sum / number;
    means.push_back(mean);
    within += std::max(0.0, squares / number - mean * mean) / count;
  }
  double mean = 0, between = 0;
  for (double one : means)
    mean += one / count;
  for (double one : means)
    between += std::pow(one - mean, 2) / (count - 1);
  made.deviation_ =
      studentQuantile(0.95, static_cast<unsigned>(all.size() - 1)) * std::sqrt(between * (1 + 1 / count) + within);
  return made;
}

PredictedSteps StepPredictor::predict(const ApplicationCurves &application, const ValidationCurve &run, int64_t batch,
                                      double progress) const {
  const double steps = stepsFor(application, run, batch, progress, growth_);
  if (batch == run.batch)
    return {steps, steps, steps};
  const double factor = std::exp(deviation_ * doublings(run.batch, batch));
  return {steps, steps / factor, steps * factor};
}

Result<std::vector<LeftOutSteps>> leaveStepsOut(const std::vector<ApplicationCurves> &applications, StepsUntil until) {
  std::vector<LeftOutSteps> leftOut;
  for (size_t i = 0; i < applications.size(); ++i) {
    const std::vector<Pair> pairs = pairsOf(applications[i], until);
    if (pairs.empty())
      continue;
    std::vector<ApplicationCurves> others = applications;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    ACCORD_TRY(predictor, StepPredictor::make(others, until));
    for (const Pair &pair : pairs) {
      const PredictedSteps steps = predictor.predict(applications[i], *pair.from, pair.to->batch, pair.progress);
      leftOut.push_back({pair.from->batch,
                         pair.to->batch,
                         {applications[i].application, pair.measured, steps.steps, steps.low, steps.high}});
    }
  }
  return leftOut;
}

} // namespace accord::jobs
