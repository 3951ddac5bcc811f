// Mixtures of experts: shapes, iteration domains and gradients.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"
#include <cmath>

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

// ---- shapes

ACCORD_INFER(MoeDispatchOp) {
  if (failed(requireTensors(adaptor.getOperands(), {2, 2}, location, "moe")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), gate = tensor(adaptor.getGate());
  int64_t batch = batchRank(x), width = x.getShape().back(), experts = gate.getDimSize(0);
  if (gate.getShape() != ArrayRef({experts, width}))
    return emitOptionalError(location, "'moe' of ", shapeText(x.getShape()), " needs a gate [experts, d]; found ",
                             shapeText(gate.getShape()));
  if (failed(sameElement(x, gate, location, "moe")))
    return failure();
  double factor = adaptor.getCapacityFactor().convertToDouble();
  if (adaptor.getTopK() < 1 || adaptor.getTopK() > experts || !(factor > 0 && factor <= 1e6))
    return emitOptionalError(location, Code::BadAttribute, "'moe' sends each token to 1 to ", experts,
                             " experts with a capacity factor above 0, found ", adaptor.getTopK(), " and ", factor);
  std::optional<int64_t> tokens = volume(x.getShape().slice(batch, x.getRank() - 1 - batch), 1);
  double slots = tokens ? std::ceil(static_cast<double>(*tokens) * adaptor.getTopK() * factor / experts) : 1e18;
  if (slots * experts > 1e15)
    return emitOptionalError(location, "'moe' has too many slots");
  SmallVector<int64_t> shape(x.getShape().take_front(batch));
  shape.append({experts, static_cast<int64_t>(slots)});
  auto weights = RankedTensorType::get(shape, x.getElementType());
  auto ids = RankedTensorType::get(shape, IntegerType::get(x.getContext(), 32));
  shape.push_back(width);
  types.append({RankedTensorType::get(shape, x.getElementType()), ids, weights});
  return success();
}

ACCORD_INFER(MoeExpertsOp) {
  if (failed(requireTensors(adaptor.getOperands(), {3, 3, 3}, location, "moe")))
    return failure();
  RankedTensorType slots = tensor(adaptor.getSlots()), w1 = tensor(adaptor.getW1()), w2 = tensor(adaptor.getW2());
  ArrayRef<int64_t> shape = slots.getShape();
  int64_t experts = shape[shape.size() - 3], width = shape.back(), inner = w1.getDimSize(1);
  if (ShapedType::isDynamic(experts) || w1.getShape() != ArrayRef({experts, inner, width}) ||
      w2.getShape() != ArrayRef({experts, width, inner}))
    return emitOptionalError(location, "'moe' of slots ", shapeText(shape),
                             " needs weights [experts, inner, d], [experts, d, inner]; found ",
                             shapeText(w1.getShape()), ", ", shapeText(w2.getShape()));
  RankedTensorType w3 = tensor(adaptor.getW3());
  if (w3 && w3.getShape() != w1.getShape())
    return emitOptionalError(location, "'moe' gates ", shapeText(w1.getShape()),
                             " with a weight of the same shape, found ", shapeText(w3.getShape()));
  for (Value weight : adaptor.getOperands().drop_front())
    if (failed(sameElement(slots, tensor(weight), location, "moe")))
      return failure();
  std::optional<int64_t> saved = checkedMultiply(w3 ? 2 : 1, inner);
  if (!saved)
    return emitOptionalError(location, "'moe' has too many weights");
  types.push_back(slots);
  SmallVector<int64_t> pre(shape);
  pre.back() = *saved;
  types.push_back(RankedTensorType::get(pre, slots.getElementType()));
  return success();
}

ACCORD_INFER(MoeCombineOp) {
  if (failed(requireTensors(adaptor.getOperands(), {3, 2, 2}, location, "moe_combine")) ||
      failed(require(adaptor.getDims(), location, "moe_combine", "dims")))
    return failure();
  RankedTensorType y = tensor(adaptor.getY()), tokens = tensor(adaptor.getTokens()),
                   weights = tensor(adaptor.getWeights());
  if (!isa<IntegerType>(tokens.getElementType()))
    return emitOptionalError(location, Code::WrongElementType, "'moe_combine' tokens must be integers, found ",
                             tokens.getElementType());
  if (failed(sameElement(y, weights, location, "moe_combine")))
    return failure();
  int64_t batch = batchRank(y);
  if (y.getRank() != batch + 3 || tokens.getShape() != y.getShape().drop_back() ||
      weights.getShape() != tokens.getShape())
    return emitOptionalError(location,
                             "'moe_combine' takes rows [experts, slots, d] per sample with a token "
                             "and a weight each, found ",
                             shapeText(y.getShape()), ", ", shapeText(tokens.getShape()), " and ",
                             shapeText(weights.getShape()));
  SmallVector<int64_t> shape(y.getShape().take_front(batch));
  ArrayRef<int64_t> dims = *adaptor.getDims();
  for (int64_t extent : dims) {
    if (extent < 1)
      return emitOptionalError(location, "'moe_combine' dims are at least 1, found ", extent);
    shape.push_back(extent);
  }
  shape.push_back(y.getShape().back());
  types.push_back(RankedTensorType::get(shape, y.getElementType()));
  return success();
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

/// A gradient of zeros where nothing depends on a result.
static Value orZero(GradientContext &context, Value gradient, Type type) {
  return gradient ? gradient : make<ConstantOp>(context, type, context.builder.getF64FloatAttr(0));
}

ACCORD_GRADIENT(MoeDispatchOp) {
  Value dslots = context.resultGradients[0], dweights = context.resultGradients[2];
  if (!dslots && !dweights)
    return success();
  auto gradient = make<MoeDispatchGradOp>(
      context, getX().getType(), getGate().getType(), orZero(context, dslots, getSlots().getType()),
      orZero(context, dweights, getWeights().getType()), context.forward(getX()), context.forward(getGate()),
      context.forward(getTokens()), getTopKAttr(), getNormalizeAttr());
  context.operandGradients[0] = gradient.getDx();
  context.operandGradients[1] = gradient.getDgate();
  return success();
}
ACCORD_GRADIENT(MoeExpertsOp) {
  Value dy = context.resultGradients[0];
  if (!dy)
    return success();
  Value w3 = getW3();
  auto gradient =
      make<MoeExpertsGradOp>(context, getSlots().getType(), getW1().getType(), getW2().getType(),
                             w3 ? w3.getType() : Type(), dy, context.forward(getSlots()), context.forward(getW1()),
                             context.forward(getW2()), context.forward(getSaved()), w3 ? context.forward(w3) : Value());
  for (auto [i, result] : llvm::enumerate(gradient->getResults()))
    context.operandGradients[i] = result;
  return success();
}
ACCORD_GRADIENT(MoeCombineOp) {
  auto gradient =
      make<MoeCombineGradOp>(context, getY().getType(), getWeights().getType(), context.resultGradients[0],
                             context.forward(getY()), context.forward(getTokens()), context.forward(getWeights()));
  context.operandGradients[0] = gradient.getDy();
  context.operandGradients[2] = gradient.getDweights();
  return success();
}
