// Reverse-mode differentiation of one operation.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace accord {

/// Everything one operation needs to build the gradients of its operands.
struct GradientContext {
  mlir::OpBuilder &builder; ///< inserts where the gradient operations go
  mlir::Location location;
  llvm::ArrayRef<mlir::Value> resultGradients;          ///< by result; null when nothing depends on that result
  llvm::ArrayRef<bool> needed;                          ///< by operand: does its gradient lead to a parameter
  llvm::SmallVectorImpl<mlir::Value> &operandGradients; ///< by operand; left null when not needed
  /// The value of the forward pass, available at the builder's position (stashed, re-read or the value itself).
  llvm::function_ref<mlir::Value(mlir::Value)> forward;

  /// The gradient of the first result.
  mlir::Value dy() const { return resultGradients[0]; }
  /// The gradient of an operand.
  llvm::LogicalResult give(unsigned operand, mlir::Value gradient) {
    operandGradients[operand] = gradient;
    return llvm::success();
  }
};

} // namespace accord

#include "dialects/interfaces/DifferentiableOpInterface.h.inc"
