// Which devices share a training graph, and who has which part.
#pragma once
#include "lib/training/shard/Sharding.h"

namespace accord::shard {

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

} // namespace accord::shard
