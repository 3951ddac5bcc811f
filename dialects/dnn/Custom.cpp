// Operations that a user states: work, checks and gradients; and those of which only the time and the sizes are known.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"
#include "dialects/dnn/Scalar.h"
#include "lib/support/EmitError.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;
using utils::IteratorType;

// ---- work

Work CustomOp::getWork() { return statedWork(getDomain(), getMaps()); }

int64_t CustomOp::getFlopsPerPoint() {
  bool reduces = llvm::is_contained(getWork().kinds, IteratorType::reduction);
  return ScalarProgram(getBody()).flops() + (reduces ? 1 : 0);
}

bool CustomOp::isContraction() {
  ScalarAttr body = getBody();
  return getCombine() == Combine::Sum && body.getKind() == ScalarKind::Multiply &&
         body.operand(0).getKind() == ScalarKind::Operand && body.operand(1).getKind() == ScalarKind::Operand &&
         body.operand(0) != body.operand(1) && llvm::is_contained(getWork().kinds, IteratorType::reduction);
}

/// A tensor that is read at two places is read once.
std::optional<int64_t> CustomOp::getBytesRead(int64_t batch) {
  std::optional<int64_t> sum = 0;
  llvm::SmallDenseSet<Value> seen;
  for (Value operand : getOperands())
    if (seen.insert(operand).second)
      sum = checkedAdd(sum, bytesOf(operand.getType(), batch));
  return sum;
}

// ---- checks

std::optional<std::pair<int64_t, int64_t>> dnn::rangeOf(AffineExpr expr, ArrayRef<int64_t> domain) {
  constexpr __int128 kLimit = __int128(1) << 62;
  auto checked = [&](__int128 low, __int128 high) -> std::optional<std::pair<int64_t, int64_t>> {
    if (low < -kLimit || high > kLimit)
      return std::nullopt;
    return std::pair(static_cast<int64_t>(low), static_cast<int64_t>(high));
  };
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return checked(number.getValue(), number.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int64_t extent = domain[dim.getPosition()];
    return ShapedType::isDynamic(extent) ? std::nullopt : checked(0, __int128(extent) - 1);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || (binary.getKind() != AffineExprKind::Add && binary.getKind() != AffineExprKind::Mul))
    return std::nullopt;
  auto a = rangeOf(binary.getLHS(), domain), b = rangeOf(binary.getRHS(), domain);
  if (!a || !b)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return checked(__int128(a->first) + b->first, __int128(a->second) + b->second);
  if (b->first != b->second)
    return std::nullopt;
  __int128 x = __int128(a->first) * b->first, y = __int128(a->second) * b->first;
  return checked(std::min(x, y), std::max(x, y));
}

/// Every point of the domain lies inside the tensor.
static LogicalResult verifyMap(CustomOp op, AffineMap map, RankedTensorType type, ArrayRef<int64_t> domain) {
  auto error = [&] { return op.emitError() << "map " << AffineMapAttr::get(map) << " "; };
  if (map.getNumDims() != domain.size() || map.getNumSymbols() != 0)
    return error() << "must have the " << domain.size() << " dimensions of the domain";
  if (map.getNumResults() != type.getShape().size())
    return error() << "has " << map.getNumResults() << " results for a tensor of " << type.getRank() << " dimensions";
  for (auto [expr, extent] : llvm::zip(map.getResults(), type.getShape())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && ShapedType::isDynamic(domain[dim.getPosition()])) {
      if (!ShapedType::isDynamic(extent))
        return error() << "walks the batch along a dimension of extent " << extent;
      continue;
    }
    auto range = rangeOf(expr, domain);
    if (!range || ShapedType::isDynamic(extent))
      return error() << "is not a sum of multiples of positions within the tensor";
    if (range->first < 0 || range->second >= extent)
      return error() << "reaches positions " << range->first << " to " << range->second << " of a dimension of extent "
                     << extent;
  }
  return success();
}

static LogicalResult verifyBody(CustomOp op, ScalarAttr body, size_t operands, ArrayRef<int64_t> domain) {
  ScalarProgram program(body);
  if (program.operands().size() > operands)
    return op.emitError() << "the body reads x" << program.operands().size() - 1 << ", found " << operands
                          << " operands";
  if (program.positions().size() > domain.size())
    return op.emitError() << "the body reads i" << program.positions().size() - 1 << ", found " << domain.size()
                          << " dimensions";
  for (unsigned position : program.positions().set_bits())
    if (ShapedType::isDynamic(domain[position]))
      return op.emitError() << "the body reads i" << position << ", the position of a sample in its batch";
  return success();
}

LogicalResult CustomOp::verify() {
  ArrayRef<int64_t> domain = getDomain();
  if (getMaps().size() != getOperands().size() + 1)
    return emitError() << "'custom' has a map for each operand and for the result, found " << getMaps().size()
                       << " for " << getOperands().size() << " operands";
  for (int64_t extent : domain)
    if (extent < 1 && !ShapedType::isDynamic(extent))
      return emitError() << "the extents of the domain are at least 1, found " << extent;
  auto maps = getMaps().getAsRange<AffineMapAttr>();
  for (auto [attribute, type] : llvm::zip(maps, getOperation()->getOperandTypes()))
    if (failed(verifyMap(*this, attribute.getValue(), cast<RankedTensorType>(type), domain)))
      return failure();
  AffineMap result = cast<AffineMapAttr>(getMaps().getValue().back()).getValue();
  if (failed(verifyMap(*this, result, getResult().getType(), domain)) ||
      failed(verifyBody(*this, getBody(), getOperands().size(), domain)))
    return failure();
  // Nothing is the largest of no points.
  if (getCombine() != Combine::Sum) {
    bool whole = result.isProjectedPermutation();
    for (auto [expr, extent] : llvm::zip(result.getResults(), getResult().getType().getShape()))
      whole = whole && domain[cast<AffineDimExpr>(expr).getPosition()] == extent;
    if (!whole)
      return emitError() << "points that combine by " << stringifyCombine(getCombine())
                         << " must reach every element of the result once per iterator that reduces";
  }
  int64_t operands = getOperands().size();
  for (Attribute attribute : getGradientsAttr() ? getGradientsAttr().getValue() : ArrayRef<Attribute>()) {
    auto stated = cast<StatedGradientAttr>(attribute);
    auto within = [&](ArrayRef<int64_t> list, int64_t min) {
      return llvm::all_of(list, [&](int64_t i) { return i >= min && i < operands; });
    };
    if (stated.getOf().empty() || !within(stated.getOf().asArrayRef(), 0) ||
        !within(stated.getReads().asArrayRef(), -2) ||
        stated.getMaps().size() != stated.getReads().asArrayRef().size() + 1 ||
        !llvm::all_of(stated.getMaps(), llvm::IsaPred<AffineMapAttr>))
      return emitError()
             << "a stated gradient names operands, what it reads (operands, -1 the result, -2 its gradient) and a "
                "map for each of these and for the gradient";
  }
  return success();
}

// ---- gradients

namespace {
/// A tensor that a gradient may read; it is only made available if it does.
struct Source {
  Value value;
  bool forward;
  AffineMap map;
};
} // namespace

/// `dnn.custom` with those of the sources that the body reads.
static Value gradientFrom(GradientContext &context, CustomOp op, RankedTensorType type, ArrayRef<Source> sources,
                          ArrayRef<int64_t> domain, AffineMap result, ScalarAttr body) {
  llvm::SmallBitVector read = ScalarProgram(body).operands();
  SmallVector<Value> operands;
  SmallVector<Attribute> maps;
  llvm::DenseMap<unsigned, unsigned> place;
  for (unsigned i : read.set_bits()) {
    place[i] = operands.size();
    operands.push_back(sources[i].forward ? context.forward(sources[i].value) : sources[i].value);
    maps.push_back(AffineMapAttr::get(sources[i].map));
  }
  maps.push_back(AffineMapAttr::get(result));
  body = replaceLeaves(body, [&](unsigned i) { return scalarOperand(op.getContext(), place.lookup(i)); });
  return make<CustomOp>(context, type, op.getFunction(), operands, domain, context.builder.getArrayAttr(maps), body,
                        Combine::Sum, ArrayAttr());
}

ACCORD_GRADIENT(CustomOp) {
  Work work = getWork();
  Value dy = context.resultGradients[0];
  unsigned count = getOperands().size();
  SmallVector<bool> stated(count, false);
  if (getGradients())
    for (auto gradient : getGradients()->getAsRange<StatedGradientAttr>()) {
      unsigned first = gradient.getOf()[0];
      for (int64_t of : gradient.getOf().asArrayRef())
        stated[of] = true;
      if (!context.needed[first] || gradient.getBody() == scalarNumber(getContext(), 0))
        continue;
      SmallVector<Source> sources;
      for (auto [i, read] : llvm::enumerate(gradient.getReads().asArrayRef())) {
        AffineMap map = cast<AffineMapAttr>(gradient.getMaps()[i]).getValue();
        if (read == -2)
          sources.push_back({dy, false, map});
        else
          sources.push_back({read < 0 ? getResult() : getOperands()[read], true, map});
      }
      context.operandGradients[first] =
          gradientFrom(context, *this, cast<RankedTensorType>(getOperands()[first].getType()), sources,
                       gradient.getDomain().asArrayRef(),
                       cast<AffineMapAttr>(gradient.getMaps().getValue().back()).getValue(), gradient.getBody());
    }

  // d(result)/d(x_k) by the body, from the elements of the result to those of x_k.
  SmallVector<Source> sources;
  for (auto [operand, map] : llvm::zip(getOperands(), work.maps))
    sources.push_back({operand, true, map});
  sources.push_back({getResult(), true, work.maps.back()});
  sources.push_back({dy, false, work.maps.back()});
  ScalarAttr result = scalarOperand(getContext(), count), gradient = scalarOperand(getContext(), count + 1);
  llvm::SmallMapVector<Value, bool, 4> reached; // of tensors without a stated gradient: is any derivative not 0
  for (unsigned k = 0; k < count; ++k) {
    if (stated[k] || !context.needed[k])
      continue;
    ScalarAttr slope = derivative(getBody(), k);
    bool any = slope != scalarNumber(getContext(), 0);
    reached[getOperands()[k]] |= any;
    if (!any)
      continue;
    ScalarAttr body = scalar(ScalarKind::Multiply, {gradient, slope});
    if (getCombine() != Combine::Sum)
      body = scalar(ScalarKind::Select,
                    {scalar(ScalarKind::Equal, {getBody(), result}), body, scalarNumber(getContext(), 0)});
    context.operandGradients[k] = gradientFrom(context, *this, cast<RankedTensorType>(getOperands()[k].getType()),
                                               sources, work.domain, work.maps[k], body);
  }
  for (auto [operand, any] : reached)
    if (!any)
      return withCode(emitError(), Code::NoGradient)
             << "'" << getFunction() << "' is a step function of one of its operands: its derivative is 0 "
             << "everywhere, and nothing before it would be trained; state a 'surrogate' gradient";
  return success();
}

// ---- only time and sizes

LogicalResult ProfiledOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  size_t reads = infer.operands.size() - (adaptor.getTrained() ? 1 : 0);
  if (reads == 0 || reads > infer.operands.size())
    return infer.error("needs an operand that it reads");
  SmallVector<int64_t> shape;
  if (std::optional<int64_t> elements = adaptor.getElements()) {
    if (*elements < 1)
      return infer.error("gives at least 1 element, found ", *elements);
    if (llvm::any_of(infer.operands, [](Value x) { return batchRank(cast<RankedTensorType>(x.getType())) > 0; }))
      shape.push_back(ShapedType::kDynamic);
    shape.push_back(*elements);
  }
  return infer.give(RankedTensorType::get(shape, Float32Type::get(infer.operands[0].getContext())));
}

ACCORD_GRADIENT(ProfiledOp) {
  SmallVector<Value> saved;
  SmallVector<Type> types;
  for (auto [x, isNeeded] : llvm::zip(getXs(), context.needed)) {
    saved.push_back(context.forward(x));
    if (isNeeded)
      types.push_back(x.getType());
  }
  auto gradient = make<ProfiledGradOp>(context, types, context.dy(), saved, getBackwardAttr());
  unsigned next = 0;
  for (auto [i, isNeeded] : llvm::enumerate(context.needed))
    if (isNeeded)
      context.operandGradients[i] = gradient.getDxs()[next++];
  return success();
}

std::optional<double> ProfiledOp::getGivenSeconds(int64_t batch) {
  return getForward().value_or(APFloat(0.0)).convertToDouble() * batch;
}
std::optional<double> ProfiledGradOp::getGivenSeconds(int64_t batch) { return getBackward().convertToDouble() * batch; }
