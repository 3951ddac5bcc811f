// Operations with weights or windows.
#include "lib/import/mlir/StableHlo.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {
namespace {

bool isZero(mlir::Value value) { return splatOf(value) == 0.0; }

/// Which dimensions of an image hold what.
struct ImageLayout {
  explicit ImageLayout(bool channelsFirst)
      : rows(channelsFirst ? 2 : 1), columns(rows + 1), channel(channelsFirst ? 1 : 3) {}
  int rows, columns, channel;
  std::vector<int> order() const { return {channel, rows, columns}; } ///< in the language
  /// The extents in the file of `x` with so many channels, and these rows and columns.
  Shape full(const MlirValue &x, int64_t channels, const Shape &extents) const {
    Shape made = x.full;
    made[channel] = channels;
    made[rows] = extents[0];
    made[columns] = extents[1];
    return made;
  }
  /// Whether what waits to be padded are rows and columns alone.
  bool padsInside(const MlirValue &x) const { return !x.low[0] && !x.high[0] && !x.low[channel] && !x.high[channel]; }
};

/// The extents of the file round down. Padding at the end is stated where it differs from that before and is read.
/// `pads`: [top, bottom, left, right].
Window windowOf(MlirContext &c, const MlirValue &x, const ImageLayout &image, const Shape &kernel, const Shape &strides,
                const Shape &dilations, const Shape &pads) {
  Window window{kernel, strides, {0, 0}, dilations};
  window.behind = window.extents = {0, 0};
  for (size_t i : {0, 1}) {
    int64_t in = c.extent(x, i ? image.columns : image.rows), low = pads[2 * i], high = pads[2 * i + 1];
    for (int64_t one : {kernel[i], strides[i], dilations[i]})
      if (one < 1 || one > 1 << 30 || low < 0 || high < 0 || low > 1 << 30 || high > 1 << 30)
        c.reportUnsupported("has impossible extents, strides, dilations or pads");
    int64_t reach = dilations[i] * (kernel[i] - 1) + 1, room = in + low + high - reach;
    int64_t out = room < 0 ? 0 : room / strides[i] + 1;
    if (room < 0)
      c.reportUnsupported(
          fmt::format("moves a window of {} over an extent of {}, padded by {} and {}", reach, in, low, high));
    window.padding[i] = low;
    bool unread = in + 2 * low >= reach && (in + 2 * low - reach) / strides[i] + 1 == out; // what differs
    window.behind[i] = unread ? low : high;
    window.extents[i] = out;
  }
  return window;
}

/// [top, bottom, left, right], with the padding that waits for this operation.
Shape padsOf(mlir::Operation *op, const MlirValue &x, const ImageLayout &image) {
  Shape pads = integersOf(op->getAttr("pad")).value_or(Shape{0, 0, 0, 0});
  pads.resize(4);
  for (size_t i : {0, 1})
    if (int dim = i ? image.columns : image.rows; !x.low.empty()) {
      pads[2 * i] += x.low[dim];
      pads[2 * i + 1] += x.high[dim];
    }
  return pads;
}
Shape twoOf(mlir::Operation *op, const char *tosa, const char *linalg) {
  auto found = integersOf(op->getAttr(tosa));
  Shape two = found ? *found : integersOf(op->getAttr(linalg)).value_or(Shape{1, 1});
  return two.size() == 2 ? two : Shape{0, 0};
}
/// `x` as it was before it was padded.
MlirValue unpadded(MlirValue x) {
  for (size_t i = 0; i < x.low.size(); ++i)
    x.full[i] -= x.low[i] + x.high[i];
  x.low.clear();
  x.high.clear();
  return x;
}

/// Whether a value of stablehlo is a vector of weights that is repeated along all dimensions but `dim`.
bool isRepeatedBias(MlirContext &c, mlir::Value value, int64_t channels, int64_t dim) {
  mlir::Operation *op = value.getDefiningOp();
  auto known = c.values.find(behindRepeats(value));
  if (!op || op->getName().getStringRef() != "stablehlo.broadcast_in_dim" || known == c.values.end() ||
      known->second.kind != Kind::Weight)
    return false;
  auto places = integersOf(op->getAttr("broadcast_dimensions"));
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  if (!places || !type || type.getRank() != std::ssize(*places))
    return false;
  bool found = false;
  for (auto [extent, place] : llvm::zip(type.getShape(), *places)) {
    if (extent != 1 && (place != dim || extent != channels))
      return false;
    found |= place == dim && extent == channels;
  }
  return found;
}

/// Whether `other`, the operand of `user` beside `side`, is a weight that `user` adds along dimension `dim` and no
/// other.
bool addsBias(MlirContext &c, mlir::Operation *user, unsigned side, int64_t channels, int64_t dim) {
  mlir::Value other = user->getOperand(1 - side);
  if (user->getName().getStringRef() == "stablehlo.add")
    return isRepeatedBias(c, other, channels, dim);
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(other.getType());
  auto known = c.values.find(other);
  if (!type || known == c.values.end() || known->second.kind != Kind::Weight)
    return false;
  llvm::StringRef name = user->getName().getStringRef();
  if (name == "tosa.add") {
    if (dim >= type.getRank())
      return false;
    Shape wanted(type.getRank(), 1);
    wanted[dim] = channels;
    return llvm::equal(type.getShape(), wanted);
  }
  if (name != "linalg.generic" || user->getNumOperands() != 3)
    return false;
  auto maps = user->getAttrOfType<mlir::ArrayAttr>("indexing_maps");
  auto map = [&](unsigned i) { return llvm::cast<mlir::AffineMapAttr>(maps[i]).getValue(); };
  mlir::Block &body = user->getRegion(0).front();
  bool adds = llvm::hasSingleElement(body.without_terminator()) &&
              body.front().getName().getStringRef() == "arith.addf" &&
              llvm::is_contained(body.front().getOperands(), body.getArgument(0)) &&
              llvm::is_contained(body.front().getOperands(), body.getArgument(1));
  return adds && map(side).isIdentity() && map(2).isIdentity() && type.getRank() == 1 &&
         type.getDimSize(0) == channels &&
         map(1 - side).getResult(0) == mlir::getAffineDimExpr(dim, user->getContext());
}

} // namespace

bool takesBias(MlirContext &c, mlir::Operation *op, int64_t channels, int dim) {
  mlir::Value value = op->getResult(0);
  while (value.hasOneUse()) {
    mlir::Operation *user = *value.user_begin();
    mlir::RankedTensorType type;
    if (user->getNumResults() == 1)
      type = llvm::dyn_cast<mlir::RankedTensorType>(user->getResult(0).getType());
    if (!type || type.getRank() == 0)
      return false;
    bool views =
        llvm::is_contained({"tosa.reshape", "tensor.collapse_shape", "tensor.expand_shape", "stablehlo.reshape"},
                           user->getName().getStringRef());
    if (views && dim < 0 && type.getShape().back() == channels) {
      value = user->getResult(0);
      continue;
    }
    for (unsigned side : {0u, 1u})
      if (user->getNumOperands() >= 2 && user->getOperand(side) == value &&
          addsBias(c, user, side, channels, dim < 0 ? type.getRank() - 1 : dim)) {
        c.absorbed[user] = value;
        return true;
      }
    return false;
  }
  return false;
}

namespace {

/// What the weight of a convolution says.
struct KernelExtents {
  KernelExtents(llvm::StringRef name, const Shape &weight, int64_t channels) {
    bool tosa = name.starts_with("tosa."), channelsFirst = name.contains("nchw");
    bool outFirst = tosa || channelsFirst || name.ends_with("fhwc");
    if (name.contains("depthwise")) {
      size_t at = channelsFirst ? 1 : 0; // of the rows
      kernel = {weight[at], weight[at + 1]};
      many = weight.size() == 4 ? weight[3] : 1;
      out = channels * many;
      reads = weight[channelsFirst ? 0 : 2];
    } else {
      size_t at = channelsFirst ? 2 : outFirst ? 1 : 0;
      kernel = {weight[at], weight[at + 1]};
      out = weight[outFirst ? 0 : 3];
      reads = weight[channelsFirst ? 1 : outFirst ? 3 : 2];
    }
  }
  Shape kernel;       ///< rows, columns
  int64_t out, reads; ///< channels
  int64_t many = 1;   ///< of a depthwise one: results of each channel
};

/// Whether the operation adds a bias to its `out` channels, by an operand of its own.
bool hasOwnBias(MlirContext &c, mlir::Operation *op, int64_t out) {
  if (op->getName().getStringRef().starts_with("tosa.")) {
    MlirValue added = c.get(op->getOperand(2));
    bool bias = !isZero(op->getOperand(2));
    if (bias && added.full != Shape{out})
      c.reportUnsupported(fmt::format("has a bias {} for {} channels", listOf(added.full), out));
    return bias;
  }
  MlirValue start = c.get(op->getOperand(op->getNumOperands() - 1));
  bool bias = start.kind == Kind::Weight;
  if (!bias && !(start.kind == Kind::Number && start.number == 0))
    c.reportUnsupported("adds to what a tensor holds; only zeros and a bias are supported");
  if (bias && elementsOf(start.full) != out)
    c.reportUnsupported("starts from a tensor that is no bias");
  return bias;
}

void convolution(MlirContext &c, mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  bool deep = name.contains("depthwise");
  ImageLayout image(name.contains("nchw"));
  MlirValue x = c.get(op->getOperand(0)), w = c.get(op->getOperand(1));
  if (w.kind == Kind::Computed || x.full.size() != 4 || w.full.size() < 3)
    c.reportUnsupported("is a convolution whose weight is computed, or not of two dimensions");
  if (!x.low.empty() && (x.padding != 0 || !image.padsInside(x)))
    c.reportUnsupported("reads what is padded by other numbers than zero, or not only in rows and columns");
  Shape pads = padsOf(op, x, image);
  x = unpadded(x);
  int64_t channels = x.full[image.channel];
  KernelExtents weight(name, w.full, channels);
  if (x.batchDim != 0 || c.extent(x, 0) != 1)
    c.reportUnsupported("reads something without a batch as its first dimension");
  if (weight.reads != channels)
    c.reportUnsupported(fmt::format("has a weight {} for {} channels", listOf(w.full), channels));
  Window window =
      windowOf(c, x, image, weight.kernel, twoOf(op, "stride", "strides"), twoOf(op, "dilation", "dilations"), pads);
  bool single = deep && weight.many == 1;
  bool spread = deep && !name.starts_with("tosa.") && w.full.size() == 4; // [n, h, w, c, m]
  bool bias = hasOwnBias(c, op, weight.out) || (!spread && takesBias(c, op, weight.out, image.channel));
  std::vector<std::string> attributes =
      convolutionAttributes(single ? 0 : weight.out, window, deep && !single ? channels : 0, bias);
  MlirValue y;
  y.kind = Kind::Computed;
  y.batchDim = 0;
  y.dims = image.order();
  y.full = image.full(x, weight.out, window.extents);
  y.id = c.add(single ? "depthwise_conv2d" : "conv2d", {c.arranged(x, image.order())}, attributes,
               {weight.out, window.extents[0], window.extents[1]});
  if (spread) {
    y.full = {x.full[0], window.extents[0], window.extents[1], channels, weight.many};
    y.dims = {3, 4, 1, 2};
    y.id = c.textBuilder.reshape(y.id, {channels, weight.many, window.extents[0], window.extents[1]});
  }
  c.setResult(op, y);
}

void transposeConvolution(MlirContext &c, mlir::Operation *op) {
  MlirValue x = c.plain(op->getOperand(0)), w = c.get(op->getOperand(1));
  Shape strides = twoOf(op, "stride", "strides"), pads = integersOf(op->getAttr("out_pad")).value_or(Shape{});
  if (w.kind == Kind::Computed || x.full.size() != 4 || w.full.size() != 4 || pads.size() != 4 || x.batchDim != 0 ||
      c.extent(x, 0) != 1)
    c.reportUnsupported("is a convolution whose weight is computed, or not of two dimensions and a batch");
  if (w.full[3] != x.full[3])
    c.reportUnsupported(fmt::format("has a weight {} for {} channels", listOf(w.full), x.full[3]));
  // Its out_pad adds to the result, and is negative for what padding takes away.
  Window window{{w.full[1], w.full[2]}, strides, {0, 0}, {}, {0, 0}, {}, {0, 0}};
  for (size_t i : {0, 1}) {
    int64_t low = -pads[2 * i], high = -pads[2 * i + 1];
    if (low < 0 || high > low || low > 1 << 30 || low - high >= strides[i])
      c.reportUnsupported(fmt::format("adds {} and {} at the ends, which is not supported", -low, -high));
    window.padding[i] = low;
    window.outputPadding[i] = low - high;
    window.extents[i] = (x.full[i + 1] - 1) * strides[i] + w.full[i + 1] - low - high;
  }
  ImageLayout image(/*channelsFirst=*/false);
  MlirValue y = x;
  y.dims = image.order();
  y.full = image.full(x, w.full[0], window.extents);
  y.id = c.add("conv_transpose2d", {c.arranged(x, y.dims)},
               convolutionAttributes(w.full[0], window, 0, !isZero(op->getOperand(2))),
               {w.full[0], window.extents[0], window.extents[1]});
  c.setResult(op, y);
}

/// What waits to be padded around an image does not change the result of a pool.
void checkPoolPadding(MlirContext &c, const MlirValue &x, bool greatest, const ImageLayout &image) {
  if (x.low.empty())
    return;
  static const std::set<std::string> kPositive = {"relu", "relu6", "sigmoid"};
  bool lowest = x.padding < -1e30 || (x.padding == 0 && kPositive.count(c.textBuilder.callOf(x.id)));
  if ((greatest ? !lowest : x.padding != 0) || !image.padsInside(x))
    c.reportUnsupported("reads what is padded by numbers that change its result, or not only in rows and "
                        "columns");
}

void pool(MlirContext &c, mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  bool tosa = name.starts_with("tosa."), greatest = name.contains("max");
  ImageLayout image(name.contains("nchw"));
  MlirValue x = c.get(op->getOperand(0));
  if (x.full.size() != 4 || x.batchDim != 0 || c.extent(x, 0) != 1)
    c.reportUnsupported("reads something without a batch as its first dimension");
  Shape kernel = tosa ? twoOf(op, "kernel", "kernel")
                      : Shape(llvm::cast<mlir::RankedTensorType>(op->getOperand(1).getType()).getShape());
  Shape pads = padsOf(op, x, image);
  checkPoolPadding(c, x, greatest, image);
  bool padded = pads != Shape{0, 0, 0, 0};
  if (tosa && !greatest && padded)
    c.reportUnsupported("is a mean that leaves padding out; here it counts as zeros");
  x = unpadded(x);
  if (!tosa) {
    MlirValue start = c.get(op->getOperand(2));
    if (start.kind != Kind::Number || (greatest ? start.number > -1e30 : start.number != 0))
      c.reportUnsupported("starts from a tensor other than its neutral number");
  }
  Window window =
      windowOf(c, x, image, kernel, twoOf(op, "stride", "strides"), twoOf(op, "dilations", "dilations"), pads);
  if (window.dilations != Shape{1, 1})
    c.reportUnsupported("has dilations, which a pool has not here");
  MlirValue y = x;
  y.dims = image.order();
  Shape shape{x.full[image.channel], window.extents[0], window.extents[1]};
  y.full = image.full(x, shape[0], window.extents);
  DnnTextBuilder::Id from = c.arranged(x, y.dims);
  bool whole = !padded && window.extents == Shape{1, 1} && kernel == c.extentsOf(x, {image.rows, image.columns});
  if (!greatest && whole)
    y.id = c.textBuilder.reshape(c.add("global_avg_pool", {from}, {}, {shape[0]}), shape);
  else
    y.id = c.add(greatest ? "max_pool" : "avg_pool", {from}, poolAttributes(window), shape);
  if (!greatest && !tosa) { // a sum
    DnnTextBuilder::Id mean = y.id;
    int64_t count = kernel[0] * kernel[1];
    y.id = c.textBuilder.add("", "scale", {mean}, {fmt::format("factor = {}", count)}, shape);
    c.means[y.id] = {mean, count};
  }
  c.setResult(op, y);
}

/// Turns the operands of a product of linalg so that what is summed is the last dimension of a and the last but one of
/// b, as its maps say.
void turnByMaps(MlirContext &c, mlir::Operation *op, MlirValue &a, MlirValue &b) {
  auto maps = op->getAttrOfType<mlir::ArrayAttr>("indexing_maps");
  if (!maps)
    return;
  unsigned rank = a.full.size();
  for (unsigned side : {0u, 1u}) {
    auto map = llvm::cast<mlir::AffineMapAttr>(maps[side]).getValue();
    unsigned last = map.getNumResults() - 1, summed = map.getNumDims() - 1;
    if (map.getNumResults() != rank || !map.isProjectedPermutation())
      c.reportUnsupported("broadcasts by its maps, which is not supported");
    bool turned = map.getDimPosition(side ? last : last - 1) == summed;
    std::vector<int64_t> swap;
    for (unsigned i = 0; i < rank; ++i)
      swap.push_back(!turned || i + 2 < rank ? i : i + 1 == rank ? i - 1 : i + 1);
    MlirValue &one = side ? b : a;
    one = c.permuted(one, swap);
    if (one.weight && turned)
      one.weight = op->getOperand(side);
  }
}

void linear(MlirContext &c, mlir::Operation *op, const MlirValue &a, const MlirValue &b) {
  MlirValue y = a;
  y.full.back() = b.full.back();
  int last = std::ssize(a.full) - 1;
  llvm::erase(y.dims, last);
  y.dims.push_back(last);
  c.noteSharedWeight(b.weight);
  DnnTextBuilder::Id x = c.arranged(a, y.dims);
  Shape shape = c.shape(x);
  shape.back() = b.full.back();
  std::vector<std::string> attributes{fmt::format("out = {}", b.full.back())};
  if (!takesBias(c, op, b.full.back(), -1))
    attributes.push_back("bias = false");
  y.id = c.add("linear", {x}, attributes, shape);
  c.setResult(op, y);
}

/// Of two tensors of which at least one is computed.
void product(MlirContext &c, mlir::Operation *op, const MlirValue &a, const MlirValue &b) {
  int rank = a.full.size();
  MlirValue y = a.computed() ? a : b;
  y.kind = Kind::Computed;
  y.full = a.full;
  y.full.back() = b.full.back();
  y.batchDim = a.computed() && a.batchDim >= 0 ? a.batchDim : b.batchDim;
  bool fits = y.batchDim <= 0, merged = false;
  for (const MlirValue *one : {&a, &b}) {
    fits &= (rank == 3 && y.batchDim <= 0) || one->batchDim < 0;
    if (y.batchDim == 0 && c.batch > 1 && one->batchDim < 0)
      fits &= one->full[0] == 1;
    merged |= one->batchDim < 0 ? one->full[0] != 1 : llvm::is_contained(one->dims, 0);
  }
  if (!fits)
    c.reportUnsupported("multiplies samples of a batch with each other, which is not supported");
  y.dims.clear();
  for (int dim = rank == 3 && !merged && y.batchDim == 0 ? 1 : 0; dim < rank; ++dim)
    y.dims.push_back(dim);
  if (rank == 3)
    y.full[0] = std::max(a.full[0], b.full[0]);
  // A turned operand is read as it lies.
  std::vector<int> turned = y.dims;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  std::vector<std::string> attributes;
  auto operand = [&](const MlirValue &one, const char *key) {
    bool lies = one.computed() && one.dims == turned;
    if (lies)
      attributes.push_back(fmt::format("{} = true", key));
    return c.arranged(one, lies ? turned : y.dims);
  };
  DnnTextBuilder::Id left = operand(a, "transpose_a"), right = operand(b, "transpose_b");
  y.id = c.add("matmul", {left, right}, attributes, c.extentsOf(y, y.dims));
  c.setResult(op, y);
}

/// tosa.matmul, and linalg's products with their maps.
void matmul(MlirContext &c, mlir::Operation *op) {
  MlirValue a = c.plain(op->getOperand(0)), b = c.plain(op->getOperand(1));
  if (!op->getName().getStringRef().starts_with("tosa.")) {
    c.checkZero(op->getOperand(op->getNumOperands() - 1));
    turnByMaps(c, op, a, b);
  }
  if (a.kind == Kind::Number || b.kind == Kind::Number)
    c.reportUnsupported("multiplies by a constant that is one number");
  size_t rank = a.full.size();
  if (rank < 2 || b.full.size() != rank || a.full[rank - 1] != b.full[rank - 2])
    c.reportUnsupported(fmt::format("multiplies {} by {}, which do not fit", listOf(a.full), listOf(b.full)));
  bool alone = rank == 2 || b.full[0] == 1;
  if (b.kind == Kind::Weight && alone && a.computed() && llvm::is_contained(a.dims, rank - 1))
    return linear(c, op, a, b);
  if (a.computed() || b.computed())
    return product(c, op, a, b);
  Shape full = a.full;
  full.back() = b.full.back();
  c.setResult(op, c.weightOf({}, full));
}

} // namespace

std::vector<MlirOperations> mlirLayers() {
  return {{convolution,
           {"tosa.conv2d", "tosa.depthwise_conv2d", "linalg.conv_2d_nchw_fchw", "linalg.conv_2d_nhwc_hwcf",
            "linalg.conv_2d_nhwc_fhwc", "linalg.depthwise_conv_2d_nhwc_hwc", "linalg.depthwise_conv_2d_nchw_chw",
            "linalg.depthwise_conv_2d_nhwc_hwcm"}},
          {matmul, {"tosa.matmul", "linalg.matmul", "linalg.batch_matmul"}},
          {pool,
           {"tosa.avg_pool2d", "tosa.max_pool2d", "linalg.pooling_nchw_max", "linalg.pooling_nchw_sum",
            "linalg.pooling_nhwc_max", "linalg.pooling_nhwc_sum"}},
          {transposeConvolution, {"tosa.transpose_conv2d"}}};
}

} // namespace accord::import
