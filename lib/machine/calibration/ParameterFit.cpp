#include "lib/machine/calibration/ParameterFit.h"
#include "ceres/ceres.h"
#include "lib/machine/calibration/Parameters.h"
#include "lib/machine/model/FallbackTypes.h"
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>

namespace accord::calibrate {
namespace {

using Vector = Eigen::Matrix<double, kParameters, 1>;
using Matrix = Eigen::Matrix<double, kParameters, kParameters>;

constexpr double kLargestFactor = 30; // no calibration moves a parameter further than this from its default
constexpr double kNormal95 = 1.96;
/// Relative error at which a row starts to count less than its square: what repeated runs differ by.
constexpr double kErrorScale = 0.03;

Factors factorsOf(const double *logs) {
  Factors factors;
  for (size_t i = 0; i < kParameters; ++i)
    factors[i] = std::exp(logs[i]);
  return factors;
}

/// What one source differs by from all others, as logarithms: how long everything takes (its software and its clocks),
/// and what of its network between servers a step reaches.
using SourceEffect = std::array<double, 2>;
constexpr size_t kTime = 0, kNetwork = 1;
/// Standard deviations of both: published clusters of one accelerator differ by a tenth to a quarter in the same step.
constexpr double kTimeSpread = 0.1, kNetworkSpread = 0.5;
/// And of their mean over all sources of a fit.
constexpr double kMeanSpread = 0.05;

double errorOf(const Case &one, const double *logs, const SourceEffect &effect) {
  Factors factors = factorsOf(logs);
  for (Parameter network : {Parameter::StreamEfficiency, Parameter::NetworkEfficiency})
    factors[indexOf(network)] *= std::exp(effect[kNetwork]);
  return (std::log(predict(one, factors).total / one.seconds) + effect[kTime]) / kErrorScale;
}

/// e and its derivatives by central differences: a row costs microseconds, and 50 of them no more
/// than a formula would.
class RowCost : public ceres::SizedCostFunction<1, kParameters, 2> {
public:
  explicit RowCost(const Case &one) : one(one) {}
  bool Evaluate(double const *const *parameters, double *residuals, double **jacobians) const override {
    const double *logs = parameters[0];
    SourceEffect effect{parameters[1][0], parameters[1][1]};
    residuals[0] = errorOf(one, logs, effect);
    constexpr double kStep = 1e-5;
    if (jacobians && jacobians[0]) {
      double moved[kParameters];
      std::copy(logs, logs + kParameters, moved);
      for (size_t i = 0; i < kParameters; ++i) {
        moved[i] = logs[i] + kStep;
        double above = errorOf(one, moved, effect);
        moved[i] = logs[i] - kStep;
        jacobians[0][i] = (above - errorOf(one, moved, effect)) / (2 * kStep);
        moved[i] = logs[i];
      }
    }
    if (jacobians && jacobians[1]) {
      jacobians[1][0] = 1 / kErrorScale;
      jacobians[1][1] = (errorOf(one, logs, {effect[kTime], effect[kNetwork] + kStep}) -
                         errorOf(one, logs, {effect[kTime], effect[kNetwork] - kStep})) /
                        (2 * kStep);
    }
    return std::isfinite(residuals[0]);
  }

private:
  const Case &one;
};

/// weight log(factor) / spread of every parameter.
class PriorCost : public ceres::SizedCostFunction<kParameters, kParameters> {
public:
  explicit PriorCost(double weight) : weight(weight) {}
  bool Evaluate(double const *const *parameters, double *residuals, double **jacobians) const override {
    for (size_t i = 0; i < kParameters; ++i)
      residuals[i] = weight * parameters[0][i] / info(i).spread;
    if (jacobians && jacobians[0]) {
      std::fill(jacobians[0], jacobians[0] + kParameters * kParameters, 0.0);
      for (size_t i = 0; i < kParameters; ++i)
        jacobians[0][i * kParameters + i] = weight / info(i).spread;
    }
    return true;
  }

private:
  double weight;
};

/// What the effect of a source counts as, in standard deviations.
class EffectCost : public ceres::SizedCostFunction<2, 2> {
public:
  bool Evaluate(double const *const *parameters, double *residuals, double **jacobians) const override {
    residuals[0] = parameters[0][0] / kTimeSpread;
    residuals[1] = parameters[0][1] / kNetworkSpread;
    if (jacobians && jacobians[0]) {
      const double own[] = {1 / kTimeSpread, 0, 0, 1 / kNetworkSpread};
      std::copy(std::begin(own), std::end(own), jacobians[0]);
    }
    return true;
  }
};

/// The mean of all sources' effects, in standard deviations of it: what all have in common is the machine's.
class MeanCost : public ceres::CostFunction {
public:
  explicit MeanCost(size_t sources) : sources(sources) {
    set_num_residuals(2);
    mutable_parameter_block_sizes()->assign(sources, 2);
  }
  bool Evaluate(double const *const *parameters, double *residuals, double **jacobians) const override {
    double each = 1 / (kMeanSpread * sources);
    residuals[0] = residuals[1] = 0;
    for (size_t i = 0; i < sources; ++i) {
      residuals[0] += each * parameters[i][kTime], residuals[1] += each * parameters[i][kNetwork];
      if (jacobians && jacobians[i])
        std::ranges::copy(std::array{each, 0.0, 0.0, each}, jacobians[i]);
    }
    return true;
  }

private:
  size_t sources;
};

/// log of the largest factor: that no row's machine passes the parameter's bound.
Vector upperLogs(const std::vector<const Case *> &cases) {
  Vector upper = Vector::Constant(std::log(kLargestFactor));
  for (const Case *one : cases)
    for (size_t i = 0; i < kParameters; ++i)
      upper[i] = std::min(upper[i], std::log(info(i).upper / one->prior[i]));
  return upper;
}

/// Rows of several sources share the parameters, and each source has its own effect, which is none on average: so that
/// what one cluster does otherwise is not taken for the machine's (Pinheiro & Bates, Mixed-Effects Models, 2000,
/// chapter 7, with variances that are given). Rows of one source have none.
class Problem {
public:
  Problem(std::vector<const Case *> cases, double weight)
      : cases(std::move(cases)), weight(weight), upper(upperLogs(this->cases)) {
    std::set<std::string> sources;
    for (const Case *one : this->cases)
      sources.insert(one->source());
    if (sources.size() > 1)
      for (const std::string &source : sources)
        effects[source] = {};
  }

  /// The best of three starts; false if none can be computed.
  bool solve() {
    const double starts[] = {1, 0.5, 1.6}; // of launching costs: whether the host or the device is the slower one
    bool found = false;
    for (double launch : starts) {
      Vector logs = Vector::Zero();
      logs[indexOf(Parameter::Launch)] = std::log(launch);
      logs = logs.cwiseMin(upper - Vector::Constant(1e-6));
      double reached = 0;
      Effects own = effects;
      if (!minimize(logs, own, reached) || (found && reached >= cost))
        continue;
      best = logs, effectsOfBest = std::move(own), cost = reached, found = true;
      if (starts[0] == launch && cases.size() < kFewRows)
        break; // with a handful of rows the prior decides
    }
    return found;
  }

  Vector best = Vector::Zero();
  double cost = 0;

  /// Of a row in the best fit; of a source without rows in it, what is true on average.
  double errorOfBest(const Case &one) const {
    auto own = effectsOfBest.find(one.source());
    return errorOf(one, best.data(), own == effectsOfBest.end() ? SourceEffect{} : own->second);
  }

  /// Covariance of the logarithms: inverse of J'J with the rows' robust weights, times the
  /// residuals' spread if that is more than 1.
  Matrix covariance() const {
    std::map<std::string, size_t> places; // of the effects, behind the parameters
    for (const auto &[source, effect] : effectsOfBest)
      places.emplace(source, kParameters + 2 * places.size());
    size_t size = kParameters + 2 * places.size();
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(size, size);
    std::vector<double> sizes;
    for (const Case *one : cases) {
      RowCost row(*one);
      auto place = places.find(one->source());
      SourceEffect effect = place == places.end() ? SourceEffect{} : effectsOfBest.at(one->source());
      double e = 0, gradient[kParameters], ofEffect[2];
      const double *blocks[] = {best.data(), effect.data()};
      double *jacobians[] = {gradient, ofEffect};
      if (!row.Evaluate(blocks, &e, jacobians))
        continue;
      Eigen::VectorXd g = Eigen::VectorXd::Zero(size);
      g.head<kParameters>() = Eigen::Map<Vector>(gradient);
      if (place != places.end())
        g.segment<2>(place->second) = Eigen::Map<Eigen::Vector2d>(ofEffect);
      normal += one->weight * g * g.transpose() / std::sqrt(1 + e * e); // the derivative of the loss
      sizes.push_back(std::abs(e));
    }
    double spread = 1;
    if (!sizes.empty()) {
      std::nth_element(sizes.begin(), sizes.begin() + sizes.size() / 2, sizes.end());
      spread = std::max(1.0, sizes[sizes.size() / 2] / 0.6745); // of the median: normal distribution
    }
    normal /= spread * spread;
    for (size_t i = 0; i < kParameters; ++i)
      normal(i, i) += std::pow(weight / info(i).spread, 2);
    for (const auto &[source, place] : places) {
      normal(place, place) += std::pow(kTimeSpread, -2);
      normal(place + 1, place + 1) += std::pow(kNetworkSpread, -2);
      for (const auto &[other, with] : places)
        for (size_t effect : {kTime, kNetwork})
          normal(place + effect, with + effect) += std::pow(kMeanSpread * places.size(), -2);
    }
    Eigen::MatrixXd inverse = normal.ldlt().solve(Eigen::MatrixXd::Identity(size, size));
    return inverse.topLeftCorner<kParameters, kParameters>();
  }

  bool atBound(size_t i) const { return best[i] > upper[i] - 1e-3; }

private:
  static constexpr size_t kFewRows = 4;
  using Effects = std::map<std::string, SourceEffect>;

  bool minimize(Vector &logs, Effects &own, double &reached) const {
    ceres::Problem problem;
    problem.AddParameterBlock(logs.data(), kParameters);
    SourceEffect none{};
    problem.AddParameterBlock(none.data(), 2);
    problem.SetParameterBlockConstant(none.data());
    std::vector<double *> all;
    for (auto &[source, effect] : own) {
      problem.AddResidualBlock(new EffectCost, nullptr, effect.data());
      all.push_back(effect.data());
    }
    if (!all.empty())
      problem.AddResidualBlock(new MeanCost(all.size()), nullptr, all);
    for (const Case *one : cases) {
      auto effect = own.find(one->source());
      auto row = std::make_unique<RowCost>(*one);
      auto robust = std::make_unique<ceres::SoftLOneLoss>(1);
      auto loss = std::make_unique<ceres::ScaledLoss>(robust.release(), one->weight, ceres::TAKE_OWNERSHIP);
      problem.AddResidualBlock(row.release(), loss.release(), logs.data(),
                               effect == own.end() ? none.data() : effect->second.data());
    }
    problem.AddResidualBlock(new PriorCost(weight), nullptr, logs.data());
    for (size_t i = 0; i < kParameters; ++i) {
      problem.SetParameterUpperBound(logs.data(), i, upper[i]);
      problem.SetParameterLowerBound(logs.data(), i, -std::log(kLargestFactor));
    }
    ceres::Solver::Options solver;
    solver.linear_solver_type = ceres::DENSE_NORMAL_CHOLESKY;
    solver.logging_type = ceres::SILENT;
    solver.max_num_iterations = 60;
    solver.num_threads = 1;
    ceres::Solver::Summary summary;
    ceres::Solve(solver, &problem, &summary);
    reached = summary.final_cost;
    return summary.IsSolutionUsable();
  }

  std::vector<const Case *> cases;
  double weight;
  Vector upper;
  Effects effects, effectsOfBest; ///< by source
};

/// Mean soft error of rows that a fit has not seen, over four folds.
double crossValidate(const std::vector<const Case *> &cases, double weight) {
  constexpr unsigned kFolds = 4;
  double sum = 0;
  for (unsigned fold = 0; fold < kFolds; ++fold) {
    std::vector<const Case *> seen, unseen;
    for (size_t i = 0; i < cases.size(); ++i)
      (i % kFolds == fold ? unseen : seen).push_back(cases[i]);
    Problem problem(seen, weight);
    if (!problem.solve())
      return std::numeric_limits<double>::infinity();
    for (const Case *one : unseen)
      sum += std::abs(problem.errorOfBest(*one));
  }
  return sum;
}

double chooseWeight(const std::vector<const Case *> &cases) {
  constexpr size_t kFew = 6, kMany = 40; // the prior must help, or need not
  if (cases.size() < kFew || cases.size() >= kMany)
    return cases.size() < kFew ? 2 : 1;
  return crossValidate(cases, 2) < crossValidate(cases, 1) ? 2 : 1;
}

void describe(const Problem &problem, Fit &into) {
  Matrix covariance = problem.covariance();
  for (size_t i = 0; i < kParameters; ++i) {
    double deviation = std::sqrt(std::max(covariance(i, i), 0.0));
    into.factors[i] = std::exp(problem.best[i]);
    into.low[i] = std::exp(problem.best[i] - kNormal95 * deviation);
    into.high[i] = std::exp(problem.best[i] + kNormal95 * deviation);
    into.informed[i] = deviation < 0.9 * info(i).spread / into.priorWeight;
    into.atBound[i] = problem.atBound(i);
  }
  for (size_t i = 0; i < kParameters; ++i)
    for (size_t j = 0; j < i; ++j) {
      double r = covariance(i, j) / std::sqrt(covariance(i, i) * covariance(j, j));
      if (std::abs(r) > 0.95)
        into.correlated.push_back({j, i, r});
    }
}

} // namespace

std::string Case::source() const {
  auto source = columns.find("source");
  return source == columns.end() ? "" : source->second.substr(0, source->second.find(':'));
}

bool severalSources(const std::vector<Case> &cases) {
  return std::ranges::any_of(cases, [&](const Case &one) { return one.source() != cases.front().source(); });
}

Parameters parametersOf(const Parameters &prior, const Factors &factors) {
  Parameters result;
  for (size_t i = 0; i < kParameters; ++i)
    result[i] = std::min(prior[i] * factors[i], info(i).upper);
  return result;
}

StepTime predict(const Case &one, const Factors &factors, size_t *chosen) {
  Parameters parameters = parametersOf(one.prior, factors);
  if (!one.candidates.empty())
    return stepTime(one.candidates, parameters, chosen);
  StepTime t;
  t.total = t.tensorParallel = allReduceTime(one.ring, parameters);
  return t;
}

Result<Fit> fit(const std::vector<Case> &cases, std::optional<double> priorWeight) try {
  if (cases.empty())
    return Error{Code::NothingFitted, "no row is left to fit"};
  std::vector<const Case *> all;
  for (const Case &one : cases) {
    double start = predict(one, unitFactors()).total;
    if (!(one.seconds > 0) || !std::isfinite(start) || !(start > 0))
      return Error{Code::NothingFitted, fmt::format("'{}': no step time can be computed from it", one.id), one.place};
    all.push_back(&one);
  }
  // The order of rows in a table must not change folds, nor sums in their last digit.
  std::sort(all.begin(), all.end(), [](const Case *a, const Case *b) { return a->id < b->id; });
  Fit result;
  result.priorWeight = priorWeight ? *priorWeight : chooseWeight(all);
  Problem problem(all, result.priorWeight);
  if (!problem.solve())
    return Error{Code::NothingFitted, "no parameters reproduce the rows"};
  result.cost = problem.cost;
  describe(problem, result);
  return result;
} catch (const std::exception &e) {
  return Error{Code::NothingFitted, fmt::format("the solver gave up: {}", e.what())};
}

static uint64_t hashOf(const std::string &id, unsigned split) {
  uint64_t hash = 14695981039346656037ull;
  for (char c : fmt::format("{}:{}", split, id))
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 33);
}

std::vector<bool> calibrationHalf(const std::vector<Case> &cases, unsigned split, bool balanced) {
  std::vector<bool> half(cases.size());
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> groups;
  for (size_t i = 0; i < cases.size(); ++i) {
    half[i] = (hashOf(cases[i].id, split) & 1) == 0;
    groups[{cases[i].stratum, cases[i].shape}].push_back(i);
  }
  if (!balanced)
    return half;
  for (auto &[key, members] : groups) {
    std::sort(members.begin(), members.end(),
              [&](size_t a, size_t b) { return hashOf(cases[a].id, split) < hashOf(cases[b].id, split); });
    bool first = (hashOf(cases[members.front()].id, split) & 2) == 0;
    for (size_t i = 0; i < members.size(); ++i)
      half[members[i]] = (i % 2 == 0) == first;
  }
  return half;
}

namespace {

const ParameterInfo kInfo[kParameters] = {
    {"product_efficiency", "", 0.83, 0.2, 1},
    {"fp32_efficiency", "", 0.9, 0.2, 1},
    {"tf32_efficiency", "", 0.6, 0.3, 1},
    {"fp8_efficiency", "", 0.6, 0.3, 1},
    {"product_depth", "", 64, 0.7, 4096},
    {"product_wave", "", 1e6, 0.7, 1e9},
    {"attention_efficiency", "", 0.6, 0.6, 1},
    {"attention_depth", "", 32, 0.7, 4096},
    {"memory_efficiency", "", 0.8, 0.3, 1.6},
    {"softmax_efficiency", "", 0.7, 0.3, 1},
    {"lookup_efficiency", "", 0.3, 0.7, 1},
    {"loss_passes", "", 3, 0.5, 100},
    {"kernel_launch_overhead", "s", 3e-6, 0.7, 1e-3},
    {"launch", "s", 4.5e-5, 0.7, 1e-2},
    {"launch_collective", "s", 2e-5, 1, 1e-2},
    {"link_latency", "s", 3e-5, 0.7, 1e-1},
    {"link_step", "s", 3.4e-6, 0.5, 1e-2},
    {"link_copies", "", 4, 0.4, 100},
    {"link_efficiency", "", 0.8, 0.3, 1.2},
    {"network_latency", "s", 3e-5, 1, 1},
    {"network_efficiency", "", 0.8, 0.5, 1.2},
    {"stream_efficiency", "", 0.8, 0.5, 1.2},
    {"data_parallel_exposed", "", 0.5, 0.7, 1},
    {"update_passes", "", 1.5, 0.5, 100},
    {"host_overhead_per_microbatch", "s", 1e-3, 1, 100},
    {"host_overhead_per_step", "s", 1e-2, 1, 1000},
    {"decode_cost", "s", 7e-3, 0.3, 10},
};
constexpr double kPeak = 312e12; // see the header

} // namespace

const ParameterInfo &info(size_t index) { return kInfo[index]; }

ProductPeak productPeakOf(const Machine &machine, const std::string &type) {
  for (const std::string &candidate : fallbackTypes(type)) {
    ProductPeak best;
    for (size_t i = 0; i < machine.cores.size(); ++i) {
      double all = peakOfOne(machine, machine.cores[i], candidate).value * machine.cores[i].count;
      if (all > best.flopsPerSecond)
        best = {static_cast<int>(i), candidate, all};
    }
    if (best.core >= 0)
      return best;
  }
  return {};
}

double peakOf(const Machine &machine, const std::string &type) { return productPeakOf(machine, type).flopsPerSecond; }

Parameters priorOf(const Machine &machine) {
  Parameters prior;
  for (size_t i = 0; i < kParameters; ++i)
    prior[i] = kInfo[i].initial;
  double peak = peakOf(machine, "bf16");
  if (!(peak > 0))
    return prior;
  // Processors without tensor cores have few units to fill: in proportion to what they compute.
  if (std::ranges::none_of(machine.cores, [](const Core &core) { return core.kind == CoreKind::Tensor; }))
    prior[Parameter::ProductWave] *= std::min(1.0, peak / kPeak);
  double r = std::clamp(peak / kPeak, 1.0, 20.0);
  for (Parameter p : {Parameter::ProductEfficiency, Parameter::AttentionEfficiency})
    prior[p] *= std::pow(r, -0.2);
  for (Parameter p : {Parameter::ProductDepth, Parameter::ProductWave})
    prior[p] *= std::sqrt(r);
  return prior;
}

std::optional<Parameters> calibratedParametersOf(const Machine &machine) {
  if (machine.fitted.values.empty())
    return std::nullopt;
  Parameters result = priorOf(machine);
  for (const auto &[name, value] : machine.fitted.values)
    for (size_t i = 0; i < kParameters; ++i)
      if (name == kInfo[i].name)
        result[i] = value;
  return result;
}

std::optional<StepTimeIntervals> stepTimeIntervalsOf(const Machine &machine) {
  if (machine.fitted.values.empty())
    return std::nullopt;
  StepTimeIntervals intervals{kUnseenSource, kUnseenSource};
  auto read = [&](const char *wanted, double &into) {
    for (const auto &[name, value] : machine.fitted.values)
      if (name == wanted)
        into = value;
  };
  read(kStepTimeLow, intervals.attending.low), read(kStepTimeHigh, intervals.attending.high);
  read(kOtherStepTimeLow, intervals.other.low), read(kOtherStepTimeHigh, intervals.other.high);
  return intervals;
}

std::optional<StepEstimate> stepEstimateOf(const std::vector<const Machine *> &machines, bool attends, double step,
                                           double ideal) {
  StepTimeInterval widest;
  for (const Machine *machine : machines) {
    auto intervals = stepTimeIntervalsOf(*machine);
    if (!intervals)
      return std::nullopt;
    const StepTimeInterval &own = attends ? intervals->attending : intervals->other;
    widest = {std::min(widest.low, own.low), std::max(widest.high, own.high)};
  }
  return StepEstimate{step * widest.low, step * widest.high, ideal, machines.front()->fitted.source};
}

Machine::Fitted toCalibratedValues(const std::string &source, const Parameters &parameters) {
  Machine::Fitted fitted{source, {}};
  for (size_t i = 0; i < kParameters; ++i)
    fitted.values.push_back({kInfo[i].name, parameters[i]});
  return fitted;
}

} // namespace accord::calibrate
