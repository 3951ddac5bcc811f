#include "lib/jobs/solve/BatchSchedule.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr int64_t kMaxBatch = int64_t(1) << 40;

/// Whether `chooseBatch` has a split to choose from.
Result<void> checkLimits(DeviceCount on, const BatchLimits &limits) {
  if (on.servers < 1 || on.devices < on.servers)
    return Error{Code::WrongJobsFile,
                 fmt::format("a training runs on {} devices of {} servers, but at least one device of each is expected",
                             on.devices, on.servers)};
  if (limits.maxBatch > kMaxBatch || limits.minAtomicBatch < 1 || limits.minAtomicBatch > limits.maxBatch ||
      limits.maxAtomicBatch < limits.minAtomicBatch)
    return Error{
        Code::WrongJobsFile,
        fmt::format("a batch is at most {} with {} to {} samples of a device, but at most {} and at least 1 are "
                    "expected",
                    limits.maxBatch, limits.minAtomicBatch, limits.maxAtomicBatch, kMaxBatch)};
  // The product is below 2^72.
  const auto together = static_cast<__int128>(on.devices) * limits.minAtomicBatch;
  if (together > limits.maxBatch)
    return Error{Code::WrongJobsFile, fmt::format("a batch of at most {} cannot be {} devices with at least {} samples",
                                                  limits.maxBatch, on.devices, limits.minAtomicBatch)};
  return {};
}

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
  if (auto checked = checkLimits(on, limits); !checked)
    return checked.takeError();
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
