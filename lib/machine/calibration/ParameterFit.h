// Parameters from measured steps. Ceres' exceptions and messages end here.
#pragma once
#include "lib/machine/calibration/StepTime.h"
#include "lib/support/Result.h"
#include <map>
#include <optional>

namespace accord::calibrate {

/// One measured step, ready to be computed for any parameters.
struct Case {
  std::string id;
  std::string stratum;               ///< what is scored together
  std::vector<Candidate> candidates; ///< empty: an all-reduce, `ring`
  std::vector<int64_t> microbatches; ///< of each candidate
  Ring ring;
  double seconds = 0; ///< measured
  double weight = 1;  ///< of its squared error
  std::string machine;
  std::string shape;    ///< what should be in both halves of a split: model, width, degree of tensor
                        ///< parallelism
  Parameters prior{};   ///< medians for its machine
  SourceLocation place; ///< of the row
  std::map<std::string, std::string> columns; ///< as the row has them
  /// Whose measurement it is: the column `source` as far as its first colon; empty where the row does not say.
  std::string source() const;
};

/// Factors on the prior's medians, so that rows of several machines can share one calibration: an
/// efficiency that is a tenth better than its default is so on each of them.
using Factors = std::array<double, kParameters>;
constexpr Factors unitFactors() {
  Factors f{};
  f.fill(1);
  return f;
}
/// prior * factor, at most the parameter's upper bound.
Parameters parametersOf(const Parameters &prior, const Factors &factors);
StepTime predict(const Case &one, const Factors &factors, size_t *chosen = nullptr);

struct Fit {
  Factors factors = unitFactors();
  Factors low = unitFactors(), high = unitFactors(); ///< 95 % interval of each factor
  std::array<bool, kParameters> informed{};          ///< the rows narrow the prior by a tenth at least
  std::array<bool, kParameters> atBound{};
  struct Pair {
    size_t first, second;
    double correlation;
  };
  std::vector<Pair> correlated; ///< |correlation| > 0.95, of informed parameters
  double priorWeight = 1;
  double cost = 0;
};

/// Minimizes sum of 2 (sqrt(1 + e^2) - 1), e = log(computed / measured) / 0.03 (a soft L1 norm:
/// rows far off pull with constant force), plus (weight log(factor) / spread)^2 of each parameter,
/// from three fixed starting points. Intervals come from the inverse of the Gauss-Newton matrix,
/// widened when residuals are larger than 0.03. Deterministic. Error A0467: no rows, or a row
/// whose time cannot be computed (the message names it).
/// Rows of several sources: each source has a factor of its own on all times (0.15, the standard deviation of its
/// logarithm) and one on what it reaches of its network (0.5); what is returned is free of them.
/// `priorWeight`: how much the prior counts; without it 2 for less than 6 rows, 1 for 40 or more, between them the
/// better of both in a cross-validation over the rows.
Result<Fit> fit(const std::vector<Case> &cases, std::optional<double> priorWeight = {});

/// How much the prior counts where what was fitted is carried to clusters that no row is of: with less, published steps
/// of a source that is left out are further off (docs/steps.md).
constexpr double kCarriedPriorWeight = 4;
bool severalSources(const std::vector<Case> &cases);

/// A split of cases in halves: by bit 0 of FNV-1a of "split:id" (64 bit), mixed as in MurmurHash3, or, if `balanced`,
/// alternating in each stratum and shape in the order of the same hash, so that neither half lacks a shape that the
/// other has twice.
std::vector<bool> calibrationHalf(const std::vector<Case> &cases, unsigned split, bool balanced);

} // namespace accord::calibrate
