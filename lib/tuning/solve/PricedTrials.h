// Trials whose times, memory and limits a cost model says before they begin.
#pragma once
#include "lib/tuning/problem/Prices.h"
#include "lib/tuning/solve/Tuner.h"

namespace accord::tuning {

/// A cost model of configurations. The same configuration has the same price.
class Pricer {
public:
  virtual ~Pricer() = default;
  /// The price; else why the model cannot make one of this configuration. Several threads may not ask at once.
  virtual Result<Price, Errors> price(const Configuration &configuration) = 0;
};

/// Runs the trials of another runner that the prices allow, with the times that they say; counts what is rejected.
/// A configuration that the model refuses is rejected, too. `knowsAll`: all that the runner accepts was priced and
/// allowed before, so that nothing is rejected here.
class PricedTrials final : public TrialRunner {
public:
  PricedTrials(const TuningProblem &problem, TrialRunner &runner, Pricer &pricer, PricedTuning &priced, bool knowsAll)
      : problem_(problem), runner_(runner), pricer_(pricer), priced_(priced), knowsAll_(knowsAll) {}

  bool admits(const Configuration &proposed) override;
  std::optional<Configuration> accept(Configuration proposed) override { return runner_.accept(std::move(proposed)); }
  std::optional<Configuration> acceptBranch(Configuration proposed, int64_t unit) override {
    return runner_.acceptBranch(std::move(proposed), unit);
  }
  Result<void> keep(unsigned trial, int64_t unit) override { return runner_.keep(trial, unit); }
  std::vector<CubePoint> candidates() override { return runner_.candidates(); }
  std::optional<double> unitSeconds(const Configuration &configuration) override;
  std::vector<Width> widths(const Configuration &configuration) override;
  Result<void> inherit(unsigned trial, const Origin &origin) override { return runner_.inherit(trial, origin); }
  Result<void> start(const Segment &segment, const Configuration &configuration, int64_t until) override {
    return runner_.start(segment, configuration, until);
  }
  void pause(unsigned trial) override { runner_.pause(trial); }
  Result<TrialValue> value(unsigned trial, const Configuration &configuration, int64_t unit) override {
    return runner_.value(trial, configuration, unit);
  }

private:
  const TuningProblem &problem_;
  TrialRunner &runner_;
  Pricer &pricer_;
  PricedTuning &priced_;
  const bool knowsAll_;
};

/// Counts a configuration that was priced, and whether and why it is rejected. Returns whether it may run.
bool countPrice(PricedTuning &priced, const Result<Price, Errors> &price);

/// Prices of the result's trials, and their front. Errors of the model cannot occur: the trials have run.
void priceResult(const TuningProblem &problem, const TuningResult &result, Pricer &pricer, PricedTuning &priced);

/// All configurations of the parameters that `bound` names, where there are at most `max`, the others at their lowest
/// values; nothing where there are more or some of them are no whole numbers or choices.
std::optional<std::vector<Configuration>> allConfigurations(const SearchSpace &space,
                                                            const std::vector<std::string> &bound, size_t max);

/// Corners and even draws of a space, the same for each seed: what is elaborated before a tuning begins, so that a
/// model that does not exist for some of it is found early.
std::vector<Configuration> sampleConfigurations(const SearchSpace &space, size_t count);

} // namespace accord::tuning
