// What an operation is when its operands or attributes say that it does nothing, or undoes what was
// done.
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

// ---- movement

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  auto inner = getX().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  if (inner.getX().getType() == getType())
    return inner.getX();
  setOperand(inner.getX()); // `dims` are those of the result
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  ArrayRef<int64_t> outer = *getPermutation();
  if (llvm::equal(outer, llvm::seq<int64_t>(0, outer.size())))
    return getX();
  auto inner = getX().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> both;
  for (int64_t p : outer)
    both.push_back((*inner.getPermutation())[p]);
  setOperand(inner.getX());
  setPermutation(both);
  return getResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getXs().size() == 1 && getXs().front().getType() == getType() ? OpFoldResult(getXs().front()) : OpFoldResult();
}
LogicalResult SplitOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  if (getNumResults() != 1 || getX().getType() != getResult(0).getType())
    return failure();
  results.push_back(getX());
  return success();
}
OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}
OpFoldResult UnstackOp::fold(FoldAdaptor) {
  auto whole = getX().getDefiningOp<StackOp>();
  return whole && whole.getDimension() == getDimension() ? OpFoldResult(whole.getSlices()) : OpFoldResult();
}
OpFoldResult StackOp::fold(FoldAdaptor) {
  auto slices = getSlices().getDefiningOp<UnstackOp>();
  return slices && slices.getX().getType() == getType() && slices.getDimension() == getDimension()
             ? OpFoldResult(slices.getX())
             : OpFoldResult();
}
OpFoldResult ReduceDimensionsOp::fold(FoldAdaptor) {
  return getDimensions().empty() && getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

// ---- element-wise

/// Whether a value is `number` everywhere.
static bool isConstant(Value value, double number) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().convertToDouble() == number;
}
/// The operand at `kept` if the other is neutral and broadcasts nothing.
static OpFoldResult unless(Operation *op, unsigned operandIndex, double neutral) {
  Value value = op->getOperand(operandIndex);
  return isConstant(op->getOperand(1 - operandIndex), neutral) && value.getType() == op->getResult(0).getType()
             ? OpFoldResult(value)
             : OpFoldResult();
}
OpFoldResult AddOp::fold(FoldAdaptor) {
  OpFoldResult a = unless(*this, 0, 0);
  return a ? a : unless(*this, 1, 0);
}
OpFoldResult MulOp::fold(FoldAdaptor) {
  OpFoldResult a = unless(*this, 0, 1);
  return a ? a : unless(*this, 1, 1);
}
OpFoldResult SubOp::fold(FoldAdaptor) { return unless(*this, 0, 0); }
OpFoldResult DivOp::fold(FoldAdaptor) { return unless(*this, 0, 1); }

OpFoldResult NegOp::fold(FoldAdaptor) {
  auto inner = getX().getDefiningOp<NegOp>();
  return inner ? OpFoldResult(inner.getX()) : OpFoldResult();
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  double factor = getFactor().convertToDouble();
  if (factor == 1)
    return getX();
  auto inner = getX().getDefiningOp<ScaleOp>();
  if (!inner || !inner->hasOneUse()) // what is read by others is computed anyway
    return {};
  double both = factor * inner.getFactor().convertToDouble();
  if (!std::isfinite(both) || (both == 0 && factor != 0))
    return {};
  setFactorAttr(Builder(getContext()).getF64FloatAttr(both));
  setOperand(inner.getX());
  return getResult();
}

/// At rate 0 the mask keeps all.
OpFoldResult DropoutGradOp::fold(FoldAdaptor) {
  return getRate().isZero() && getDy().getType() == getType() ? OpFoldResult(getDy()) : OpFoldResult();
}
LogicalResult DropoutOp::canonicalize(DropoutOp op, PatternRewriter &rewriter) {
  if (!op.getRate()->isZero() || op.getY().use_empty())
    return failure();
  rewriter.replaceAllUsesWith(op.getY(), op.getX());
  return success();
}
