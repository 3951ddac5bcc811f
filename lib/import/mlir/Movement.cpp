// Constants, views and moves; the table of all operations.
#include "lib/import/mlir/Importer.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {

const std::map<std::string, MlirImporter::Handler> &MlirImporter::handlers() {
  using I = MlirImporter;
  static const std::map<std::string, Handler> table = [] {
    std::map<std::string, Handler> all = {{"tosa.transpose_conv2d", &I::transposeConvolution},
                                          {"tosa.reshape", &I::reshape},
                                          {"tosa.identity", &I::same},
                                          {"tosa.cast", &I::same},
                                          {"tosa.transpose", &I::transpose},
                                          {"tosa.concat", &I::concat},
                                          {"tosa.slice", &I::slice},
                                          {"tosa.pad", &I::pad},
                                          {"tosa.reduce_sum", &I::reduce},
                                          {"tensor.pad", &I::pad},
                                          {"tensor.cast", &I::same},
                                          {"tensor.collapse_shape", &I::reshape},
                                          {"tensor.expand_shape", &I::reshape},
                                          {"tensor.concat", &I::concat},
                                          {"tensor.extract_slice", &I::slice},
                                          {"linalg.fill", &I::fill},
                                          {"linalg.broadcast", &I::broadcast},
                                          {"linalg.transpose", &I::transpose},
                                          {"linalg.softmax", &I::softmax},
                                          {"linalg.reduce", &I::reduce},
                                          {"linalg.generic", &I::generic}};
    for (const char *op : {"tosa.const", "tosa.const_shape", "arith.constant", "tensor.empty", "tensor.dim",
                           "arith.muli", "arith.divsi", "arith.divui"})
      all[op] = &I::constant;
    for (const char *op : {"tosa.conv2d", "tosa.depthwise_conv2d", "linalg.conv_2d_nchw_fchw",
                           "linalg.conv_2d_nhwc_hwcf", "linalg.conv_2d_nhwc_fhwc", "linalg.depthwise_conv_2d_nhwc_hwc",
                           "linalg.depthwise_conv_2d_nchw_chw", "linalg.depthwise_conv_2d_nhwc_hwcm"})
      all[op] = &I::convolution;
    for (const char *op : {"tosa.avg_pool2d", "tosa.max_pool2d", "linalg.pooling_nchw_max", "linalg.pooling_nchw_sum",
                           "linalg.pooling_nhwc_max", "linalg.pooling_nhwc_sum"})
      all[op] = &I::pool;
    for (const char *op : {"tosa.matmul", "linalg.matmul", "linalg.batch_matmul"})
      all[op] = &I::matmul;
    for (const char *op :
         {"tosa.add",    "tosa.sub",     "tosa.mul",     "tosa.clamp",   "tosa.sigmoid", "tosa.tanh",
          "tosa.exp",    "tosa.negate",  "tosa.maximum", "tosa.minimum", "tosa.rsqrt",   "tosa.reciprocal",
          "linalg.add",  "linalg.sub",   "linalg.mul",   "linalg.div",   "linalg.exp",   "linalg.tanh",
          "linalg.sqrt", "linalg.rsqrt", "linalg.negf",  "linalg.max",   "linalg.min",   "linalg.reciprocal"})
      all[op] = &I::elementwise;
    return all;
  }();
  return table;
}

/// A number that all elements are, or weights whose bytes are not looked at.
void MlirImporter::constant(mlir::Operation *op) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isFloat()) {
    MlirValue shape; // of shapes, read as such; an operand of a fill
    shape.kind = Kind::Number;
    if (type)
      shape.full.assign(type.getShape().begin(), type.getShape().end());
    shape.number = splatOf(op->getResult(0)).value_or(0);
    values[op->getResult(0)] = shape;
    return;
  }
  Shape full(type.getShape().begin(), type.getShape().end());
  if (!full.empty() && !elementsOf(full))
    reportUnsupported(fmt::format("has impossible extents: {}", listOf(full)));
  MlirValue value = weightOf(op->getResult(0), full);
  std::optional<double> number = splatOf(op->getResult(0));
  bool empty = op->getName().getStringRef() == "tensor.empty";
  if (empty || (number && (value.full.empty() || *elementsOf(full) == 1 || *number == 0))) {
    value.kind = Kind::Number;
    value.number = number.value_or(0);
  }
  // A tensor of one number repeated may be a weight's stand-in, or a factor.
  values[op->getResult(0)] = value;
}

void MlirImporter::same(mlir::Operation *op) {
  auto isFloat = [](mlir::Value value) {
    return llvm::cast<mlir::ShapedType>(value.getType()).getElementType().isFloat();
  };
  if (isFloat(op->getOperand(0)) != isFloat(op->getResult(0)))
    reportUnsupported("turns numbers into integers or back, which is not supported");
  setResult(op, plain(op->getOperand(0)));
}

void MlirImporter::reshape(mlir::Operation *op) {
  MlirValue x = plain(op->getOperand(0));
  Shape full;
  size_t open = 0;
  int64_t all = 1, known = 1;
  for (int64_t extent : x.full)
    all *= extent;
  // The operand of tosa.reshape may know more than the type.
  auto type = llvm::cast<mlir::ShapedType>(op->getResult(0).getType());
  Shape stated(type.getShape());
  if (op->getNumOperands() > 1)
    if (auto shape = integersOf(op->getOperand(1)); shape && shape->size() == stated.size())
      stated = *shape;
  for (int64_t extent : stated) {
    bool unknown = mlir::ShapedType::isDynamic(extent) || extent < 0;
    open += unknown;
    full.push_back(unknown ? 0 : extent);
    known *= unknown ? 1 : extent;
  }
  if (open > 1)
    reportUnsupported("has several open extents; export the function with the shapes that it is trained "
                      "with, where only the batch may be open");
  for (int64_t &extent : full)
    if (extent == 0)
      extent = known > 0 ? all / known : 0;
  setResult(op, reshaped(x, full));
}

void MlirImporter::transpose(mlir::Operation *op) {
  bool tosa = op->getName().getStringRef() == "tosa.transpose";
  std::vector<int64_t> permutation;
  if (auto list = op->getAttrOfType<mlir::DenseI32ArrayAttr>("perms"); tosa && list)
    permutation.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  else
    permutation = integersOf(op->getAttr("permutation")).value_or(Shape{});
  MlirValue x = plain(op->getOperand(0));
  setResult(op, x.kind == Kind::Number ? x : permuted(x, permutation));
}

void MlirImporter::concat(mlir::Operation *op) {
  auto axis = splatOf(op->getAttr(op->getName().getStringRef() == "tosa.concat" ? "axis" : "dim"));
  std::vector<MlirValue> parts;
  for (mlir::Value operand : op->getOperands())
    parts.push_back(plain(operand));
  const MlirValue *lead = nullptr;
  for (const MlirValue &part : parts)
    if (part.computed() && !lead)
      lead = &part;
  auto dim = static_cast<int>(axis.value_or(-1));
  if (!lead || dim < 0 || dim >= static_cast<int>(lead->full.size()))
    reportUnsupported("joins no tensors that are computed");
  MlirValue y = *lead;
  std::vector<int> order = llvm::is_contained(lead->dims, dim) ? lead->dims : natural(*lead);
  auto place = llvm::find(order, dim);
  if (place == order.end() || dim == lead->batchDim)
    reportUnsupported("joins along the batch, which is not supported");
  y.full[static_cast<size_t>(dim)] = 0;
  std::vector<DnnTextBuilder::Id> ids;
  for (const MlirValue &part : parts) {
    if (!part.computed() || part.batchDim != lead->batchDim)
      reportUnsupported("joins a tensor of each sample and one that all share, which is not supported");
    y.full[static_cast<size_t>(dim)] += part.full[static_cast<size_t>(dim)];
    ids.push_back(arranged(part, order));
  }
  y.dims = order;
  Shape shape;
  for (int one : order)
    shape.push_back(extent(y, one));
  y.id = ids.size() == 1
             ? ids[0]
             : textBuilder.add(nameOf(op), "concat", ids, {fmt::format("axis = {}", place - order.begin())}, shape);
  setResult(op, y);
}

void MlirImporter::slice(mlir::Operation *op) {
  bool tosa = op->getName().getStringRef() == "tosa.slice";
  MlirValue x = plain(op->getOperand(0));
  std::optional<Shape> start, size;
  if (tosa) {
    start = integersOf(op->getOperand(1));
    size = integersOf(op->getOperand(2));
  } else {
    start = integersOf(op->getAttr("static_offsets"));
    size = integersOf(op->getAttr("static_sizes"));
    for (int64_t stride : integersOf(op->getAttr("static_strides")).value_or(Shape{0}))
      if (stride != 1)
        reportUnsupported("takes every so many elements, which is not supported");
  }
  if (!start || !size || start->size() != x.full.size() || size->size() != x.full.size() || !x.computed())
    reportUnsupported("begins or ends where it is not known, or reads a weight");
  for (size_t i = 0; i < x.full.size(); ++i) {
    int64_t from = (*start)[i], many = (*size)[i], all = x.full[i];
    bool batchDim = static_cast<int>(i) == x.batchDim;
    if ((many == -1 && tosa) || (batchDim && mlir::ShapedType::isDynamic(many)))
      many = all - from;
    if (from < 0 || many < 1 || from > all || many > all - from)
      reportUnsupported(fmt::format("takes {} from {} on of {}", many, from, all));
    if (many == all)
      continue;
    if (batchDim)
      reportUnsupported("takes a part of the batch, which is not supported");
    auto place = llvm::find(x.dims, static_cast<int>(i));
    x.full[i] = many;
    Shape shape = textBuilder.shape(x.id);
    shape[place - x.dims.begin()] = many;
    x.id = textBuilder.add(nameOf(op), "slice", {x.id},
                           {fmt::format("axis = {}", place - x.dims.begin()), fmt::format("start = {}", from),
                            fmt::format("size = {}", many)},
                           shape);
  }
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (type.getRank() != static_cast<int64_t>(x.full.size()))
    x = reshaped(x, fullOf(op->getResult(0), x));
  setResult(op, x);
}

/// Waits for the convolution or pool that reads it.
void MlirImporter::pad(mlir::Operation *op) {
  MlirValue x = plain(op->getOperand(0));
  size_t rank = x.full.size();
  std::optional<double> with;
  Shape low, high;
  if (op->getName().getStringRef() == "tosa.pad") {
    Shape both = integersOf(op->getOperand(1)).value_or(Shape{});
    if (both.size() != 2 * rank)
      reportUnsupported("has padding that is not known");
    for (size_t i = 0; i < rank; ++i) {
      low.push_back(both[2 * i]);
      high.push_back(both[2 * i + 1]);
    }
    with = splatOf(op->getOperand(2));
  } else {
    low = integersOf(op->getAttr("static_low")).value_or(Shape{});
    high = integersOf(op->getAttr("static_high")).value_or(Shape{});
    with = splatOf(op->getRegion(0).front().getTerminator()->getOperand(0));
  }
  auto bad = [](int64_t one) { return one < 0 || one > 1 << 30; };
  if (low.size() != rank || high.size() != rank || !with || !x.computed() || llvm::any_of(low, bad) ||
      llvm::any_of(high, bad))
    reportUnsupported("has padding or a number to pad with that is not known, or pads a weight");
  for (size_t i = 0; i < rank; ++i)
    x.full[i] += low[i] + high[i];
  x.low = low;
  x.high = high;
  x.padding = *with;
  setResult(op, x);
}

void MlirImporter::reduce(mlir::Operation *op) {
  bool tosa = op->getName().getStringRef().starts_with("tosa.");
  MlirValue x = plain(op->getOperand(0));
  std::vector<int64_t> axes;
  if (tosa) {
    axes = {static_cast<int64_t>(splatOf(op->getAttr("axis")).value_or(-1))};
  } else {
    axes = integersOf(op->getAttr("dimensions")).value_or(Shape{});
    mlir::Block &body = op->getRegion(0).front();
    if (op->getNumOperands() != 2 || !llvm::hasSingleElement(body.without_terminator()) ||
        body.front().getName().getStringRef() != "arith.addf")
      reportUnsupported("reduces otherwise than by a sum, which is not supported");
    MlirValue start = get(op->getOperand(1));
    if (start.kind != Kind::Number || start.number != 0)
      reportUnsupported("adds to what a tensor holds; only zeros are supported");
  }
  if (!x.computed())
    reportUnsupported("reduces a weight");
  MlirValue y = x;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(x.full.size()) || axis == x.batchDim)
      reportUnsupported("reduces the batch, which is not supported");
    y.full[static_cast<size_t>(axis)] = 1;
    auto place = llvm::find(y.dims, static_cast<int>(axis));
    if (place == y.dims.end())
      continue;
    auto at = place - y.dims.begin();
    Shape shape = textBuilder.shape(y.id);
    int64_t count = shape[at];
    shape.erase(shape.begin() + at);
    if (shape.empty())
      shape = {1};
    y.dims.erase(place);
    DnnTextBuilder::Id before = y.id;
    std::string along = fmt::format("axis = {}", at);
    if (y.dims.empty()) { // one number for each sample
      y.dims = {static_cast<int>(axis)};
      reportUnsupported("leaves one number of each sample, which is not supported");
    }
    y.id = textBuilder.add(nameOf(op), "reduce_sum", {before}, {along}, shape);
    auto sum = means.find(before);
    DnnTextBuilder::Id origin = sum == means.end() ? before : textBuilder.operandOf(before);
    Shape image = textBuilder.shape(origin);
    if (sum != means.end() && image.size() == 3 && shape.size() == 1 && image[0] == shape[0])
      means[y.id] = {textBuilder.add("", "global_avg_pool", {origin}, {}, shape), image[1] * image[2]};
    else if (sum == means.end())
      means[y.id] = {textBuilder.add("", "reduce_mean", {before}, {along}, shape), count};
  }
  if (!tosa) { // gives fewer dimensions
    Shape full;
    std::vector<int> place(x.full.size(), -1);
    for (size_t i = 0; i < x.full.size(); ++i)
      if (!llvm::is_contained(axes, static_cast<int64_t>(i))) {
        place[i] = full.size();
        full.push_back(x.full[i]);
      }
    y.full = full;
    for (int &dim : y.dims)
      dim = place[dim];
    y.batchDim = y.batchDim < 0 ? -1 : place[y.batchDim];
  }
  setResult(op, y);
}

MlirValue MlirImporter::softmaxOf(const MlirValue &x, int axis) {
  auto place = llvm::find(x.dims, axis);
  if (!x.computed() || place == x.dims.end())
    reportUnsupported("works across the samples of a batch");
  MlirValue y = x;
  std::vector<std::string> attributes;
  if (place + 1 != x.dims.end())
    attributes.push_back(fmt::format("axis = {}", place - x.dims.begin()));
  y.id = textBuilder.add(nameOf(current), "softmax", {x.id}, attributes, textBuilder.shape(x.id));
  softmaxAxis[y.id] = axis;
  return y;
}

void MlirImporter::softmax(mlir::Operation *op) {
  setResult(op, softmaxOf(plain(op->getOperand(0)), static_cast<int>(splatOf(op->getAttr("dimension")).value_or(-1))));
}

void MlirImporter::fill(mlir::Operation *op) {
  MlirValue value = plain(op->getOperand(0));
  if (value.kind != Kind::Number)
    reportUnsupported("repeats a number that is not known");
  setResult(op, value);
}

/// New dimensions repeat: a weight that is repeated is read by broadcasting, or is a bias.
void MlirImporter::broadcast(mlir::Operation *op) {
  MlirValue x = plain(op->getOperand(0));
  Shape added = integersOf(op->getAttr("dimensions")).value_or(Shape{});
  if (x.kind != Kind::Number && x.kind != Kind::Weight)
    reportUnsupported("repeats what is computed, which is not supported");
  Shape full;
  size_t from = 0;
  for (int64_t i = 0;
       x.kind == Kind::Weight && from + added.size() >= full.size() && full.size() < x.full.size() + added.size(); ++i)
    full.push_back(llvm::is_contained(added, i) ? 1 : x.full[from++]);
  x.full = full;
  setResult(op, x);
}

} // namespace accord::import
