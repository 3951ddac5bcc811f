// Constants, views and moves.
#include "lib/import/mlir/MlirContext.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {
namespace {

/// A number that all elements are, or weights whose bytes are not looked at.
void constant(MlirContext &c, mlir::Operation *op) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isFloat()) {
    MlirValue shape; // of shapes, read as such; an operand of a fill
    shape.kind = Kind::Number;
    if (type)
      shape.full.assign(type.getShape().begin(), type.getShape().end());
    shape.number = splatOf(op->getResult(0)).value_or(0);
    c.values[op->getResult(0)] = shape;
    return;
  }
  Shape full(type.getShape().begin(), type.getShape().end());
  if (!full.empty() && !elementsOf(full))
    c.reportUnsupported(fmt::format("has impossible extents: {}", listOf(full)));
  MlirValue value = c.weightOf(op->getResult(0), full);
  std::optional<double> number = splatOf(op->getResult(0));
  bool empty = op->getName().getStringRef() == "tensor.empty";
  if (empty || (number && (value.full.empty() || *elementsOf(full) == 1 || *number == 0))) {
    value.kind = Kind::Number;
    value.number = number.value_or(0);
  }
  // A tensor of one number repeated may be a weight's stand-in, or a factor.
  c.values[op->getResult(0)] = value;
}

void same(MlirContext &c, mlir::Operation *op) {
  auto isFloat = [](mlir::Value value) {
    return llvm::cast<mlir::ShapedType>(value.getType()).getElementType().isFloat();
  };
  if (isFloat(op->getOperand(0)) != isFloat(op->getResult(0)))
    c.reportUnsupported("turns numbers into integers or back, which is not supported");
  c.setResult(op, c.plain(op->getOperand(0)));
}

void reshape(MlirContext &c, mlir::Operation *op) {
  MlirValue x = c.plain(op->getOperand(0));
  Shape full;
  size_t open = 0;
  int64_t all = productOf(x.full), known = 1;
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
    c.reportUnsupported("has several open extents; export the function with the shapes that it is trained "
                        "with, where only the batch may be open");
  for (int64_t &extent : full)
    if (extent == 0)
      extent = known > 0 ? all / known : 0;
  c.setResult(op, c.reshaped(x, full));
}

void transpose(MlirContext &c, mlir::Operation *op) {
  bool tosa = op->getName().getStringRef() == "tosa.transpose";
  std::vector<int64_t> permutation;
  if (auto list = op->getAttrOfType<mlir::DenseI32ArrayAttr>("perms"); tosa && list)
    permutation.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  else
    permutation = integersOf(op->getAttr("permutation")).value_or(Shape{});
  MlirValue x = c.plain(op->getOperand(0));
  c.setResult(op, x.kind == Kind::Number ? x : c.permuted(x, permutation));
}

void concat(MlirContext &c, mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  auto axis = splatOf(op->getAttr(name == "tosa.concat" ? "axis" : name == "tensor.concat" ? "dim" : "dimension"));
  std::vector<MlirValue> parts;
  for (mlir::Value operand : op->getOperands())
    parts.push_back(c.plain(operand));
  auto lead = llvm::find_if(parts, [](const MlirValue &part) { return part.computed(); });
  int dim = axis.value_or(-1);
  if (lead == parts.end() || dim < 0 || dim >= std::ssize(lead->full))
    c.reportUnsupported("joins no tensors that are computed");
  MlirValue y = *lead;
  std::vector<int> order = llvm::is_contained(lead->dims, dim) ? lead->dims : c.natural(*lead);
  auto place = llvm::find(order, dim);
  if (place == order.end() || dim == lead->batchDim)
    c.reportUnsupported("joins along the batch, which is not supported");
  y.full[dim] = 0;
  std::vector<DnnTextBuilder::Id> ids;
  for (const MlirValue &part : parts) {
    if (!part.computed() || part.batchDim != lead->batchDim)
      c.reportUnsupported("joins a tensor of each sample and one that all share, which is not supported");
    y.full[dim] += part.full[dim];
    ids.push_back(c.arranged(part, order));
  }
  y.dims = order;
  y.id = ids.size() == 1
             ? ids[0]
             : c.add("concat", ids, {fmt::format("axis = {}", place - order.begin())}, c.extentsOf(y, order));
  c.setResult(op, y);
}

void slice(MlirContext &c, mlir::Operation *op) {
  bool tosa = op->getName().getStringRef() == "tosa.slice";
  MlirValue x = c.plain(op->getOperand(0));
  std::optional<Shape> start, size;
  if (tosa) {
    start = integersOf(op->getOperand(1));
    size = integersOf(op->getOperand(2));
  } else {
    start = integersOf(op->getAttr("static_offsets"));
    size = integersOf(op->getAttr("static_sizes"));
    for (int64_t stride : integersOf(op->getAttr("static_strides")).value_or(Shape{0}))
      if (stride != 1)
        c.reportUnsupported("takes every so many elements, which is not supported");
  }
  if (!start || !size || start->size() != x.full.size() || size->size() != x.full.size() || !x.computed())
    c.reportUnsupported("begins or ends where it is not known, or reads a weight");
  for (int i = 0; i < std::ssize(x.full); ++i) {
    int64_t from = (*start)[i], many = (*size)[i], all = x.full[i];
    bool batchDim = i == x.batchDim;
    if ((many == -1 && tosa) || (batchDim && mlir::ShapedType::isDynamic(many)))
      many = all - from;
    if (from < 0 || many < 1 || from > all || many > all - from)
      c.reportUnsupported(fmt::format("takes {} from {} on of {}", many, from, all));
    if (many == all)
      continue;
    if (batchDim)
      c.reportUnsupported("takes a part of the batch, which is not supported");
    x.full[i] = many;
    x.id = c.textBuilder.slice(nameOf(op), x.id, llvm::find(x.dims, i) - x.dims.begin(), from, many);
  }
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (type.getRank() != std::ssize(x.full))
    x = c.reshaped(x, c.fullOf(op->getResult(0), x));
  c.setResult(op, x);
}

/// Waits for the convolution or pool that reads it.
void pad(MlirContext &c, mlir::Operation *op) {
  MlirValue x = c.plain(op->getOperand(0));
  size_t rank = x.full.size();
  std::optional<double> with;
  Shape low, high;
  if (op->getName().getStringRef() == "tosa.pad") {
    Shape both = integersOf(op->getOperand(1)).value_or(Shape{});
    if (both.size() != 2 * rank)
      c.reportUnsupported("has padding that is not known");
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
    c.reportUnsupported("has padding or a number to pad with that is not known, or pads a weight");
  for (size_t i = 0; i < rank; ++i)
    x.full[i] += low[i] + high[i];
  x.low = low;
  x.high = high;
  x.padding = *with;
  c.setResult(op, x);
}

void reduce(MlirContext &c, mlir::Operation *op) {
  bool tosa = op->getName().getStringRef().starts_with("tosa.");
  MlirValue x = c.plain(op->getOperand(0));
  std::vector<int64_t> axes;
  if (tosa) {
    axes.push_back(splatOf(op->getAttr("axis")).value_or(-1));
  } else {
    axes = integersOf(op->getAttr("dimensions")).value_or(Shape{});
    mlir::Block &body = op->getRegion(0).front();
    bool two = std::next(body.begin()) != body.end() && std::next(body.begin(), 2) == body.end(); // with its end
    if (op->getNumOperands() != 2 || !two ||
        !llvm::is_contained({"arith.addf", "stablehlo.add"}, body.front().getName().getStringRef()))
      c.reportUnsupported("reduces otherwise than by a sum, which is not supported");
    c.checkZero(op->getOperand(1));
  }
  if (!x.computed())
    c.reportUnsupported("reduces a weight");
  MlirValue y = x;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= std::ssize(x.full) || axis == x.batchDim)
      c.reportUnsupported("reduces the batch, which is not supported");
    y.full[axis] = 1;
    auto place = llvm::find(y.dims, axis);
    if (place == y.dims.end())
      continue;
    auto at = place - y.dims.begin();
    Shape shape = c.shape(y.id);
    int64_t count = shape[at];
    shape.erase(shape.begin() + at);
    y.dims.erase(place);
    DnnTextBuilder::Id before = y.id;
    std::string along = fmt::format("axis = {}", at);
    if (y.dims.empty())
      c.reportUnsupported("leaves one number of each sample, which is not supported");
    y.id = c.add("reduce_sum", {before}, {along}, shape);
    auto sum = c.means.find(before);
    DnnTextBuilder::Id origin = sum == c.means.end() ? before : c.textBuilder.operandOf(before);
    Shape image = c.shape(origin);
    if (sum != c.means.end() && image.size() == 3 && shape.size() == 1 && image[0] == shape[0])
      c.means[y.id] = {c.textBuilder.add("", "global_avg_pool", {origin}, {}, shape), image[1] * image[2]};
    else if (sum == c.means.end())
      c.means[y.id] = {c.textBuilder.add("", "reduce_mean", {before}, {along}, shape), count};
  }
  if (!tosa) { // gives fewer dimensions
    Shape full;
    std::vector<int> place(x.full.size(), -1);
    for (size_t i = 0; i < x.full.size(); ++i)
      if (!llvm::is_contained(axes, i)) {
        place[i] = full.size();
        full.push_back(x.full[i]);
      }
    y.full = full;
    for (int &dim : y.dims)
      dim = place[dim];
    y.batchDim = y.batchDim < 0 ? -1 : place[y.batchDim];
  }
  c.setResult(op, y);
}

void softmax(MlirContext &c, mlir::Operation *op) {
  c.setResult(op, c.softmaxOf(c.plain(op->getOperand(0)), splatOf(op->getAttr("dimension")).value_or(-1)));
}

void fill(MlirContext &c, mlir::Operation *op) {
  MlirValue value = c.plain(op->getOperand(0));
  if (value.kind != Kind::Number)
    c.reportUnsupported("repeats a number that is not known");
  c.setResult(op, value);
}

/// New dimensions repeat: a weight that is repeated is read by broadcasting, or is a bias.
void broadcast(MlirContext &c, mlir::Operation *op) {
  MlirValue x = c.plain(op->getOperand(0));
  Shape added = integersOf(op->getAttr("dimensions")).value_or(Shape{});
  if (x.kind != Kind::Number && x.kind != Kind::Weight)
    c.reportUnsupported("repeats what is computed, which is not supported");
  Shape full;
  size_t from = 0;
  for (int64_t i = 0;
       x.kind == Kind::Weight && from + added.size() >= full.size() && full.size() < x.full.size() + added.size(); ++i)
    full.push_back(llvm::is_contained(added, i) ? 1 : x.full[from++]);
  x.full = full;
  c.setResult(op, x);
}

} // namespace

std::vector<MlirOperations> mlirMovement() {
  return {{broadcast, {"linalg.broadcast"}},
          {concat, {"tosa.concat", "tensor.concat", "stablehlo.concatenate"}},
          {constant,
           {"tosa.const", "tosa.const_shape", "arith.constant", "tensor.empty", "tensor.dim", "arith.muli",
            "arith.divsi", "arith.divui"}},
          {fill, {"linalg.fill"}},
          {pad, {"tosa.pad", "tensor.pad"}},
          {reduce, {"tosa.reduce_sum", "linalg.reduce", "stablehlo.reduce"}},
          {reshape, {"tosa.reshape", "tensor.collapse_shape", "tensor.expand_shape"}},
          {same, {"tosa.identity", "tosa.cast", "tensor.cast"}},
          {slice, {"tosa.slice", "tensor.extract_slice"}},
          {softmax, {"linalg.softmax"}},
          {transpose, {"tosa.transpose", "linalg.transpose", "stablehlo.transpose"}}};
}

} // namespace accord::import
