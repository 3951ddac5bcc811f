// Shapes and domains of convolutions, and of what else moves a window over one to three spatial dimensions.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

constexpr int64_t kLimit = int64_t(1) << 30; // keeps the arithmetic of extents from overflowing

/// What the attributes of a window say, by spatial dimension.
struct Sliding {
  Extents kernel, stride, dilation;
  Padding padding;
};

/// Output extent of a sliding window: floor((in + before + behind - dilation*(kernel-1) - 1) / stride) + 1.
static FailureOr<int64_t> windowExtent(const ShapeInference &infer, int64_t in, const Sliding &window, unsigned i) {
  int64_t kernel = window.kernel[i], stride = window.stride[i], dilation = window.dilation[i],
          before = window.padding.before[i], behind = window.padding.behind[i];
  if (stride < 1 || dilation < 1 || kernel < 1)
    return infer.error(Code::BadAttribute, "kernel, stride and dilation must be at least 1, found ", kernel, ", ",
                       stride, " and ", dilation);
  if (std::max({in, kernel, before, behind, dilation}) > kLimit)
    return infer.error(Code::BadAttribute, "extents must not pass 2^30");
  int64_t padded = in + before + behind, span = padded - dilation * (kernel - 1) - 1;
  if (span < 0)
    return infer.error("kernel of extent ", dilation * (kernel - 1) + 1, " is larger than the padded input of extent ",
                       padded);
  return span / stride + 1;
}

/// An attribute has one number for all dimensions or one for each; of padding also one for both ends of each.
static LogicalResult checkCount(const ShapeInference &infer, StringRef name, Attribute attribute, size_t dims,
                                bool padding = false) {
  size_t count = countOf(attribute);
  if (count == 0 || count == dims || (padding && count == 2 * dims))
    return success();
  return infer.error(Code::BadAttribute, "takes one number as '", name, "', or ", dims,
                     padding ? ", or " + std::to_string(2 * dims) + " for both ends of each dimension" : std::string(),
                     "; found ", count);
}
static LogicalResult checkCounts(const ShapeInference &infer, const WindowAttributes &window, size_t dims) {
  return success(succeeded(checkCount(infer, "stride", window.stride, dims)) &&
                 succeeded(checkCount(infer, "padding", window.padding, dims, true)) &&
                 (!window.dilation || succeeded(checkCount(infer, "dilation", window.dilation, dims))));
}

/// The result of windows over x: so many channels, and an extent for each dimension of the window.
static LogicalResult giveWindows(ShapeInference &infer, int64_t channels, const Sliding &window) {
  RankedTensorType x = infer[0];
  SmallVector<int64_t> shape{x.getDimSize(0), channels};
  for (unsigned i = 0; i < window.kernel.size(); ++i) {
    FailureOr<int64_t> extent = windowExtent(infer, x.getDimSize(2 + i), window, i);
    if (failed(extent))
      return failure();
    shape.push_back(*extent);
  }
  return infer.give(shape, x);
}

/// `c, h, w` for two spatial dimensions.
static StringRef extentsText(size_t dims) { return dims == 1 ? "c, l" : dims == 2 ? "c, h, w" : "c, d, h, w"; }

/// Checks the ranks of x[n, c, ..] and the weight, and how many numbers the attributes have.
static LogicalResult checkOperands(const ShapeInference &infer, size_t dims, const WindowAttributes &window) {
  int64_t rank = dims + 2;
  if (infer[0].getRank() != rank || infer[1].getRank() != rank)
    return infer.error("takes x[", extentsText(dims), "] per sample and a weight of ", rank, " dimensions, found ",
                       shapeText(infer[0].getShape()), " and ", shapeText(infer[1].getShape()));
  return checkCounts(infer, window, dims);
}
/// Checks the bias [outputs] and the element types.
static LogicalResult checkOutputs(const ShapeInference &infer, int64_t outputs) {
  if (infer[2] && infer[2].getShape() != ArrayRef(outputs))
    return infer.error("bias must have ", outputs, " elements, found ", shapeText(infer[2].getShape()));
  return infer.sameElement(infer[0], infer[1]);
}
static LogicalResult giveConvolution(ShapeInference &infer, const WindowAttributes &window, int64_t outputs) {
  if (failed(checkOutputs(infer, outputs)))
    return failure();
  Extents kernel(infer[1].getShape().drop_front(2));
  size_t dims = kernel.size();
  return giveWindows(
      infer, outputs,
      {kernel, asExtents(window.stride, dims), asExtents(window.dilation, dims), asPadding(window.padding, dims)});
}

LogicalResult dnn::inferConvolution(ShapeInference &infer, size_t dims, int64_t groups,
                                    const WindowAttributes &window) {
  if (failed(checkOperands(infer, dims, window)))
    return failure();
  int64_t channels = infer[0].getDimSize(1), outputs = infer[1].getDimSize(0);
  if (groups < 1 || channels % groups || outputs % groups)
    return infer.error(Code::BadAttribute, "groups = ", groups, " must divide the ", channels, " input and ", outputs,
                       " output channels");
  if (infer[1].getDimSize(1) != channels / groups)
    return infer.error("weight takes ", infer[1].getDimSize(1), " channels but the operand has ", channels,
                       groups > 1 ? " in " + std::to_string(groups) + " groups" : std::string());
  return giveConvolution(infer, window, outputs);
}

LogicalResult dnn::inferDepthwise(ShapeInference &infer, const WindowAttributes &window) {
  if (failed(checkOperands(infer, 2, window)))
    return failure();
  int64_t channels = infer[0].getDimSize(1);
  if (infer[1].getDimSize(0) != channels || infer[1].getDimSize(1) != 1)
    return infer.error("weight must be ", channels, "x1xkhxkw, found ", shapeText(infer[1].getShape()));
  return giveConvolution(infer, window, channels);
}

LogicalResult dnn::inferTransposed(ShapeInference &infer, size_t dims, int64_t groups, const WindowAttributes &window,
                                   Attribute outputPadding) {
  if (failed(checkOperands(infer, dims, window)) || failed(checkCount(infer, "output_padding", outputPadding, dims)))
    return failure();
  RankedTensorType x = infer[0], w = infer[1];
  int64_t channels = x.getDimSize(1);
  if (groups < 1 || channels % groups || w.getDimSize(0) != channels)
    return infer.error(Code::BadAttribute, "weight takes ", w.getDimSize(0), " channels in ", groups,
                       " groups but the operand has ", channels);
  int64_t outputs = w.getDimSize(1) * groups;
  if (failed(checkOutputs(infer, outputs)))
    return failure();
  SmallVector<int64_t> shape{x.getDimSize(0), outputs};
  Extents strides = asExtents(window.stride, dims), dilations = asExtents(window.dilation, dims),
          more = asExtents(outputPadding, dims);
  Padding padding = asPadding(window.padding, dims);
  for (unsigned i = 0; i < dims; ++i) {
    int64_t in = x.getDimSize(2 + i), kernel = w.getDimSize(2 + i), stride = strides[i], dilation = dilations[i];
    if (stride < 1 || dilation < 1 ||
        std::max({in, stride, kernel, dilation, padding.before[i], padding.behind[i], more[i]}) > kLimit)
      return infer.error("stride and dilation must be 1 to 2^30, found ", stride, " and ", dilation);
    shape.push_back((in - 1) * stride - padding.before[i] - padding.behind[i] + dilation * (kernel - 1) + more[i] + 1);
    if (shape.back() < 1)
      return infer.error(Code::BadAttribute, "padding leaves no output: extent ", shape.back());
  }
  return infer.give(shape, x);
}

Work dnn::convolutionWork(Operation *op, int64_t groups, const WindowAttributes &window) {
  MLIRContext *c = op->getContext();
  bool depthwise = isa<DepthwiseConv2dOp>(op);
  bool transposed = isa<ConvTranspose1dOp, ConvTranspose2dOp, ConvTranspose3dOp>(op);
  auto x = cast<RankedTensorType>(op->getOperand(0).getType()),
       weight = cast<RankedTensorType>(op->getOperand(1).getType()),
       narrow = transposed ? x : cast<RankedTensorType>(op->getResult(0).getType());
  size_t dims = x.getRank() - 2;
  Extents stride = asExtents(window.stride, dims), dilation = asExtents(window.dilation, dims);
  Padding padding = asPadding(window.padding, dims);
  Work work;
  SmallVectorImpl<int64_t> &domain = work.domain;
  auto add = [&](int64_t extent) {
    domain.push_back(extent);
    return getAffineDimExpr(domain.size() - 1, c);
  };
  AffineExpr zero = getAffineConstantExpr(0, c);
  // Weight [k or c of the narrow side, other channel per group, r, ..].
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
  SmallVector<AffineExpr> narrowExprs{n, own}, wideExprs{n, other}, weightExprs{weightOwn, weightOther};
  for (size_t i = 0; i < dims; ++i)
    narrowExprs.push_back(add(narrow.getDimSize(2 + i)));
  for (size_t i = 0; i < dims; ++i) {
    weightExprs.push_back(add(weight.getDimSize(2 + i)));
    wideExprs.push_back(narrowExprs[2 + i] * stride[i] + weightExprs[2 + i] * dilation[i] - padding.before[i]);
  }
  unsigned all = domain.size();
  AffineMap narrowMap = AffineMap::get(all, 0, narrowExprs, c), wideMap = AffineMap::get(all, 0, wideExprs, c);
  work.maps = {transposed ? narrowMap : wideMap, AffineMap::get(all, 0, weightExprs, c)};
  AffineMap result = transposed ? wideMap : narrowMap;
  if (op->getNumOperands() > 2)
    work.maps.push_back(AffineMap::get(all, 0, result.getResult(1), c));
  work.maps.push_back(result);
  work.kinds = kindsOf(result, domain);
  return work;
}

// ---- pooling and resampling share the window arithmetic

/// The spatial dimensions of x[n, c, ..]: one to three.
static FailureOr<size_t> spatialOf(const ShapeInference &infer) {
  int64_t dims = infer[0].getRank() - 2;
  if (dims >= 1 && dims <= 3)
    return size_t(dims);
  return infer.error("takes x[c, l], x[c, h, w] or x[c, d, h, w] per sample, found ", shapeText(infer[0].getShape()));
}

LogicalResult dnn::inferPool(ShapeInference &infer, Attribute kernel, Attribute stride, Attribute padding) {
  FailureOr<size_t> dims = spatialOf(infer);
  if (failed(dims) || failed(checkCount(infer, "kernel", kernel, *dims)) ||
      failed(checkCounts(infer, {stride, padding, {}}, *dims)))
    return failure();
  return giveWindows(
      infer, infer[0].getDimSize(1),
      {asExtents(kernel, *dims), asExtents(stride, *dims), Extents(*dims, 1), asPadding(padding, *dims)});
}

LogicalResult GlobalAvgPoolOp::inferTypes(Adaptor, ShapeInference &infer) {
  if (failed(spatialOf(infer)))
    return failure();
  return infer.give(infer[0].getShape().take_front(2), infer[0]);
}

LogicalResult UpsampleOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  FailureOr<size_t> dims = spatialOf(infer);
  if (failed(dims) || failed(checkCount(infer, "scale", *adaptor.getScale(), *dims)))
    return failure();
  Extents scales = asExtents(*adaptor.getScale(), *dims);
  SmallVector<int64_t> shape(infer[0].getShape());
  for (auto [i, scale] : llvm::enumerate(scales)) {
    std::optional<int64_t> extent = checkedMultiply(shape[2 + i], scale);
    if (scale < 1 || !extent)
      return infer.error(Code::BadAttribute, "scale is from 1 to what keeps extents below 2^63, found ", scale);
    shape[2 + i] = *extent;
  }
  return infer.give(shape, infer[0]);
}
