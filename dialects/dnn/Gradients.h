// What the gradients of several operations need.
#pragma once
#include "dialects/dnn/Dnn.h"

/// Head of an operation's gradient, with `context` in scope.
#define ACCORD_GRADIENT(OpTy) llvm::LogicalResult accord::dnn::OpTy::buildGradient(accord::GradientContext &context)

namespace accord::dnn {

template <typename OpTy, typename... Args> OpTy make(GradientContext &context, Args &&...args) {
  return OpTy::create(context.builder, context.location, std::forward<Args>(args)...);
}

/// Sums `gradient` over the dimensions along which `type` was broadcast to it.
mlir::Value reduceTo(GradientContext &context, mlir::Value gradient, mlir::RankedTensorType type);

/// Gradients of both factors (operands 0 and 1) and of the bias (operand 2) of any contraction, from its indexing maps.
llvm::LogicalResult contractionGradient(mlir::Operation *op, GradientContext &context);

} // namespace accord::dnn
