// What the type inference of several operations needs.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/support/EmitError.h"
#include <string>

namespace accord::dnn {

/// "1024x1600" of the extents, "?" for the batch.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// The inference of the result types of one operation, as its definition states it.
struct ShapeInference {
  llvm::StringRef op; ///< what messages call it
  mlir::ValueRange operands;
  std::optional<mlir::Location> location; ///< of errors, which are silent without it
  llvm::SmallVectorImpl<mlir::Type> &types;

  /// The operand as a tensor; null where it is not there.
  mlir::RankedTensorType operator[](unsigned operand) const;

  /// "'op' …", always a failure.
  template <typename... Args> llvm::LogicalResult error(Args &&...text) const {
    return mlir::emitOptionalError(location, "'", op, "' ", std::forward<Args>(text)...);
  }
  template <typename... Args> llvm::LogicalResult error(Code code, Args &&...text) const {
    return accord::emitOptionalError(location, code, "'", op, "' ", std::forward<Args>(text)...);
  }

  /// Every operand is a tensor of at least the given rank (0: any), and there are at least so many.
  llvm::LogicalResult takes(llvm::ArrayRef<int64_t> ranks) const;
  /// Each of the attributes is there.
  llvm::LogicalResult needs(llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Attribute>> attributes) const;
  /// Two operands have the same element type.
  llvm::LogicalResult sameElement(mlir::RankedTensorType a, mlir::RankedTensorType b) const;
  /// An operand has integers.
  llvm::LogicalResult integers(mlir::RankedTensorType type, llvm::StringRef what = "ids") const;
  /// The tensor dimension of the per-sample `axis` (negative: from the end).
  mlir::FailureOr<int64_t> dimensionOf(int64_t axis, mlir::RankedTensorType type) const;
  /// Numpy broadcasting, right-aligned.
  mlir::FailureOr<llvm::SmallVector<int64_t>> broadcast(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) const;

  /// The next result has this type, this shape and the elements of `like`, or is one fp32 number.
  llvm::LogicalResult give(mlir::Type type) {
    types.push_back(type);
    return mlir::success();
  }
  llvm::LogicalResult give(llvm::ArrayRef<int64_t> shape, mlir::RankedTensorType like) {
    return give(mlir::RankedTensorType::get(shape, like.getElementType()));
  }
  /// The same for a product, whose results are wider than its operands where these have 8 bits: bf16.
  llvm::LogicalResult giveProduct(llvm::ArrayRef<int64_t> shape, mlir::RankedTensorType operand);
  llvm::LogicalResult giveNumber() {
    return give(mlir::RankedTensorType::get({}, mlir::Float32Type::get(operands[0].getContext())));
  }
};

/// Of two operands that are broadcast to each other.
llvm::LogicalResult inferBinary(ShapeInference &infer);
/// x itself, which needs so many dimensions per sample.
llvm::LogicalResult inferPositions(ShapeInference &infer, int64_t min, llvm::StringRef shape);
/// x itself; scale and offset lie along its last dimension, or along its channels.
llvm::LogicalResult inferNorm(ShapeInference &infer, bool last);
/// The loss of two tensors of one shape.
llvm::LogicalResult inferPaired(ShapeInference &infer);
llvm::LogicalResult inferReduce(ShapeInference &infer, int64_t axis);
llvm::LogicalResult inferPool(ShapeInference &infer, mlir::Attribute kernel, mlir::Attribute stride,
                              mlir::Attribute padding);
/// A convolution of so many spatial dimensions; one with a kernel for each channel; a transposed one.
llvm::LogicalResult inferConvolution(ShapeInference &infer, size_t dims, int64_t groups,
                                     const WindowAttributes &window);
llvm::LogicalResult inferDepthwise(ShapeInference &infer, const WindowAttributes &window);
llvm::LogicalResult inferTransposed(ShapeInference &infer, size_t dims, int64_t groups, const WindowAttributes &window,
                                    mlir::Attribute outputPadding);
/// `saved` are the values kept for the gradient per hidden unit.
llvm::LogicalResult inferRecurrent(ShapeInference &infer, bool bidirectional, int64_t gates, int64_t saved);

} // namespace accord::dnn
