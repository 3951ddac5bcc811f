// The best mapping of a contraction onto the memories of a machine, as traffic for `roofline`.
#pragma once
#include "lib/machine/cost/CostModel.h"
#include "lib/machine/cost/MappingCache.h"

namespace accord {

/// Whether an operation is mapped: a contraction that is not fused and whose tensors are known, on
/// a core behind two memories or more, all but the farthest of a stated capacity.
bool isMapped(const CostQuery &query);

struct MappedOperation {
  ComputeTime compute; ///< of all tiles
  Traffic traffic;
};

/// The tiles of least time (lib/machine/tiling), with `feed` bytes between the nearest memory and the core
/// whatever the tiles. `tileTime` gets an extent for each entry of `groups`: loops of the domain
/// that are cut together. Error: A0453, no tile fits.
Result<MappedOperation> mapOperation(const CostQuery &query, const ComputeTime &whole, const CostModel &model,
                                     Assumptions &assumptions);

} // namespace accord
