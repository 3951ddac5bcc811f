// The dnn dialect: models, training graphs and their operations.
#pragma once
#include "dialects/dnn/DnnAttributes.h"
#include "dialects/dnn/WorkHelpers.h"
#include "dialects/interfaces/DifferentiableOpInterface.h"
#include "dialects/interfaces/WorkOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
}

namespace accord::dnn {

struct ShapeInference;

/// Numbers by spatial dimension: length; height, width; or depth, height, width.
using Extents = llvm::SmallVector<int64_t, 3>;
struct Padding {
  Extents before, behind;
};
/// An attribute that is one integer of at least 0 for all spatial dimensions, or an array with one for each; of padding
/// also with one for each of both ends.
bool isExtents(mlir::Attribute attribute);
/// How many numbers it has; 0: one for all.
size_t countOf(mlir::Attribute extents);
/// The numbers of so many dimensions; where the attribute has fewer, its last one.
Extents asExtents(mlir::Attribute attribute, size_t dims);
/// The same at both ends, or twice as many numbers: those before each dimension, then those behind.
Padding asPadding(mlir::Attribute attribute, size_t dims);

} // namespace accord::dnn

#include "dialects/dnn/DnnDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/dnn/DnnTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/dnn/DnnOps.h.inc"

namespace accord::dnn {

/// Creates an operation by its name ("dnn.linear") with result types inferred from operands and attributes. Errors
/// (unknown name, wrong shapes) are emitted at `location`; attributes that only shape a parameter do not belong here.
mlir::FailureOr<mlir::Operation *> createInferred(mlir::OpBuilder &builder, mlir::Location location,
                                                  llvm::StringRef name, mlir::ValueRange operands,
                                                  llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

/// How a sparse gradient is stored; null for other types.
RowsAttr rowsOf(mlir::Type type);
/// Of a table's sparse gradient in elements of `element`: ids and rows of all lookups of `batch` samples.
std::optional<int64_t> sparseBytes(mlir::RankedTensorType table, RowsAttr rows, mlir::Type element, int64_t batch);
/// `rows` of so many devices together.
RowsAttr timesRows(RowsAttr rows, int64_t devices);

/// Memory that a parameter (all copies) holds during the whole step, in bytes.
struct StaticBytes {
  int64_t weights = 0, gradients = 0, optimizerStates = 0;
  int64_t quantized = 0; ///< copies of the weights for products, as they are and transposed (see `dnn.update`)
  int64_t total() const { return weights + gradients + optimizerStates + quantized; }
};

/// Bytes per trained scalar. Mixed precision with Adam: 2 weight + 2 gradient + 12 (fp32 master, momentum, variance) =
/// 16, 18 with fp32 gradients; fp32 with Adam: 4 + 4 + 8 = 16 (Rajbhandari et al., ZeRO, SC 2020, section 3.1).
StaticBytes staticBytesPerScalar(OptimizerKind optimizer, PrecisionAttr precision);
/// Of the parameter that an operation updates, all copies, in a step of so many samples; nullopt past 2^63. A sparse
/// gradient is there as its rows; `rowwise_adagrad` has one state of 4 bytes for each row of the table.
std::optional<StaticBytes> staticBytes(UpdateOp update, int64_t samples);
/// Floating-point operations of the optimizer per trained scalar (see `dnn.update`).
int64_t updateFlops(OptimizerKind optimizer);

/// Whether products of operands of this element type are written in a wider one: floating-point numbers of 8 bits.
bool isQuantized(mlir::Type element);
/// Leading dimensions that are the batch: 1 when the first extent is dynamic, else 0.
inline int64_t batchRank(mlir::RankedTensorType type) { return type.getRank() > 0 && type.isDynamicDim(0) ? 1 : 0; }
/// The tensor dimension of a per-sample `axis`; negative ones count from the end.
inline int64_t tensorDimension(int64_t axis, mlir::RankedTensorType type) {
  return axis < 0 ? axis + type.getRank() : axis + batchRank(type);
}
/// True for operations whose second result is only kept for their gradient (dropout, lstm, gru, moe_experts,
/// flash_attention).
bool hasSavedResult(mlir::Operation *op);
/// Whether an operation may be moved among others: it has no effect but its results.
bool isMovable(mlir::Operation *op);
/// The readable unique name (`dnn.name`), empty if none; and the phase, Forward if none.
llvm::StringRef nameOf(mlir::Operation *op);
Phase phaseOf(mlir::Operation *op);

} // namespace accord::dnn
