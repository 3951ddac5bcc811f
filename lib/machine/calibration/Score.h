// How far computed steps are from measured ones.
#pragma once
#include "lib/machine/calibration/ParameterFit.h"

namespace accord::calibrate {

struct Residual {
  std::string id, stratum;
  double measured = 0, computed = 0; ///< seconds
  double error() const { return computed / measured - 1; }
};

/// Errors are relative to the measured time.
struct Score {
  size_t rows = 0;
  double mape = 0;   ///< mean of |error|
  double bias = 0;   ///< mean of error
  double median = 0; ///< of |error|
  double worst = 0;  ///< largest |error|
};
/// All zero without rows.
Score scoreOf(const std::vector<Residual> &residuals);

/// Ranking inside of a group of configurations of one job: does the model pick a good one?
struct Ranking {
  double spearman = 0; ///< rank correlation of computed and measured; ties share their mean rank
  double regret = 0;   ///< measured time of the computed best over the measured best, minus 1
};
/// Of at least two rows.
Ranking rankingOf(const std::vector<Residual> &group);

/// Gives rows the weight n^-1/2, for the n rows of their source: rows of one cluster and software share what is wrong
/// with them. A source is the column `source` up to the first colon.
void weighBySource(std::vector<Case> &cases);

/// Measured over computed step time where the source of a row is left out of the fit, each source in turn: 90 of 100
/// rows lie in it, where a source with n rows counts as the root of n. Never narrower than `kUnseenSource`; that alone
/// with fewer than two sources. Of a kind of training (that attends, or not) of which there is no row, `withoutRows`:
/// what was fitted to other kinds says no more of it than data sheets do (docs/learning.md).
Result<StepTimeIntervals> unseenSourceIntervals(const std::vector<Case> &cases,
                                                const StepTimeIntervals &withoutRows = kPriorStepTime);

/// The same for plans on the cluster that the rows are of: a fifth of the rows is left out of the fit at a time, in the
/// order of their names. Never narrower than 5 % on either side. Of fewer than `kMinRowsOfCluster` rows it says what
/// clusters differ by, `kUnseenSource`; of a kind of training without rows, `withoutRows`.
Result<StepTimeIntervals> unseenRowIntervals(const std::vector<Case> &cases,
                                             const StepTimeIntervals &withoutRows = kPriorStepTime);
constexpr size_t kMinRowsOfCluster = 10;

std::vector<Residual> residualsOf(const std::vector<Case> &cases, const Factors &factors);

} // namespace accord::calibrate
