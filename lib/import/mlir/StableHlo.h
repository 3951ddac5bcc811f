// What a module of StableHLO has besides operations: attributes of a dialect that is not loaded, calls, and the loss
// and the backward pass of a whole step. Internal to lib/import.
#pragma once
#include "lib/import/mlir/MlirContext.h"

namespace accord::import {

/// Dimensions of stablehlo.dot_general: of either operand those that are a batch, and those that are summed.
struct DotDimensions {
  Shape leftBatch, rightBatch, leftSummed, rightSummed;
};
std::optional<DotDimensions> dotDimensionsOf(mlir::Operation *op);
/// Where a convolution has its batch, its channels and its rows and columns: of input, kernel and output. The kernel's
/// `batch` holds output channels, its `channel` input channels.
struct ConvolutionDimensions {
  struct Part {
    int64_t batch = -1, channel = -1;
    Shape spatial;
  };
  Part input, kernel, output;
};
std::optional<ConvolutionDimensions> convolutionDimensionsOf(mlir::Operation *op);
/// The numbers of a list in the text of an attribute: `offset_dims = [2]`; nothing if there is none.
std::optional<Shape> listIn(llvm::StringRef text, llvm::StringRef key);
/// The text of an attribute of a dialect that is not loaded.
llvm::StringRef opaqueText(mlir::Attribute attribute);

/// What the place of an argument calls a weight, or "": `p['h'][0]['w']` -> `h_0_w`.
std::string weightName(mlir::Value weight);
/// Below broadcasts, conversions, and reshapes that add or remove ones.
mlir::Value behindRepeats(mlir::Value value);
/// What a reduction of this kind ("add", "maximum") reads, if one makes `value`.
mlir::Value reducedBy(mlir::Value value, llvm::StringRef kind);

/// Replaces calls by the bodies of what they call; false after an error (a call of itself, too many operations).
bool inlineCalls(MlirContext &context, mlir::ModuleOp module, mlir::func::FuncOp function);

/// A function that computes a loss, or a whole step.
struct StableHloStep {
  mlir::Value output;             ///< of the network, which the loss compares
  std::string loss;               ///< "cross_entropy" or "mse"
  llvm::DenseSet<unsigned> state; ///< arguments that are also results: weights, states of the optimizer
};
/// Nothing if no result is a single number; an error where one is, and is no loss that is known.
std::optional<StableHloStep> findStep(MlirContext &context, mlir::func::FuncOp function);
/// Leaves of a step what its output needs, and notes which products of its backward pass are gradients of those that
/// are left.
void keepForward(MlirContext &context, mlir::func::FuncOp function, const StableHloStep &step);

/// All of the above: what is left of the function is a network that infers, whose inputs and loss are known. False
/// after errors.
bool prepareStableHlo(MlirContext &context, mlir::ModuleOp module, mlir::func::FuncOp function,
                      NetworkOptions &settings);

/// Norms, softmax and activations that JAX takes apart.
void findStableHloForms(mlir::func::FuncOp function, Forms &forms);
std::vector<MlirOperations> stableHloOperations();

} // namespace accord::import
