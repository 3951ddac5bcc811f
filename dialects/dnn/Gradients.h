// What the gradients of several operations need.
#pragma once
#include "dialects/dnn/Dnn.h"

/// Head of an operation's gradient, with `context` in scope.
#define ACCORD_GRADIENT(OpTy) llvm::LogicalResult accord::dnn::OpTy::buildGradient(accord::GradientContext &context)

namespace accord::dnn {

template <typename OpTy, typename... Args> OpTy make(GradientContext &context, Args &&...args) {
  return OpTy::create(context.builder, context.location, std::forward<Args>(args)...);
}

/// The gradient of a unary operation: one operation on that of the result and on the operand or the result.
template <typename GradOp> llvm::LogicalResult unaryGradient(GradientContext &context, mlir::Value saved) {
  return context.give(0, make<GradOp>(context, context.dy().getType(), context.dy(), context.forward(saved)));
}

/// A gradient, or zeros where nothing depends on a result.
inline mlir::Value orZero(GradientContext &context, mlir::Value gradient, mlir::Type type) {
  return gradient ? gradient : make<ConstantOp>(context, type, context.builder.getF64FloatAttr(0));
}
/// Gives each operand the result of one gradient operation.
inline llvm::LogicalResult giveAll(GradientContext &context, mlir::Operation *gradient) {
  llvm::copy(gradient->getResults(), context.operandGradients.begin());
  return llvm::success();
}

/// Sums `gradient` over the dimensions along which `type` was broadcast to it.
mlir::Value reduceTo(GradientContext &context, mlir::Value gradient, mlir::RankedTensorType type);

/// The gradient of a product's result as the products behind it take it: cast to f8E5M2 where the product's operands,
/// of type `operand`, have 8 bits.
mlir::Value quantizedLike(GradientContext &context, mlir::Value dy, mlir::RankedTensorType operand);
/// The type of the gradient of a product's operand: that of dy where the operand has 8 bits.
mlir::RankedTensorType gradientType(mlir::Value operand, mlir::Value dy);

/// Gradients of both factors (operands 0 and 1) and of the bias (operand 2) of any contraction, from its indexing maps.
llvm::LogicalResult contractionGradient(mlir::Operation *op, GradientContext &context);

} // namespace accord::dnn
