#include "lib/jobs/solve/BatchSchedule.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

/// The phase that a split begins in an epoch.
Result<BatchPhase> phaseOf(const GoodputModel &model, DeviceCount on, BatchSplit split,
                           const BatchScheduleOptions &options) {
  BatchPhase phase;
  phase.split = split;
  phase.batch = batchOf(on, split);
  phase.goodput = goodput(model, on, split);
  const double scale = static_cast<double>(phase.batch) / static_cast<double>(model.initialBatch);
  // The gain is the scale times what a sample is worth.
  ACCORD_TRY(learning,
             scaleLearningRate(options.rule, options.optimizer, scale, scale * efficiency(model, phase.batch)));
  phase.scale = learning;
  return phase;
}

} // namespace

Result<std::vector<BatchPhase>> batchSchedule(const TrainingProfile &profile, GoodputModel model, DeviceCount on,
                                              const BatchLimits &limits, const BatchScheduleOptions &options) {
  if (auto checked = checkTrainingProfile(profile); !checked)
    return checked.takeError();
  if (!(options.minGain >= 1) || std::isinf(options.minGain))
    return Error{
        Code::WrongJobsFile,
        fmt::format("a batch changes for a gain of {}, but a factor of 1 or more is expected", options.minGain)};
  if (on.servers < 1 || on.devices < on.servers || limits.minAtomicBatch < 1)
    return Error{Code::WrongJobsFile,
                 fmt::format("a training has {} devices on {} servers and at least {} samples on each, but at least 1 "
                             "is expected of each",
                             on.devices, on.servers, limits.minAtomicBatch)};
  model.initialBatch = profile.initialBatch;
  std::vector<BatchPhase> phases;
  int64_t before = profile.initialBatch;
  const double whole = profile.progressAfter(profile.epochs);
  for (size_t epoch = 0; epoch < profile.epochs; ++epoch) {
    model.noise = profile.noise(std::clamp(before, profile.curves.front().batch, profile.curves.back().batch), epoch);
    if (auto checked = checkGoodputModel(model); !checked)
      return checked.takeError();
    const auto choice = chooseBatch(model, on, limits);
    if (!choice)
      return Error{Code::WrongJobsFile,
                   fmt::format("no batch from {} to {} can be divided over {} devices with {} to {} samples each",
                               profile.initialBatch, limits.maxBatch, on.devices, limits.minAtomicBatch,
                               limits.maxAtomicBatch)};
    const bool stays = !phases.empty() && (phases.back().split == choice->split ||
                                           choice->goodput < options.minGain * goodput(model, on, phases.back().split));
    if (stays)
      continue;
    ACCORD_TRY(phase, phaseOf(model, on, choice->split, options));
    phase.progress = profile.progressAfter(epoch) / whole;
    phases.push_back(phase);
    before = phase.batch;
  }
  return phases;
}

} // namespace accord::jobs
