// The cheapest trajectory of a job with prices of rows, over all that it has, without a list of them.
#pragma once
#include "lib/jobs/verify/ScheduleRows.h"

namespace accord::jobs {

/// What is to be minimized: `denominator` * the term of `objective` (nothing: 0) + prices * uses of the rows.
struct RowPrices {
  std::optional<JobMeasure> objective; ///< a sum
  const std::vector<int64_t> &prices;  ///< of each row, 0 or more; with the denominator they sum to at most 2^62
  int64_t denominator = 1;
};

/// The min cost of trajectories of the job that complete at `latest` or before and use no more than the capacity of any
/// slot, or of its rejection; nothing if it has none, an error (A0906) if the search is too long. `labels` is what is
/// left of it for all jobs together.
///
/// Malleable jobs: a path through the slots whose labels are the work done and the cost. Of two labels in the same slot
/// and configuration, the one with less work and more cost is dropped: costs of slots are 0 or more and costs of
/// completion ascend, so that what follows the one can follow the other, and ends no later (resource constrained
/// shortest paths; Irnich and Desaulniers, Column Generation, chapter 2, 2005). Of labels with which the job can only
/// continue, those are dropped that cost more with the price of what is left.
Result<std::optional<__int128>> cheapestTrajectory(const ScheduleRows &rows, size_t job, const RowPrices &prices,
                                                   int64_t latest, size_t &labels);

} // namespace accord::jobs
