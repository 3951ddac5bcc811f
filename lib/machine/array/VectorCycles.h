// How long lanes take for element-wise and row-wise work, in cycles: no stalls, no memory.
#pragma once
#include <cstdint>
#include <optional>

namespace accord {

struct VectorUnit {
  int64_t lanes = 1; ///< of one core
  int64_t count = 1; ///< equal cores
  bool split = true; ///< the work is dealt out to all cores; else one core does all
};

/// ceil(elements / lanes of all cores) * cyclesPerElement: every lane works on an element of its
/// own, the last round may be partly empty. Nothing for a unit without lanes or cores, or cycles
/// that are negative or not finite. No elements: 0. Infinite where a double cannot hold it.
std::optional<double> elementCycles(int64_t elements, double cyclesPerElement, const VectorUnit &unit);

/// Rows that are each reduced to one value (sum, maximum, mean) or normalized by such values.
struct RowWork {
  int64_t rows = 1, length = 1;
  double cyclesPerElement = 1; ///< of a lane, for everything that is done with one element
  int64_t reductions = 1;      ///< values that the row is reduced to: 2 for softmax (maximum, sum)
};

struct RowCycles {
  double cycles = 0;
  int64_t lanesPerRow = 1; ///< of one core, or a power of two of cores with as many lanes each
  __int128 rowsAtOnce = 1;
};

/// The fastest of giving each row 1, 2, 4, … lanes of a core (at most all of them), then the same
/// lanes of 2, 4, … cores. With g lanes a row takes ceil(length / g) * cyclesPerElement cycles, and
/// then its g partial results are combined pairwise, log2(g) steps of a cycle for each reduction
/// (whatever cores they come from):
///   cycles(g) = ceil(rows / at once)
///               * (ceil(length / g) * cyclesPerElement + reductions * log2(g)),
///   at once   = floor(lanes / g) * cores, or floor(cores / cores of a row).
/// g = 1 is a row per lane, without combining. Of equally fast ones the fewest lanes. Nothing as in
/// `elementCycles`; extents below 1 count as 1. More lanes or cores never take longer.
std::optional<RowCycles> rowCycles(const RowWork &work, const VectorUnit &unit);

} // namespace accord
