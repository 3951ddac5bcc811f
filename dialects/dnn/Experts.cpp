// Mixtures of experts: shapes, iteration domains and gradients.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"
#include <cmath>

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

// ---- shapes

LogicalResult MoeDispatchOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0], gate = infer[1];
  int64_t batch = batchRank(x), width = x.getShape().back(), experts = gate.getDimSize(0);
  if (gate.getShape() != ArrayRef({experts, width}))
    return infer.error("of ", shapeText(x.getShape()), " needs a gate [experts, d]; found ",
                       shapeText(gate.getShape()));
  if (failed(infer.sameElement(x, gate)))
    return failure();
  double factor = adaptor.getCapacityFactor().convertToDouble();
  if (adaptor.getTopK() < 1 || adaptor.getTopK() > experts || !(factor > 0 && factor <= 1e6))
    return infer.error(Code::BadAttribute, "sends each token to 1 to ", experts,
                       " experts with a capacity factor above 0, found ", adaptor.getTopK(), " and ", factor);
  std::optional<int64_t> tokens = volume(x.getShape().slice(batch, x.getRank() - 1 - batch), 1);
  double slots = tokens ? std::ceil(1.0 * *tokens * adaptor.getTopK() * factor / experts) : 1e18;
  if (slots * experts > 1e15)
    return infer.error("has too many slots");
  SmallVector<int64_t> shape(x.getShape().take_front(batch));
  shape.append({experts, static_cast<int64_t>(slots)});
  auto weights = RankedTensorType::get(shape, x.getElementType());
  auto ids = RankedTensorType::get(shape, IntegerType::get(x.getContext(), 32));
  shape.push_back(width);
  infer.types.append({RankedTensorType::get(shape, x.getElementType()), ids, weights});
  return success();
}

LogicalResult MoeExpertsOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType slots = infer[0], w1 = infer[1], w2 = infer[2], w3 = infer[3];
  ArrayRef<int64_t> shape = slots.getShape();
  int64_t experts = shape[shape.size() - 3], width = shape.back(), inner = w1.getDimSize(1);
  if (ShapedType::isDynamic(experts) || w1.getShape() != ArrayRef({experts, inner, width}) ||
      w2.getShape() != ArrayRef({experts, width, inner}))
    return infer.error("of slots ", shapeText(shape), " needs weights [experts, inner, d], [experts, d, inner]; found ",
                       shapeText(w1.getShape()), ", ", shapeText(w2.getShape()));
  if (w3 && w3.getShape() != w1.getShape())
    return infer.error("gates ", shapeText(w1.getShape()), " with a weight of the same shape, found ",
                       shapeText(w3.getShape()));
  for (unsigned i = 1; i < infer.operands.size(); ++i)
    if (failed(infer.sameElement(slots, infer[i])))
      return failure();
  std::optional<int64_t> saved = checkedMultiply(w3 ? 2 : 1, inner);
  if (!saved)
    return infer.error("has too many weights");
  SmallVector<int64_t> pre(shape);
  pre.back() = *saved;
  return failure(failed(infer.giveProduct(shape, slots)) || failed(infer.giveProduct(pre, slots)));
}

LogicalResult MoeCombineOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType y = infer[0], tokens = infer[1], weights = infer[2];
  if (failed(infer.integers(tokens, "tokens")) || failed(infer.sameElement(y, weights)))
    return failure();
  int64_t batch = batchRank(y);
  if (y.getRank() != batch + 3 || tokens.getShape() != y.getShape().drop_back() ||
      weights.getShape() != tokens.getShape())
    return infer.error("takes rows [experts, slots, d] per sample with a token and a weight each, found ",
                       shapeText(y.getShape()), ", ", shapeText(tokens.getShape()), " and ",
                       shapeText(weights.getShape()));
  SmallVector<int64_t> shape(y.getShape().take_front(batch));
  ArrayRef<int64_t> dims = *adaptor.getDims();
  for (int64_t extent : dims) {
    if (extent < 1)
      return infer.error("dims are at least 1, found ", extent);
    shape.push_back(extent);
  }
  shape.push_back(y.getShape().back());
  return infer.give(shape, y);
}

// ---- domains

namespace {

/// For each dimension of a tensor the dimension of the domain that it lies along; -1, and what is
/// not stated: its position is left open.
using Along = SmallVector<int64_t>;

Along upTo(int64_t end) { return llvm::to_vector(llvm::seq<int64_t>(0, end)); }
Along with(Along along, int64_t last) {
  along.push_back(last);
  return along;
}

/// `along` is that of each operand, then of each result.
Work workOf(Operation *op, ArrayRef<int64_t> domain, ArrayRef<Along> along, ArrayRef<int64_t> reductions) {
  MLIRContext *c = op->getContext();
  Work work;
  work.domain.assign(domain.begin(), domain.end());
  work.kinds.assign(domain.size(), utils::IteratorType::parallel);
  for (int64_t d : reductions)
    work.kinds[d] = utils::IteratorType::reduction;
  SmallVector<Type> types(op->getOperandTypes());
  types.append(op->result_type_begin(), op->result_type_end());
  for (auto [type, dimensions] : llvm::zip_equal(types, along)) {
    SmallVector<AffineExpr> exprs(cast<RankedTensorType>(type).getRank(), getAffineConstantExpr(0, c));
    for (auto [expr, d] : llvm::zip(exprs, dimensions))
      if (d >= 0)
        expr = getAffineDimExpr(d, c);
    work.maps.push_back(AffineMap::get(domain.size(), 0, exprs, c));
  }
  return work;
}

} // namespace

Work accord::dnn::dispatchWork(Operation *op, RankedTensorType x, RankedTensorType gate) {
  SmallVector<int64_t> domain(x.getShape());
  int64_t experts = x.getRank() - 1, width = x.getRank();
  domain.insert(domain.end() - 1, gate.getDimSize(0));
  Along rows = with(upTo(experts), width), ofGate{experts, width}, slots = upTo(batchRank(x));
  if (isa<MoeDispatchGradOp>(op))
    return workOf(op, domain, {slots, slots, rows, ofGate, slots, rows, ofGate}, width);
  return workOf(op, domain, {rows, ofGate, slots, slots, slots}, width);
}

Work accord::dnn::expertsWork(Operation *op, RankedTensorType slots, RankedTensorType w1, bool gated) {
  SmallVector<int64_t> domain(slots.getShape());
  int64_t expert = slots.getRank() - 3, weight = expert + 2, inner = expert + 3, width = expert + 4;
  domain.insert(domain.end() - 1, {gated ? 3 : 2, w1.getDimSize(1)});
  // A product for each weight. Where in `kept` a row of one is stays open: two weights share it if gated.
  Along rows = with(upTo(weight), width), saved = upTo(weight), up{expert, inner, width}, down{expert, width, inner};
  bool backward = isa<MoeExpertsGradOp>(op);
  SmallVector<Along> along =
      backward ? SmallVector<Along>{rows, rows, up, down, saved} : SmallVector<Along>{rows, up, down};
  if (gated)
    along.push_back(up);
  along.push_back(rows);
  if (backward) {
    along.append({up, down});
    if (gated)
      along.push_back(up);
  } else {
    along.push_back(saved);
  }
  return workOf(op, domain, along, {inner, width});
}

Work accord::dnn::combineWork(Operation *op, RankedTensorType y) {
  int64_t width = y.getRank() - 1, batch = batchRank(y);
  Along rows = upTo(width + 1), slots = upTo(width);
  bool backward = isa<MoeCombineGradOp>(op);
  Value z = backward ? op->getOperand(0) : op->getResult(0);
  Along tokens(cast<RankedTensorType>(z.getType()).getRank(), -1);
  tokens.back() = width;
  if (batch)
    tokens[0] = 0;
  if (backward)
    return workOf(op, y.getShape(), {tokens, rows, slots, slots, rows, slots}, width);
  return workOf(op, y.getShape(), {rows, slots, slots, tokens}, {width - 2, width - 1});
}

// ---- gradients

ACCORD_GRADIENT(MoeDispatchOp) {
  Value dslots = context.dy(), dweights = context.resultGradients[2];
  if (!dslots && !dweights)
    return success();
  auto gradient = make<MoeDispatchGradOp>(
      context, getX().getType(), getGate().getType(), orZero(context, dslots, getSlots().getType()),
      orZero(context, dweights, getWeights().getType()), context.forward(getX()), context.forward(getGate()),
      context.forward(getTokens()), getTopKAttr(), getNormalizeAttr());
  return giveAll(context, gradient);
}
ACCORD_GRADIENT(MoeExpertsOp) {
  Value dy = context.dy();
  if (!dy)
    return success();
  Value w3 = getW3(), factor = quantizedLike(context, dy, getSlots().getType());
  auto typeOf = [&](Value operand) { return operand ? gradientType(operand, dy) : RankedTensorType(); };
  auto gradient =
      make<MoeExpertsGradOp>(context, typeOf(getSlots()), typeOf(getW1()), typeOf(getW2()), typeOf(w3), factor,
                             context.forward(getSlots()), context.forward(getW1()), context.forward(getW2()),
                             context.forward(getSaved()), w3 ? context.forward(w3) : Value());
  return giveAll(context, gradient);
}
ACCORD_GRADIENT(MoeCombineOp) {
  auto gradient =
      make<MoeCombineGradOp>(context, getY().getType(), getWeights().getType(), context.dy(), context.forward(getY()),
                             context.forward(getTokens()), context.forward(getWeights()));
  context.operandGradients[0] = gradient.getDy();
  return context.give(2, gradient.getDweights());
}
