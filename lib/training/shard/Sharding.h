// How the devices of one axis hold a tensor, which devices share a training graph, and who has which part.
#pragma once
#include "dialects/dnn/Dnn.h"

namespace accord::shard {

struct Sharding {
  enum Kind : uint8_t {
    Replicated, ///< every device has all of it
    Split,      ///< each device has one part along `dimension`, in the order of the ranks
    Partial,    ///< the sum over the devices is it
    Zero        ///< it is zero, and so is each of its parts
  };
  Kind kind = Replicated;
  int64_t dimension = -1; ///< of the tensor, the batch counted

  static Sharding split(int64_t dimension) { return {Split, dimension}; }
  bool operator==(const Sharding &) const = default;
};

/// The type on one of `devices` devices; a stash's is that of its slices. The dimension must be divisible.
mlir::Type localType(mlir::Type type, Sharding sharding, int64_t devices);
/// Whether `dimension` of the tensor can be cut into equal parts.
bool divisible(mlir::Type type, int64_t dimension, int64_t devices);

/// Adds an axis of at least 2 devices to the graph; an error at the graph if it has the axis already.
llvm::LogicalResult addAxis(dnn::TrainingGraphOp graph, llvm::StringRef axis, int64_t devices);

/// The parts that an operation states, and one more.
mlir::ArrayAttr appendPart(mlir::Operation *op, llvm::StringRef axis, int64_t dimension, int64_t devices);

/// The parameter becomes one of `devices` equal parts along `dimension`, and so does what the optimizer step does to
/// it.
void shardParameter(dnn::TrainingGraphOp graph, dnn::ParameterOp parameter, int64_t dimension, llvm::StringRef axis,
                    int64_t devices);

/// The values that are, alone or added up, what a gradient is given.
llvm::SmallVector<mlir::Value> addends(dnn::GradientOp sink);

/// The slices of a stash that a use of a value puts it into, or of which it takes one; null: another use.
mlir::Value slicesOf(mlir::OpOperand &use);
/// Whether the value, through stashes or not, comes to allowed uses only.
bool endsIn(mlir::Value value, llvm::function_ref<bool(mlir::OpOperand &)> allowed);
/// The value has another type, and so have the stashes that it comes through.
void retypeSlices(mlir::Value value, mlir::Type type);

} // namespace accord::shard
