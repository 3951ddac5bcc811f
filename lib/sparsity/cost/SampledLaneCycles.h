// Groups of lanes drawn at random, for what no closed form of ours follows: tiles that cut groups of N:M, windows or
// blocks, granules that do, two operands whose zeros both come in patterns.
#pragma once
#include "lib/sparsity/cost/CycleSum.h"

namespace accord {

/// Whether `laneCycles` knows the mean without drawing: tiles are whole groups, windows or blocks, and granules parts
/// of them; of two operands that are skipped one has its zeros anywhere, and units of a lock-step group that share a
/// tile do not share groups of N:M across outputs; exact shares are of many blocks or granules.
bool hasClosedForm(const SparseProduct &, const SparseCore &, const TiledOperand &stationary,
                   const TiledOperand &streaming);

/// Mean cycles of all groups from groups drawn one by one, evenly over the product, element by element: an estimate
/// whose standard error is at most 0.15 % unless 2^25 elements were drawn before, with a limit of the true mean. The
/// same numbers for the same input, everywhere. The variance is a limit: that of a group as it was drawn (and of what
/// stays of it when one operand is drawn anew), for all pairs of groups that share anything. Nothing where lines are
/// longer than 2^22 elements, zeros that are known are too many to have been counted, or 64 groups are too much to
/// draw.
std::optional<CycleSum> sampledLaneCycles(const SparseProduct &, const SparseCore &, const TiledOperand &stationary,
                                          const TiledOperand &streaming);

} // namespace accord
