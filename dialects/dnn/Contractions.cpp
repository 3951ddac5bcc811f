// Shapes and domains of linear, matmul, contract, interaction. (Convolutions.cpp has the convolutions.)
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

static AffineMap mapOf(ArrayRef<AffineExpr> exprs, unsigned dims, MLIRContext *context) {
  return AffineMap::get(dims, 0, exprs, context);
}

// ---- linear

LogicalResult LinearOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0], weight = infer[1], bias = infer[2];
  if (weight.getRank() != 2)
    return infer.error("weight must be [out, in], found ", shapeText(weight.getShape()));
  if (x.getShape().back() != weight.getDimSize(1))
    return infer.error("weight takes ", weight.getDimSize(1), " inputs but the operand has ",
                       shapeText(x.getShape().back()));
  if (failed(infer.sameElement(x, weight)))
    return failure();
  if (bias && bias.getShape() != ArrayRef(weight.getDimSize(0)))
    return infer.error("bias must have ", weight.getDimSize(0), " elements, found ", shapeText(bias.getShape()));
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = weight.getDimSize(0);
  return infer.giveProduct(shape, x);
}

Work LinearOp::contractionWork() {
  MLIRContext *c = getContext();
  Work work;
  llvm::append_range(work.domain, getY().getType().getShape());
  work.domain.push_back(getX().getType().getShape().back());
  unsigned dims = work.domain.size(), out = dims - 2, in = dims - 1;
  SmallVector<AffineExpr> x, y;
  for (unsigned d = 0; d < out; ++d)
    x.push_back(getAffineDimExpr(d, c));
  y = x;
  x.push_back(getAffineDimExpr(in, c));
  y.push_back(getAffineDimExpr(out, c));
  work.maps = {mapOf(x, dims, c), mapOf({getAffineDimExpr(out, c), getAffineDimExpr(in, c)}, dims, c)};
  if (getBias())
    work.maps.push_back(mapOf(getAffineDimExpr(out, c), dims, c));
  work.maps.push_back(mapOf(y, dims, c));
  work.kinds = kindsOf(work.maps.back(), work.domain);
  return work;
}

// ---- matmul

LogicalResult MatmulOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType a = infer[0], b = infer[1];
  if (failed(infer.sameElement(a, b)))
    return failure();
  ArrayRef<int64_t> as = a.getShape(), bs = b.getShape();
  int64_t m = as[as.size() - 2], k = as.back(), k2 = bs[bs.size() - 2], n = bs.back();
  if (adaptor.getTransposeA())
    std::swap(m, k);
  if (adaptor.getTransposeB())
    std::swap(k2, n);
  if (k != k2)
    return infer.error("sums over ", shapeText(k), " columns of ", shapeText(as), " but ", shapeText(k2), " rows of ",
                       shapeText(bs));
  FailureOr<SmallVector<int64_t>> shape = infer.broadcast(as.drop_back(2), bs.drop_back(2));
  if (failed(shape))
    return failure();
  shape->append({m, n});
  return infer.giveProduct(*shape, a);
}

Work MatmulOp::contractionWork() {
  MLIRContext *c = getContext();
  ArrayRef<int64_t> as = getA().getType().getShape();
  Work work;
  llvm::append_range(work.domain, getY().getType().getShape());
  work.domain.push_back(getTransposeA() ? as[as.size() - 2] : as.back());
  unsigned dims = work.domain.size(), k = dims - 1, n = dims - 2, m = dims - 3;
  auto side = [&](RankedTensorType type, unsigned row, unsigned column) {
    SmallVector<AffineExpr> exprs;
    unsigned batch = type.getRank() - 2;
    for (unsigned i = 0; i < batch; ++i)
      exprs.push_back(type.getDimSize(i) == 1 && work.domain[m - batch + i] != 1 ? getAffineConstantExpr(0, c)
                                                                                 : getAffineDimExpr(m - batch + i, c));
    exprs.push_back(getAffineDimExpr(row, c));
    exprs.push_back(getAffineDimExpr(column, c));
    return mapOf(exprs, dims, c);
  };
  work.maps = {side(getA().getType(), getTransposeA() ? k : m, getTransposeA() ? m : k),
               side(getB().getType(), getTransposeB() ? n : k, getTransposeB() ? k : n), side(getY().getType(), m, n)};
  work.kinds = kindsOf(work.maps.back(), work.domain);
  return work;
}

// ---- contract

Work ContractOp::contractionWork() { return statedWork(getDomain(), getMaps()); }

LogicalResult ContractOp::verify() {
  ArrayRef<int64_t> domain = getDomain();
  if (getMaps().size() != 3)
    return emitError() << "'contract' has 3 maps (a, b, result), found " << getMaps().size();
  Value tensors[] = {getA(), getB(), getResult()};
  for (auto [attribute, value] : llvm::zip(getMaps().getAsRange<AffineMapAttr>(), tensors)) {
    AffineMap map = attribute.getValue();
    auto type = cast<RankedTensorType>(value.getType());
    if (map.getNumDims() != domain.size() || map.getNumSymbols() != 0)
      return emitError() << "map " << attribute << " must have the " << domain.size() << " dimensions of the domain";
    if (map.getNumResults() != type.getShape().size())
      return emitError() << "map " << attribute << " has " << map.getNumResults() << " results for a tensor of "
                         << type.getRank() << " dimensions";
    for (auto [expr, extent] : llvm::zip(map.getResults(), type.getShape()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        if (domain[dim.getPosition()] != extent)
          return emitError() << "map " << attribute << " walks " << shapeText(domain[dim.getPosition()])
                             << " points along a dimension of extent " << shapeText(extent);
  }
  return success();
}

// ---- interaction

LogicalResult InteractionOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  int64_t batch = batchRank(x);
  if (x.getRank() - batch != 2)
    return infer.error("takes [features, dim] per sample, found ", shapeText(x.getShape()));
  int64_t f = x.getDimSize(batch);
  if (f < 2 || f > 1000000)
    return infer.error("takes 2 to 1000000 features, found ", f);
  SmallVector<int64_t> shape(x.getShape().take_front(batch));
  shape.push_back(f * (f - 1) / 2);
  return infer.give(shape, x);
}
