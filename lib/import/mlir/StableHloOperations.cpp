// Operations of StableHLO with weights, windows or dimensions of their own. What they share with tosa and linalg is
// with those.
#include "lib/import/mlir/StableHlo.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord::import {

llvm::StringRef opaqueText(mlir::Attribute attribute) {
  auto opaque = llvm::dyn_cast_or_null<mlir::OpaqueAttr>(attribute);
  return opaque ? opaque.getAttrData() : "";
}

std::optional<Shape> listIn(llvm::StringRef text, llvm::StringRef key) {
  for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    llvm::StringRef rest = text.drop_front(at + key.size()).ltrim();
    bool whole = at == 0 || !(llvm::isAlnum(text[at - 1]) || text[at - 1] == '_');
    if (!whole || !rest.consume_front("=") || !(rest = rest.ltrim()).consume_front("["))
      continue;
    Shape numbers;
    llvm::SmallVector<llvm::StringRef> words;
    rest.take_until([](char c) { return c == ']'; }).split(words, ',', -1, false);
    for (llvm::StringRef word : words) {
      int64_t number = 0;
      if (word.trim().getAsInteger(10, number))
        return std::nullopt;
      numbers.push_back(number);
    }
    return numbers;
  }
  return std::nullopt;
}

std::optional<DotDimensions> dotDimensionsOf(mlir::Operation *op) {
  llvm::StringRef text = opaqueText(op->getAttr("dot_dimension_numbers"));
  auto list = [&](llvm::StringRef key) { return listIn(text, key).value_or(Shape{}); };
  DotDimensions dims{list("lhs_batching_dimensions"), list("rhs_batching_dimensions"),
                     list("lhs_contracting_dimensions"), list("rhs_contracting_dimensions")};
  if (op->getNumOperands() != 2 || dims.leftBatch.size() != dims.rightBatch.size() ||
      dims.leftSummed.size() != dims.rightSummed.size())
    return std::nullopt;
  for (auto [side, lists] : {std::pair(0u, std::pair(&dims.leftBatch, &dims.leftSummed)),
                             std::pair(1u, std::pair(&dims.rightBatch, &dims.rightSummed))}) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(side).getType());
    std::set<int64_t> seen;
    for (const Shape *one : {lists.first, lists.second})
      for (int64_t dim : *one)
        if (!type || dim < 0 || dim >= type.getRank() || !seen.insert(dim).second)
          return std::nullopt;
  }
  return dims;
}

std::optional<ConvolutionDimensions> convolutionDimensionsOf(mlir::Operation *op) {
  llvm::StringRef text = opaqueText(op->getAttr("dimension_numbers"));
  ConvolutionDimensions dims;
  auto read = [&](ConvolutionDimensions::Part &part, char batch, char channel) {
    llvm::StringRef inside = text.drop_front(std::min(text.size(), text.find('['))).drop_front(!text.empty());
    text = inside.drop_front(std::min(inside.size(), inside.find(']')));
    llvm::SmallVector<llvm::StringRef> words;
    inside.take_until([](char c) { return c == ']'; }).split(words, ',', -1, false);
    part.spatial.assign(words.size() < 2 ? 0 : words.size() - 2, -1);
    for (auto [at, word] : llvm::enumerate(words)) {
      size_t spatial = 0;
      word = word.trim();
      if (word == llvm::StringRef(&batch, 1))
        part.batch = at;
      else if (word == llvm::StringRef(&channel, 1))
        part.channel = at;
      else if (!word.getAsInteger(10, spatial) && spatial < part.spatial.size())
        part.spatial[spatial] = at;
    }
    return part.batch >= 0 && part.channel >= 0 && !llvm::is_contained(part.spatial, -1);
  };
  if (!read(dims.input, 'b', 'f') || !read(dims.kernel, 'o', 'i') || !read(dims.output, 'b', 'f') ||
      dims.input.spatial.size() != dims.kernel.spatial.size() ||
      dims.input.spatial.size() != dims.output.spatial.size())
    return std::nullopt;
  return dims;
}

mlir::Value behindRepeats(mlir::Value value) {
  auto withoutOnes = [](mlir::Value of) {
    Shape shape;
    if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(of.getType()))
      llvm::copy_if(type.getShape(), std::back_inserter(shape), [](int64_t extent) { return extent != 1; });
    return shape;
  };
  while (mlir::Operation *op = value.getDefiningOp()) {
    llvm::StringRef name = op->getName().getStringRef();
    bool passes = name == "stablehlo.broadcast_in_dim" || name == "stablehlo.convert" ||
                  (name == "stablehlo.reshape" && withoutOnes(op->getOperand(0)) == withoutOnes(value));
    if (!passes || op->getNumOperands() != 1)
      break;
    value = op->getOperand(0);
  }
  return value;
}

mlir::Value reducedBy(mlir::Value value, llvm::StringRef kind) {
  mlir::Operation *op = behindRepeats(value).getDefiningOp();
  if (!op || op->getName().getStringRef() != "stablehlo.reduce" || op->getNumOperands() != 2 ||
      op->getNumRegions() != 1 || op->getRegion(0).empty())
    return {};
  return op->getRegion(0).front().front().getName().stripDialect() == kind ? op->getOperand(0) : mlir::Value();
}

std::string weightName(mlir::Value weight) {
  auto argument = llvm::dyn_cast_or_null<mlir::BlockArgument>(weight);
  auto named = argument ? llvm::dyn_cast<mlir::NameLoc>(argument.getLoc()) : mlir::NameLoc();
  if (!named)
    return "";
  llvm::StringRef text = named.getName().getValue();
  llvm::StringRef inside = text.drop_front(std::min(text.size(), text.find_first_of("[.")));
  std::string name;
  for (char one : inside.empty() ? text : inside)
    if (llvm::isAlnum(one))
      name += one;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return name;
}

namespace {

constexpr const char *kConstants = "numbers that are the same in each step (masks, positions) are left out";

bool isConstant(const MlirValue &value) { return value.kind == Kind::Number; }

MlirValue constantOf(mlir::Value of) {
  MlirValue value;
  value.kind = Kind::Number;
  value.number = NAN;
  auto type = llvm::cast<mlir::RankedTensorType>(of.getType());
  value.full.assign(type.getShape().begin(), type.getShape().end());
  return value;
}

void set(MlirContext &c, mlir::Operation *op, MlirValue value) { c.values[op->getResult(0)] = std::move(value); }

/// The number that all elements are after an operation on such tensors; not a number where it is not known.
double folded(llvm::StringRef kind, llvm::ArrayRef<double> x) {
  if (x.size() == 1)
    return kind == "sqrt"      ? std::sqrt(x[0])
           : kind == "rsqrt"   ? 1 / std::sqrt(x[0])
           : kind == "negate"  ? -x[0]
           : kind == "convert" ? x[0]
                               : NAN;
  if (x.size() == 2)
    return kind == "add"        ? x[0] + x[1]
           : kind == "subtract" ? x[0] - x[1]
           : kind == "multiply" ? x[0] * x[1]
           : kind == "divide"   ? x[0] / x[1]
                                : NAN;
  return NAN;
}

/// What is computed of constants alone is a constant; false where it is more.
bool isOfConstants(MlirContext &c, mlir::Operation *op) {
  std::vector<double> numbers;
  for (mlir::Value operand : op->getOperands()) {
    MlirValue x = c.plain(operand);
    if (!isConstant(x))
      return false;
    numbers.push_back(x.number);
  }
  MlirValue made = constantOf(op->getResult(0));
  made.number = folded(op->getName().stripDialect(), numbers);
  set(c, op, made);
  return true;
}

void constant(MlirContext &c, mlir::Operation *op) {
  MlirValue value = constantOf(op->getResult(0));
  if (auto number = splatOf(op->getAttr("value")); number && op->getName().stripDialect() == "constant")
    value.number = *number;
  set(c, op, value);
}

/// Whether elements are integers or flags, whose values are not followed: their shapes are.
bool isWhole(mlir::Value value) {
  return !llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType().isFloat();
}

/// Indices that are clamped, wrapped or compared stay the indices that they are.
void whole(MlirContext &c, mlir::Operation *op) {
  if (isOfConstants(c, op))
    return;
  for (mlir::Value operand : llvm::reverse(op->getOperands()))
    if (MlirValue x = c.plain(operand); x.computed() && isWhole(operand))
      return set(c, op, x);
  c.reportUnsupported("makes integers of numbers, which is not supported");
}

void elementwise(MlirContext &c, mlir::Operation *op) {
  if (isWhole(op->getResult(0)))
    return whole(c, op);
  if (isOfConstants(c, op))
    return;
  // A table of constants that is added to activations, or multiplies them.
  if (op->getNumOperands() == 2)
    for (unsigned side : {0u, 1u}) {
      MlirValue other = c.plain(op->getOperand(side)), x = c.plain(op->getOperand(1 - side));
      if (!isConstant(other) || !std::isnan(other.number))
        continue;
      c.noteOnce(kConstants);
      return set(c, op, x);
    }
  importElementwise(c, op);
}

/// `select(mask, x, -inf)`: of constants, the mask changes no shape and no work.
void select(MlirContext &c, mlir::Operation *op) {
  if (isWhole(op->getResult(0)))
    return whole(c, op);
  if (isOfConstants(c, op))
    return;
  MlirValue a = c.plain(op->getOperand(1)), b = c.plain(op->getOperand(2));
  if (!isConstant(a) && !isConstant(b))
    c.reportUnsupported("chooses between two tensors that are computed, which is not supported");
  c.noteOnce(kConstants);
  set(c, op, isConstant(a) ? b : a);
}

/// Repeats are left to the operations that read them; a dimension that is one there is one here.
void broadcast(MlirContext &c, mlir::Operation *op) {
  MlirValue x = c.plain(op->getOperand(0));
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  auto places = integersOf(op->getAttr("broadcast_dimensions"));
  auto from = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  if (!places || std::ssize(*places) != from.getRank())
    c.reportUnsupported("has no list of dimensions that fits its operand");
  for (int64_t place : *places)
    if (place < 0 || place >= type.getRank())
      c.reportUnsupported("has a dimension that its result has not");
  if (isConstant(x)) {
    x.full.assign(type.getShape().begin(), type.getShape().end());
    return set(c, op, x);
  }
  MlirValue y = x;
  y.full.assign(type.getRank(), 1);
  for (auto [at, place] : llvm::enumerate(*places))
    y.full[place] = x.full[at];
  if (x.computed()) {
    for (int &dim : y.dims)
      dim = (*places)[dim];
    y.batchDim = x.batchDim < 0 ? -1 : (*places)[x.batchDim];
  }
  set(c, op, y);
}

/// A value whose repeats are taken as they are by what reads it in another order.
void checkWhole(MlirContext &c, const MlirValue &x, mlir::Value of) {
  auto type = llvm::cast<mlir::RankedTensorType>(of.getType());
  for (auto [known, stated] : llvm::zip(x.full, type.getShape()))
    if (x.computed() && known == 1 && stated > 1)
      c.reportUnsupported("reads a tensor that is repeated, which is supported only where another is added to it");
}

/// `dims` of `x`, in this order, as one tensor with the extents of each group joined.
DnnTextBuilder::Id grouped(MlirContext &c, const MlirValue &x, const std::vector<std::vector<int>> &groups) {
  std::vector<int> order;
  Shape shape;
  for (const std::vector<int> &group : groups) {
    int64_t extent = 1;
    for (int dim : group)
      if (dim != x.batchDim || llvm::is_contained(x.dims, dim)) {
        order.push_back(dim);
        extent *= c.extent(x, dim);
      }
    shape.push_back(extent);
  }
  return c.textBuilder.reshape(c.arranged(x, order), shape);
}

std::vector<int> intsOf(const Shape &list) { return {list.begin(), list.end()}; }
/// Dimensions of a value that are in neither list.
std::vector<int> freeDims(const MlirValue &x, const Shape &batch, const Shape &summed) {
  std::vector<int> free;
  for (int dim = 0; dim < std::ssize(x.full); ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(summed, dim))
      free.push_back(dim);
  return free;
}

/// x times a weight: all dimensions of x but those that are summed, then the free ones of the weight (before them, if
/// the weight is the left operand).
void linear(MlirContext &c, mlir::Operation *op, const DotDimensions &dims, bool weightLeft) {
  MlirValue x = c.plain(op->getOperand(weightLeft ? 1 : 0)), w = c.plain(op->getOperand(weightLeft ? 0 : 1));
  const Shape &summed = weightLeft ? dims.rightSummed : dims.leftSummed,
              &wSummed = weightLeft ? dims.leftSummed : dims.rightSummed;
  checkWhole(c, x, op->getOperand(weightLeft ? 1 : 0));
  std::vector<int> kept = freeDims(x, {}, summed), wKept = freeDims(w, {}, wSummed);
  if (x.batchDim >= 0 && llvm::is_contained(summed, x.batchDim))
    c.reportUnsupported("sums over the batch, which is not supported");
  int64_t out = 1;
  for (int dim : wKept)
    out *= w.full[dim];
  c.noteSharedWeight(w.weight);
  std::vector<std::vector<int>> groups;
  for (int dim : kept)
    if (dim != x.batchDim || llvm::is_contained(x.dims, dim))
      groups.push_back({dim});
  groups.push_back(intsOf(summed));
  DnnTextBuilder::Id from = grouped(c, x, groups);
  Shape shape = c.shape(from);
  shape.back() = out;
  std::vector<std::string> attributes{fmt::format("out = {}", out)};
  if (!takesBias(c, op, out, -1))
    attributes.push_back("bias = false");
  MlirValue y = x;
  y.weight = {};
  y.id = c.textBuilder.add(weightName(w.weight), "linear", {from}, attributes, shape);
  // The dimensions of the result: kept ones of the left operand first.
  y.full.clear();
  y.dims.clear();
  y.batchDim = -1;
  int first = weightLeft ? wKept.size() : 0, wFirst = weightLeft ? 0 : kept.size();
  y.full.resize(kept.size() + wKept.size());
  for (auto [at, dim] : llvm::enumerate(kept)) {
    y.full[first + at] = x.full[dim];
    if (dim == x.batchDim)
      y.batchDim = first + at;
    if (dim != x.batchDim || llvm::is_contained(x.dims, dim))
      y.dims.push_back(first + at);
  }
  for (auto [at, dim] : llvm::enumerate(wKept)) {
    y.full[wFirst + at] = w.full[dim];
    y.dims.push_back(wFirst + at);
  }
  y.id = c.textBuilder.reshape(y.id, c.extentsOf(y, y.dims));
  c.setResult(op, y);
}

/// Of two tensors that are computed: [batch, rows, summed] by [batch, columns, summed].
void product(MlirContext &c, mlir::Operation *op, const DotDimensions &dims) {
  MlirValue a = c.plain(op->getOperand(0)), b = c.plain(op->getOperand(1));
  checkWhole(c, a, op->getOperand(0));
  checkWhole(c, b, op->getOperand(1));
  std::vector<int> rows = freeDims(a, dims.leftBatch, dims.leftSummed),
                   columns = freeDims(b, dims.rightBatch, dims.rightSummed);
  for (auto [one, other] : llvm::zip(dims.leftBatch, dims.rightBatch))
    if ((one == a.batchDim) != (other == b.batchDim))
      c.reportUnsupported("multiplies samples of a batch with each other, which is not supported");
  auto isFree = [](const MlirValue &x, const std::vector<int> &free) { return llvm::is_contained(free, x.batchDim); };
  bool together = llvm::is_contained(dims.leftBatch, a.batchDim);
  if (!together && (isFree(a, rows) ? b.batchDim >= 0 : a.batchDim >= 0 || b.batchDim < 0))
    c.reportUnsupported("multiplies samples of a batch with each other, which is not supported");
  std::vector<int> batch = intsOf(dims.leftBatch), batchB = intsOf(dims.rightBatch);
  // A turned operand is read as it lies.
  auto endsIn = [](const MlirValue &x, const std::vector<int> &last) {
    return x.dims.size() >= last.size() && std::equal(last.rbegin(), last.rend(), x.dims.rbegin());
  };
  bool turnA = !endsIn(a, intsOf(dims.leftSummed)), turnB = endsIn(b, intsOf(dims.rightSummed));
  std::vector<std::vector<int>> left{batch, rows, intsOf(dims.leftSummed)},
      right{batchB, intsOf(dims.rightSummed), columns};
  std::vector<std::string> attributes;
  if (turnA) {
    std::swap(left[1], left[2]);
    attributes.push_back("transpose_a = true");
  }
  if (turnB) {
    std::swap(right[1], right[2]);
    attributes.push_back("transpose_b = true");
  }
  DnnTextBuilder::Id x = grouped(c, a, left), w = grouped(c, b, right);
  Shape shape = c.shape(x), other = c.shape(w);
  Shape made{shape[0], shape[turnA ? 2 : 1], other[turnB ? 1 : 2]};
  bool single = made[0] == 1 && other[0] == 1;
  if (single) {
    x = c.textBuilder.reshape(x, {shape[1], shape[2]});
    w = c.textBuilder.reshape(w, {other[1], other[2]});
    made.erase(made.begin());
  }
  MlirValue y = a.batchDim >= 0 ? a : b;
  y.kind = Kind::Computed;
  y.weight = {};
  y.full.clear();
  y.dims.clear();
  y.batchDim = -1;
  auto add = [&](const MlirValue &from, const std::vector<int> &those) {
    for (int dim : those) {
      int at = y.full.size();
      y.full.push_back(from.full[dim]);
      if (dim == from.batchDim)
        y.batchDim = at;
      if (dim != from.batchDim || llvm::is_contained(from.dims, dim))
        y.dims.push_back(at);
    }
  };
  add(a, batch);
  add(a, rows);
  add(b, columns);
  y.id = c.textBuilder.reshape(c.add("matmul", {x, w}, attributes, made), c.extentsOf(y, y.dims));
  c.setResult(op, y);
}

void dot(MlirContext &c, mlir::Operation *op) {
  auto dims = dotDimensionsOf(op);
  if (!dims)
    c.reportUnsupported("has dimension numbers that do not fit its operands");
  MlirValue a = c.plain(op->getOperand(0)), b = c.plain(op->getOperand(1));
  if (isConstant(a) || isConstant(b))
    c.reportUnsupported("multiplies by a matrix of constants, which is not supported");
  if (a.computed() && b.kind == Kind::Weight && dims->leftBatch.empty())
    return linear(c, op, *dims, false);
  if (b.computed() && a.kind == Kind::Weight && dims->leftBatch.empty())
    return linear(c, op, *dims, true);
  if (a.computed() && b.computed())
    return product(c, op, *dims);
  if (a.computed() || b.computed())
    c.reportUnsupported("multiplies by a matrix of weights for each sample or head, which is not supported");
  MlirValue made = c.weightOf({}, Shape(llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getShape()));
  c.setResult(op, made);
}

/// A window over these dimensions of x; `pads` has both ends of each. `extents` are those of the result.
Window windowOf(MlirContext &c, const MlirValue &x, const Shape &spatial, const Shape &kernel, const Shape &strides,
                const Shape &dilations, const Shape &pads, const Shape &extents) {
  Window window{kernel, strides, {}, dilations};
  window.extents = extents;
  for (size_t i = 0; i < spatial.size(); ++i) {
    for (int64_t one : {kernel[i], strides[i], dilations[i]})
      if (one < 1 || one > 1 << 30)
        c.reportUnsupported("has impossible extents, strides or dilations");
    int64_t low = pads[2 * i], high = pads[2 * i + 1], in = c.extent(x, spatial[i]),
            reach = dilations[i] * (kernel[i] - 1) + 1;
    if (low < 0 || high < 0 || low > 1 << 30 || high > 1 << 30)
      c.reportUnsupported("takes away rows or columns by its padding, which is not supported");
    auto outBy = [&](int64_t behind) {
      return in + low + behind < reach ? 0 : (in + low + behind - reach) / strides[i] + 1;
    };
    if (outBy(high) != extents[i])
      c.reportUnsupported(
          fmt::format("gives {} of an extent of {}, and its type says {}", outBy(high), in, extents[i]));
    window.padding.push_back(low);
    window.behind.push_back(outBy(low) == extents[i] ? low : high); // what is not read need not differ
  }
  return window;
}

Shape listOr(mlir::Operation *op, const char *name, size_t size, int64_t otherwise) {
  auto list = integersOf(op->getAttr(name));
  if (!list && op->getAttr(name)) // one number for all
    if (auto number = splatOf(op->getAttr(name)))
      return Shape(size, std::llround(*number));
  Shape numbers = list.value_or(Shape(size, otherwise));
  if (numbers.size() == 1 && size > 1)
    numbers.assign(size, numbers[0]);
  numbers.resize(size, otherwise);
  return numbers;
}

void convolution(MlirContext &c, mlir::Operation *op) {
  auto dims = convolutionDimensionsOf(op);
  MlirValue x = c.plain(op->getOperand(0)), w = c.plain(op->getOperand(1));
  size_t spatial = dims ? dims->input.spatial.size() : 0;
  if (!dims || spatial < 1 || spatial > 3 || x.full.size() != spatial + 2 || w.full.size() != spatial + 2)
    c.reportUnsupported("has other dimensions than a batch, channels and one to three more");
  if (!x.computed() || w.kind != Kind::Weight || x.batchDim != dims->input.batch || c.extent(x, x.batchDim) != 1)
    c.reportUnsupported("reads a kernel that is computed, or no batch of images");
  checkWhole(c, x, op->getOperand(0));
  for (int64_t one : listOr(op, "lhs_dilation", spatial, 1))
    if (one != 1)
      c.reportUnsupported("spreads its input (lhs_dilation), which is supported only in a backward pass");
  Shape kernel, extents;
  auto result = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (result.getRank() != std::ssize(x.full))
    c.reportUnsupported("gives another rank than it reads");
  for (size_t i = 0; i < spatial; ++i) {
    kernel.push_back(w.full[dims->kernel.spatial[i]]);
    extents.push_back(result.getDimSize(dims->output.spatial[i]));
  }
  int64_t groups = llvm::cast<mlir::IntegerAttr>(op->getAttr("feature_group_count")).getInt(),
          out = w.full[dims->kernel.batch], channels = x.full[dims->input.channel];
  Window window = windowOf(c, x, dims->input.spatial, kernel, listOr(op, "window_strides", spatial, 1),
                           listOr(op, "rhs_dilation", spatial, 1), listOr(op, "padding", 2 * spatial, 0), extents);
  bool depthwise = spatial == 2 && groups == channels && out == channels && groups > 1;
  bool bias = takesBias(c, op, out, dims->output.channel);
  std::vector<int> order{int(dims->input.channel)};
  llvm::append_range(order, dims->input.spatial);
  MlirValue y = x;
  y.full.assign(x.full.size(), x.full[dims->input.batch]);
  y.full[dims->output.channel] = out;
  y.dims = {int(dims->output.channel)};
  Shape shape{out};
  for (size_t i = 0; i < spatial; ++i) {
    y.full[dims->output.spatial[i]] = extents[i];
    y.dims.push_back(dims->output.spatial[i]);
    shape.push_back(extents[i]);
  }
  y.batchDim = dims->output.batch;
  c.noteSharedWeight(w.weight);
  y.id = c.textBuilder.add(
      weightName(w.weight), depthwise ? "depthwise_conv2d" : fmt::format("conv{}d", spatial), {c.arranged(x, order)},
      convolutionAttributes(depthwise ? 0 : out, window, depthwise || groups == 1 ? 0 : groups, bias), shape);
  c.setResult(op, y);
}

/// Windows over rows and columns of [n, h, w, c] or [n, c, h, w].
void pool(MlirContext &c, mlir::Operation *op) {
  MlirValue x = c.plain(op->getOperand(0));
  size_t rank = x.full.size();
  std::string kind = op->getNumRegions() == 1 && !op->getRegion(0).empty()
                         ? op->getRegion(0).front().front().getName().stripDialect().str()
                         : "";
  if (!x.computed() || op->getNumOperands() != 2 || (kind != "maximum" && kind != "add") || x.batchDim != 0 ||
      rank != 4)
    c.reportUnsupported("is no maximum and no sum over windows of a batch of images");
  checkWhole(c, x, op->getOperand(0));
  Shape sizes = listOr(op, "window_dimensions", rank, 1), strides = listOr(op, "window_strides", rank, 1),
        pads = listOr(op, "padding", 2 * rank, 0);
  bool last = sizes[3] == 1 && strides[3] == 1;
  Shape spatial = last ? Shape{1, 2} : Shape{2, 3};
  int channel = last ? 3 : 1;
  for (int64_t dim : {int64_t(0), int64_t(channel)})
    if (sizes[dim] != 1 || strides[dim] != 1 || pads[2 * dim] || pads[2 * dim + 1])
      c.reportUnsupported("has windows over samples or channels, which are not supported");
  auto result = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  Shape kernel, stride, pad, extents;
  for (int64_t dim : spatial) {
    kernel.push_back(sizes[dim]);
    stride.push_back(strides[dim]);
    pad.insert(pad.end(), {pads[2 * dim], pads[2 * dim + 1]});
    extents.push_back(result.getDimSize(dim));
  }
  Window window = windowOf(c, x, spatial, kernel, stride, {1, 1}, pad, extents);
  MlirValue y = x;
  y.dims = {channel, int(spatial[0]), int(spatial[1])};
  DnnTextBuilder::Id from = c.arranged(x, y.dims);
  Shape shape{x.full[channel], extents[0], extents[1]};
  y.full[spatial[0]] = extents[0];
  y.full[spatial[1]] = extents[1];
  y.id = c.add(kind == "add" ? "avg_pool" : "max_pool", {from}, poolAttributes(window), shape);
  if (kind == "add") {
    DnnTextBuilder::Id mean = y.id;
    y.id = c.textBuilder.add("", "scale", {mean}, {fmt::format("factor = {}", kernel[0] * kernel[1])}, shape);
    c.means[y.id] = {mean, kernel[0] * kernel[1]};
  }
  c.setResult(op, y);
}

/// Rows of a table of weights by indices; a known row or more of a weight.
void gather(MlirContext &c, mlir::Operation *op) {
  MlirValue table = c.plain(op->getOperand(0)), ids = c.plain(op->getOperand(1));
  if (isOfConstants(c, op))
    return;
  auto result = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (table.kind == Kind::Weight && !ids.computed())
    return set(c, op, c.weightOf(table.weight, Shape(result.getShape())));
  llvm::StringRef text = opaqueText(op->getAttr("dimension_numbers"));
  Shape sizes = integersOf(op->getAttr("slice_sizes")).value_or(Shape{});
  bool rows = table.kind == Kind::Weight && ids.computed() && table.full.size() == 2 &&
              sizes == Shape{1, table.full[1]} && listIn(text, "collapsed_slice_dims") == Shape{0} &&
              listIn(text, "start_index_map") == Shape{0} && listIn(text, "offset_dims") == Shape{result.getRank() - 1};
  if (!rows)
    c.reportUnsupported("is supported only where it takes rows of a table of weights");
  MlirValue y = ids;
  // The last dimension of the indices, of one element, becomes the row.
  int row = result.getRank() - 1;
  y.full.resize(row);
  llvm::erase_if(y.dims, [&](int dim) { return dim >= row; });
  Shape shape = c.extentsOf(y, y.dims);
  DnnTextBuilder::Id from = c.textBuilder.reshape(ids.id, shape.empty() ? Shape{1} : shape);
  y.full.push_back(table.full[1]);
  y.dims.push_back(row);
  shape.push_back(table.full[1]);
  bool bare = shape.size() == 1;
  y.id = c.textBuilder.add(weightName(table.weight), "embedding", {from},
                           {fmt::format("rows = {}", table.full[0]), fmt::format("dim = {}", table.full[1])},
                           bare ? Shape{1, shape[0]} : shape);
  if (bare)
    y.id = c.textBuilder.reshape(y.id, shape);
  c.noteSharedWeight(table.weight);
  c.setResult(op, y);
}

void slice(MlirContext &c, mlir::Operation *op) {
  MlirValue x = c.plain(op->getOperand(0));
  Shape start = integersOf(op->getAttr("start_indices")).value_or(Shape{}),
        limit = integersOf(op->getAttr("limit_indices")).value_or(Shape{});
  auto result = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (isConstant(x))
    return set(c, op, constantOf(op->getResult(0)));
  if (x.kind == Kind::Weight)
    return set(c, op, c.weightOf(x.weight, Shape(result.getShape())));
  checkWhole(c, x, op->getOperand(0));
  if (start.size() != x.full.size() || limit.size() != x.full.size())
    c.reportUnsupported("has limits of another rank");
  for (int64_t stride : listOr(op, "strides", start.size(), 1))
    if (stride != 1)
      c.reportUnsupported("takes every so many elements, which is not supported");
  for (int i = 0; i < std::ssize(x.full); ++i) {
    int64_t from = start[i], many = limit[i] - start[i];
    if (from < 0 || many < 1 || limit[i] > x.full[i])
      c.reportUnsupported(fmt::format("takes {} from {} on of {}", many, from, x.full[i]));
    if (many == x.full[i])
      continue;
    if (i == x.batchDim)
      c.reportUnsupported("takes a part of the batch, which is not supported");
    x.full[i] = many;
    x.id = c.textBuilder.slice(nameOf(op), x.id, llvm::find(x.dims, i) - x.dims.begin(), from, many);
  }
  c.setResult(op, x);
}

void view(MlirContext &c, mlir::Operation *op) {
  MlirValue x = c.plain(op->getOperand(0));
  auto result = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (isConstant(x)) {
    x.full.assign(result.getShape().begin(), result.getShape().end());
    return set(c, op, x);
  }
  Shape full(result.getShape());
  // Repeats that are still to come stay ones.
  auto from = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  if (llvm::equal(x.full, from.getShape()))
    return c.setResult(op, c.reshaped(x, full));
  Shape narrow;
  llvm::copy_if(full, std::back_inserter(narrow), [](int64_t extent) { return extent != 1; });
  Shape wide;
  llvm::copy_if(from.getShape(), std::back_inserter(wide), [](int64_t extent) { return extent != 1; });
  if (narrow != wide)
    c.reportUnsupported("reads a tensor that is repeated, which is supported only where another is added to it");
  Shape known;
  for (auto [own, stated] : llvm::zip(x.full, from.getShape()))
    if (stated != 1)
      known.push_back(own);
  for (size_t i = 0, j = 0; i < full.size(); ++i)
    if (full[i] != 1)
      full[i] = known[j++];
  set(c, op, c.reshaped(x, full));
}

void convert(MlirContext &c, mlir::Operation *op) {
  if (isOfConstants(c, op))
    return;
  if (isWhole(op->getOperand(0)) && !isWhole(op->getResult(0)))
    c.reportUnsupported("makes numbers of integers that are not known, which is not supported");
  set(c, op, c.plain(op->getOperand(0)));
}

void clamp(MlirContext &c, mlir::Operation *op) {
  if (isWhole(op->getResult(0)))
    return whole(c, op);
  MlirValue low = c.plain(op->getOperand(0)), x = c.plain(op->getOperand(1)), high = c.plain(op->getOperand(2));
  const char *call = isConstant(low) && isConstant(high) ? callOfBounds(low.number, high.number) : nullptr;
  if (!call)
    c.reportUnsupported("has bounds other than those of a relu");
  c.setResult(op, c.unary(call, x));
}

} // namespace

std::vector<MlirOperations> stableHloOperations() {
  return {{elementwise,
           {"stablehlo.add", "stablehlo.subtract", "stablehlo.multiply", "stablehlo.divide", "stablehlo.exponential",
            "stablehlo.tanh", "stablehlo.negate", "stablehlo.maximum", "stablehlo.minimum", "stablehlo.sqrt",
            "stablehlo.rsqrt", "stablehlo.logistic"}},
          {whole,
           {"stablehlo.compare", "stablehlo.and", "stablehlo.or", "stablehlo.not", "stablehlo.xor", "stablehlo.abs",
            "stablehlo.remainder", "stablehlo.sign", "stablehlo.floor"}},
          {broadcast, {"stablehlo.broadcast_in_dim"}},
          {clamp, {"stablehlo.clamp"}},
          {constant, {"stablehlo.constant", "stablehlo.iota"}},
          {convert, {"stablehlo.convert", "stablehlo.optimization_barrier"}},
          {convolution, {"stablehlo.convolution"}},
          {dot, {"stablehlo.dot_general"}},
          {gather, {"stablehlo.gather"}},
          {pool, {"stablehlo.reduce_window"}},
          {select, {"stablehlo.select"}},
          {slice, {"stablehlo.slice"}},
          {view, {"stablehlo.reshape"}}};
}

} // namespace accord::import
