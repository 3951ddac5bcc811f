// Shapes and bytes of collectives.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

namespace {

/// A shape on its way through a collective.
struct Shape {
  Operation *op;
  SmallVector<int64_t> extents;
  int64_t devices;

  /// Whether there is such a dimension, or with `more` a place for one.
  LogicalResult has(int64_t dimension, bool more) {
    int64_t rank = extents.size();
    if (dimension >= 0 && dimension < rank + more)
      return success();
    return op->emitError() << "dimension " << dimension << " is outside the " << rank << " dimensions of "
                           << shapeText(extents);
  }
  /// One of `devices` parts along `dimension`; if `stacked`, the dimension has an entry per device
  /// and goes.
  LogicalResult cut(int64_t dimension, bool stacked) {
    if (failed(has(dimension, false)))
      return failure();
    int64_t &extent = extents[dimension];
    if (ShapedType::isDynamic(extent) || extent % devices != 0 || (stacked && extent != devices))
      return op->emitError() << "dimension " << dimension << " of " << shapeText(extents) << " has no " << devices
                             << (stacked ? " entries" : " equal parts");
    extent /= devices;
    if (stacked)
      extents.erase(extents.begin() + dimension);
    return success();
  }
  LogicalResult join(int64_t dimension, bool stacked) {
    if (failed(has(dimension, stacked)))
      return failure();
    if (stacked) {
      if (dimension == 0)
        return op->emitError() << "the first dimension is the batch: the parts cannot be stacked there";
      extents.insert(extents.begin() + dimension, devices);
      return success();
    }
    if (ShapedType::isDynamic(extents[dimension]))
      return op->emitError() << "dimension " << dimension << " of " << shapeText(extents)
                             << " is the batch: parts of it are stacked, not joined";
    auto joined = checkedMultiply(extents[dimension], devices);
    if (!joined)
      return op->emitError() << "dimension " << dimension << " passes 2^63";
    extents[dimension] = *joined;
    return success();
  }
  LogicalResult is(Value result) {
    auto found = cast<RankedTensorType>(result.getType());
    auto from = cast<RankedTensorType>(op->getOperand(0).getType());
    if (found.getShape() == ArrayRef(extents) && found.getElementType() == from.getElementType())
      return success();
    return op->emitError() << "the result must be " << RankedTensorType::get(extents, from.getElementType())
                           << ", found " << found;
  }
};

template <typename OpTy> FailureOr<Shape> operandOf(OpTy op) {
  if (op.getDevices() < 2)
    return op.emitError() << "there are at least 2 devices on an axis, found " << op.getDevices();
  if (op.getAxis().empty())
    return op.emitError() << "an axis of devices has a name";
  return Shape{op, SmallVector<int64_t>(op.getX().getType().getShape()), op.getDevices()};
}

} // namespace

LogicalResult AllReduceOp::verify() { return operandOf(*this); }
LogicalResult AllGatherOp::verify() {
  FailureOr<Shape> shape = operandOf(*this);
  return failure(failed(shape) || failed(shape->join(getDimension(), getStacked())) || failed(shape->is(getY())));
}
LogicalResult ReduceScatterOp::verify() {
  FailureOr<Shape> shape = operandOf(*this);
  return failure(failed(shape) || failed(shape->cut(getDimension(), getStacked())) || failed(shape->is(getY())));
}
LogicalResult TakePartOp::verify() {
  FailureOr<Shape> shape = operandOf(*this);
  return failure(failed(shape) || failed(shape->cut(getDimension(), false)) || failed(shape->is(getY())));
}
LogicalResult AllToAllOp::verify() {
  FailureOr<Shape> shape = operandOf(*this);
  return failure(failed(shape) || failed(shape->cut(getSplit(), getSplitStacked())) ||
                 failed(shape->join(getJoin(), getJoinStacked())) || failed(shape->is(getY())));
}

std::optional<int64_t> TakePartOp::getBytesRead(int64_t batch) { return bytesOf(getY().getType(), batch); }

// ---- the gradients' all-reduce

Work GradientAllReduceOp::getWork() { return stepWork(getTensorType(), getCopies(), getRowsAttr()); }
int64_t GradientAllReduceOp::getFlopsPerPoint() { return getLocal() && !getRowsAttr() ? 1 : 0; }
WorkCore GradientAllReduceOp::getCoreKind() {
  if (!getLocal())
    return WorkCore::Network;
  return getRowsAttr() ? WorkCore::None : WorkCore::Vector; // the update divides rows as it reads them
}
std::optional<int64_t> GradientAllReduceOp::getBytesRead(int64_t samples) {
  if (RowsAttr rows = getRowsAttr())
    return getLocal() ? 0 : sparseBytes(getTensorType(), rows, getPrecision().getGradients(), samples);
  return checkedMultiply(checkedMultiply(volume(getTensorType().getShape(), 1), getCopies()),
                         elementBytes(getPrecision().getGradients()));
}
std::optional<int64_t> GradientAllReduceOp::getBytesWritten(int64_t batch) {
  return getRowsAttr() && !getLocal() ? checkedMultiply(getBytesRead(batch), getDevices()) : getBytesRead(batch);
}
