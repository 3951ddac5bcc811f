// How much faster than a dense product a 2:4 one is on a device, from measured products of other shapes.
#pragma once
#include "lib/machine/model/SparseKernels.h"
#include "lib/machine/operations/Score.h"
#include <optional>

namespace accord::operations {

/// Share of the points that the stated interval contains where each is estimated from all others.
inline constexpr double kSparseCoverage = 0.9;
/// Points without which there is no such interval: ceil(0.9 (n + 1)) <= n.
inline constexpr size_t kMinSparsePoints = 9;

/// Rows of a table of `accord measure --sparse` (columns as of `readRows`, and `dense_ms`), one table for each device
/// and type, fitted:
/// - `sparse_linear`: `m` rows, `n` inputs, `k` outputs; `latency_ms` of the sparse kernel, `dense_ms` of the dense
/// one;
/// - `sparsify`, `sparsify_transposable`: a mask of `m` x `n` elements is found, and what it keeps is stored.
/// All other rows are left out. Errors, at most 20, each with line and column: A0460 no table or a row with another
/// number of cells, A0461 a column, A0462 a cell, A0467 fewer than `kMinSparsePoints` shapes of a device and type. Of
/// rows of one shape the geometric mean counts.
Result<std::vector<SparseKernelTable>, Errors> readSparseRows(std::string_view text, const std::string &path);

/// Sets width, deviation and reach from the points: the width of 1/4 to 2 octaves for which points that are left out
/// one by one are estimated best (mean of |log|). The deviation is the ceil(0.9 (n + 1)) smallest of these: an interval
/// of 90 % for another shape like them (Vovk, Gammerman, Shafer: Algorithmic Learning in a Random World, 2005, chapter
/// 2; split over points that are left out as in the jackknife). False: too few points.
bool fitSparseKernels(SparseKernelTable &table);

struct SparseSpeedup {
  double mean = 1, low = 1, high = 1;
  bool inside = true; ///< some point is as near as points are to each other
};
/// Mean of log(speed-up) of all points with weights exp(-d^2 / (2 width^2)); d is the distance in octaves, with 1 for
/// the rows and 2 for depth and columns in the sum of squares (Nadaraya 1964, Watson 1964). `low` and `high` are
/// `deviation` away. Farther from all points than `reach`, they contain the least and the largest measured speed-up,
/// too.
SparseSpeedup sparseSpeedup(const SparseKernelTable &table, double rows, double depth, double columns);

/// Seconds to find a mask; nothing where none was measured. Between two sizes a power law through both; below the
/// smallest that one's seconds, above the largest in proportion to the elements.
std::optional<double> maskSeconds(const SparseKernelTable &table, bool transposable, double elements);

/// The points of all tables, each estimated from those left in: "one left out", and "weights left out" (all rows of a
/// matrix of weights at once). Times are sparse ones, with the dense time as measured. Groups are "DEVICE TYPE" and
/// all.
std::vector<ErrorTable> sparseErrors(const std::vector<SparseKernelTable> &tables);

/// "checked": points of `measured` estimated from the table of `known` of the same device and type; those without one
/// are left out.
ErrorTable checkSparse(const std::vector<SparseKernelTable> &known, const std::vector<SparseKernelTable> &measured);

} // namespace accord::operations
