// Allocations that keep the capacities, from choices that may not.
#pragma once
#include "lib/jobs/solve/PricedOptions.h"

namespace accord::jobs {

struct FoundChoice {
  std::vector<unsigned> option; ///< of each job, of the compact problem
  int64_t value = -1;           ///< -1: none was found
  bool found() const { return value >= 0; }
};

/// Starts with an option of each job. While a capacity is exceeded, the job changes that loses the smallest value, at
/// these prices, for what it frees of missing amounts; then, while there is one that fits, the change with the largest
/// gain of value. Ties go to the first option.
FoundChoice repair(const CompactAllocation &problem, const std::vector<double> &prices, std::vector<unsigned> option);

} // namespace accord::jobs
