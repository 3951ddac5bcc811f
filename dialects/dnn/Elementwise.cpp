// Shapes of element-wise operations, normalizations and losses.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

// ---- binary

LogicalResult dnn::inferBinary(ShapeInference &infer) {
  if (failed(infer.sameElement(infer[0], infer[1])))
    return failure();
  FailureOr<SmallVector<int64_t>> shape = infer.broadcast(infer[0].getShape(), infer[1].getShape());
  return failed(shape) ? failure() : infer.give(*shape, infer[0]);
}

LogicalResult DropoutOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  infer.types.append({x, RankedTensorType::get(x.getShape(), IntegerType::get(x.getContext(), 8))});
  return success();
}

LogicalResult CastOp::verify() {
  RankedTensorType x = getX().getType(), y = getY().getType();
  if (x.getShape() != y.getShape() || x.getElementType() == y.getElementType() || !isa<FloatType>(x.getElementType()) ||
      !isa<FloatType>(y.getElementType()))
    return emitError() << "a cast gives the same numbers in another floating-point type, found " << x << " and " << y;
  return success();
}

LogicalResult PreluOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  int64_t channel = batchRank(x), channels = channel < x.getRank() ? x.getDimSize(channel) : 1;
  if (infer[1].getRank() != 1 || (infer[1].getDimSize(0) != 1 && infer[1].getDimSize(0) != channels))
    return infer.error("takes one slope, or one for each of ", channels, " channels, found ",
                       shapeText(infer[1].getShape()));
  if (failed(infer.sameElement(x, infer[1])))
    return failure();
  return infer.give(x);
}

LogicalResult RotaryOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  if (x.getShape().back() % 2)
    return infer.error("turns pairs of the last dimension, which has ", x.getShape().back(), " elements");
  if (adaptor.getAxis() != -2 && failed(infer.dimensionOf(adaptor.getAxis(), x)))
    return failure();
  return infer.give(x);
}

LogicalResult dnn::inferPositions(ShapeInference &infer, int64_t min, StringRef shape) {
  RankedTensorType x = infer[0];
  if (x.getRank() - batchRank(x) < min)
    return infer.error("adds to [.., ", shape, "], found ", shapeText(x.getShape()));
  return infer.give(x);
}

// ---- normalizations

LogicalResult dnn::inferNorm(ShapeInference &infer, bool last) {
  RankedTensorType x = infer[0];
  if (!last && x.getRank() < 2)
    return infer.error("needs a channel dimension, found ", shapeText(x.getShape()));
  int64_t extent = last ? x.getShape().back() : x.getDimSize(batchRank(x));
  for (unsigned i = 1; i < infer.operands.size(); ++i) {
    if (infer[i].getShape() != ArrayRef(extent))
      return infer.error("scale and offset must have ", shapeText(extent), " elements, found ",
                         shapeText(infer[i].getShape()));
    if (failed(infer.sameElement(x, infer[i])))
      return failure();
  }
  return infer.give(x);
}
LogicalResult GroupNormOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  if (failed(inferNorm(infer, false)))
    return failure();
  int64_t groups = *adaptor.getGroups(), channels = infer[0].getDimSize(batchRank(infer[0]));
  if (groups < 1 || channels % groups)
    return infer.error(Code::BadAttribute, "groups = ", groups, " must divide the ", channels, " channels");
  return success();
}

LogicalResult LrnOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  if (x.getRank() <= batchRank(x))
    return infer.error("needs a channel dimension, found ", shapeText(x.getShape()));
  constexpr int64_t kMax = 65536;
  if (int64_t size = *adaptor.getSize(); size < 1 || size > kMax)
    return infer.error(Code::BadAttribute, "size is from 1 to ", kMax, ", found ", size);
  return infer.give(x);
}

template <typename OpTy> static LogicalResult verifyNormGrad(OpTy op) {
  if (op.getDy().getType() != op.getX().getType() || op.getDx().getType() != op.getX().getType())
    return op.emitError() << "dy, x and dx must have one type, found " << op.getDy().getType() << ", "
                          << op.getX().getType() << " and " << op.getDx().getType();
  if (op.getDscale().getType() != op.getScale().getType())
    return op.emitError() << "the gradient of the scale must have its type " << op.getScale().getType() << ", found "
                          << op.getDscale().getType();
  return success();
}
LogicalResult LayerNormGradOp::verify() { return verifyNormGrad(*this); }
LogicalResult BatchNormGradOp::verify() { return verifyNormGrad(*this); }
LogicalResult GroupNormGradOp::verify() { return verifyNormGrad(*this); }
LogicalResult RmsNormGradOp::verify() { return verifyNormGrad(*this); }

LogicalResult SoftmaxOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  if (failed(infer.dimensionOf(adaptor.getAxis(), x)))
    return failure();
  if (adaptor.getCausal() && x.getRank() - batchRank(x) < 2)
    return emitOptionalError(infer.location, "causal 'softmax' needs rows and columns, found ",
                             shapeText(x.getShape()));
  return infer.give(x);
}

// ---- losses

LogicalResult dnn::inferPaired(ShapeInference &infer) {
  if (infer[0].getShape() != infer[1].getShape())
    return infer.error("compares ", shapeText(infer[0].getShape()), " with ", shapeText(infer[1].getShape()));
  return infer.giveNumber();
}
LogicalResult CrossEntropyOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType logits = infer[0], labels = infer[1];
  if (failed(infer.integers(labels, "labels")))
    return failure();
  if (labels.getShape() != logits.getShape().drop_back())
    return infer.error("of logits ", shapeText(logits.getShape()), " needs labels ",
                       shapeText(logits.getShape().drop_back()), ", found ", shapeText(labels.getShape()));
  return infer.giveNumber();
}

// ---- parts of a loss

static LogicalResult verifyStats(Operation *op, RankedTensorType labels, RankedTensorType stats) {
  if (stats.getRank() > 0 && stats.getShape().back() % 3 == 0 && stats.getElementType().isF32() &&
      (!labels || stats.getShape().drop_back() == labels.getShape()))
    return success();
  return op->emitError() << "the statistics are three fp32 numbers of each device per position, found " << stats;
}
LogicalResult CrossEntropyStatsOp::verify() {
  if (getLabels().getType().getShape() != getLogits().getType().getShape().drop_back() ||
      getStats().getType().getShape().back() != 3)
    return emitError() << "logits " << getLogits().getType()
                       << " need a label per position and give three numbers there, found " << getLabels().getType()
                       << " and " << getStats().getType();
  return verifyStats(*this, getLabels().getType(), getStats().getType());
}
LogicalResult CrossEntropyJoinOp::verify() { return verifyStats(*this, {}, getStats().getType()); }
LogicalResult CrossEntropyPartGradOp::verify() {
  if (getDx().getType() != getLogits().getType())
    return emitError() << "the gradient of " << getLogits().getType() << " is of that type, found "
                       << getDx().getType();
  return verifyStats(*this, getLabels().getType(), getStats().getType());
}
