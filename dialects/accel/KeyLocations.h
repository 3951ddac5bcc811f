// Where each key of a block was written: kept as the metadata of the operation's fused location, so
// that verifiers and `accord explain` point at the key, and printing without debug information
// shows none of it.
#pragma once
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include <utility>

namespace accord::accel {

/// The location for an operation whose keys were written at the given places.
mlir::Location withKeyLocations(mlir::Location block, llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Location>> keys);

/// Where `key` of `operation` was written; the operation's own place when that is not known.
mlir::Location locationOf(mlir::Operation *operation, llvm::StringRef key);

/// The place of the block itself, without its keys.
mlir::Location blockLocation(mlir::Operation *operation);

} // namespace accord::accel
