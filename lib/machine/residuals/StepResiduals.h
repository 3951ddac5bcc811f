// How measured steps differ from computed ones, learned from models that were run, for models that were not.
#pragma once
#include "lib/machine/calibration/ParameterFit.h"
#include "lib/prediction/HeldOut.h"
#include "lib/prediction/MixedModel.h"
#include <optional>
#include <string>
#include <vector>

namespace accord::calibrate {

/// What a step is made of, as its residual sees it: no name of a model is in it.
struct StepFeatures {
  std::array<double, 8> shares{}; ///< of the computed time: `kStepParts`; they add up to 1
  std::array<double, 6> scales{}; ///< decades of: `kStepScales`
  std::string precision;          ///< of its products, by FLOP
  std::string accelerator, source, family, model;
  bool attends = false; ///< repeats a block with attention
};
/// Products, attention, streaming, host, tensor axis, pipeline, gradients, optimizer.
extern const std::array<const char *, 8> kStepParts;
/// FLOP and kernels of a step on a device, FLOP a byte, devices, peak, memory bandwidth.
extern const std::array<const char *, 6> kStepScales;

/// Features of a training step and its seconds by the parameters of the data sheet (`priorOf`). Nothing for a
/// collective alone, and where no time is computed.
struct ComputedStep {
  std::string id;
  StepFeatures features;
  double computed = 0, measured = 0; ///< seconds
};
std::optional<ComputedStep> computedStep(const Case &one);

/// The logarithm of measured over computed time is a sum of normal effects: what parts of a step take more or less than
/// computed, in proportion to their shares (the linear part of a calibration of their parameters); what goes with its
/// sizes; and what is common to an arithmetic type, an accelerator, a source, a family and a model. How large they are
/// follows from measured steps (`prediction::MixedModel`). Deterministic.
class StepResiduals {
public:
  explicit StepResiduals(std::vector<ComputedStep> measured);

  /// Of what the known steps have nothing that is like the asked ones: their model, their family, their source, or the
  /// kind of training that attends or does not.
  enum class Unit { Model, Family, Source, Kind };
  /// What a step would be measured to take, in seconds: the median, and where 90 of 100 lie.
  struct Interval {
    double median = 0, low = 0, high = 0;
    bool isLearned = false;
  };
  /// Each group of known steps is predicted from the others. If these predictions are nearer to the measured times than
  /// the data sheet alone, in the mean of groups, and groups are enough for 90 % (`prediction::conformalScore`), the
  /// median is learned, and its interval has the conformal score of the groups. Elsewhere nothing shows that residuals
  /// carry over to a new group: the median is the data sheet's, and the interval `kPriorStepTime`.
  std::vector<Interval> predict(const std::vector<ComputedStep> &steps, Unit leftOut) const;

private:
  /// Nothing where predictions of left-out groups are no better than the data sheet, or too few.
  std::optional<double> scoreOfGroups(const std::vector<std::string> &groups,
                                      const std::vector<prediction::MixedModel::LeftOut> &others) const;

  std::vector<ComputedStep> measured;
  std::vector<double> values, centre, scales;
};

/// A left-out step by three methods, each with its interval: the data sheet alone (`kPriorStepTime`), a calibration of
/// the other steps (`unseenSourceIntervals` of them; of models, for which that takes too long, `kUnseenSource`), and
/// the residuals that those teach.
struct LeftOutStep {
  std::string id;
  StepFeatures features;
  prediction::HeldOutValue dataSheet, calibrated, learned; ///< the second is 0 where no calibration was fitted
  bool isLearned = false;
};
/// Each model, family, source or kind in turn is left out as a whole, also of the choice of scales. `calibrates`: also
/// fits a calibration to the other steps each time, which takes seconds.
std::vector<LeftOutStep> leaveStepsOut(const std::vector<Case> &cases, StepResiduals::Unit unit, bool calibrates);

/// Tables of what is left out, in Markdown.
std::string unseenStepsPage(const std::vector<Case> &cases);

} // namespace accord::calibrate
