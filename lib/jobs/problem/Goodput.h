// Goodput: samples a second, weighted by what a sample is worth at its batch. The model that Pollux optimizes.
//
// Formulas: Qiao et al., Pollux, OSDI 2021, sections 3.1 and 3.2. With R devices, an atomic batch of b samples a device
// and s steps of accumulation, the batch is B = R * b * (s + 1), and with its scale S = B / B0
//   T_grad = alpha_c + beta_c * b
//   T_sync = alpha + beta * max(R - 2, 1e-8), of the links between servers or within one; about 0 for R = 1
//   T_step = s * T_grad + (T_grad^gamma + T_sync^gamma)^(1 / gamma)
//   efficiency = (sigma^2 + |g|^2) / (sigma^2 / S + |g|^2) / S
//   goodput = B / T_step * efficiency
#pragma once
#include "lib/jobs/problem/TrainingProfile.h"
#include <optional>

namespace accord::jobs {

/// A time that grows with a count.
struct LinearTime {
  double constant = 0; ///< seconds
  double slope = 0;    ///< seconds for each one
};

struct GoodputModel {
  LinearTime compute;        ///< of forward and backward, over the atomic batch
  LinearTime betweenServers; ///< of synchronization on several servers, over devices beyond 2
  LinearTime withinServer;   ///< on one server
  double gamma = 1;          ///< overlap of both: 1 is none, and 10 nearly all
  GradientNoise noise;       ///< at the initial batch
  int64_t initialBatch = 1;  ///< B0
};

/// On which devices a job runs, as far as the model sees it: 1 <= servers <= devices.
struct DeviceCount {
  unsigned servers = 1, devices = 1;
};

/// Error A1101 if the model is not well formed: times and noise are finite and at least 0, a step takes time, gamma is
/// from 1 to 10 and the initial batch is at least 1.
Result<void> checkGoodputModel(const GoodputModel &model);

int64_t batchOf(DeviceCount on, BatchSplit split);
/// Seconds of an update.
double updateSeconds(const GoodputModel &model, DeviceCount on, BatchSplit split);
/// Samples a second.
double throughput(const GoodputModel &model, DeviceCount on, BatchSplit split);
/// What a sample is worth, from 0 to 1 for batches of at least the initial one.
double efficiency(const GoodputModel &model, int64_t batch);
/// Samples a second, each counted as much as it is worth.
double goodput(const GoodputModel &model, DeviceCount on, BatchSplit split);

/// Which batches may be run.
struct BatchLimits {
  int64_t maxBatch = 1;                           ///< of all devices
  int64_t minAtomicBatch = 1, maxAtomicBatch = 1; ///< samples of a device in a step
  bool accumulate = true;                         ///< whether a device may do several steps for an update
};

struct BatchChoice {
  BatchSplit split;
  double goodput = 0; ///< positive
};

/// The best of 50 batches, in geometric progression from the smallest that is allowed to the maximum: the choice of
/// Pollux (its published artefact). Devices accumulate only where they cannot hold their share; a single device with
/// more than the initial batch accumulates at least once. The first of equals. Nothing if no sample is allowed.
std::optional<BatchChoice> sampleBatch(const GoodputModel &model, DeviceCount on, const BatchLimits &limits);

/// The best of all splits with a batch from the initial one to the maximum, and accumulation at least once for a single
/// device above the initial batch. For a given accumulation, goodput is a concave gain over a convex time, so it rises
/// and then falls over the atomic batch, and a binary search finds its maximum (to the precision of doubles). The
/// smaller accumulation of equals. While devices are best full, goodput rises and then falls over the accumulation,
/// too; beyond, more steps only take more time for a batch, and are tried while they could still be better because a
/// batch is a whole number of samples: at most 4,096 of them, which matters only where a step without samples takes
/// hardly any time. The work is logarithmic in the largest batch. Nothing if no split is allowed. Never below
/// `sampleBatch`, except by rounding or where that exceeds the maximum batch as it rounds up.
std::optional<BatchChoice> chooseBatch(const GoodputModel &model, DeviceCount on, const BatchLimits &limits);

} // namespace accord::jobs
