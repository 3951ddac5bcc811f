// How many steps a training needs with a batch that it never ran with, from the gradient noise of a run with another
// one.
//
// A step with batch B makes as much progress as G steps with the initial batch B0, where
//   G(B) = (v + s) / (v / (B / B0) + s),
// s is the squared norm of the gradient and v its variance at B0 (Johnson et al., AdaScale SGD, ICML 2020; Qiao et al.,
// Pollux, OSDI 2021, section 3.1). A run measures v / s after each epoch, but under another batch it is another: on the
// six applications of Pollux it grows with the batch. So v is taken times (B / A)^k for a run with batch A, where k is
// the mean over applications that were run with several batches.
#pragma once
#include "lib/jobs/problem/TrainingProfile.h"
#include "lib/prediction/HeldOut.h"
#include <string>
#include <vector>

namespace accord::jobs {

/// An application's runs, batches ascending; progress counts in steps of the initial batch.
struct ApplicationCurves {
  std::string application;
  int64_t initialBatch = 1;
  std::vector<ValidationCurve> curves;
};

/// Until when steps are counted.
enum class StepsUntil : uint8_t {
  Progress, ///< as much progress as the other run made
  Quality   ///< the metric that the other run had
};

/// Steps, and the interval in which 90 of 100 lie.
struct PredictedSteps {
  double steps = 0, low = 0, high = 0;
};

/// Steps with a batch until some progress, of a run whose noise is known; behind its end the noise stays as it was
/// last. `growth` is k. 0 for no progress.
double stepsFor(const ApplicationCurves &application, const ValidationCurve &run, int64_t batch, double progress,
                double growth);

/// The progress at which a run first has a metric as good, between two of its epochs linearly; nothing if it never has.
/// The metric rises if it is higher at the end of the run than after its first epoch.
std::optional<double> progressAt(const ValidationCurve &run, double metric);

class StepPredictor {
public:
  /// Learns from applications with two batches or more; others are left out. `kMinApplications` are needed.
  static Result<StepPredictor> make(const std::vector<ApplicationCurves> &applications, StepsUntil until);
  static constexpr size_t kMinApplications = 3;

  /// Steps of an application with a batch, from its run with another one.
  PredictedSteps predict(const ApplicationCurves &application, const ValidationCurve &run, int64_t batch,
                         double progress) const;
  double growth() const { return growth_; }

private:
  double growth_ = 0;
  double deviation_ = 0; ///< half the interval of a logarithm of steps, for each factor of 2 between batches
};

/// A prediction of an application that the predictor has not seen, from its run with batch `from`.
struct LeftOutSteps {
  int64_t from = 0, to = 0;
  prediction::HeldOutValue value; ///< its group is the application
};
/// Each application with two batches or more is left out as a whole, and each of its runs is predicted from each of its
/// others. Quality is 95 % of the way from the metric after the first epoch, the worst of all runs, to the last one
/// that all of them have; runs that have it after their first epoch say nothing.
Result<std::vector<LeftOutSteps>> leaveStepsOut(const std::vector<ApplicationCurves> &applications, StepsUntil until);

} // namespace accord::jobs
