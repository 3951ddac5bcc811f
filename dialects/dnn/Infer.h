// What the type inference of several operations needs.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/support/EmitError.h"
#include <string>

/// Head of an operation's type inference, with `adaptor`, `location` and `types` in scope.
#define ACCORD_INFER(OpTy)                                                                                             \
  llvm::LogicalResult accord::dnn::OpTy::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location, \
                                                          Adaptor adaptor, llvm::SmallVectorImpl<mlir::Type> &types)

namespace accord::dnn {

using accord::emitOptionalError;
using mlir::emitOptionalError;

/// The operand as a tensor (operands are tensors by constraint, but inference runs before constraints are checked).
inline mlir::RankedTensorType tensor(mlir::Value value) {
  return value ? mlir::dyn_cast<mlir::RankedTensorType>(value.getType()) : mlir::RankedTensorType();
}
/// "1024x1600" of the extents, "?" for the batch.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// Tensor dimension of the per-sample `axis` (negative: from the end); an error at `location` if there is none.
mlir::FailureOr<int64_t> dimensionOf(int64_t axis, mlir::RankedTensorType type, std::optional<mlir::Location> location,
                                     llvm::StringRef op);

/// "'op' needs 'attribute'" unless it is there.
template <typename T>
llvm::LogicalResult require(const std::optional<T> &value, std::optional<mlir::Location> location, llvm::StringRef op,
                            llvm::StringRef attribute) {
  if (value)
    return mlir::success();
  return emitOptionalError(location, "'", op, "' needs '", attribute, "'");
}

/// Every operand of `operands` is a tensor of at least the given rank (0: any); an error otherwise.
llvm::LogicalResult requireTensors(mlir::ValueRange operands, llvm::ArrayRef<int64_t> ranks,
                                   std::optional<mlir::Location> location, llvm::StringRef op);

/// Numpy broadcasting, right-aligned; an error that names both shapes.
mlir::FailureOr<llvm::SmallVector<int64_t>> broadcast(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b,
                                                      std::optional<mlir::Location> location, llvm::StringRef op);

/// Same element type of two operands.
llvm::LogicalResult sameElement(mlir::RankedTensorType a, mlir::RankedTensorType b,
                                std::optional<mlir::Location> location, llvm::StringRef op);

} // namespace accord::dnn
