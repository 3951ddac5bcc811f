// How fast an application trains, as it was profiled: times of steps by placement and batch, and curves of validation
// by batch. Plain data and the interpolations of its curves.
//
// The quantities are those of Pollux (Qiao et al., OSDI 2021): the progress of a training is counted in steps of the
// initial batch, and a step with a larger batch is worth as many of those as its gradient noise says.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord::jobs {

/// Seconds of a step of training. Steps that only accumulate a gradient take `step - sync`.
struct StepTime {
  double step = 0; ///< forward, backward and synchronization
  double sync = 0; ///< the part of it that waits for the gradients of others
  bool operator==(const StepTime &) const = default;
};

/// How a batch is divided: each device does `accumulation + 1` steps with `atomic` samples before one update.
struct BatchSplit {
  int64_t atomic = 0;
  int64_t accumulation = 0;
  bool operator==(const BatchSplit &) const = default;
};

/// A measurement on a placement that is known exactly.
struct PlacementTime {
  std::vector<unsigned> placement; ///< devices on each server, all at least 1
  int64_t localBatch = 0;          ///< samples of a device in a step
  StepTime time;
};

/// A measurement of which only the numbers of servers and devices are known.
struct ScalabilityTime {
  unsigned servers = 0, devices = 0;
  int64_t localBatch = 0; ///< samples of a device in a step
  StepTime time;
};

/// What was seen at the end of an epoch.
struct ValidationEpoch {
  double progress = 0;         ///< steps of the initial batch, since the start
  double iteration = 0;        ///< steps that were done, since the start
  double metric = 0;           ///< of validation
  double gradientSquare = 0;   ///< squared norm of the gradient, |g|^2
  double gradientVariance = 0; ///< its variance at the initial batch, sigma^2
};

/// A training with one batch of all devices.
struct ValidationCurve {
  int64_t batch = 0;
  std::vector<ValidationEpoch> epochs;
};

/// Square and variance of a gradient.
struct GradientNoise {
  double square = 0, variance = 0;
};

struct TrainingProfile {
  std::string name;
  std::vector<PlacementTime> placements;    ///< rows of a placement stand together, local batches ascending
  std::vector<ScalabilityTime> scalability; ///< in the order of the file
  std::vector<ValidationCurve> curves;      ///< batches ascending
  int64_t initialBatch = 0, maxBatch = 0;   ///< of all devices
  int64_t minLocalBatch = 0, maxLocalBatch = 0;
  unsigned maxDevices = 0; ///< that the application can use; 0: not limited
  size_t epochs = 0;       ///< after which it is complete, at least 1

  /// Progress after `epoch` epochs: the minimum of all curves, 0 at 0. `epoch` is at most `epochs`.
  double progressAfter(size_t epoch) const;
  /// Steps that are done after epoch number `epoch`, counted from 0; linear between the batches of two curves. `batch`
  /// is in the range of the curves.
  double iterationsAfter(int64_t batch, size_t epoch) const;
  /// Of epoch number `epoch`, counted from 0, with the same interpolation.
  GradientNoise noise(int64_t batch, size_t epoch) const;
  /// Steps of the initial batch that one step with `batch` is worth: (sigma^2 + |g|^2) / (sigma^2 / S + |g|^2) with
  /// S = batch / initialBatch (Pollux, section 2.2).
  double gain(int64_t batch, size_t epoch) const;
  /// Whether there are curves for a batch, or for one below and one above it.
  bool hasCurves(int64_t batch) const;
};

/// Why a profile is not well formed. Errors have the code A1101 and no place.
Result<void> checkTrainingProfile(const TrainingProfile &profile);

} // namespace accord::jobs
