// Checks over a whole model or training graph, one walk each.
#pragma once
#include "dialects/dnn/Dnn.h"

namespace accord::dnn {

/// All reads of a parameter stand in one block, in repeats whose counts multiply to its copies.
mlir::LogicalResult verifyReads(ModelOp model);

/// Product of the counts of the repeats around `op`; nullopt on overflow.
std::optional<int64_t> repetitions(mlir::Operation *op);

} // namespace accord::dnn
