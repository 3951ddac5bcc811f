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

bool MlirImporter::takesBias(mlir::Operation *op, int64_t channels, int dim) {
  mlir::Value value = op->getResult(0);
  while (value.hasOneUse()) {
    mlir::Operation *user = *value.user_begin();
    std::string name = user->getName().getStringRef().str();
    mlir::RankedTensorType type;
    if (user->getNumResults() == 1)
      type = llvm::dyn_cast<mlir::RankedTensorType>(user->getResult(0).getType());
    if (!type || type.getRank() == 0)
      return false;
    bool views = name == "tosa.reshape" || name == "tensor.collapse_shape" || name == "tensor.expand_shape";
    if (views && dim < 0 && type.getShape().back() == channels) {
      value = user->getResult(0);
      continue;
    }
    int64_t place = dim < 0 ? type.getRank() - 1 : dim;
    auto isBias = [&](mlir::Value other, llvm::ArrayRef<int64_t> shape) {
      auto found = values.find(other);
      Shape wanted(shape.size(), 1);
      if (static_cast<size_t>(place) >= wanted.size())
        return false;
      wanted[place] = channels;
      return found != values.end() && found->second.kind == Kind::Weight && llvm::equal(shape, wanted);
    };
    for (unsigned side : {0u, 1u}) {
      if (user->getNumOperands() < 2 || user->getOperand(side) != value)
        continue;
      mlir::Value other = user->getOperand(1 - side);
      auto otherType = llvm::dyn_cast<mlir::RankedTensorType>(other.getType());
      if (name == "tosa.add" && otherType && isBias(other, otherType.getShape())) {
        absorbed[user] = value;
        return true;
      }
      if (name != "linalg.generic" || user->getNumOperands() != 3 || !otherType)
        continue;
      auto maps = user->getAttrOfType<mlir::ArrayAttr>("indexing_maps");
      mlir::Block &body = user->getRegion(0).front();
      auto map = [&](unsigned i) { return llvm::cast<mlir::AffineMapAttr>(maps[i]).getValue(); };
      bool adds = llvm::hasSingleElement(body.without_terminator()) &&
                  body.front().getName().getStringRef() == "arith.addf" &&
                  llvm::is_contained(body.front().getOperands(), body.getArgument(0)) &&
                  llvm::is_contained(body.front().getOperands(), body.getArgument(1));
      auto found = values.find(other);
      if (adds && map(side).isIdentity() && map(2).isIdentity() && otherType.getRank() == 1 &&
          otherType.getDimSize(0) == channels && found != values.end() && found->second.kind == Kind::Weight &&
          map(1 - side).getResult(0) == mlir::getAffineDimExpr(place, user->getContext())) {
        absorbed[user] = value;
        return true;
      }
    }
    return false;
  }
  return false;
}

void MlirImporter::convolution(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  bool tosa = name.starts_with("tosa."), deep = name.contains("depthwise");
  bool channelsFirst = name.contains("nchw");
  MlirValue x = get(op->getOperand(0)), w = get(op->getOperand(1));
  if (w.kind == Kind::Computed || x.full.size() != 4 || w.full.size() < 3)
    reportUnsupported("is a convolution whose weight is computed, or not of two dimensions");
  if (!x.low.empty() &&
      (x.padding != 0 || x.low[channelsFirst ? 1 : 3] || x.high[channelsFirst ? 1 : 3] || x.low[0] || x.high[0]))
    reportUnsupported("reads what is padded by other numbers than zero, or not only in rows and columns");
  int rows = channelsFirst ? 2 : 1, columns = rows + 1, channel = channelsFirst ? 1 : 3;
  // Where the weight has its extents: rows, columns, outputs.
  size_t at = deep                                      ? (channelsFirst ? 1 : 0)
              : tosa                                    ? 1
              : channelsFirst || name.ends_with("fhwc") ? (channelsFirst ? 2 : 1)
                                                        : 0;
  Shape kernel{w.full[at], w.full[at + 1]};
  Shape pads = padsOf(op, x, rows, columns);
  x = unpadded(x);
  int64_t channels = x.full[channel], many = 1;
  if (deep && w.full.size() == 4)
    many = w.full[3];
  if (x.batchDim != 0 || extent(x, 0) != 1)
    reportUnsupported("reads something without a batch as its first dimension");
  bool outFirst = tosa || channelsFirst || name.ends_with("fhwc");
  int64_t out = deep ? channels * many : outFirst ? w.full[0] : w.full[3];
  int64_t reads = deep ? (channelsFirst ? w.full[0] : w.full[2]) : w.full[channelsFirst ? 1 : tosa || outFirst ? 3 : 2];
  if (reads != channels)
    reportUnsupported(fmt::format("has a weight {} for {} channels", listOf(w.full), channels));
  Window view =
      window(x, rows, columns, kernel, twoOf(op, "stride", "strides"), twoOf(op, "dilation", "dilations"), pads, false);
  bool single = deep && many == 1;
  std::vector<std::string> attributes;
  if (!single)
    attributes.push_back(fmt::format("out = {}", out));
  llvm::append_range(attributes, view.attributes);
  if (deep && !single)
    attributes.push_back(fmt::format("groups = {}", channels));
  bool bias = false;
  if (tosa) {
    MlirValue added = get(op->getOperand(2));
    bias = !isZero(op->getOperand(2));
    if (bias && added.full != Shape{out})
      reportUnsupported(fmt::format("has a bias {} for {} channels", listOf(added.full), out));
  } else {
    MlirValue start = get(op->getOperand(op->getNumOperands() - 1));
    bias = start.kind == Kind::Weight;
    if (!bias && !(start.kind == Kind::Number && start.number == 0))
      reportUnsupported("adds to what a tensor holds; only zeros and a bias are supported");
    if (bias && elementsOf(start.full) != out)
      reportUnsupported("starts from a tensor that is no bias");
  }
  bool spread = deep && !tosa && w.full.size() == 4; // [n, h, w, c, m]
  if (!bias && !spread)
    bias = takesBias(op, out, channel);
  if (!bias)
    attributes.push_back("bias = false");
  MlirValue y;
  y.kind = Kind::Computed;
  y.batchDim = 0;
  y.dims = {channel, rows, columns};
  y.full = x.full;
  y.full[rows] = view.extents[0];
  y.full[columns] = view.extents[1];
  y.full[channel] = out;
  Shape shape{out, view.extents[0], view.extents[1]};
  y.id = textBuilder.add(nameOf(op), single ? "depthwise_conv2d" : "conv2d", {arranged(x, {channel, rows, columns})},
                         attributes, shape);
  if (spread) {
    y.full = {x.full[0], view.extents[0], view.extents[1], channels, many};
    y.dims = {3, 4, 1, 2};
    y.id = textBuilder.reshape(y.id, {channels, many, view.extents[0], view.extents[1]});
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

void MlirImporter::pool(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  bool tosa = name.starts_with("tosa."), greatest = name.contains("max");
  bool channelsFirst = name.contains("nchw");
  int rows = channelsFirst ? 2 : 1, columns = rows + 1, channel = channelsFirst ? 1 : 3;
  MlirValue x = get(op->getOperand(0));
  if (x.full.size() != 4 || x.batchDim != 0 || extent(x, 0) != 1)
    reportUnsupported("reads something without a batch as its first dimension");
  Shape kernel;
  if (tosa) {
    kernel = twoOf(op, "kernel", "kernel");
  } else {
    auto type = llvm::cast<mlir::RankedTensorType>(op->getOperand(1).getType());
    kernel.assign(type.getShape().begin(), type.getShape().end());
  }
  Shape pads = padsOf(op, x, rows, columns);
  if (!x.low.empty()) {
    static const std::set<std::string> kPositive = {"relu", "relu6", "sigmoid"};
    auto c = static_cast<size_t>(channel);
    bool lowest = x.padding < -1e30 || (x.padding == 0 && kPositive.count(textBuilder.callOf(x.id)));
    if ((greatest ? !lowest : x.padding != 0) || x.low[0] || x.high[0] || x.low[c] || x.high[c])
      reportUnsupported("reads what is padded by numbers that change its result, or not only in rows and "
                        "columns");
  }
  bool padded = llvm::any_of(pads, [](int64_t one) { return one != 0; });
  if (tosa && !greatest && padded)
    reportUnsupported("is a mean that leaves padding out; here it counts as zeros");
  x = unpadded(x);
  if (!tosa) {
    MlirValue start = get(op->getOperand(2));
    if (start.kind != Kind::Number || (greatest ? start.number > -1e30 : start.number != 0))
      reportUnsupported("starts from a tensor other than its neutral number");
  }
  Window view =
      window(x, rows, columns, kernel, twoOf(op, "stride", "strides"), twoOf(op, "dilations", "dilations"), pads, true);
  MlirValue y = x;
  y.dims = {channel, rows, columns};
  Shape shape{x.full[channel], view.extents[0], view.extents[1]};
  y.full[rows] = view.extents[0];
  y.full[columns] = view.extents[1];
  DnnTextBuilder::Id from = arranged(x, y.dims);
  bool whole = !padded && shape[1] == 1 && shape[2] == 1 && kernel == Shape{extent(x, rows), extent(x, columns)};
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

/// tosa.matmul, and linalg's products with their maps.
void MlirImporter::matmul(mlir::Operation *op) {
  MlirValue a = plain(op->getOperand(0)), b = plain(op->getOperand(1));
  bool tosa = op->getName().getStringRef().starts_with("tosa.");
  if (!tosa) {
    MlirValue start = get(op->getOperand(op->getNumOperands() - 1));
    if (start.kind != Kind::Number || start.number != 0)
      reportUnsupported("adds to what a tensor holds; only zeros are supported");
    // The maps say which dimension is summed; it becomes the last of a and the last but one of b.
    if (auto maps = op->getAttrOfType<mlir::ArrayAttr>("indexing_maps")) {
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
  }
  if (a.kind == Kind::Number || b.kind == Kind::Number)
    reportUnsupported("multiplies by a constant that is one number");
  size_t rank = a.full.size();
  if (rank < 2 || b.full.size() != rank || a.full[rank - 1] != b.full[rank - 2])
    reportUnsupported(fmt::format("multiplies {} by {}, which do not fit", listOf(a.full), listOf(b.full)));
  auto last = static_cast<int>(rank) - 1;
  MlirValue y = a.computed() ? a : b;
  y.full = a.full;
  y.full.back() = b.full.back();
  bool alone = rank == 2 || b.full[0] == 1;
  if (b.kind == Kind::Weight && alone && a.computed() && llvm::is_contained(a.dims, last)) {
    std::vector<int> order;
    for (int dim : a.dims)
      if (dim != last)
        order.push_back(dim);
    order.push_back(last);
    if (b.weight && !b.weight.hasOneUse())
      noteOnce("weights that several operations read are counted for each of them");
    DnnTextBuilder::Id x = arranged(a, order);
    Shape shape = textBuilder.shape(x);
    shape.back() = b.full.back();
    std::vector<std::string> attributes{fmt::format("out = {}", b.full.back())};
    if (!takesBias(op, b.full.back(), -1))
      attributes.push_back("bias = false");
    y.dims = order;
    y.id = textBuilder.add(nameOf(op), "linear", {x}, attributes, shape);
    return setResult(op, y);
  }
  if (!a.computed() && !b.computed())
    return setResult(op, weightOf({}, y.full));
  int where = a.computed() && a.batchDim >= 0 ? a.batchDim : b.batchDim;
  bool fits = where <= 0;
  for (const MlirValue *one : {&a, &b})
    fits &= (rank == 3 && where <= 0) || one->batchDim < 0;
  for (const MlirValue *one : {&a, &b})
    if (where == 0 && batch > 1 && one->batchDim < 0)
      fits &= one->full[0] == 1;
  if (!fits)
    reportUnsupported("multiplies samples of a batch with each other, which is not supported");
  std::vector<int> order;
  bool merged = false;
  for (const MlirValue *one : {&a, &b})
    merged |= one->batchDim < 0 ? one->full[0] != 1 : llvm::is_contained(one->dims, 0);
  for (int dim = rank == 3 && !merged && where == 0 ? 1 : 0; dim <= last; ++dim)
    order.push_back(dim);
  y.dims = order;
  y.batchDim = where;
  if (rank == 3)
    y.full[0] = std::max(a.full[0], b.full[0]);
  Shape shape;
  for (int dim : order)
    shape.push_back(extent(y, dim));
  // A turned operand is read as it lies.
  std::vector<int> turned = order;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  auto operand = [&](const MlirValue &one, const char *key, std::vector<std::string> &attributes) {
    bool lies = one.computed() && llvm::equal(one.dims, turned);
    if (lies)
      attributes.push_back(fmt::format("{} = true", key));
    return arranged(one, lies ? turned : order);
  };
  std::vector<std::string> attributes;
  DnnTextBuilder::Id left = operand(a, "transpose_a", attributes), right = operand(b, "transpose_b", attributes);
  y.kind = Kind::Computed;
  y.id = textBuilder.add(nameOf(op), "matmul", {left, right}, attributes, shape);
  setResult(op, y);
}

} // namespace accord::import
