// Shapes and domains of the convolutions.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

using Pair = std::array<int64_t, 2>;

constexpr int64_t kLimit = int64_t(1) << 30; // keeps the arithmetic of extents from overflowing

/// Output extent of a sliding window: floor((in + 2*padding - dilation*(kernel-1) - 1) / stride) + 1.
static FailureOr<int64_t> windowExtent(const ShapeInference &infer, int64_t in, int64_t kernel, int64_t stride,
                                       int64_t padding, int64_t dilation) {
  if (stride < 1 || dilation < 1 || kernel < 1)
    return infer.error(Code::BadAttribute, "kernel, stride and dilation must be at least 1, found ", kernel, ", ",
                       stride, " and ", dilation);
  if (in > kLimit || kernel > kLimit || padding > kLimit || dilation > kLimit)
    return infer.error(Code::BadAttribute, "extents must not pass 2^30");
  int64_t span = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (span < 0)
    return infer.error("kernel of extent ", dilation * (kernel - 1) + 1, " is larger than the padded input of extent ",
                       in + 2 * padding);
  return span / stride + 1;
}

/// The result of windows over x: so many channels, and an extent for each dimension of the window.
static LogicalResult giveWindows(ShapeInference &infer, int64_t channels, Pair kernel, Pair stride, Pair padding,
                                 Pair dilation) {
  RankedTensorType x = infer[0];
  SmallVector<int64_t> shape{x.getDimSize(0), channels};
  for (unsigned i = 0; i < 2; ++i) {
    FailureOr<int64_t> extent = windowExtent(infer, x.getDimSize(2 + i), kernel[i], stride[i], padding[i], dilation[i]);
    if (failed(extent))
      return failure();
    shape.push_back(*extent);
  }
  return infer.give(shape, x);
}

/// Checks the ranks of x[n, c, h, w] and the weight.
static LogicalResult checkRanks(const ShapeInference &infer) {
  if (infer[0].getRank() == 4 && infer[1].getRank() == 4)
    return success();
  return infer.error("takes x[c, h, w] per sample and a weight of 4 dimensions, found ", shapeText(infer[0].getShape()),
                     " and ", shapeText(infer[1].getShape()));
}
/// Checks the bias [outputs] and the element types.
static LogicalResult checkOutputs(const ShapeInference &infer, int64_t outputs) {
  if (infer[2] && infer[2].getShape() != ArrayRef(outputs))
    return infer.error("bias must have ", outputs, " elements, found ", shapeText(infer[2].getShape()));
  return infer.sameElement(infer[0], infer[1]);
}
template <typename Adaptor>
static LogicalResult inferConvolution(Adaptor adaptor, ShapeInference &infer, int64_t outputs) {
  if (failed(checkOutputs(infer, outputs)))
    return failure();
  return giveWindows(infer, outputs, {infer[1].getDimSize(2), infer[1].getDimSize(3)}, asPair(adaptor.getStride()),
                     asPair(adaptor.getPadding()), asPair(adaptor.getDilation()));
}

LogicalResult Conv2dOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  if (failed(checkRanks(infer)))
    return failure();
  int64_t groups = adaptor.getGroups(), channels = infer[0].getDimSize(1), outputs = infer[1].getDimSize(0);
  if (groups < 1 || channels % groups || outputs % groups)
    return infer.error(Code::BadAttribute, "groups = ", groups, " must divide the ", channels, " input and ", outputs,
                       " output channels");
  if (infer[1].getDimSize(1) != channels / groups)
    return infer.error("weight takes ", infer[1].getDimSize(1), " channels but the operand has ", channels,
                       groups > 1 ? " in " + std::to_string(groups) + " groups" : std::string());
  return inferConvolution(adaptor, infer, outputs);
}

LogicalResult DepthwiseConv2dOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  if (failed(checkRanks(infer)))
    return failure();
  int64_t channels = infer[0].getDimSize(1);
  if (infer[1].getDimSize(0) != channels || infer[1].getDimSize(1) != 1)
    return infer.error("weight must be ", channels, "x1xkhxkw, found ", shapeText(infer[1].getShape()));
  return inferConvolution(adaptor, infer, channels);
}

LogicalResult ConvTranspose2dOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  if (failed(checkRanks(infer)))
    return failure();
  RankedTensorType x = infer[0], w = infer[1];
  int64_t groups = adaptor.getGroups(), channels = x.getDimSize(1);
  if (groups < 1 || channels % groups || w.getDimSize(0) != channels)
    return infer.error(Code::BadAttribute, "weight takes ", w.getDimSize(0), " channels in ", groups,
                       " groups but the operand has ", channels);
  int64_t outputs = w.getDimSize(1) * groups;
  if (failed(checkOutputs(infer, outputs)))
    return failure();
  SmallVector<int64_t> shape{x.getDimSize(0), outputs};
  Pair strides = asPair(adaptor.getStride()), paddings = asPair(adaptor.getPadding()),
       dilations = asPair(adaptor.getDilation()), outputPaddings = asPair(adaptor.getOutputPadding());
  for (unsigned i = 0; i < 2; ++i) {
    int64_t in = x.getDimSize(2 + i), kernel = w.getDimSize(2 + i), stride = strides[i], dilation = dilations[i];
    if (stride < 1 || dilation < 1 || std::max({in, stride, kernel, dilation, paddings[i], outputPaddings[i]}) > kLimit)
      return infer.error("stride and dilation must be 1 to 2^30, found ", stride, " and ", dilation);
    shape.push_back((in - 1) * stride - 2 * paddings[i] + dilation * (kernel - 1) + outputPaddings[i] + 1);
    if (shape.back() < 1)
      return infer.error(Code::BadAttribute, "padding leaves no output: extent ", shape.back());
  }
  return infer.give(shape, x);
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

static LogicalResult requireImage(const ShapeInference &infer) {
  if (infer[0].getRank() == 4)
    return success();
  return infer.error("takes x[c, h, w] per sample, found ", shapeText(infer[0].getShape()));
}

LogicalResult dnn::inferPool(ShapeInference &infer, Attribute kernel, Attribute stride, Attribute padding) {
  if (failed(requireImage(infer)))
    return failure();
  return giveWindows(infer, infer[0].getDimSize(1), asPair(kernel), asPair(stride), asPair(padding), {1, 1});
}

LogicalResult GlobalAvgPoolOp::inferTypes(Adaptor, ShapeInference &infer) {
  if (failed(requireImage(infer)))
    return failure();
  return infer.give(infer[0].getShape().take_front(2), infer[0]);
}

LogicalResult UpsampleOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  Pair scale = asPair(*adaptor.getScale());
  if (x.getRank() != 4 || scale[0] < 1 || scale[1] < 1)
    return infer.error("takes x[c, h, w] per sample and a scale of at least 1, found ", shapeText(x.getShape()),
                       " and ", scale[0]);
  SmallVector<int64_t> shape(x.getShape());
  for (unsigned i = 0; i < 2; ++i) {
    std::optional<int64_t> extent = checkedMultiply(shape[2 + i], scale[i]);
    if (!extent)
      return infer.error("scale ", scale[i], " passes 2^63");
    shape[2 + i] = *extent;
  }
  return infer.give(shape, x);
}
