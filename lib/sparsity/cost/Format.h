// Bits of a tensor that is stored without its zeros, and MLIR's words for the way it is stored.
#pragma once
#include "lib/sparsity/cost/Occupancy.h"
#include <optional>
#include <string>

namespace accord {

/// Bits that tell `count` positions apart.
int64_t widthOfCount(int64_t count);

struct StoredBits {
  double mean = 0;
  double quantile = 0; ///< not exceeded with the confidence asked for
  double dense = 0;    ///< without a format
  double metadata = 0; ///< of `mean`, what says where the values belong
};

/// n elements of b bits, of which a share d is not zero, take
/// - Dense: n * b;
/// - Bitmask: d * n * b + n;
/// - Coordinates: d * n * (b + coordinateBits);
/// - Structured N:M: N / M * n (to whole groups) * (b + ceil(log2 M)): 0.5625 of dense for 2:4 at 16 bits, 0.625 at 8;
/// - Rows (CSR, of blocks with `blockRows` x `blockColumns`): kept blocks * (block * b + coordinateBits) + (rows of
///   blocks + 1) * pointerBits;
/// - RunLength: (non-zeros + zeros that are stored because 2^r or more stand before them, r = `coordinateBits`) * (b +
///   r): a run is of 0 to 2^r - 1 zeros, a longer one needs a stored zero each 2^r.
/// (Sparseloop, MICRO 2022, section 3; MLIR's sparse_tensor.) An unstructured pattern without `independent` has the
/// number of non-zeros that it says, and the size follows exactly; else the quantile is that of the binomial number, or
/// no format has less. Lines of run lengths are along the reduction. A1010: a Structured format for a pattern that is
/// not as sparse, widths that are not 1 to 64, and what `tileParts` refuses.
Result<StoredBits> storedBits(const SparsityPattern &, const SparseFormat &, OperandShape, int64_t elementBits,
                              double confidence);

/// The one of `formats` with the smallest quantile, the first of equals; Dense where nothing is smaller.
SparseFormat cheapestFormat(const SparsityPattern &, OperandShape, int64_t elementBits, double confidence,
                            const std::vector<SparseFormat> &formats);

/// All formats that fit a pattern, Dense first: what a request means that names none.
std::vector<SparseFormat> formatsOf(const SparsityPattern &, OperandShape);

/// `#sparse_tensor.encoding<{ map = … }>` of a matrix of outputs by reduction; nothing for Dense. MLIR has no bitmask
/// level and no run lengths: both are written as compressed levels of the same positions.
std::optional<std::string> encoding(const SparseFormat &);

/// "bitmask", "nm(2, 4)", "rows(32, 16)", …
std::string describe(const SparseFormat &);

} // namespace accord
