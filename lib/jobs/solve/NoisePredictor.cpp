#include "lib/jobs/solve/NoisePredictor.h"
#include "lib/prediction/MixedModel.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord::jobs {
namespace {

using prediction::MixedModel;

constexpr double kNormal90 = 1.6448536269514722; ///< of a normal value, 90 % lie within so many standard deviations
constexpr double kRepeatedRuns = 0.1;            ///< standard deviation of the logarithm of a noise scale
constexpr double kCoverage = 0.9;

enum NoiseEffect : size_t { Common, Data, Parameters, Task, Family, Model };

/// Medians are in natural logarithms: engineering defaults, none of which was chosen by an error of a left-out model.
std::vector<prediction::Effect> noiseEffects() {
  return {{"common", 1, 1}, {"data", 0.5, 1},   {"parameters", 0.3, 1},
          {"task", 1, 1},   {"family", 0.7, 1}, {"model", 0.7, 1}};
}

struct NoiseKernel {
  std::vector<MeasuredNoise> rows;
  double meanData = 0, meanParameters = 0; ///< of logarithms

  explicit NoiseKernel(const std::vector<MeasuredNoise> &measured) : rows(measured) {
    double known = 0;
    for (const MeasuredNoise &row : rows) {
      meanData += std::log(row.training.data) / static_cast<double>(rows.size());
      if (row.training.parameters > 0)
        ++known, meanParameters += std::log(row.training.parameters);
    }
    meanParameters /= std::max(known, 1.0);
  }
  double dataOf(const MeasuredNoise &row) const { return std::log(row.training.data) - meanData; }
  /// Parameters that are not known say nothing.
  double parametersOf(const MeasuredNoise &row) const {
    return row.training.parameters > 0 ? std::log(row.training.parameters) - meanParameters : 0;
  }

  double operator()(size_t effect, size_t first, size_t second) const {
    const MeasuredNoise &a = rows[first], &b = rows[second];
    switch (effect) {
    case Data:
      return dataOf(a) * dataOf(b);
    case Parameters:
      return parametersOf(a) * parametersOf(b);
    case Task:
      return a.training.task == b.training.task;
    case Family:
      return !a.family.empty() && a.family == b.family;
    case Model:
      return first == second;
    default:
      return 1;
    }
  }
};

} // namespace

NoisePredictor::NoisePredictor(std::vector<MeasuredNoise> all) : measured(std::move(all)), score(kNormal90) {
  std::vector<size_t> rows;
  std::vector<std::string> families;
  for (const MeasuredNoise &one : measured) {
    rows.push_back(rows.size());
    families.push_back(one.family);
    values.push_back(std::log(one.noise));
    mean += values.back() / static_cast<double>(measured.size());
  }
  for (double &value : values)
    value -= mean;
  MixedModel model(noiseEffects(), NoiseKernel(measured), kRepeatedRuns);
  model.fit(rows, values);
  scales = model.scales();
  std::vector<prediction::GroupedScore> scores;
  const auto leftOut = model.leaveGroupsOut(rows, values, families);
  for (size_t i = 0; i < leftOut.size(); ++i)
    scores.push_back({families[i], std::abs(values[i] - leftOut[i].mean) / std::sqrt(leftOut[i].variance)});
  if (const auto conformal = prediction::conformalScore(scores, kCoverage))
    score = *conformal;
}

PredictedNoise NoisePredictor::predict(const NoisyTraining &training) const { return predict(training, ""); }

PredictedNoise NoisePredictor::predict(const NoisyTraining &training, const std::string &family) const {
  NoiseKernel kernel(measured);
  std::vector<size_t> known;
  for (size_t i = 0; i < measured.size(); ++i)
    known.push_back(i);
  kernel.rows.push_back({"", family, training, 1});
  MixedModel model(noiseEffects(), std::move(kernel), kRepeatedRuns);
  model.setScales(scales);
  const prediction::Normal normal = model.predict(known, values, {measured.size()});
  const double middle = mean + normal.mean[0], half = score * std::sqrt(normal.variance(0));
  return {std::exp(middle), std::exp(middle - half), std::exp(middle + half)};
}

std::vector<LeftOutNoise> leaveNoiseOut(const std::vector<MeasuredNoise> &measured, NoiseGroup group) {
  const auto groupOf = [&](const MeasuredNoise &one) { return group == NoiseGroup::Model ? one.model : one.family; };
  std::map<std::string, std::vector<const MeasuredNoise *>> groups;
  for (const MeasuredNoise &one : measured)
    groups[groupOf(one)].push_back(&one);
  std::vector<LeftOutNoise> leftOut;
  for (const auto &[name, members] : groups) {
    std::vector<MeasuredNoise> others;
    for (const MeasuredNoise &one : measured)
      if (groupOf(one) != name)
        others.push_back(one);
    const NoisePredictor predictor(std::move(others));
    for (const MeasuredNoise *one : members) {
      const PredictedNoise noise = predictor.predict(one->training, one->family);
      leftOut.push_back({one->model, {one->family, one->noise, noise.median, noise.low, noise.high}});
    }
  }
  return leftOut;
}

} // namespace accord::jobs
