// Batches of a training that grow with its gradient noise: an evolving job, as phases.
#pragma once
#include "lib/jobs/problem/Goodput.h"
#include "lib/jobs/problem/LearningRate.h"
#include <vector>

namespace accord::jobs {

/// What a training does from one share of its progress to that of the next phase.
struct BatchPhase {
  double progress = 0; ///< share of the whole, from 0 (the first phase) to below 1
  BatchSplit split;
  int64_t batch = 0;       ///< of all devices
  LearningRateScale scale; ///< of the learning rate and the warm-up at the initial batch
  double goodput = 0;      ///< samples a second, weighted by their efficiency, at the start of the phase
};

struct BatchScheduleOptions {
  LearningRateRule rule = LearningRateRule::AdaScale;
  Optimizer optimizer = Optimizer::Momentum;
  /// The batch changes where this raises goodput by at least this factor over the batch before: 1.05 is 5 %. 1 or more.
  double minGain = 1;
};

/// The split of the highest goodput (`chooseBatch`) in each epoch of a profile, on the same devices throughout. Times
/// are those of `model`; the noise is that of the profile in the epoch, at the batch that ran before it (within the
/// batches of its curves), so it can be known when the epoch begins. Epochs with the same split are one phase. The
/// learning rate of a phase follows `rule` from the scale and the gain of its batch when the phase begins.
///
/// Error A1101 if the profile or the model is not well formed, if the rule was not derived for the optimizer, if
/// `minGain` is below 1, or if the limits allow no batch, one above 2^40 or more than 1,000,000 steps of accumulation.
Result<std::vector<BatchPhase>> batchSchedule(const TrainingProfile &profile, GoodputModel model, DeviceCount on,
                                              const BatchLimits &limits, const BatchScheduleOptions &options = {});

} // namespace accord::jobs
