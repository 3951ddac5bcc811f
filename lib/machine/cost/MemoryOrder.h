// The memories of an accelerator as a chain from the farthest to the nearest.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace accord {

struct MemoryOrder {
  llvm::SmallVector<accel::MemoryOp> memories;           ///< [0] is the farthest
  llvm::DenseMap<mlir::Operation *, int> indexOf;        ///< memory -> its place
  llvm::DenseMap<mlir::Operation *, int> lastBeforeCore; ///< core -> the memory its path ends with
};

/// Errors at the path: a memory outside every path, paths in a circle, memories side by side.
mlir::FailureOr<MemoryOrder> memoryOrder(accel::AcceleratorOp accelerator);

} // namespace accord
