// Shapes of element-wise operations, normalizations and losses.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

// ---- binary

static LogicalResult inferBinary(ValueRange operands, std::optional<Location> location, SmallVectorImpl<Type> &types,
                                 StringRef op) {
  if (failed(requireTensors(operands, {0, 0}, location, op)))
    return failure();
  RankedTensorType a = tensor(operands[0]), b = tensor(operands[1]);
  if (failed(sameElement(a, b, location, op)))
    return failure();
  FailureOr<SmallVector<int64_t>> shape = broadcast(a.getShape(), b.getShape(), location, op);
  if (failed(shape))
    return failure();
  types.push_back(RankedTensorType::get(*shape, a.getElementType()));
  return success();
}
ACCORD_INFER(AddOp) { return inferBinary(adaptor.getOperands(), location, types, "add"); }
ACCORD_INFER(SubOp) { return inferBinary(adaptor.getOperands(), location, types, "sub"); }
ACCORD_INFER(MulOp) { return inferBinary(adaptor.getOperands(), location, types, "mul"); }
ACCORD_INFER(DivOp) { return inferBinary(adaptor.getOperands(), location, types, "div"); }

ACCORD_INFER(DropoutOp) {
  if (failed(requireTensors(adaptor.getOperands(), {0}, location, "dropout")) ||
      failed(require(adaptor.getRateAttr() ? std::optional(0) : std::nullopt, location, "dropout", "rate")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  types.push_back(x);
  types.push_back(RankedTensorType::get(x.getShape(), IntegerType::get(x.getContext(), 8)));
  return success();
}

ACCORD_INFER(RotaryOp) {
  if (failed(requireTensors(adaptor.getOperands(), {2}, location, "rotary")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  if (x.getShape().back() % 2)
    return emitOptionalError(location, "'rotary' turns pairs of the last dimension, which has ", x.getShape().back(),
                             " elements");
  if (adaptor.getAxis() != -2 && failed(dimensionOf(adaptor.getAxis(), x, location, "rotary")))
    return failure();
  types.push_back(x);
  return success();
}

/// x itself, which needs so many dimensions per sample.
static LogicalResult inferPositions(ValueRange operands, int64_t min, std::optional<Location> location,
                                    SmallVectorImpl<Type> &types, StringRef op, StringRef shape) {
  if (failed(requireTensors(operands, {1}, location, op)))
    return failure();
  RankedTensorType x = tensor(operands[0]);
  if (x.getRank() - batchRank(x) < min)
    return emitOptionalError(location, "'", op, "' adds to [.., ", shape, "], found ", shapeText(x.getShape()));
  types.push_back(x);
  return success();
}
ACCORD_INFER(SinusoidsOp) {
  return inferPositions(adaptor.getOperands(), 2, location, types, "sinusoids", "positions, d");
}
ACCORD_INFER(AlibiOp) {
  return inferPositions(adaptor.getOperands(), 3, location, types, "alibi", "heads, queries, keys");
}

// ---- normalizations

/// Checks scale and offset against the extent they lie along.
static LogicalResult inferNorm(ValueRange operands, bool last, std::optional<Location> location,
                               SmallVectorImpl<Type> &types, StringRef op) {
  if (failed(requireTensors(operands, {1, 1}, location, op)))
    return failure();
  RankedTensorType x = tensor(operands[0]);
  if (!last && x.getRank() < 2)
    return emitOptionalError(location, "'", op, "' needs a channel dimension, found ", shapeText(x.getShape()));
  int64_t extent = last ? x.getShape().back() : x.getDimSize(batchRank(x));
  for (Value affine : operands.drop_front()) {
    RankedTensorType type = tensor(affine);
    if (type.getShape() != ArrayRef(extent))
      return emitOptionalError(location, "'", op, "' scale and offset must have ", shapeText(extent),
                               " elements, found ", shapeText(type.getShape()));
    if (failed(sameElement(x, type, location, op)))
      return failure();
  }
  types.push_back(x);
  return success();
}
ACCORD_INFER(LayerNormOp) { return inferNorm(adaptor.getOperands(), true, location, types, "layer_norm"); }
ACCORD_INFER(RmsNormOp) { return inferNorm(adaptor.getOperands(), true, location, types, "rms_norm"); }
ACCORD_INFER(BatchNormOp) { return inferNorm(adaptor.getOperands(), false, location, types, "batch_norm"); }
ACCORD_INFER(GroupNormOp) {
  if (failed(require(adaptor.getGroups(), location, "group_norm", "groups")) ||
      failed(inferNorm(adaptor.getOperands(), false, location, types, "group_norm")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  int64_t groups = *adaptor.getGroups(), channels = x.getDimSize(batchRank(x));
  if (groups < 1 || channels % groups)
    return emitOptionalError(location, Code::BadAttribute, "'group_norm' groups = ", groups, " must divide the ",
                             channels, " channels");
  return success();
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

ACCORD_INFER(SoftmaxOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1}, location, "softmax")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  if (failed(dimensionOf(adaptor.getAxis(), x, location, "softmax")))
    return failure();
  if (adaptor.getCausal() && x.getRank() - batchRank(x) < 2)
    return emitOptionalError(location, "causal 'softmax' needs rows and columns, found ", shapeText(x.getShape()));
  types.push_back(x);
  return success();
}

// ---- losses

static Type scalar(MLIRContext *context) { return RankedTensorType::get({}, Float32Type::get(context)); }

static LogicalResult inferPaired(ValueRange operands, std::optional<Location> location, SmallVectorImpl<Type> &types,
                                 StringRef op) {
  if (failed(requireTensors(operands, {0, 0}, location, op)))
    return failure();
  RankedTensorType a = tensor(operands[0]), b = tensor(operands[1]);
  if (a.getShape() != b.getShape())
    return emitOptionalError(location, "'", op, "' compares ", shapeText(a.getShape()), " with ",
                             shapeText(b.getShape()));
  types.push_back(scalar(a.getContext()));
  return success();
}
ACCORD_INFER(MeanOp) {
  if (failed(requireTensors(adaptor.getOperands(), {0}, location, "mean")))
    return failure();
  types.push_back(scalar(adaptor.getX().getContext()));
  return success();
}
ACCORD_INFER(MseOp) { return inferPaired(adaptor.getOperands(), location, types, "mse"); }
ACCORD_INFER(SmoothL1Op) { return inferPaired(adaptor.getOperands(), location, types, "smooth_l1"); }
ACCORD_INFER(BinaryCrossEntropyOp) {
  return inferPaired(adaptor.getOperands(), location, types, "binary_cross_entropy");
}
ACCORD_INFER(CrossEntropyOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1, 0}, location, "cross_entropy")))
    return failure();
  RankedTensorType logits = tensor(adaptor.getLogits()), labels = tensor(adaptor.getLabels());
  if (!isa<IntegerType>(labels.getElementType()))
    return emitOptionalError(location, Code::WrongElementType, "'cross_entropy' labels must be integers, found ",
                             labels.getElementType());
  if (labels.getShape() != logits.getShape().drop_back())
    return emitOptionalError(location, "'cross_entropy' of logits ", shapeText(logits.getShape()), " needs labels ",
                             shapeText(logits.getShape().drop_back()), ", found ", shapeText(labels.getShape()));
  types.push_back(scalar(logits.getContext()));
  return success();
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
