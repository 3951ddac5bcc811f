// How an operation can be executed by the devices of one axis, each on a part of its work.
#pragma once
#include "lib/training/shard/Sharding.h"
#include "llvm/ADT/SmallVector.h"

namespace accord::shard {

/// If each device has its operands as stated and executes the operation on them, its results are as stated.
struct Rule {
  llvm::SmallVector<Sharding> operands, results;
  int64_t iterator = -1; ///< of the operation's domain that the devices share; -1: another way
  /// The dimension of which the operation must know its part (`dnn.parts`); -1: none.
  int64_t parts = -1;
};

/// All ways to share `op` among `devices`, the one in which each device does everything first. They follow from the
/// indexing maps: an iterator that is one dimension of a tensor splits it there; a tensor that it does not reach is
/// needed whole, or, if it is a sum over that iterator, comes out as a partial sum. So a contraction is column parallel
/// along an iterator of its weight and its result, row parallel along one of its weight and its operand (Shoeybi et
/// al., Megatron-LM, 2019, section 3). Operations whose maps do not tell (lookups, reshapes, losses, experts) have
/// rules of their own.
llvm::SmallVector<Rule> rulesFor(mlir::Operation *op, int64_t devices);

/// Whether it is a convolution of any number of dimensions, depthwise or transposed.
bool isConvolution(mlir::Operation *op);
/// Whether the result is a sum over every iterator that it does not have.
bool sums(mlir::Operation *op, unsigned result);
/// Whether what the operation computes depends on where along this dimension of its first operand an element is.
bool dependsOnPosition(mlir::Operation *op, int64_t dimension);
/// Whether it does where along this iterator of its domain an element is.
bool countsPositions(mlir::Operation *op, unsigned iterator);

} // namespace accord::shard
