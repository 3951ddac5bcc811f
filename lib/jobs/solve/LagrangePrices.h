// Prices of resources, and shares of options, of the linear relaxation of an allocation.
#pragma once
#include "lib/jobs/solve/CompactAllocation.h"
#include "lib/search/SearchLimits.h"
#include <limits>

namespace accord::jobs {

/// The options among which each open job has to choose, one job after the other, each with at least one option.
struct OpenOptions {
  std::vector<unsigned> options; ///< of the compact problem
  std::vector<unsigned> first;   ///< of each job, and the number of options
};

/// In floating point: a hint that is checked with whole numbers where a proof follows from it.
struct Relaxation {
  std::vector<double> prices; ///< of one unit of each resource, in the unit of values
  std::vector<double> shares; ///< of each open option; those of a job sum to 1
  double overflow = 0;        ///< largest share of a capacity that is missing: above 0 if nothing fits
  uint64_t work = 0;          ///< about the time of all linear systems: cubes of their rows
};

enum class RelaxedObjective {
  Value, ///< maximizes the value; what is missing of a capacity is bought at a high price
  Fit    ///< ignores values, minimizes what is missing of capacities
};

/// Solves the linear relaxation: shares of options that sum to 1 for each job, and use no more than `left` (0 or more)
/// of each resource. Method: primal-dual interior point method with predictor and corrector (Mehrotra, SIAM Journal on
/// Optimization 2, 1992), whose normal equations have one row for each resource, because the rows of jobs are
/// eliminated (generalized upper bounds).
///
/// The time is that of a linear system with one row for each resource that could be used up, to the third power. Of
/// more than `maxRows` (1 or more) such resources, some are left out that the shares keep all the same, as far as a few
/// rounds find them: the others have a price of 0, and `overflow` is that of those that were not left out. Stopped by
/// `control`, the prices and shares of more than 100 rows are those so far.
Relaxation relax(const CompactAllocation &problem, const std::vector<int64_t> &left, const OpenOptions &open,
                 RelaxedObjective objective, const SearchControl &control = {},
                 size_t maxRows = std::numeric_limits<size_t>::max());

} // namespace accord::jobs
