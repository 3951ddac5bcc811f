// The scan of a selective state space model: shapes, domain, FLOPs and gradient.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;
using utils::IteratorType;

LogicalResult SelectiveScanOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0], delta = infer[1], a = infer[2], b = infer[3], c = infer[4];
  for (RankedTensorType other : {delta, a, b, c})
    if (failed(infer.sameElement(x, other)))
      return failure();
  int64_t batch = batchRank(x);
  auto fits = [&] {
    if (x.getRank() != batch + 2 || delta.getShape() != x.getShape() || batchRank(a) != 0 || a.getRank() != 2 ||
        b.getRank() != batch + 2 || batchRank(b) != batch || c.getShape() != b.getShape())
      return false;
    return a.getDimSize(0) == x.getDimSize(batch + 1) && b.getDimSize(batch) == x.getDimSize(batch) &&
           b.getDimSize(batch + 1) == a.getDimSize(1);
  };
  if (!fits())
    return infer.error(
        "takes x [steps, channels], delta [steps, channels], b [steps, states] and c [steps, states] per "
        "sample, and a [channels, states] without a batch; found x ",
        shapeText(x.getShape()), ", delta ", shapeText(delta.getShape()), ", a ", shapeText(a.getShape()), ", b ",
        shapeText(b.getShape()), " and c ", shapeText(c.getShape()));
  return infer.give(x);
}

Work accord::dnn::scanWork(Operation *op, ArrayRef<SmallVector<unsigned, 2>> dimensions) {
  MLIRContext *context = op->getContext();
  // x and delta are beside each other in both operations, and a, b follow.
  unsigned x = isa<SelectiveScanOp>(op) ? 0 : 1;
  auto steps = cast<RankedTensorType>(op->getOperand(x).getType());
  auto decay = cast<RankedTensorType>(op->getOperand(x + 2).getType());
  unsigned batch = batchRank(steps);
  Work work;
  work.domain.assign(steps.getShape().begin(), steps.getShape().end());
  work.domain.push_back(decay.getDimSize(1));
  work.kinds.assign(batch + 3, IteratorType::parallel);
  work.kinds[batch] = IteratorType::reduction; // a step needs the state before it
  work.kinds[batch + 2] = IteratorType::reduction;
  for (ArrayRef<unsigned> along : dimensions) {
    SmallVector<AffineExpr> exprs;
    if (batch && along[0] == 1)
      exprs.push_back(getAffineDimExpr(0, context));
    for (unsigned dimension : along)
      exprs.push_back(getAffineDimExpr(batch + dimension - 1, context));
    work.maps.push_back(AffineMap::get(batch + 3, 0, exprs, context));
  }
  return work;
}

static std::optional<int64_t> flopsOf(const Work &work, int64_t batch, int64_t perPoint, int64_t perChannel) {
  return checkedAdd(checkedMultiply(volume(work.domain, batch), perPoint),
                    checkedMultiply(volume(ArrayRef(work.domain).drop_back(), batch), perChannel));
}
std::optional<int64_t> SelectiveScanOp::getFlops(int64_t batch) {
  return flopsOf(getWork(), batch, getFlopsPerPoint(), 1);
}
std::optional<int64_t> SelectiveScanGradOp::getFlops(int64_t batch) {
  return flopsOf(getWork(), batch, getFlopsPerPoint(), 4);
}

ACCORD_GRADIENT(SelectiveScanOp) {
  Value dy = context.dy();
  if (!dy)
    return success();
  return giveAll(context, make<SelectiveScanGradOp>(context, getX().getType(), getDelta().getType(), getA().getType(),
                                                    getB().getType(), getC().getType(), dy, context.forward(getX()),
                                                    context.forward(getDelta()), context.forward(getA()),
                                                    context.forward(getB()), context.forward(getC())));
}
