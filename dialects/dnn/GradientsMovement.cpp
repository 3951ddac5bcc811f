// Gradients of movement, pooling, lookups and recurrent networks.
#include "dialects/dnn/Gradients.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

ACCORD_GRADIENT(ReshapeOp) {
  RankedTensorType x = getX().getType();
  return context.give(
      0, make<ReshapeOp>(context, x, context.dy(),
                         context.builder.getDenseI64ArrayAttr(x.getShape().drop_front(batchRank(getY().getType())))));
}
ACCORD_GRADIENT(TransposeOp) {
  ArrayRef<int64_t> permutation = *getPermutation();
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [i, p] : llvm::enumerate(permutation))
    inverse[p] = i;
  return context.give(
      0, make<TransposeOp>(context, getX().getType(), context.dy(), context.builder.getDenseI64ArrayAttr(inverse)));
}
ACCORD_GRADIENT(ConcatOp) {
  int64_t axis = *getAxis(), start = 0;
  for (auto [i, x] : llvm::enumerate(getXs())) {
    auto type = cast<RankedTensorType>(x.getType());
    int64_t size = type.getDimSize(tensorDimension(axis, type));
    if (context.needed[i]) {
      SmallVector<int64_t> shape(type.getShape());
      if (batchRank(type) < batchRank(getY().getType())) // was joined to every sample
        shape.insert(shape.begin(), ShapedType::kDynamic);
      Value part = make<SliceOp>(context, RankedTensorType::get(shape, type.getElementType()), context.dy(),
                                 context.builder.getI64IntegerAttr(axis), context.builder.getI64IntegerAttr(start),
                                 context.builder.getI64IntegerAttr(size));
      context.operandGradients[i] = reduceTo(context, part, type);
    }
    start += size;
  }
  return success();
}
ACCORD_GRADIENT(SplitOp) {
  SmallVector<Value> pieces;
  for (auto [y, dy] : llvm::zip(getYs(), context.resultGradients))
    pieces.push_back(orZero(context, dy, y.getType()));
  return context.give(0, make<ConcatOp>(context, getX().getType(), pieces, getAxisAttr()));
}
ACCORD_GRADIENT(SliceOp) {
  return context.give(0, make<PadSliceOp>(context, getX().getType(), context.dy(), getAxisAttr(), getStartAttr()));
}
ACCORD_GRADIENT(PadOp) { // takes away what was added, and puts back zeros for what was taken away
  SmallVector<int64_t> before(*getBefore()), after(getAfter().value_or(*getBefore()));
  for (int64_t &one : llvm::concat<int64_t>(before, after))
    one = -one;
  OpBuilder &b = context.builder;
  return context.give(0, make<PadOp>(context, getX().getType(), context.dy(), b.getDenseI64ArrayAttr(before),
                                     b.getDenseI64ArrayAttr(after), b.getF64FloatAttr(0)));
}
ACCORD_GRADIENT(UnstackOp) {
  return context.give(0, make<StackOp>(context, getX().getType(), context.dy(), getAxisAttr()));
}
ACCORD_GRADIENT(StackOp) {
  return context.give(0, make<UnstackOp>(context, getSlices().getType(), context.dy(), getAxisAttr()));
}
ACCORD_GRADIENT(ReduceSumOp) {
  return context.give(0, make<BroadcastOp>(context, getX().getType(), context.dy(),
                                           ArrayRef{tensorDimension(*getAxis(), getX().getType())}));
}
ACCORD_GRADIENT(ReduceMeanOp) { // scale before the broadcast: fewer elements
  RankedTensorType x = getX().getType();
  int64_t axis = tensorDimension(*getAxis(), x);
  Value dy =
      make<ScaleOp>(context, getY().getType(), context.dy(), context.builder.getF64FloatAttr(1.0 / x.getDimSize(axis)));
  return context.give(0, make<BroadcastOp>(context, x, dy, ArrayRef{axis}));
}
/// Of the first maximum or minimum along `axis`.
template <typename OpTy> static LogicalResult chosenGradient(OpTy op, GradientContext &context) {
  return context.give(0, make<ReduceMaxGradOp>(context, op.getX().getType(), context.dy(), context.forward(op.getX()),
                                               context.forward(op.getY()), op.getAxisAttr()));
}
ACCORD_GRADIENT(ReduceMaxOp) { return chosenGradient(*this, context); }
ACCORD_GRADIENT(ReduceMinOp) { return chosenGradient(*this, context); }
ACCORD_GRADIENT(GlobalAvgPoolOp) {
  RankedTensorType x = getX().getType();
  double count = 1;
  SmallVector<int64_t> dimensions = llvm::to_vector(llvm::seq<int64_t>(2, x.getRank()));
  for (int64_t d : dimensions)
    count *= x.getDimSize(d);
  Value dy = make<ScaleOp>(context, getY().getType(), context.dy(), context.builder.getF64FloatAttr(1.0 / count));
  return context.give(0, make<BroadcastOp>(context, x, dy, dimensions));
}
ACCORD_GRADIENT(MaxPoolOp) {
  return context.give(0, make<MaxPoolGradOp>(context, getX().getType(), context.dy(), context.forward(getX()),
                                             context.forward(getY()), *getKernel(), getStride().value_or(*getKernel()),
                                             getPadding()));
}
ACCORD_GRADIENT(AvgPoolOp) {
  return context.give(0, make<AvgPoolGradOp>(context, getX().getType(), context.dy(), *getKernel(),
                                             getStride().value_or(*getKernel()), getPadding()));
}
ACCORD_GRADIENT(UpsampleOp) {
  return context.give(0, make<UpsampleGradOp>(context, getX().getType(), context.dy(), *getScale(), getModeAttr()));
}

// ---- lookups: ids have no gradient

/// The type of a table's gradient.
template <typename OpTy> static RankedTensorType tableGradient(OpTy op) {
  RankedTensorType table = op.getTable().getType(), ids = op.getIds().getType();
  if (!op.getSparse())
    return table;
  int64_t lookups = volume(ids.getShape().drop_front(batchRank(ids)), 1).value_or(INT64_MAX);
  return RankedTensorType::get(table.getShape(), table.getElementType(),
                               RowsAttr::get(op.getContext(), lookups, ids.getElementType()));
}
ACCORD_GRADIENT(EmbeddingOp) {
  return context.give(1, make<EmbeddingGradOp>(context, tableGradient(*this), context.dy(), context.forward(getIds())));
}
ACCORD_GRADIENT(EmbeddingBagOp) {
  return context.give(1, make<EmbeddingBagGradOp>(context, tableGradient(*this), context.dy(),
                                                  context.forward(getIds()), getModeAttr(), getSkewAttr()));
}
ACCORD_GRADIENT(GatherOp) {
  return context.give(
      0, make<GatherGradOp>(context, getX().getType(), context.dy(), context.forward(getIds()), getAxisAttr()));
}
ACCORD_GRADIENT(ScatterOp) { // updates are added: x's gradient is dy itself
  Value dy = context.dy();
  if (context.needed[0])
    context.operandGradients[0] = dy;
  if (context.needed[2])
    context.operandGradients[2] =
        make<GatherOp>(context, getUpdates().getType(), dy, context.forward(getIds()), getAxisAttr());
  return success();
}
ACCORD_GRADIENT(SegmentSumOp) {
  return context.give(0, make<GatherOp>(context, getX().getType(), context.dy(), context.forward(getIds()),
                                        context.builder.getI64IntegerAttr(0)));
}
ACCORD_GRADIENT(SegmentSoftmaxOp) {
  return context.give(0, make<SegmentSoftmaxGradOp>(context, getX().getType(), context.dy(), context.forward(getY()),
                                                    context.forward(getIds()), getSegmentsAttr()));
}
ACCORD_GRADIENT(RelativeBiasOp) {
  return context.give(0, make<RelativeBiasGradOp>(context, getTable().getType(), context.dy(), getMaxDistanceAttr(),
                                                  getBidirectionalAttr()));
}
ACCORD_GRADIENT(SpmmOp) {
  Value dy = context.dy();
  if (context.needed[2])
    context.operandGradients[2] =
        make<SpmmValuesGradOp>(context, getValues().getType(), dy, context.forward(getRowOffsets()),
                               context.forward(getColumns()), context.forward(getDense()));
  if (context.needed[3])
    context.operandGradients[3] =
        make<SpmmDenseGradOp>(context, getDense().getType(), dy, context.forward(getRowOffsets()),
                              context.forward(getColumns()), context.forward(getValues()));
  return success();
}
ACCORD_GRADIENT(TopkOp) {
  if (Value dy = context.dy())
    context.operandGradients[0] = make<TopkGradOp>(context, getX().getType(), dy, context.forward(getIds()));
  return success();
}

// ---- recurrent

template <typename GradOp, typename OpTy> static LogicalResult recurrent(OpTy op, GradientContext &context) {
  Value dy = context.dy();
  if (!dy)
    return success();
  Value bias = op.getBias();
  auto gradient = make<GradOp>(context, op.getX().getType(), op.getWIh().getType(), op.getWHh().getType(),
                               bias ? bias.getType() : Type(), dy, context.forward(op.getX()),
                               context.forward(op.getWIh()), context.forward(op.getWHh()), context.forward(op.getY()),
                               context.forward(op.getSaved()), op.getBidirectionalAttr());
  return giveAll(context, gradient);
}
ACCORD_GRADIENT(LstmOp) { return recurrent<LstmGradOp>(*this, context); }
ACCORD_GRADIENT(GruOp) { return recurrent<GruGradOp>(*this, context); }
