// Attention in one operation: shapes, domain, parts and gradient.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;
using utils::IteratorType;

LogicalResult FlashAttentionOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType q = infer[0], k = infer[1], v = infer[2];
  if (failed(infer.sameElement(q, k)) || failed(infer.sameElement(q, v)))
    return failure();
  int64_t batch = batchRank(q);
  auto fits = [&] {
    if (q.getRank() != batch + 4 || k.getRank() != batch + 3 || batchRank(k) != batch)
      return false;
    return k.getDimSize(batch + 1) == q.getDimSize(batch + 1) && k.getDimSize(batch + 2) == q.getDimSize(batch + 3);
  };
  if (!fits() || v.getShape() != k.getShape())
    return infer.error("takes queries [queries, heads, group, d] and keys and values [keys, heads, d] per sample, "
                       "found ",
                       shapeText(q.getShape()), ", ", shapeText(k.getShape()), " and ", shapeText(v.getShape()));
  infer.types.append({q, RankedTensorType::get(q.getShape().drop_back(), Float32Type::get(q.getContext()))});
  return success();
}

// ---- work

Work accord::dnn::attentionWork(Operation *op, RankedTensorType q, RankedTensorType k) {
  MLIRContext *c = op->getContext();
  unsigned batch = batchRank(q), query = batch, head = query + 1, group = head + 1, key = group + 1, width = key + 1;
  Work work;
  work.domain.assign(q.getShape().begin(), q.getShape().end());
  work.domain.insert(work.domain.begin() + key, k.getDimSize(batch));
  work.kinds.assign(width + 1, IteratorType::parallel);
  work.kinds[key] = work.kinds[width] = IteratorType::reduction;
  auto map = [&](ArrayRef<unsigned> along) {
    SmallVector<AffineExpr> exprs;
    if (batch)
      exprs.push_back(getAffineDimExpr(0, c));
    for (unsigned d : along)
      exprs.push_back(getAffineDimExpr(d, c));
    return AffineMap::get(width + 1, 0, exprs, c);
  };
  AffineMap queries = map({query, head, group, width}), keys = map({key, head, width}),
            rows = map({query, head, group});
  if (isa<FlashAttentionOp>(op))
    work.maps = {queries, keys, keys, queries, rows};
  else
    work.maps = {queries, queries, keys, keys, queries, rows, queries, keys, keys};
  return work;
}

static std::optional<int64_t> flopsOf(ArrayRef<AttentionPart> parts, int64_t batch) {
  std::optional<int64_t> sum = 0;
  for (const AttentionPart &part : parts)
    sum = checkedAdd(sum, checkedMultiply(volume(part.domain, batch), part.flopsPerPoint));
  return sum;
}

/// Products over the whole domain, the softmax over the scores.
static SmallVector<AttentionPart> partsOf(const Work &work, int64_t again, int64_t products, int64_t softmax) {
  SmallVector<AttentionPart> parts;
  SmallVector<int64_t> scores(ArrayRef(work.domain).drop_back());
  if (again)
    parts.push_back({"scores_again", WorkCore::Tensor, false, again, work.domain});
  parts.push_back({"products", WorkCore::Tensor, true, products, work.domain});
  parts.push_back({"softmax", WorkCore::Vector, false, softmax, scores});
  return parts;
}

SmallVector<AttentionPart> FlashAttentionOp::getParts() { return partsOf(getWork(), 0, 4, 5); }
std::optional<int64_t> FlashAttentionOp::getFlops(int64_t batch) { return flopsOf(getParts(), batch); }
SmallVector<AttentionPart> FlashAttentionGradOp::getParts() { return partsOf(getWork(), 2, 8, 6); }
std::optional<int64_t> FlashAttentionGradOp::getFlops(int64_t batch) { return flopsOf(getParts(), batch); }

// ---- gradient

ACCORD_GRADIENT(FlashAttentionOp) {
  Value dy = context.dy();
  if (!dy)
    return success();
  auto gradient =
      make<FlashAttentionGradOp>(context, getQ().getType(), getK().getType(), getV().getType(), dy,
                                 context.forward(getQ()), context.forward(getK()), context.forward(getV()),
                                 context.forward(getY()), context.forward(getSaved()), getScaleAttr(), getCausalAttr());
  return giveAll(context, gradient);
}
