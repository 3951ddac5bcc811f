// How much of what trials differ in each hyper-parameter explains alone, from the trials that a tuning has run.
//
// The measure is the main effect of a hyper-parameter (the first-order index of Sobol', which functional ANOVA splits a
// variance into: Hutter et al., ICML 2014), estimated from the trials as they are: where they are put in the order of
// one hyper-parameter, neighbours differ by everything but that one, so half their mean squared difference is the
// variance that it does not explain (Rice, Annals of Statistics 12, 1984; Gamboa et al., Bernoulli 28, 2022). No curve
// is fitted and nothing is to be chosen, whatever the shape of the effect. What hyper-parameters do together only, and
// the chance of a training, belong to none of them: shares add up to at most about 1.
#pragma once
#include "lib/tuning/problem/Tuning.h"

namespace accord::tuning {

/// Of one hyper-parameter. A share below 0 is chance, and all that is said of it is its interval.
struct ParameterShare {
  double share = 0;         ///< of the variance; 0 where its values or all responses are alike, or before it acts
  double low = 0, high = 0; ///< interval of 95 %
  bool isShown() const { return low > 0; }
};

/// Of the trials that came to a rung.
struct RungImportance {
  int64_t unit = 0; ///< whose values are compared
  int64_t trials = 0;
  std::vector<ParameterShare> parameters; ///< in the order of the space
};

/// Fewer trials say nothing.
constexpr size_t kMinImportanceTrials = 20;

/// Shares of the variance of `responses`, which are finite, one for each of `configurations`. Numbers with many values
/// are put in their order (equal ones at random); choices, and numbers with at most a third as many values as trials,
/// are groups whose own variance is what is not explained (adjusted R squared). Intervals are 1.96 standard deviations
/// of halves of the trials, drawn without replacement (the delete-half jackknife: Shao and Wu, Annals of Statistics 17,
/// 1989). The same arguments give the same numbers. All 0 of fewer than four trials.
std::vector<ParameterShare> explainedShares(const SearchSpace &space, const std::vector<Configuration> &configurations,
                                            const std::vector<double> &responses);

/// At each rung that `kMinImportanceTrials` trials came to. Responses are ranks of the values there, of which those of
/// trainings that diverged are the worst: a few bad values then count no more than others. Trials that failed have no
/// value, and a branch counts at rungs that it came to itself, as one of its own: its interval does not know that it
/// shares units with others. Empty for a population, whose hyper-parameters change
/// while trainings run.
std::vector<RungImportance> parameterImportance(const TuningProblem &problem, const TuningResult &result);

} // namespace accord::tuning
