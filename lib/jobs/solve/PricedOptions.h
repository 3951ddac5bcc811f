// What prices say of the options of an allocation, in whole numbers.
#pragma once
#include "lib/jobs/solve/CompactAllocation.h"

namespace accord::jobs {

/// Some jobs are fixed in one option each, the others are open.
struct PartialAllocation {
  std::vector<int64_t> left;   ///< of the capacities, below 0 where the fixed jobs use more
  std::vector<int64_t> option; ///< of fixed jobs; -1: open
  int64_t value = 0;           ///< of fixed jobs

  explicit PartialAllocation(const CompactAllocation &problem) : left(problem.capacity), option(problem.jobs(), -1) {}
  void fix(const CompactAllocation &problem, unsigned chosen) {
    option[problem.jobOf[chosen]] = chosen;
    value += problem.options[chosen].value;
    problem.add(chosen, -1, left);
  }
  bool open(size_t job) const { return option[job] < 0; }
};

struct PricedOptions {
  static constexpr unsigned kNone = ~0u;
  Prices prices;
  int64_t denominator = 1;
  bool possible = true;       ///< each open job has an option that fits what is left
  std::vector<bool> fits;     ///< of each option, of open jobs: what is left, and the order of equal jobs
  std::vector<Priced> value;  ///< value * denominator - prices * uses, of each option that fits
  std::vector<unsigned> best; ///< option of each open job; `kNone` for others
  Priced bound = 0;           ///< on denominator * value of all jobs, if `possible` (Lagrangian relaxation)

  /// How much less than `bound` is proved if the job of this option runs in it.
  Priced loss(const CompactAllocation &problem, unsigned option) const {
    return value[best[problem.jobOf[option]]] - value[option];
  }
  /// The bound rounded down.
  int64_t wholeBound() const { return floorOf(bound, denominator); }
  static int64_t floorOf(Priced numerator, int64_t denominator) {
    return static_cast<int64_t>(numerator / denominator - (numerator % denominator < 0));
  }
};

/// Prices all options of open jobs that fit.
PricedOptions priceOptions(const CompactAllocation &problem, const PartialAllocation &partial, Prices prices,
                           int64_t denominator);

/// A power of two with which prices of this problem are exact enough for whole bounds, and still in range.
int64_t priceDenominator(const CompactAllocation &problem);
/// Rounded to the denominator.
Prices wholePrices(const std::vector<double> &prices, int64_t denominator);

} // namespace accord::jobs
