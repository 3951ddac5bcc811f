// Fitting the times of a goodput model to measured steps of training.
#pragma once
#include "lib/jobs/problem/Goodput.h"
#include <vector>

namespace accord::jobs {

/// Seconds of steps that were measured on some devices.
struct MeasuredStep {
  DeviceCount on;
  int64_t atomicBatch = 1;        ///< samples of a device in a step
  double accumulationSeconds = 0; ///< of a step that only accumulates its gradient
  double stepSeconds = 0;         ///< of a step that synchronizes
};

/// What was not measured, and has a value that was assumed.
struct FrozenTerms {
  bool computeConstant = false; ///< one atomic batch only: half of the mean time of a step is constant
  bool betweenServers = false;  ///< no step on several servers: at least 1.1 times the terms within a server
  bool withinServer = false;    ///< no step on several devices of one server: about 0
  bool betweenSlope = false, withinSlope = false; ///< no step on more than 2 devices there: 0
};

struct GoodputFit {
  /// With the fitted times and overlap. Its noise and initial batch are those of `GoodputModel` itself: they are known
  /// from other measurements.
  GoodputModel model;
  double loss = 0;              ///< of the problem below
  double accumulationError = 0; ///< root of the mean square of log(predicted / measured)
  double stepError = 0;         ///< the same of steps that synchronize
  FrozenTerms frozen;
};

/// The times and the overlap gamma that minimize
///   RMSE(log accumulation) + RMSE(log step) + 1e-3 (gamma - 1)^2 + 1e-2 ((beta_n / alpha_n)^2 + (beta_r / alpha_r)^2)
/// over times of at least 1e-8 s and gamma from 1 to 10, where terms that no row shows are frozen (Pollux: Qiao et al.,
/// OSDI 2021, section 4.1, and its published artefact).
///
/// The minimum is a local one, the best from a fixed set of starts, by projected Levenberg-Marquardt steps over the
/// logarithms of times; the roots are smoothed at 0, less and less. The result depends on nothing but the rows; with
/// `near`, it is the minimum to which this model leads, which is faster where few rows were added to a fit.
///
/// Error A1101 if there are no rows, or if one is not well formed: 1 <= servers <= devices, an atomic batch of at least
/// 1, and positive finite times.
Result<GoodputFit> fitGoodput(const std::vector<MeasuredStep> &rows, const GoodputModel *near = nullptr);

} // namespace accord::jobs
