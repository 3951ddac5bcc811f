// Operations with weights or windows.
#include "lib/import/mlir/Importer.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {

static bool isZero(mlir::Value value) { return splatOf(value) == 0.0; }

/// The extents of the file round down. Padding is the same at both ends in the language: what a
/// file pads less at the end is either never read, or told or refused.
MlirImporter::Window MlirImporter::window(const MlirValue &x, int rows, int columns, const Shape &kernel,
                                          const Shape &strides, const Shape &dilations, const Shape &pads, bool pools) {
  Shape padding, extents;
  for (size_t i : {0, 1}) {
    int64_t in = extent(x, i ? columns : rows), low = pads[2 * i], high = pads[2 * i + 1];
    for (int64_t one : {kernel[i], strides[i], dilations[i]})
      if (one < 1 || one > 1 << 30 || low < 0 || high < 0 || low > 1 << 30 || high > 1 << 30)
        reportUnsupported("has impossible extents, strides, dilations or pads");
    int64_t reach = dilations[i] * (kernel[i] - 1) + 1, room = in + low + high - reach;
    int64_t out = room < 0 ? 0 : room / strides[i] + 1;
    if (room < 0 || in + 2 * low < reach || (in + 2 * low - reach) / strides[i] + 1 != out)
      reportUnsupported(fmt::format("pads {} by {} and {} for an extent of {}; the padding has to be the same "
                                    "at both ends here, or to end where nothing reads it",
                                    in, low, high, out));
    padding.push_back(low);
    extents.push_back(out);
  }
  if (pools && dilations != Shape{1, 1})
    reportUnsupported("has dilations, which a pool has not here");
  return {windowAttributes(kernel, strides, padding, dilations, pools), extents};
}

/// [top, bottom, left, right], with the padding that waits for this operation.
static Shape padsOf(mlir::Operation *op, const MlirValue &x, int rows, int columns) {
  Shape pads = integersOf(op->getAttr("pad")).value_or(Shape{0, 0, 0, 0});
  pads.resize(4);
  for (size_t i : {0, 1})
    if (auto dim = static_cast<size_t>(i ? columns : rows); !x.low.empty()) {
      pads[2 * i] += x.low[dim];
      pads[2 * i + 1] += x.high[dim];
    }
  return pads;
}
static Shape twoOf(mlir::Operation *op, const char *tosa, const char *linalg) {
  auto found = integersOf(op->getAttr(tosa));
  Shape two = found ? *found : integersOf(op->getAttr(linalg)).value_or(Shape{1, 1});
  return two.size() == 2 ? two : Shape{0, 0};
}
/// `x` as it was before it was padded.
static MlirValue unpadded(MlirValue x) {
  for (size_t i = 0; i < x.low.size(); ++i)
    x.full[i] -= x.low[i] + x.high[i];
  x.low.clear();
  x.high.clear();
  return x;
}

/// Whether `other`, the operand of `user` beside `side`, is a weight that `user` adds along dimension `dim` and no
/// other.
bool MlirImporter::addsBias(mlir::Operation *user, unsigned side, int64_t channels, int64_t dim) const {
  mlir::Value other = user->getOperand(1 - side);
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(other.getType());
  auto known = values.find(other);
  if (!type || known == values.end() || known->second.kind != Kind::Weight)
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

bool MlirImporter::takesBias(mlir::Operation *op, int64_t channels, int dim) {
  mlir::Value value = op->getResult(0);
  while (value.hasOneUse()) {
    mlir::Operation *user = *value.user_begin();
    mlir::RankedTensorType type;
    if (user->getNumResults() == 1)
      type = llvm::dyn_cast<mlir::RankedTensorType>(user->getResult(0).getType());
    if (!type || type.getRank() == 0)
      return false;
    bool views = llvm::is_contained({"tosa.reshape", "tensor.collapse_shape", "tensor.expand_shape"},
                                    user->getName().getStringRef());
    if (views && dim < 0 && type.getShape().back() == channels) {
      value = user->getResult(0);
      continue;
    }
    for (unsigned side : {0u, 1u})
      if (user->getNumOperands() >= 2 && user->getOperand(side) == value &&
          addsBias(user, side, channels, dim < 0 ? type.getRank() - 1 : dim)) {
        absorbed[user] = value;
        return true;
      }
    return false;
  }
  return false;
}

namespace {
/// Which dimensions of an image hold what.
struct ImageLayout {
  explicit ImageLayout(bool channelsFirst)
      : rows(channelsFirst ? 2 : 1), columns(rows + 1), channel(channelsFirst ? 1 : 3) {}
  int rows, columns, channel;
  std::vector<int> order() const { return {channel, rows, columns}; } ///< in the language
};

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
} // namespace

/// Whether the operation adds a bias to its `out` channels, by an operand of its own.
bool MlirImporter::hasOwnBias(mlir::Operation *op, int64_t out) {
  if (op->getName().getStringRef().starts_with("tosa.")) {
    MlirValue added = get(op->getOperand(2));
    bool bias = !isZero(op->getOperand(2));
    if (bias && added.full != Shape{out})
      reportUnsupported(fmt::format("has a bias {} for {} channels", listOf(added.full), out));
    return bias;
  }
  MlirValue start = get(op->getOperand(op->getNumOperands() - 1));
  bool bias = start.kind == Kind::Weight;
  if (!bias && !(start.kind == Kind::Number && start.number == 0))
    reportUnsupported("adds to what a tensor holds; only zeros and a bias are supported");
  if (bias && elementsOf(start.full) != out)
    reportUnsupported("starts from a tensor that is no bias");
  return bias;
}

void MlirImporter::convolution(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  bool deep = name.contains("depthwise");
  ImageLayout image(name.contains("nchw"));
  MlirValue x = get(op->getOperand(0)), w = get(op->getOperand(1));
  if (w.kind == Kind::Computed || x.full.size() != 4 || w.full.size() < 3)
    reportUnsupported("is a convolution whose weight is computed, or not of two dimensions");
  if (!x.low.empty() && (x.padding != 0 || x.low[image.channel] || x.high[image.channel] || x.low[0] || x.high[0]))
    reportUnsupported("reads what is padded by other numbers than zero, or not only in rows and columns");
  Shape pads = padsOf(op, x, image.rows, image.columns);
  x = unpadded(x);
  int64_t channels = x.full[image.channel];
  KernelExtents weight(name, w.full, channels);
  if (x.batchDim != 0 || extent(x, 0) != 1)
    reportUnsupported("reads something without a batch as its first dimension");
  if (weight.reads != channels)
    reportUnsupported(fmt::format("has a weight {} for {} channels", listOf(w.full), channels));
  Window view = window(x, image.rows, image.columns, weight.kernel, twoOf(op, "stride", "strides"),
                       twoOf(op, "dilation", "dilations"), pads, false);
  bool single = deep && weight.many == 1;
  bool spread = deep && !name.starts_with("tosa.") && w.full.size() == 4; // [n, h, w, c, m]
  std::vector<std::string> attributes;
  if (!single)
    attributes.push_back(fmt::format("out = {}", weight.out));
  llvm::append_range(attributes, view.attributes);
  if (deep && !single)
    attributes.push_back(fmt::format("groups = {}", channels));
  if (!hasOwnBias(op, weight.out) && (spread || !takesBias(op, weight.out, image.channel)))
    attributes.push_back("bias = false");
  MlirValue y;
  y.kind = Kind::Computed;
  y.batchDim = 0;
  y.dims = image.order();
  y.full = x.full;
  y.full[image.rows] = view.extents[0];
  y.full[image.columns] = view.extents[1];
  y.full[image.channel] = weight.out;
  y.id = textBuilder.add(nameOf(op), single ? "depthwise_conv2d" : "conv2d", {arranged(x, image.order())}, attributes,
                         {weight.out, view.extents[0], view.extents[1]});
  if (spread) {
    y.full = {x.full[0], view.extents[0], view.extents[1], channels, weight.many};
    y.dims = {3, 4, 1, 2};
    y.id = textBuilder.reshape(y.id, {channels, weight.many, view.extents[0], view.extents[1]});
  }
  setResult(op, y);
}

void MlirImporter::transposeConvolution(mlir::Operation *op) {
  MlirValue x = plain(op->getOperand(0)), w = get(op->getOperand(1));
  Shape strides = twoOf(op, "stride", "strides"), pads = integersOf(op->getAttr("out_pad")).value_or(Shape{});
  if (w.kind == Kind::Computed || x.full.size() != 4 || w.full.size() != 4 || pads.size() != 4 || x.batchDim != 0 ||
      extent(x, 0) != 1)
    reportUnsupported("is a convolution whose weight is computed, or not of two dimensions and a batch");
  if (w.full[3] != x.full[3])
    reportUnsupported(fmt::format("has a weight {} for {} channels", listOf(w.full), x.full[3]));
  // Its out_pad adds to the result, and is negative for what padding takes away.
  Shape padding, more, shape{w.full[0]};
  for (size_t i : {0, 1}) {
    int64_t low = -pads[2 * i], high = -pads[2 * i + 1];
    if (low < 0 || high > low || low > 1 << 30 || low - high >= strides[i])
      reportUnsupported(fmt::format("adds {} and {} at the ends, which is not supported", -low, -high));
    padding.push_back(low);
    more.push_back(low - high);
    shape.push_back((x.full[i + 1] - 1) * strides[i] + w.full[i + 1] - low - high);
  }
  std::vector<std::string> attributes{fmt::format("out = {}", w.full[0]), "kernel = " + pairOf(w.full[1], w.full[2])};
  if (strides != Shape{1, 1})
    attributes.push_back("stride = " + pairOf(strides[0], strides[1]));
  if (padding != Shape{0, 0})
    attributes.push_back("padding = " + pairOf(padding[0], padding[1]));
  if (more != Shape{0, 0})
    attributes.push_back("output_padding = " + pairOf(more[0], more[1]));
  if (isZero(op->getOperand(2)))
    attributes.push_back("bias = false");
  MlirValue y = x;
  y.dims = {3, 1, 2};
  y.full = {x.full[0], shape[1], shape[2], shape[0]};
  y.id = textBuilder.add(nameOf(op), "conv_transpose2d", {arranged(x, {3, 1, 2})}, attributes, shape);
  setResult(op, y);
}

/// What waits to be padded around an image does not change the result of a pool.
void MlirImporter::checkPoolPadding(const MlirValue &x, bool greatest, size_t channel) {
  if (x.low.empty())
    return;
  static const std::set<std::string> kPositive = {"relu", "relu6", "sigmoid"};
  bool lowest = x.padding < -1e30 || (x.padding == 0 && kPositive.count(textBuilder.callOf(x.id)));
  if ((greatest ? !lowest : x.padding != 0) || x.low[0] || x.high[0] || x.low[channel] || x.high[channel])
    reportUnsupported("reads what is padded by numbers that change its result, or not only in rows and "
                      "columns");
}

void MlirImporter::pool(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  bool tosa = name.starts_with("tosa."), greatest = name.contains("max");
  ImageLayout image(name.contains("nchw"));
  MlirValue x = get(op->getOperand(0));
  if (x.full.size() != 4 || x.batchDim != 0 || extent(x, 0) != 1)
    reportUnsupported("reads something without a batch as its first dimension");
  Shape kernel = tosa ? twoOf(op, "kernel", "kernel")
                      : Shape(llvm::cast<mlir::RankedTensorType>(op->getOperand(1).getType()).getShape());
  Shape pads = padsOf(op, x, image.rows, image.columns);
  checkPoolPadding(x, greatest, image.channel);
  bool padded = llvm::any_of(pads, [](int64_t one) { return one != 0; });
  if (tosa && !greatest && padded)
    reportUnsupported("is a mean that leaves padding out; here it counts as zeros");
  x = unpadded(x);
  if (!tosa) {
    MlirValue start = get(op->getOperand(2));
    if (start.kind != Kind::Number || (greatest ? start.number > -1e30 : start.number != 0))
      reportUnsupported("starts from a tensor other than its neutral number");
  }
  Window view = window(x, image.rows, image.columns, kernel, twoOf(op, "stride", "strides"),
                       twoOf(op, "dilations", "dilations"), pads, true);
  MlirValue y = x;
  y.dims = image.order();
  Shape shape{x.full[image.channel], view.extents[0], view.extents[1]};
  y.full[image.rows] = view.extents[0];
  y.full[image.columns] = view.extents[1];
  DnnTextBuilder::Id from = arranged(x, y.dims);
  bool whole =
      !padded && shape[1] == 1 && shape[2] == 1 && kernel == Shape{extent(x, image.rows), extent(x, image.columns)};
  if (!greatest && whole)
    y.id = textBuilder.reshape(textBuilder.add(nameOf(op), "global_avg_pool", {from}, {}, {shape[0]}), shape);
  else
    y.id = textBuilder.add(nameOf(op), greatest ? "max_pool" : "avg_pool", {from}, view.attributes, shape);
  if (!greatest && !tosa) { // a sum
    DnnTextBuilder::Id mean = y.id;
    int64_t count = kernel[0] * kernel[1];
    y.id = textBuilder.add("", "scale", {mean}, {fmt::format("factor = {}", count)}, shape);
    means[y.id] = {mean, count};
  }
  setResult(op, y);
}

/// Turns the operands of a product of linalg so that what is summed is the last dimension of a and the last but one of
/// b, as its maps say.
void MlirImporter::turnByMaps(mlir::Operation *op, MlirValue &a, MlirValue &b) {
  auto maps = op->getAttrOfType<mlir::ArrayAttr>("indexing_maps");
  if (!maps)
    return;
  auto rank = static_cast<unsigned>(a.full.size());
  for (unsigned side : {0u, 1u}) {
    auto map = llvm::cast<mlir::AffineMapAttr>(maps[side]).getValue();
    unsigned last = map.getNumResults() - 1, summed = map.getNumDims() - 1;
    if (map.getNumResults() != rank || !map.isProjectedPermutation())
      reportUnsupported("broadcasts by its maps, which is not supported");
    bool turned = map.getDimPosition(side ? last : last - 1) == summed;
    std::vector<int64_t> swap;
    for (unsigned i = 0; i < rank; ++i)
      swap.push_back(!turned || i + 2 < rank ? i : i + 1 == rank ? i - 1 : i + 1);
    MlirValue &one = side ? b : a;
    one = permuted(one, swap);
    if (one.weight && turned)
      one.weight = op->getOperand(side);
  }
}

/// tosa.matmul, and linalg's products with their maps.
void MlirImporter::matmul(mlir::Operation *op) {
  MlirValue a = plain(op->getOperand(0)), b = plain(op->getOperand(1));
  if (!op->getName().getStringRef().starts_with("tosa.")) {
    MlirValue start = get(op->getOperand(op->getNumOperands() - 1));
    if (start.kind != Kind::Number || start.number != 0)
      reportUnsupported("adds to what a tensor holds; only zeros are supported");
    turnByMaps(op, a, b);
  }
  if (a.kind == Kind::Number || b.kind == Kind::Number)
    reportUnsupported("multiplies by a constant that is one number");
  size_t rank = a.full.size();
  if (rank < 2 || b.full.size() != rank || a.full[rank - 1] != b.full[rank - 2])
    reportUnsupported(fmt::format("multiplies {} by {}, which do not fit", listOf(a.full), listOf(b.full)));
  bool alone = rank == 2 || b.full[0] == 1;
  if (b.kind == Kind::Weight && alone && a.computed() && llvm::is_contained(a.dims, static_cast<int>(rank) - 1))
    return linear(op, a, b);
  if (a.computed() || b.computed())
    return product(op, a, b);
  Shape full = a.full;
  full.back() = b.full.back();
  setResult(op, weightOf({}, full));
}

void MlirImporter::linear(mlir::Operation *op, const MlirValue &a, const MlirValue &b) {
  MlirValue y = a;
  y.full.back() = b.full.back();
  int last = static_cast<int>(a.full.size()) - 1;
  llvm::erase(y.dims, last);
  y.dims.push_back(last);
  if (b.weight && !b.weight.hasOneUse())
    noteOnce("weights that several operations read are counted for each of them");
  DnnTextBuilder::Id x = arranged(a, y.dims);
  Shape shape = textBuilder.shape(x);
  shape.back() = b.full.back();
  std::vector<std::string> attributes{fmt::format("out = {}", b.full.back())};
  if (!takesBias(op, b.full.back(), -1))
    attributes.push_back("bias = false");
  y.id = textBuilder.add(nameOf(op), "linear", {x}, attributes, shape);
  setResult(op, y);
}

/// Of two tensors of which at least one is computed.
void MlirImporter::product(mlir::Operation *op, const MlirValue &a, const MlirValue &b) {
  size_t rank = a.full.size();
  MlirValue y = a.computed() ? a : b;
  y.kind = Kind::Computed;
  y.full = a.full;
  y.full.back() = b.full.back();
  y.batchDim = a.computed() && a.batchDim >= 0 ? a.batchDim : b.batchDim;
  bool fits = y.batchDim <= 0, merged = false;
  for (const MlirValue *one : {&a, &b}) {
    fits &= (rank == 3 && y.batchDim <= 0) || one->batchDim < 0;
    if (y.batchDim == 0 && batch > 1 && one->batchDim < 0)
      fits &= one->full[0] == 1;
    merged |= one->batchDim < 0 ? one->full[0] != 1 : llvm::is_contained(one->dims, 0);
  }
  if (!fits)
    reportUnsupported("multiplies samples of a batch with each other, which is not supported");
  y.dims.clear();
  for (int dim = rank == 3 && !merged && y.batchDim == 0 ? 1 : 0; dim < static_cast<int>(rank); ++dim)
    y.dims.push_back(dim);
  if (rank == 3)
    y.full[0] = std::max(a.full[0], b.full[0]);
  Shape shape;
  for (int dim : y.dims)
    shape.push_back(extent(y, dim));
  // A turned operand is read as it lies.
  std::vector<int> turned = y.dims;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  std::vector<std::string> attributes;
  auto operand = [&](const MlirValue &one, const char *key) {
    bool lies = one.computed() && one.dims == turned;
    if (lies)
      attributes.push_back(fmt::format("{} = true", key));
    return arranged(one, lies ? turned : y.dims);
  };
  DnnTextBuilder::Id left = operand(a, "transpose_a"), right = operand(b, "transpose_b");
  y.id = textBuilder.add(nameOf(op), "matmul", {left, right}, attributes, shape);
  setResult(op, y);
}

} // namespace accord::import
