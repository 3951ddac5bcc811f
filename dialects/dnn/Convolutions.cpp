// Shapes and domains of the convolutions.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

using Pair = std::array<int64_t, 2>;

/// Output extent of a sliding window: floor((in + 2*padding - dilation*(kernel-1) - 1) / stride) + 1.
static FailureOr<int64_t> windowExtent(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                                       std::optional<Location> location, StringRef op) {
  if (stride < 1 || dilation < 1 || kernel < 1)
    return emitOptionalError(location, Code::BadAttribute, "'", op,
                             "' kernel, stride and dilation must be at least 1, found ", kernel, ", ", stride, " and ",
                             dilation);
  constexpr int64_t kLimit = int64_t(1) << 30; // keeps the arithmetic below from overflowing
  if (in > kLimit || kernel > kLimit || padding > kLimit || dilation > kLimit)
    return emitOptionalError(location, Code::BadAttribute, "'", op, "' extents must not pass 2^30");
  int64_t span = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (span < 0)
    return emitOptionalError(location, "'", op, "' kernel of extent ", dilation * (kernel - 1) + 1,
                             " is larger than the padded input of extent ", in + 2 * padding);
  return span / stride + 1;
}

/// Checks x[n, c, h, w], a 4-dimensional weight, the element types and the bias [outputs].
static LogicalResult check(ValueRange operands, int64_t outputs, std::optional<Location> location, StringRef op) {
  RankedTensorType x = tensor(operands[0]), weight = tensor(operands[1]);
  if (operands.size() > 2 && tensor(operands[2]).getShape() != ArrayRef(outputs))
    return emitOptionalError(location, "'", op, "' bias must have ", outputs, " elements, found ",
                             shapeText(tensor(operands[2]).getShape()));
  return sameElement(x, weight, location, op);
}
static LogicalResult checkRanks(ValueRange operands, std::optional<Location> location, StringRef op) {
  if (failed(requireTensors(operands, {4, 4}, location, op)))
    return failure();
  RankedTensorType x = tensor(operands[0]), weight = tensor(operands[1]);
  if (x.getRank() != 4 || weight.getRank() != 4)
    return emitOptionalError(location, "'", op, "' takes x[c, h, w] per sample and a weight of 4 dimensions, found ",
                             shapeText(x.getShape()), " and ", shapeText(weight.getShape()));
  return success();
}

/// Both output extents of a convolution, appended to `shape`.
static LogicalResult appendWindow(SmallVectorImpl<int64_t> &shape, RankedTensorType x, Pair kernel, Pair stride,
                                  Pair padding, Pair dilation, std::optional<Location> location, StringRef op) {
  for (unsigned i = 0; i < 2; ++i) {
    FailureOr<int64_t> extent =
        windowExtent(x.getDimSize(2 + i), kernel[i], stride[i], padding[i], dilation[i], location, op);
    if (failed(extent))
      return failure();
    shape.push_back(*extent);
  }
  return success();
}

ACCORD_INFER(Conv2dOp) {
  if (failed(checkRanks(adaptor.getOperands(), location, "conv2d")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), w = tensor(adaptor.getWeight());
  int64_t groups = adaptor.getGroups(), channels = x.getDimSize(1), outputs = w.getDimSize(0);
  if (groups < 1 || channels % groups || outputs % groups)
    return emitOptionalError(location, Code::BadAttribute, "'conv2d' groups = ", groups, " must divide the ", channels,
                             " input and ", outputs, " output channels");
  if (w.getDimSize(1) != channels / groups)
    return emitOptionalError(location, "'conv2d' weight takes ", w.getDimSize(1), " channels but the operand has ",
                             channels, groups > 1 ? " in " + std::to_string(groups) + " groups" : std::string());
  if (failed(check(adaptor.getOperands(), outputs, location, "conv2d")))
    return failure();
  SmallVector<int64_t> shape{x.getDimSize(0), outputs};
  if (failed(appendWindow(shape, x, {w.getDimSize(2), w.getDimSize(3)}, asPair(adaptor.getStride()),
                          asPair(adaptor.getPadding()), asPair(adaptor.getDilation()), location, "conv2d")))
    return failure();
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

ACCORD_INFER(DepthwiseConv2dOp) {
  if (failed(checkRanks(adaptor.getOperands(), location, "depthwise_conv2d")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), w = tensor(adaptor.getWeight());
  int64_t channels = x.getDimSize(1);
  if (w.getDimSize(0) != channels || w.getDimSize(1) != 1)
    return emitOptionalError(location, "'depthwise_conv2d' weight must be ", channels, "x1xkhxkw, found ",
                             shapeText(w.getShape()));
  if (failed(check(adaptor.getOperands(), channels, location, "depthwise_conv2d")))
    return failure();
  SmallVector<int64_t> shape{x.getDimSize(0), channels};
  if (failed(appendWindow(shape, x, {w.getDimSize(2), w.getDimSize(3)}, asPair(adaptor.getStride()),
                          asPair(adaptor.getPadding()), asPair(adaptor.getDilation()), location, "depthwise_conv2d")))
    return failure();
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

ACCORD_INFER(ConvTranspose2dOp) {
  if (failed(checkRanks(adaptor.getOperands(), location, "conv_transpose2d")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), w = tensor(adaptor.getWeight());
  int64_t groups = adaptor.getGroups(), channels = x.getDimSize(1);
  if (groups < 1 || channels % groups || w.getDimSize(0) != channels)
    return emitOptionalError(location, Code::BadAttribute, "'conv_transpose2d' weight takes ", w.getDimSize(0),
                             " channels in ", groups, " groups but the operand has ", channels);
  int64_t outputs = w.getDimSize(1) * groups;
  if (failed(check(adaptor.getOperands(), outputs, location, "conv_transpose2d")))
    return failure();
  SmallVector<int64_t> shape{x.getDimSize(0), outputs};
  for (unsigned i = 0; i < 2; ++i) {
    int64_t kernel = w.getDimSize(2 + i), stride = asPair(adaptor.getStride())[i],
            dilation = asPair(adaptor.getDilation())[i];
    constexpr int64_t kLimit = int64_t(1) << 30;
    if (stride < 1 || dilation < 1 || x.getDimSize(2 + i) > kLimit || stride > kLimit || kernel > kLimit ||
        dilation > kLimit || asPair(adaptor.getPadding())[i] > kLimit || asPair(adaptor.getOutputPadding())[i] > kLimit)
      return emitOptionalError(location, "'conv_transpose2d' stride and dilation must be 1 to 2^30, found ", stride,
                               " and ", dilation);
    shape.push_back((x.getDimSize(2 + i) - 1) * stride - 2 * asPair(adaptor.getPadding())[i] + dilation * (kernel - 1) +
                    asPair(adaptor.getOutputPadding())[i] + 1);
    if (shape.back() < 1)
      return emitOptionalError(location, Code::BadAttribute, "'conv_transpose2d' padding leaves no output: extent ",
                               shape.back());
  }
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

/// The domain (n, [g,] k, c, p, q, r, s), where `wide` is walked at p*stride + r*dilation - padding and `narrow` at (p,
/// q). `g` is there when groups > 1; depthwise: g are the channels, k and c are 1 and left out.
static Work convolution(Operation *op, RankedTensorType narrow, RankedTensorType weight, int64_t groups, bool depthwise,
                        bool transposed, Pair stride, Pair padding, Pair dilation) {
  MLIRContext *c = op->getContext();
  Work work;
  SmallVectorImpl<int64_t> &domain = work.domain;
  auto add = [&](int64_t extent) {
    domain.push_back(extent);
    return getAffineDimExpr(domain.size() - 1, c);
  };
  AffineExpr zero = getAffineConstantExpr(0, c);
  // Weight [k or c of the narrow side, other channel per group, r, s].
  int64_t ownPerGroup = weight.getDimSize(0) / groups, otherPerGroup = weight.getDimSize(1);
  AffineExpr n = add(narrow.getDimSize(0));
  AffineExpr own, other, weightOwn, weightOther = zero;
  if (depthwise) {
    own = other = weightOwn = add(groups);
  } else {
    AffineExpr g = groups > 1 ? add(groups) : zero;
    AffineExpr o = add(ownPerGroup), i = add(otherPerGroup);
    own = weightOwn = groups > 1 ? g * ownPerGroup + o : o;
    other = groups > 1 ? g * otherPerGroup + i : i;
    weightOther = i;
  }
  AffineExpr p = add(narrow.getDimSize(2)), q = add(narrow.getDimSize(3));
  AffineExpr r = add(weight.getDimSize(2)), s = add(weight.getDimSize(3));
  AffineExpr row = p * stride[0] + r * dilation[0] - padding[0], column = q * stride[1] + s * dilation[1] - padding[1];
  unsigned dims = domain.size();
  AffineMap narrowMap = AffineMap::get(dims, 0, {n, own, p, q}, c);
  AffineMap wideMap = AffineMap::get(dims, 0, {n, other, row, column}, c);
  AffineMap weightMap = AffineMap::get(dims, 0, {weightOwn, weightOther, r, s}, c);
  work.maps = {transposed ? narrowMap : wideMap, weightMap};
  AffineMap result = transposed ? wideMap : narrowMap;
  if (op->getNumOperands() > 2)
    work.maps.push_back(AffineMap::get(dims, 0, result.getResult(1), c));
  work.maps.push_back(result);
  work.kinds = kindsOf(result, domain);
  return work;
}

Work Conv2dOp::contractionWork() {
  return convolution(*this, getY().getType(), getWeight().getType(), getGroups(), false, false, asPair(getStride()),
                     asPair(getPadding()), asPair(getDilation()));
}
Work DepthwiseConv2dOp::contractionWork() {
  return convolution(*this, getY().getType(), getWeight().getType(), getWeight().getType().getDimSize(0), true, false,
                     asPair(getStride()), asPair(getPadding()), asPair(getDilation()));
}
Work ConvTranspose2dOp::contractionWork() {
  return convolution(*this, getX().getType(), getWeight().getType(), getGroups(), false, true, asPair(getStride()),
                     asPair(getPadding()), asPair(getDilation()));
}

// ---- pooling and resampling share the window arithmetic

template <typename Adaptor>
static LogicalResult inferPool(Adaptor adaptor, std::optional<Location> location, SmallVectorImpl<Type> &types,
                               StringRef op) {
  if (failed(requireTensors(adaptor.getOperands(), {4}, location, op)) ||
      failed(require(adaptor.getKernel(), location, op, "kernel")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  if (x.getRank() != 4)
    return emitOptionalError(location, "'", op, "' takes x[c, h, w] per sample, found ", shapeText(x.getShape()));
  SmallVector<int64_t> shape{x.getDimSize(0), x.getDimSize(1)};
  if (failed(appendWindow(shape, x, asPair(*adaptor.getKernel()),
                          asPair(adaptor.getStride().value_or(*adaptor.getKernel())), asPair(adaptor.getPadding()),
                          {1, 1}, location, op)))
    return failure();
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}
ACCORD_INFER(MaxPoolOp) { return inferPool(adaptor, location, types, "max_pool"); }
ACCORD_INFER(AvgPoolOp) { return inferPool(adaptor, location, types, "avg_pool"); }

ACCORD_INFER(GlobalAvgPoolOp) {
  if (failed(requireTensors(adaptor.getOperands(), {4}, location, "global_avg_pool")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  if (x.getRank() != 4)
    return emitOptionalError(location, "'global_avg_pool' takes x[c, h, w] per sample, found ",
                             shapeText(x.getShape()));
  types.push_back(RankedTensorType::get(x.getShape().take_front(2), x.getElementType()));
  return success();
}

ACCORD_INFER(UpsampleOp) {
  if (failed(requireTensors(adaptor.getOperands(), {4}, location, "upsample")) ||
      failed(require(adaptor.getScale(), location, "upsample", "scale")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  Pair scale = asPair(*adaptor.getScale());
  if (x.getRank() != 4 || scale[0] < 1 || scale[1] < 1)
    return emitOptionalError(location, "'upsample' takes x[c, h, w] per sample and a scale of at least 1, found ",
                             shapeText(x.getShape()), " and ", scale[0]);
  SmallVector<int64_t> shape(x.getShape());
  for (unsigned i = 0; i < 2; ++i) {
    std::optional<int64_t> extent = checkedMultiply(shape[2 + i], scale[i]);
    if (!extent)
      return emitOptionalError(location, "'upsample' scale ", scale[i], " passes 2^63");
    shape[2 + i] = *extent;
  }
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}
