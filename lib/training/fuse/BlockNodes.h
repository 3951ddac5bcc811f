// Groups of operations of a block, and the dnn.fused that holds one.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/training/fuse/Fusion.h"

namespace accord {

/// The operations of a block as nodes. Views are none: what they show belongs to whoever made it.
struct BlockNodes {
  llvm::SmallVector<mlir::Operation *> operations; ///< by node
  std::vector<FusionNode> nodes;
  explicit BlockNodes(mlir::Block &block);
};

/// Puts the groups in their order, each view before the first that needs it, and every group of several into one
/// `dnn.fused`. Returns how many there are.
unsigned rebuild(mlir::Block &block, const BlockNodes &of, const std::vector<std::vector<uint32_t>> &groups);

} // namespace accord
