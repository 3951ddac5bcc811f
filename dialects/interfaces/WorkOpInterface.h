// Work of an operation: domain, maps, FLOPs and bytes, exact and overflow-checked.
#pragma once
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace accord {

/// Which kind of core an operation wants. `None`: a view that costs nothing. `Network`: no core, but links to other
/// devices.
enum class WorkCore : uint8_t { None, Tensor, Vector, Network };

/// An iteration domain and how each tensor is accessed from it.
struct Work {
  llvm::SmallVector<int64_t> domain; ///< extents; ShapedType::kDynamic is the batch
  /// One per operand, then one per result. A constant result expression in a map means that the position along
  /// that dimension is fixed (a broadcast) or depends on data; the bytes then come from getBytesRead/Written.
  llvm::SmallVector<mlir::AffineMap> maps;
  /// `reduction`: points along the dimension combine into (or depend on) one result.
  llvm::SmallVector<mlir::utils::IteratorType> kinds;
};

/// a * b and a + b of non-negative numbers; nullopt on overflow or when an operand already overflowed.
std::optional<int64_t> checkedMultiply(std::optional<int64_t> a, std::optional<int64_t> b);
std::optional<int64_t> checkedAdd(std::optional<int64_t> a, std::optional<int64_t> b);

/// Product of extents with kDynamic replaced by `batch`.
std::optional<int64_t> volume(llvm::ArrayRef<int64_t> extents, int64_t batch);

/// Bytes of one element in memory: tf32 is stored in 4 bytes, i1 in 1; 0 for a type that is no number.
int64_t elementBytes(mlir::Type element);

/// Bytes of a tensor or of a stash (its slices together), kDynamic extents being `batch`.
std::optional<int64_t> bytesOf(mlir::Type type, int64_t batch);
std::optional<int64_t> bytesOf(mlir::TypeRange types, int64_t batch);

/// Domain volume times FLOPs per point.
std::optional<int64_t> flopsOfDomain(mlir::Operation *op, int64_t batch);

} // namespace accord

#include "dialects/interfaces/WorkOpInterface.h.inc"
