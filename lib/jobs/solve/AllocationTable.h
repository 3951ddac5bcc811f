// A dynamic program over the free capacities of the jobs that prices leave undecided.
#pragma once
#include "lib/jobs/solve/AllocationRounding.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

struct TableAnswer {
  FoundChoice better;  ///< than the incumbent, if one was found
  bool exact = true;   ///< no state was left out: `better`, or else the incumbent, is an optimum
  uint64_t states = 0; ///< that were made
};

/// Only options matter whose loss is smaller than what lies between the bound of `priced` and the incumbent (fixing by
/// reduced costs). Jobs with one such option are fixed. The others are taken one by one; a state is what is left of
/// each resource, where more than all later jobs together can use counts as that, with the smallest loss by which it is
/// reached. States whose loss is too large to be better than the incumbent are dropped. If more than about `work`
/// states would be made in all, those of larger loss are left out at each job; with more than 64 resources a state
/// counts as several, and nothing is done where that leaves too few. Stopped by `control`, nothing is found.
TableAnswer improveByTable(const CompactAllocation &problem, const PricedOptions &priced, const FoundChoice &incumbent,
                           uint64_t work, const SearchControl &control);

} // namespace accord::jobs
