// Gradients of contractions, element-wise operations, normalizations and losses.
#include "dialects/dnn/Gradients.h"
#include "lib/support/EmitError.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

Value dnn::reduceTo(GradientContext &context, Value gradient, RankedTensorType type) {
  auto from = cast<RankedTensorType>(gradient.getType());
  if (from.getShape() == type.getShape())
    return gradient;
  int64_t extra = from.getRank() - type.getRank();
  SmallVector<int64_t> dimensions = llvm::to_vector(llvm::seq<int64_t>(0, extra)), keptDimensions;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.getDimSize(d) == 1 && from.getDimSize(d + extra) != 1) {
      dimensions.push_back(d + extra);
      keptDimensions.push_back(d + extra);
    }
  return make<ReduceDimensionsOp>(context, type, gradient, dimensions, keptDimensions);
}

// ---- contractions

Value dnn::quantizedLike(GradientContext &context, Value dy, RankedTensorType operand) {
  if (!isQuantized(operand.getElementType()))
    return dy;
  auto type = cast<RankedTensorType>(dy.getType());
  return make<CastOp>(context, RankedTensorType::get(type.getShape(), Float8E5M2Type::get(type.getContext())), dy);
}

RankedTensorType dnn::gradientType(Value operand, Value dy) {
  auto type = cast<RankedTensorType>(operand.getType());
  return isQuantized(type.getElementType())
             ? RankedTensorType::get(type.getShape(), cast<RankedTensorType>(dy.getType()).getElementType())
             : type;
}

LogicalResult dnn::contractionGradient(Operation *op, GradientContext &context) {
  Work work = cast<WorkOpInterface>(op).getWork();
  Value dy = context.dy(), factor;
  AffineMap result = work.maps.back();
  for (unsigned i = 0; i < 2; ++i) {
    if (!context.needed[i])
      continue;
    if (!factor)
      factor = quantizedLike(context, dy, cast<RankedTensorType>(op->getOperand(0).getType()));
    context.operandGradients[i] =
        make<ContractOp>(context, gradientType(op->getOperand(i), dy), factor, context.forward(op->getOperand(1 - i)),
                         work.domain, context.builder.getAffineMapArrayAttr({result, work.maps[1 - i], work.maps[i]}));
  }
  if (op->getNumOperands() > 2 && context.needed[2]) {
    SmallVector<int64_t> dimensions;
    for (auto [d, expr] : llvm::enumerate(result.getResults()))
      if (!llvm::is_contained(work.maps[2].getResults(), expr))
        dimensions.push_back(d);
    context.operandGradients[2] =
        make<ReduceDimensionsOp>(context, op->getOperand(2).getType(), dy, dimensions, ArrayRef<int64_t>());
  }
  return success();
}
ACCORD_GRADIENT(LinearOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(MatmulOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(Conv1dOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(Conv2dOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(Conv3dOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(DepthwiseConv2dOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(ConvTranspose1dOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(ConvTranspose2dOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(ConvTranspose3dOp) { return contractionGradient(*this, context); }
ACCORD_GRADIENT(InteractionOp) {
  return context.give(0, make<InteractionGradOp>(context, getX().getType(), context.dy(), context.forward(getX())));
}

// ---- element-wise

ACCORD_GRADIENT(NegOp) { return context.give(0, make<NegOp>(context, getX().getType(), context.dy())); }
ACCORD_GRADIENT(ScaleOp) {
  return context.give(0, make<ScaleOp>(context, getX().getType(), context.dy(), getFactorAttr()));
}
ACCORD_GRADIENT(CastOp) {
  Value dy = context.dy();
  return context.give(0, dy.getType() == getX().getType() ? dy : make<CastOp>(context, getX().getType(), dy));
}
ACCORD_GRADIENT(LeakyReluOp) {
  return context.give(
      0, make<LeakyReluGradOp>(context, context.dy().getType(), context.dy(), context.forward(getY()), getSlopeAttr()));
}
ACCORD_GRADIENT(EluOp) {
  return context.give(
      0, make<EluGradOp>(context, context.dy().getType(), context.dy(), context.forward(getY()), getAlphaAttr()));
}
ACCORD_GRADIENT(PreluOp) {
  return giveAll(context, make<PreluGradOp>(context, getX().getType(), getSlope().getType(), context.dy(),
                                            context.forward(getX()), context.forward(getSlope())));
}
ACCORD_GRADIENT(SinusoidsOp) { return context.give(0, context.dy()); }
ACCORD_GRADIENT(AlibiOp) { return context.give(0, context.dy()); }
ACCORD_GRADIENT(AddOp) {
  for (unsigned i = 0; i < 2; ++i)
    if (context.needed[i])
      context.operandGradients[i] = reduceTo(context, context.dy(), cast<RankedTensorType>(getOperand(i).getType()));
  return success();
}
ACCORD_GRADIENT(SubOp) {
  Value dy = context.dy();
  if (context.needed[0])
    context.operandGradients[0] = reduceTo(context, dy, getA().getType());
  if (context.needed[1]) { // negate after the sum: fewer elements
    Value reduced = reduceTo(context, dy, getB().getType());
    context.operandGradients[1] = make<NegOp>(context, reduced.getType(), reduced);
  }
  return success();
}
ACCORD_GRADIENT(MulOp) {
  Value dy = context.dy();
  for (unsigned i = 0; i < 2; ++i)
    if (context.needed[i])
      context.operandGradients[i] =
          reduceTo(context, make<MulOp>(context, dy.getType(), dy, context.forward(getOperand(1 - i))),
                   cast<RankedTensorType>(getOperand(i).getType()));
  return success();
}
ACCORD_GRADIENT(DivOp) { // da = dy / b, db = -(dy / b) * y
  Value dy = context.dy();
  Value quotient = make<DivOp>(context, dy.getType(), dy, context.forward(getB()));
  if (context.needed[0])
    context.operandGradients[0] = reduceTo(context, quotient, getA().getType());
  if (context.needed[1]) {
    Value product = make<MulOp>(context, dy.getType(), quotient, context.forward(getY()));
    Value reduced = reduceTo(context, product, getB().getType());
    context.operandGradients[1] = make<NegOp>(context, reduced.getType(), reduced);
  }
  return success();
}
ACCORD_GRADIENT(DropoutOp) {
  if (Value dy = context.dy())
    context.operandGradients[0] =
        make<DropoutGradOp>(context, dy.getType(), dy, context.forward(getMask()), getRateAttr());
  return success();
}
ACCORD_GRADIENT(RotaryOp) {
  return context.give(0, make<RotaryOp>(context, context.dy().getType(), context.dy(), getBaseAttr(), getAxisAttr(),
                                        getInverse() ? UnitAttr() : context.builder.getUnitAttr()));
}

// ---- normalizations

template <typename GradOp, typename OpTy>
static LogicalResult norm(OpTy op, GradientContext &context, bool offset, int64_t groups = 1) {
  Type affine = op.getScale().getType();
  auto gradient = make<GradOp>(context, op.getX().getType(), affine, offset ? affine : Type(), context.dy(),
                               context.forward(op.getX()), context.forward(op.getScale()), op.getEpsilonAttr(),
                               context.builder.getI64IntegerAttr(groups));
  return giveAll(context, gradient);
}
ACCORD_GRADIENT(LayerNormOp) { return norm<LayerNormGradOp>(*this, context, getOffset() != nullptr); }
ACCORD_GRADIENT(BatchNormOp) { return norm<BatchNormGradOp>(*this, context, getOffset() != nullptr); }
ACCORD_GRADIENT(GroupNormOp) { return norm<GroupNormGradOp>(*this, context, getOffset() != nullptr, *getGroups()); }
ACCORD_GRADIENT(RmsNormOp) { return norm<RmsNormGradOp>(*this, context, false); }
ACCORD_GRADIENT(LrnOp) {
  return context.give(0, make<LrnGradOp>(context, getX().getType(), context.dy(), context.forward(getX()),
                                         getSizeAttr(), getAlphaAttr(), getBetaAttr(), getBiasAttr()));
}
ACCORD_GRADIENT(SoftmaxOp) {
  return context.give(
      0, make<SoftmaxGradOp>(context, context.dy().getType(), context.dy(), context.forward(getY()), getAxisAttr()));
}

// ---- losses

template <typename GradOp> static Value lossGradient(GradientContext &context, Value a, Value b) {
  return make<GradOp>(context, a.getType(), context.dy(), context.forward(a), context.forward(b));
}
ACCORD_GRADIENT(CrossEntropyOp) {
  return context.give(0, lossGradient<CrossEntropyGradOp>(context, getLogits(), getLabels()));
}
/// A loss of the difference a - b.
template <typename GradOp> static LogicalResult differenceLoss(GradientContext &context, Value a, Value b) {
  Value da = lossGradient<GradOp>(context, a, b);
  context.operandGradients[0] = da;
  if (context.needed[1])
    context.operandGradients[1] = make<NegOp>(context, da.getType(), da);
  return success();
}
ACCORD_GRADIENT(MeanOp) { return context.give(0, make<MeanGradOp>(context, getX().getType(), context.dy())); }
ACCORD_GRADIENT(MseOp) { return differenceLoss<MseGradOp>(context, getA(), getB()); }
ACCORD_GRADIENT(SmoothL1Op) { return differenceLoss<SmoothL1GradOp>(context, getA(), getB()); }
ACCORD_GRADIENT(BinaryCrossEntropyOp) {
  if (context.needed[1])
    return withCode(emitError(), Code::OperationNotSupported)
           << "'binary_cross_entropy' has no gradient for its labels, which depend on a parameter";
  return context.give(0, lossGradient<BinaryCrossEntropyGradOp>(context, getLogits(), getLabels()));
}
