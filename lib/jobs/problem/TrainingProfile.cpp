#include "lib/jobs/problem/TrainingProfile.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::jobs {
namespace {

/// Curves below and above a batch; both are the same where the batch has one of its own.
struct Bracket {
  const ValidationCurve &lower, &upper;
};

Bracket bracket(const TrainingProfile &profile, int64_t batch) {
  auto above = std::lower_bound(profile.curves.begin(), profile.curves.end(), batch,
                                [](const ValidationCurve &curve, int64_t value) { return curve.batch < value; });
  if (above->batch == batch)
    return {*above, *above};
  return {*std::prev(above), *above};
}

double between(const Bracket &curves, int64_t batch, size_t epoch, double ValidationEpoch::*field) {
  const double low = curves.lower.epochs[epoch].*field, high = curves.upper.epochs[epoch].*field;
  if (curves.lower.batch == curves.upper.batch)
    return low;
  const auto fromLower = static_cast<double>(batch - curves.lower.batch),
             toUpper = static_cast<double>(curves.upper.batch - batch),
             width = static_cast<double>(curves.upper.batch - curves.lower.batch);
  return (fromLower * high + toUpper * low) / width;
}

Error wrong(const TrainingProfile &profile, const std::string &what) {
  return {Code::WrongJobsFile, fmt::format("profile of application '{}' {}", profile.name, what)};
}

bool isTime(const StepTime &time) {
  return std::isfinite(time.step) && time.step > 0 && time.sync >= 0 && time.sync <= time.step;
}

Result<void> checkTimes(const TrainingProfile &profile) {
  if (profile.placements.empty())
    return wrong(profile, "has no placements");
  std::set<std::vector<unsigned>> seen;
  const PlacementTime *before = nullptr;
  for (const PlacementTime &row : profile.placements) {
    if (row.placement.empty() || std::ranges::count(row.placement, 0u) > 0)
      return wrong(profile, "has a placement with a server without devices");
    if (row.localBatch < 1 || !isTime(row.time))
      return wrong(profile, "has a placement with a local batch below 1, or times that are none");
    const bool same = before && before->placement == row.placement;
    if (same && before->localBatch >= row.localBatch)
      return wrong(profile, fmt::format("has local batch {} behind {}", row.localBatch, before->localBatch));
    if (!same && !seen.insert(row.placement).second)
      return wrong(profile, "has rows of one placement that do not stand together");
    before = &row;
  }
  for (const ScalabilityTime &row : profile.scalability)
    if (row.servers < 1 || row.devices < row.servers || row.localBatch < 1 || !isTime(row.time))
      return wrong(profile, fmt::format("has a wrong time for {} devices on {} servers", row.devices, row.servers));
  return {};
}

Result<void> checkCurves(const TrainingProfile &profile) {
  if (profile.curves.empty() || profile.epochs < 1)
    return wrong(profile, "has no epoch of validation");
  int64_t before = 0;
  for (const ValidationCurve &curve : profile.curves) {
    if (curve.batch <= before)
      return wrong(profile, fmt::format("has a curve for batch {} behind {}", curve.batch, before));
    before = curve.batch;
    if (curve.epochs.size() < profile.epochs)
      return wrong(profile,
                   fmt::format("has {} epochs of {} for batch {}", curve.epochs.size(), profile.epochs, curve.batch));
    double progress = 0, iteration = 0;
    for (const ValidationEpoch &epoch : curve.epochs) {
      if (!(epoch.progress > progress) || !(epoch.iteration > iteration) || !(epoch.gradientSquare >= 0) ||
          !(epoch.gradientVariance >= 0) || !(epoch.gradientSquare + epoch.gradientVariance > 0))
        return wrong(profile, fmt::format("makes no progress in an epoch for batch {}", curve.batch));
      progress = epoch.progress;
      iteration = epoch.iteration;
    }
  }
  return {};
}

} // namespace

double TrainingProfile::progressAfter(size_t epoch) const {
  if (epoch == 0)
    return 0;
  double progress = curves.front().epochs[epoch - 1].progress;
  for (const ValidationCurve &curve : curves)
    progress = std::min(progress, curve.epochs[epoch - 1].progress);
  return progress;
}

double TrainingProfile::iterationsAfter(int64_t batch, size_t epoch) const {
  return between(bracket(*this, batch), batch, epoch, &ValidationEpoch::iteration);
}

GradientNoise TrainingProfile::noise(int64_t batch, size_t epoch) const {
  const Bracket curves = bracket(*this, batch);
  return {between(curves, batch, epoch, &ValidationEpoch::gradientSquare),
          between(curves, batch, epoch, &ValidationEpoch::gradientVariance)};
}

double TrainingProfile::gain(int64_t batch, size_t epoch) const {
  const GradientNoise now = noise(batch, epoch);
  const double scale = static_cast<double>(batch) / static_cast<double>(initialBatch);
  return (now.variance + now.square) / (now.variance / scale + now.square);
}

bool TrainingProfile::hasCurves(int64_t batch) const {
  return !curves.empty() && curves.front().batch <= batch && batch <= curves.back().batch;
}

Result<void> checkTrainingProfile(const TrainingProfile &profile) {
  if (auto checked = checkTimes(profile); !checked)
    return checked;
  if (auto checked = checkCurves(profile); !checked)
    return checked;
  if (profile.initialBatch < 1 || profile.maxBatch < profile.initialBatch)
    return wrong(profile, fmt::format("has batches from {} to {}", profile.initialBatch, profile.maxBatch));
  if (profile.minLocalBatch < 1 || profile.maxLocalBatch < profile.minLocalBatch ||
      profile.maxBatch < profile.minLocalBatch)
    return wrong(profile, fmt::format("has local batches from {} to {}, and batches to {}", profile.minLocalBatch,
                                      profile.maxLocalBatch, profile.maxBatch));
  return {};
}

} // namespace accord::jobs
