// Operands whose zeros are known one by one (a mask, a band): cycles counted place by place instead of on average.
// Zeros of two operands that prefer the same places, as those of real networks do, make averages optimistic
// (Sparseloop's by up to 6.5 % on MobileNet).
#pragma once
#include "lib/sparsity/cost/CycleSum.h"

namespace accord {

/// Whether all zeros are known: of a mask or a band.
bool isStatic(const SparsityPattern &);

/// Sets `staticMask` of an operand that is skipped, as its tiles along `direction` see it: granules of `granule`
/// neighbours count whole. Nothing where the pattern is random, or has more than 2^28 elements.
void setStaticMask(TiledOperand &, const SparsityPattern &, OperandShape, int64_t tile, int64_t granule, TileDirection);

/// Of two operands with `staticMask`, or one beside a full or random one. Nothing where no zeros are known, beside
/// random blocks, or where there is more to count than 2^28 steps.
std::optional<CycleSum> staticMaskLaneCycles(const SparseProduct &, const SparseCore &, const TiledOperand &stationary,
                                             const TiledOperand &streaming);
/// Cycles of all tiles of an operand with `staticMask` at each step of the reduction, `along` elements at a time.
std::vector<double> staticMaskSteps(const TiledOperand &, int64_t tile, int64_t along);

/// Share of places at which neither of two patterns has a zero, both of them known; nothing otherwise.
std::optional<double> staticMaskOverlap(const SparseProduct &);

} // namespace accord
