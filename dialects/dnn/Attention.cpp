// Attention in one operation: shapes, domain, parts and gradient.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;
using utils::IteratorType;

LogicalResult FlashAttentionOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType q = infer[0], k = infer[1], v = infer[2];
  if (failed(infer.sameElement(q, k)) || failed(infer.sameElement(q, v)))
    return failure();
  int64_t batch = batchRank(q);
  auto fits = [&] {
    if (q.getRank() != batch + 4 || k.getRank() != batch + 3 || batchRank(k) != batch || v.getRank() != k.getRank())
      return false;
    return k.getDimSize(batch + 1) == q.getDimSize(batch + 1) && k.getDimSize(batch + 2) == q.getDimSize(batch + 3) &&
           v.getShape().drop_back() == k.getShape().drop_back();
  };
  if (!fits())
    return infer.error("takes queries [queries, heads, group, d], keys [keys, heads, d] and values [keys, heads, e] "
                       "per sample, found ",
                       shapeText(q.getShape()), ", ", shapeText(k.getShape()), " and ", shapeText(v.getShape()));
  if (adaptor.getWindow() < 0 || (adaptor.getWindow() > 0 && !adaptor.getCausal()))
    return infer.error(Code::BadAttribute, "window = ", adaptor.getWindow(),
                       " must be at least 0, and above 0 only with 'causal = true': a query sees the keys before it");
  SmallVector<int64_t> y(q.getShape());
  y.back() = v.getShape().back();
  infer.types.append({RankedTensorType::get(y, q.getElementType()),
                      RankedTensorType::get(q.getShape().drop_back(), Float32Type::get(q.getContext()))});
  return success();
}

// ---- work

Work accord::dnn::attentionWork(Operation *op, RankedTensorType q, RankedTensorType k, RankedTensorType v) {
  MLIRContext *c = op->getContext();
  unsigned batch = batchRank(q), query = batch, head = query + 1, group = head + 1, key = group + 1, width = key + 1;
  bool alike = v.getShape().back() == k.getShape().back();
  unsigned valueWidth = alike ? width : width + 1;
  Work work;
  work.domain.assign(q.getShape().begin(), q.getShape().end());
  work.domain.insert(work.domain.begin() + key, k.getDimSize(batch));
  if (!alike)
    work.domain.push_back(v.getShape().back());
  work.kinds.assign(valueWidth + 1, IteratorType::parallel);
  work.kinds[key] = work.kinds[width] = work.kinds[valueWidth] = IteratorType::reduction;
  auto map = [&](ArrayRef<unsigned> along) {
    SmallVector<AffineExpr> exprs;
    if (batch)
      exprs.push_back(getAffineDimExpr(0, c));
    for (unsigned d : along)
      exprs.push_back(getAffineDimExpr(d, c));
    return AffineMap::get(valueWidth + 1, 0, exprs, c);
  };
  AffineMap queries = map({query, head, group, width}), keys = map({key, head, width}),
            rows = map({query, head, group});
  AffineMap results = map({query, head, group, valueWidth}), values = map({key, head, valueWidth});
  if (isa<FlashAttentionOp>(op))
    work.maps = {queries, keys, values, results, rows};
  else
    work.maps = {results, queries, keys, values, results, rows, queries, keys, values};
  return work;
}

static std::optional<int64_t> flopsOf(ArrayRef<AttentionPart> parts, int64_t batch) {
  std::optional<int64_t> sum = 0;
  for (const AttentionPart &part : parts)
    sum = checkedAdd(sum, checkedMultiply(volume(part.domain, batch), part.flopsPerPoint));
  return sum;
}

/// Products over the whole domain, the softmax over the scores; of keys those that a query sees in its window. `again`:
/// FLOP per point of scores that are made once more. `products`: of all others, half of them over the width of queries
/// and keys, the other half over that of values.
static SmallVector<AttentionPart> partsOf(const Work &work, RankedTensorType k, RankedTensorType v, int64_t window,
                                          int64_t again, int64_t products, int64_t softmax) {
  size_t key = batchRank(k) + 3;
  SmallVector<AttentionPart> parts;
  SmallVector<int64_t> scores(ArrayRef(work.domain).take_front(key + 1));
  if (window > 0)
    scores[key] = std::min(scores[key], window);
  auto over = [&](int64_t width) {
    SmallVector<int64_t> domain(scores);
    domain.push_back(width);
    return domain;
  };
  int64_t width = k.getShape().back(), valueWidth = v.getShape().back();
  if (again)
    parts.push_back({"scores_again", WorkCore::Tensor, false, again, over(width)});
  if (width == valueWidth) {
    parts.push_back({"products", WorkCore::Tensor, true, products, over(width)});
  } else {
    parts.push_back({"products", WorkCore::Tensor, true, products / 2, over(width)});
    parts.push_back({"products_of_values", WorkCore::Tensor, true, products / 2, over(valueWidth)});
  }
  parts.push_back({"softmax", WorkCore::Vector, false, softmax, scores});
  return parts;
}

SmallVector<AttentionPart> FlashAttentionOp::getParts() {
  return partsOf(getWork(), getK().getType(), getV().getType(), getWindow(), 0, 4, 5);
}
std::optional<int64_t> FlashAttentionOp::getFlops(int64_t batch) { return flopsOf(getParts(), batch); }
SmallVector<AttentionPart> FlashAttentionGradOp::getParts() {
  return partsOf(getWork(), getK().getType(), getV().getType(), getWindow(), 2, 8, 6);
}
std::optional<int64_t> FlashAttentionGradOp::getFlops(int64_t batch) { return flopsOf(getParts(), batch); }

// ---- the cache of decoding

LogicalResult CachedOp::verify() {
  RankedTensorType x = getX().getType(), y = getY().getType();
  int64_t dimension = tensorDimension(getAxis(), x);
  SmallVector<int64_t> shape(x.getShape());
  if (dimension >= batchRank(x) && dimension < x.getRank())
    shape[dimension] = getLength();
  if (y != RankedTensorType::get(shape, x.getElementType()) || getLength() < 1 || dimension < batchRank(x) ||
      dimension >= x.getRank() || x.getDimSize(dimension) > getLength())
    return emitError() << "the cache is x with the extent " << getLength() << " along axis " << getAxis() << ", found "
                       << x << " and " << y;
  return success();
}
std::optional<int64_t> CachedOp::getBytesWritten(int64_t batch) { return bytesOf(getX().getType(), batch); }

// ---- gradient

ACCORD_GRADIENT(FlashAttentionOp) {
  Value dy = context.dy();
  if (!dy)
    return success();
  auto gradient = make<FlashAttentionGradOp>(context, getQ().getType(), getK().getType(), getV().getType(), dy,
                                             context.forward(getQ()), context.forward(getK()), context.forward(getV()),
                                             context.forward(getY()), context.forward(getSaved()), getScaleAttr(),
                                             getCausalAttr(), getWindowAttr());
  return giveAll(context, gradient);
}
