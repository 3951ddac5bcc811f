// The gradient noise scale of a training that never ran, from those of other trainings.
//
// What is predicted is one number for the whole training, by which a batch is chosen (`sampleEfficiency`). It grows
// while a training goes on (its mean is 1.6 to 1,200 times what it begins with), and that is not predicted.
#pragma once
#include "lib/jobs/problem/MeasuredNoise.h"
#include "lib/prediction/HeldOut.h"
#include <string>
#include <vector>

namespace accord::jobs {

/// In samples (tokens): the median, and where 90 of 100 lie.
struct PredictedNoise {
  double median = 0, low = 0, high = 0;
};

/// The logarithm of the noise is a sum of normal effects: in proportion to the logarithm of the data and to that of the
/// parameters, and what is common to a task, a family and a model. How large they are follows from the measured ones
/// (`prediction::MixedModel::fit`). The interval has the conformal score of the families, of which each is predicted
/// from the others (`prediction::conformalScore`); with fewer than 9, it is that of the normal distribution, which has
/// no such guarantee. Deterministic.
class NoisePredictor {
public:
  explicit NoisePredictor(std::vector<MeasuredNoise> measured);

  /// Of a model whose family is not known.
  PredictedNoise predict(const NoisyTraining &training) const;
  /// Of a model of a family.
  PredictedNoise predict(const NoisyTraining &training, const std::string &family) const;

private:
  std::vector<MeasuredNoise> measured;
  std::vector<double> values; ///< logarithms, less their mean
  double mean = 0;
  std::vector<double> scales; ///< of the effects
  double score = 0;           ///< half an interval, in standard deviations
};

enum class NoiseGroup { Model, Family };
struct LeftOutNoise {
  std::string model;
  prediction::HeldOutValue value; ///< its group is the family
};
/// Each model, or each family, is predicted from the others. A model whose family has others knows them.
std::vector<LeftOutNoise> leaveNoiseOut(const std::vector<MeasuredNoise> &measured, NoiseGroup group);

} // namespace accord::jobs
