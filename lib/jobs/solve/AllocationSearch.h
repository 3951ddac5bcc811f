// Branch and bound over the options of one job at a time, which writes the proof of its bound.
#pragma once
#include "lib/jobs/solve/AllocationRounding.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

struct SearchBudget {
  uint64_t work = 0;  ///< about one unit for each option that is priced
  size_t nodes = 0;   ///< of the proof
  uint64_t table = 0; ///< work of each dynamic program
};

struct SearchAnswer {
  FoundChoice found;
  int64_t bound = -1;    ///< no allocation has more; -1: there is none
  bool complete = false; ///< no branch was left open
  AllocationProof proof; ///< in terms of the original problem
};

/// Best bound first; while there is no allocation, deepest first. Each node solves its linear relaxation, with the
/// options that matter alone, prices all options in whole numbers, and rounds the shares. The dynamic program improves
/// the allocation of the root. If the budget ends the search, open branches are leaves with the prices of their
/// parents, and where that is no better than the root, the proof is the root alone.
SearchAnswer searchAllocation(const CompactAllocation &problem, const SearchBudget &budget,
                              const SearchControl &control);

} // namespace accord::jobs
