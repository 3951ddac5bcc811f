#include "lib/machine/residuals/StepResiduals.h"
#include "lib/machine/calibration/Score.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord::calibrate {

const std::array<const char *, 8> kStepParts = {"products",    "attention", "streaming", "host",
                                                "tensor axis", "pipeline",  "gradients", "optimizer"};
const std::array<const char *, 6> kStepScales = {"FLOP", "kernels", "FLOP a byte", "devices", "peak", "bandwidth"};

namespace {

using prediction::Effect;
using prediction::HeldOutValue;
using prediction::MixedModel;

constexpr double kRepeatedRuns = 0.05; ///< standard deviation of the logarithm of a step's time
constexpr double kCoverage = 0.9;      ///< of intervals, where there are groups enough

enum StepEffect : size_t {
  Common,
  FirstPart,
  FirstScale = FirstPart + 8,
  Precision = FirstScale + 6,
  Accelerator,
  Source,
  Family,
  Model,
  numEffects
};

/// Medians are in logarithms. Those of parts are the spreads of the parameters that they go with
/// (`ParameterInfo::spread`), that of a source is the one of `fit`; the others are engineering defaults. None was set
/// by an error of a left-out step.
std::vector<Effect> stepEffects() {
  std::vector<Effect> effects = {{"common", 0.2, 1}};
  constexpr std::array<double, 8> kParts = {0.2, 0.6, 0.3, 0.7, 0.5, 0.5, 0.5, 0.5};
  for (size_t part = 0; part < kParts.size(); ++part)
    effects.push_back({kStepParts[part], kParts[part], 1});
  for (const char *scale : kStepScales)
    effects.push_back({scale, 0.05, 1}); // of a decade
  for (const char *name : {"precision", "accelerator"})
    effects.push_back({name, 0.1, 1});
  effects.push_back({"source", 0.15, 1});
  effects.push_back({"family", 0.1, 1});
  effects.push_back({"model", 0.1, 1});
  return effects;
}

struct StepKernel {
  std::vector<StepFeatures> rows;
  std::vector<double> centre; ///< of the scales

  double operator()(size_t effect, size_t first, size_t second) const {
    const StepFeatures &a = rows[first], &b = rows[second];
    if (effect >= FirstPart && effect < FirstScale)
      return a.shares[effect - FirstPart] * b.shares[effect - FirstPart];
    if (effect >= FirstScale && effect < Precision) {
      const size_t scale = effect - FirstScale;
      return (a.scales[scale] - centre[scale]) * (b.scales[scale] - centre[scale]);
    }
    switch (effect) {
    case Precision:
      return a.precision == b.precision;
    case Accelerator:
      return a.accelerator == b.accelerator;
    case Source:
      return a.source == b.source;
    case Family:
      return a.family == b.family;
    case Model:
      return a.family == b.family && a.model == b.model;
    default:
      return 1;
    }
  }
};

std::string columnOf(const Case &one, const char *column) {
  const auto found = one.columns.find(column);
  return found == one.columns.end() ? std::string() : found->second;
}

std::string groupOf(const StepFeatures &features, StepResiduals::Unit unit) {
  switch (unit) {
  case StepResiduals::Unit::Model:
    return features.family + "/" + features.model;
  case StepResiduals::Unit::Family:
    return features.family;
  case StepResiduals::Unit::Source:
    return features.source;
  case StepResiduals::Unit::Kind:
    return features.attends ? "attends" : "other";
  }
  return {};
}

/// FLOP, bytes and kernels of a step on a device, and the type of most of its FLOPs.
struct StepWork {
  double flops = 0, bytes = 0, kernels = 0, peak = 0;
  std::string type;
};
StepWork workOfStep(const Candidate &candidate) {
  StepWork sum;
  std::map<std::string, double> byType;
  for (const Work &work : candidate.work) {
    const double times = work.item.place == Place::Update ? 1 : candidate.layout.microbatches;
    const double blocks = work.item.place == Place::Block ? candidate.blocks / candidate.layout.pipeline : 1;
    const double count = work.item.count * times * blocks;
    sum.flops += count * work.item.flops;
    sum.bytes += count * work.item.bytes;
    sum.kernels += kernelsOf(work.item) * times * blocks;
    if (work.item.flops > 0 && work.peak > 0)
      byType[work.item.type] += count * work.item.flops;
  }
  double maxFlops = 0;
  for (const auto &[type, flops] : byType)
    if (flops > maxFlops)
      maxFlops = flops, sum.type = type;
  for (const Work &work : candidate.work)
    if (work.item.type == sum.type)
      sum.peak = std::max(sum.peak, work.peak);
  return sum;
}

} // namespace

std::optional<ComputedStep> computedStep(const Case &one) {
  if (one.candidates.empty())
    return std::nullopt;
  size_t chosen = 0;
  const StepTime time = predict(one, unitFactors(), &chosen);
  const Candidate &candidate = one.candidates[chosen];
  const StepWork work = workOfStep(candidate);
  if (!(time.total > 0) || !std::isfinite(time.total) || !(one.seconds > 0))
    return std::nullopt;
  ComputedStep step;
  step.id = one.id;
  step.computed = time.total;
  step.measured = one.seconds;
  step.features.shares = {time.product / time.total,        time.attention / time.total,
                          time.streaming / time.total,      time.host / time.total,
                          time.tensorParallel / time.total, (time.transfers + time.bubble) / time.total,
                          time.dataParallel / time.total,   time.optimizer / time.total};
  auto decades = [](double value) { return std::log10(std::max(value, 1.0)); };
  const Layout &layout = candidate.layout;
  step.features.scales = {decades(work.flops),
                          decades(work.kernels),
                          decades(work.flops / std::max(work.bytes, 1.0)),
                          decades(layout.tensor * layout.pipeline * layout.data),
                          decades(work.peak),
                          decades(candidate.memoryBandwidth)};
  step.features.precision = work.type;
  step.features.accelerator = one.machine;
  step.features.source = one.source();
  step.features.family = columnOf(one, "family");
  step.features.model = columnOf(one, "model");
  step.features.attends = candidate.layout.hostShare >= 1;
  return step;
}

StepResiduals::StepResiduals(std::vector<ComputedStep> steps) : measured(std::move(steps)) {
  StepKernel kernel;
  centre.assign(kStepScales.size(), 0);
  std::vector<size_t> rows;
  for (const ComputedStep &step : measured) {
    rows.push_back(rows.size());
    values.push_back(std::log(step.measured / step.computed));
    kernel.rows.push_back(step.features);
    for (size_t scale = 0; scale < centre.size(); ++scale)
      centre[scale] += step.features.scales[scale] / static_cast<double>(measured.size());
  }
  kernel.centre = centre;
  MixedModel model(stepEffects(), std::move(kernel), kRepeatedRuns);
  model.fit(rows, values);
  scales = model.scales();
}

std::optional<double> StepResiduals::scoreOfGroups(const std::vector<std::string> &groups,
                                                   const std::vector<MixedModel::LeftOut> &others) const {
  std::map<std::string, double> rowsOf;
  for (const std::string &group : groups)
    ++rowsOf[group];
  double learned = 0, dataSheet = 0;
  std::vector<prediction::GroupedScore> scores;
  for (size_t i = 0; i < others.size(); ++i) {
    const double residual = std::abs(values[i] - others[i].mean);
    learned += residual / rowsOf[groups[i]];
    dataSheet += std::abs(values[i]) / rowsOf[groups[i]];
    scores.push_back({groups[i], residual / std::sqrt(others[i].variance)});
  }
  return learned < dataSheet ? prediction::conformalScore(scores, kCoverage) : std::nullopt;
}

std::vector<StepResiduals::Interval> StepResiduals::predict(const std::vector<ComputedStep> &steps,
                                                            Unit leftOut) const {
  StepKernel kernel{{}, centre};
  std::vector<size_t> known, asked;
  std::vector<std::string> groups;
  for (const ComputedStep &step : measured) {
    known.push_back(kernel.rows.size());
    kernel.rows.push_back(step.features);
    groups.push_back(groupOf(step.features, leftOut));
  }
  for (const ComputedStep &step : steps) {
    asked.push_back(kernel.rows.size());
    kernel.rows.push_back(step.features);
  }
  MixedModel model(stepEffects(), std::move(kernel), kRepeatedRuns);
  model.setScales(scales);
  const std::optional<double> score = scoreOfGroups(groups, model.leaveGroupsOut(known, values, groups));
  const prediction::Normal normal = model.predict(known, values, asked);
  std::vector<Interval> intervals;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double computed = steps[i].computed;
    const StepTimeInterval &prior = steps[i].features.attends ? kPriorStepTime.attending : kPriorStepTime.other;
    const double mean = normal.mean[i], half = score.value_or(0) * std::sqrt(normal.variance(i));
    intervals.push_back(score ? Interval{computed * std::exp(mean), computed * std::exp(mean - half),
                                         computed * std::exp(mean + half), true}
                              : Interval{computed, computed * prior.low, computed * prior.high, false});
  }
  return intervals;
}

std::vector<LeftOutStep> leaveStepsOut(const std::vector<Case> &cases, StepResiduals::Unit unit, bool calibrates) {
  struct Group {
    std::vector<ComputedStep> steps;
    std::vector<const Case *> cases;
  };
  std::map<std::string, Group> groups;
  for (const Case &one : cases)
    if (auto step = computedStep(one)) {
      Group &group = groups[groupOf(step->features, unit)];
      group.steps.push_back(std::move(*step));
      group.cases.push_back(&one);
    }
  std::vector<LeftOutStep> leftOut;
  for (const auto &[name, group] : groups) {
    std::vector<ComputedStep> others;
    std::vector<Case> otherCases;
    for (const auto &[other, members] : groups)
      if (other != name) {
        others.insert(others.end(), members.steps.begin(), members.steps.end());
        for (const Case *one : members.cases)
          otherCases.push_back(*one);
      }
    const auto learned = StepResiduals(std::move(others)).predict(group.steps, unit);
    std::optional<Fit> fitted;
    StepTimeIntervals intervals{kUnseenSource, kUnseenSource};
    if (calibrates && !otherCases.empty()) {
      weighBySource(otherCases);
      auto made = fit(otherCases, severalSources(otherCases) ? std::optional(kCarriedPriorWeight) : std::nullopt);
      if (made)
        fitted = *made;
      // Of models, the fits for each source of the others would take half an hour.
      if (unit != StepResiduals::Unit::Model)
        if (auto around = unseenSourceIntervals(otherCases))
          intervals = *around;
    }
    for (size_t i = 0; i < group.steps.size(); ++i) {
      const ComputedStep &step = group.steps[i];
      auto around = [&](double computed, const StepTimeIntervals &of) {
        const StepTimeInterval &own = step.features.attends ? of.attending : of.other;
        return HeldOutValue{name, step.measured, computed, computed * own.low, computed * own.high};
      };
      LeftOutStep one{step.id, step.features, around(step.computed, kPriorStepTime), {}, {}, learned[i].isLearned};
      if (fitted)
        one.calibrated = around(calibrate::predict(*group.cases[i], fitted->factors).total, intervals);
      one.learned = {name, step.measured, learned[i].median, learned[i].low, learned[i].high};
      leftOut.push_back(std::move(one));
    }
  }
  return leftOut;
}

} // namespace accord::calibrate
