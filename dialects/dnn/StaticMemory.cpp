// Memory and work of the optimizer.
#include "dialects/dnn/Dnn.h"
#include <algorithm>

using namespace mlir;

namespace accord::dnn {

static constexpr int64_t kFp32 = 4;

/// Of each optimizer, by its number: the states of an element (those of a row are counted apart), and FLOPs.
static constexpr struct {
  int64_t states, flops;
} kOptimizers[] = {{0, 2}, {1, 4}, {2, 14}, {2, 16}, {0, 4}, {0, 0}};
static_assert(std::size(kOptimizers) == getMaxEnumValForOptimizerKind() + 1);

static int64_t states(OptimizerKind optimizer) { return kOptimizers[unsigned(optimizer)].states; }
bool isQuantized(Type element) { return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8; }
int64_t updateFlops(OptimizerKind optimizer) { return kOptimizers[unsigned(optimizer)].flops; }

StaticBytes staticBytesPerScalar(OptimizerKind optimizer, PrecisionAttr precision) {
  int64_t element = elementBytes(precision.getElement());
  if (optimizer == OptimizerKind::None)
    return {element, 0, 0};
  StaticBytes bytes{element, elementBytes(precision.getGradients()), 0};
  bytes.optimizerStates = precision.getMixed() ? kFp32 * (1 + states(optimizer)) : element * states(optimizer);
  return bytes;
}

RowsAttr rowsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<RowsAttr>(tensor.getEncoding()) : RowsAttr();
}
RowsAttr timesRows(RowsAttr rows, int64_t devices) {
  return RowsAttr::get(rows.getContext(), checkedMultiply(rows.getLookups(), devices).value_or(INT64_MAX),
                       rows.getIndex());
}
std::optional<int64_t> sparseBytes(RankedTensorType table, RowsAttr rows, Type element, int64_t batch) {
  auto row = checkedAdd(checkedMultiply(volume(table.getShape().drop_front(), 1), elementBytes(element)),
                        elementBytes(rows.getIndex()));
  return checkedMultiply(checkedMultiply(rows.getLookups(), batch), row);
}

/// Elements of all copies.
static std::optional<int64_t> elementsOf(UpdateOp op) {
  return checkedMultiply(volume(op.getTensorType().getShape(), 1), op.getCopies());
}
/// Rows of a table that may differ from what they were, of a step of so many samples.
static std::optional<int64_t> touchedRows(UpdateOp op, int64_t samples) {
  int64_t rows = op.getTensorType().getDimSize(0);
  auto lookups = checkedMultiply(op.getRowsAttr().getLookups(), samples);
  return lookups ? std::min(rows, *lookups) : rows;
}
static std::optional<int64_t> touchedElements(UpdateOp op, int64_t samples) {
  return op.getRowsAttr() ? checkedMultiply(touchedRows(op, samples), op.getTensorType().getDimSize(1))
                          : elementsOf(op);
}
static std::optional<int64_t> rowStates(UpdateOp op, std::optional<int64_t> rows) {
  return op.getOptimizer() == OptimizerKind::RowwiseAdagrad ? checkedMultiply(rows, kFp32) : std::optional<int64_t>(0);
}
static std::optional<int64_t> gradientBytes(UpdateOp op, int64_t samples) {
  Type element = op.getPrecision().getGradients();
  return op.getRowsAttr() ? sparseBytes(op.getTensorType(), op.getRowsAttr(), element, samples)
                          : checkedMultiply(elementsOf(op), elementBytes(element));
}

/// The copies for products, as they are and transposed.
static std::optional<int64_t> quantizedBytes(UpdateOp op) {
  constexpr int64_t kLayouts = 2;
  int64_t element = op.getQuantized() ? elementBytes(*op.getQuantized()) : 0;
  return checkedMultiply(elementsOf(op), kLayouts * element);
}

std::optional<StaticBytes> staticBytes(UpdateOp update, int64_t samples) {
  std::optional<int64_t> elements = elementsOf(update);
  StaticBytes one = staticBytesPerScalar(update.getOptimizer(), update.getPrecision());
  auto rows = update.getTensorType().getRank() > 0
                  ? checkedMultiply(update.getTensorType().getDimSize(0), update.getCopies())
                  : std::optional<int64_t>(1);
  std::optional<int64_t> weights = checkedMultiply(elements, one.weights), gradients = gradientBytes(update, samples);
  std::optional<int64_t> optimizerStates =
      checkedAdd(checkedMultiply(elements, one.optimizerStates), rowStates(update, rows));
  std::optional<int64_t> quantized = quantizedBytes(update);
  if (!checkedAdd(checkedAdd(weights, quantized), checkedAdd(gradients, optimizerStates)))
    return std::nullopt;
  return StaticBytes{*weights, *gradients, *optimizerStates, *quantized};
}

std::optional<int64_t> UpdateOp::getBytesRead(int64_t samples) {
  StaticBytes one = staticBytesPerScalar(getOptimizer(), getPrecision());
  // Mixed: the update starts from the master weights, which count among the optimizer's states.
  auto table = checkedMultiply(touchedElements(*this, samples),
                               one.optimizerStates + (getPrecision().getMixed() ? 0 : one.weights));
  auto ofRows = getRowsAttr() ? rowStates(*this, touchedRows(*this, samples)) : std::optional<int64_t>(0);
  auto again = checkedMultiply(elementsOf(*this), getQuantized() ? one.weights : 0);
  return checkedAdd(checkedAdd(gradientBytes(*this, samples), again), checkedAdd(table, ofRows));
}
std::optional<int64_t> UpdateOp::getBytesWritten(int64_t samples) {
  StaticBytes one = staticBytesPerScalar(getOptimizer(), getPrecision());
  auto ofRows = getRowsAttr() ? rowStates(*this, touchedRows(*this, samples)) : std::optional<int64_t>(0);
  auto table = checkedMultiply(touchedElements(*this, samples), one.weights + one.optimizerStates);
  return checkedAdd(checkedAdd(table, ofRows), quantizedBytes(*this));
}

} // namespace accord::dnn
