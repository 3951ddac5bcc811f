// How measured steps differ from computed ones, learned from models that were run, for models that were not.
#pragma once
#include "lib/machine/calibration/ParameterFit.h"
#include "lib/prediction/HeldOut.h"
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

  /// Seconds: the median of what a step would be measured to take, and where 90 of 100 lie. `leftOut` says of what the
  /// known steps have none of its kind: intervals are widened by the conformal score of such groups where they are
  /// enough for 90 % (`prediction::conformalScore`), and are those of the normal distribution elsewhere.
  enum class Unit { Model, Family, Source };
  struct Interval {
    double median = 0, low = 0, high = 0;
    bool isConformal = false;
  };
  std::vector<Interval> predict(const std::vector<ComputedStep> &steps, Unit leftOut) const;

private:
  std::vector<ComputedStep> measured;
  std::vector<double> values, centre, scales;
};

/// A left-out step by three methods, each with its interval: the data sheet alone (`kPriorStepTime`), a calibration of
/// the other steps (`unseenSourceIntervals` of them), and the residuals that those teach.
struct LeftOutStep {
  std::string id, accelerator, family;
  prediction::HeldOutValue dataSheet, calibrated, learned;
  bool isConformal = false;
};
/// Each model, family or source in turn is left out as a whole, also of the choice of scales. `calibrates`: also fits a
/// calibration to the other steps each time, which takes seconds.
std::vector<LeftOutStep> leaveStepsOut(const std::vector<Case> &cases, StepResiduals::Unit unit, bool calibrates);

/// Tables of what is left out, in Markdown.
std::string unseenStepsPage(const std::vector<Case> &cases);

} // namespace accord::calibrate
