// Tensors of the file: where their batch is, and how their dimensions lie here.
#include "lib/import/mlir/StableHlo.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <numeric>

namespace accord::import {

std::optional<std::vector<int64_t>> integersOf(mlir::Attribute attribute) {
  if (auto list = llvm::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(attribute))
    return std::vector<int64_t>(list.asArrayRef().begin(), list.asArrayRef().end());
  auto list = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(attribute);
  if (!list || list.getNumElements() > 64 || !list.getElementType().isIntOrIndex() ||
      (list.getElementType().isInteger() && list.getElementType().getIntOrFloatBitWidth() > 64))
    return std::nullopt;
  std::vector<int64_t> numbers;
  for (const llvm::APInt &number : list.getValues<llvm::APInt>())
    numbers.push_back(number.getSExtValue());
  return numbers;
}

int64_t productOf(llvm::ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

std::string nameOf(mlir::Operation *op) {
  auto named = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  if (!named)
    return "";
  // JAX: `jit(step)/jvp(attention)/dot_general:`
  llvm::StringRef name = named.getName().getValue().rtrim(':');
  return name.starts_with("jit(") ? name.rsplit('/').second.str() : name.str();
}

static mlir::Attribute constantOf(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  mlir::Attribute attribute = op->getAttr("values");
  return attribute ? attribute : op->getAttr("value");
}

std::optional<std::vector<int64_t>> integersOf(mlir::Value value) { return integersOf(constantOf(value)); }

std::optional<double> splatOf(mlir::Attribute attribute) {
  auto number = [](const llvm::APFloat &from) {
    llvm::APFloat wide = from;
    bool lost = false;
    wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return wide.convertToDouble();
  };
  if (auto one = llvm::dyn_cast_or_null<mlir::FloatAttr>(attribute))
    return number(one.getValue());
  if (auto one = llvm::dyn_cast_or_null<mlir::IntegerAttr>(attribute); one && one.getValue().getBitWidth() <= 64)
    return one.getValue().getSExtValue();
  if (auto list = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(attribute); list && list.isSplat())
    return splatOf(list.getSplatValue<mlir::Attribute>());
  return std::nullopt;
}
std::optional<double> splatOf(mlir::Value value) { return splatOf(constantOf(value)); }

SourceRange MlirContext::placeOf(mlir::Location location) const {
  while (auto named = llvm::dyn_cast<mlir::NameLoc>(location))
    location = named.getChildLoc();
  auto at = llvm::dyn_cast<mlir::FileLineColLoc>(location);
  if (!at || at.getFilename() != diags.sources().path(file) || at.getLine() == 0)
    return {file, 0, 0};
  return diags.sources().at(file, {at.getLine(), at.getColumn()});
}

void MlirContext::reportUnsupported(const std::string &reason) {
  SourceRange place = placeOf(current->getLoc());
  std::string name = "'" + shown(current->getName().getStringRef().str()) + "'";
  // Bytecode says where its text was.
  if (auto at = current->getLoc()->findInstanceOf<mlir::FileLineColLoc>(); at && place.end == 0)
    name += fmt::format(" (at {}:{}:{})", shown(at.getFilename().str()), at.getLine(), at.getColumn());
  diags.error(Code::ImportUnsupported, place, fmt::format("{} {}", name, reason));
  throw Failed();
}

DnnTextBuilder::Id MlirContext::add(const std::string &call, std::vector<DnnTextBuilder::Id> operands,
                                    std::vector<std::string> attributes, Shape shape) {
  return textBuilder.add(nameOf(current), call, std::move(operands), std::move(attributes), std::move(shape));
}

MlirValue MlirContext::unary(const std::string &call, const MlirValue &x, std::vector<std::string> attributes) {
  MlirValue y = x;
  if (x.kind == Kind::Number)
    reportUnsupported("computes with numbers alone, which is not done here");
  y.weight = {};
  if (x.computed())
    y.id = add(call, {x.id}, std::move(attributes), shape(x.id));
  return y; // computed of a weight alone: it counts as the weight
}

MlirValue MlirContext::softmaxOf(const MlirValue &x, int axis) {
  auto place = llvm::find(x.dims, axis);
  if (!x.computed() || place == x.dims.end())
    reportUnsupported("works across the samples of a batch");
  MlirValue y = x;
  y.id = textBuilder.softmax(nameOf(current), x.id, place - x.dims.begin());
  softmaxAxis[y.id] = axis;
  return y;
}

MlirValue MlirContext::get(mlir::Value value) {
  auto found = values.find(value);
  if (found == values.end() || found->second.kind == Kind::Missing)
    throw Failed(); // told where it was to be made
  return found->second;
}

MlirValue MlirContext::plain(mlir::Value value) {
  MlirValue x = get(value);
  if (!x.low.empty())
    reportUnsupported("reads what is padded, and padding is supported only in convolutions and pools");
  return x;
}

void MlirContext::setResult(mlir::Operation *op, MlirValue value) {
  mlir::Value to = op->getResult(0);
  if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(to.getType()))
    for (auto [i, extent] : llvm::enumerate(type.getShape()))
      if (value.kind == Kind::Computed && !mlir::ShapedType::isDynamic(extent) &&
          (type.getRank() != std::ssize(value.full) || value.full[i] != extent))
        reportUnsupported(fmt::format("gives {} by its operands, and its type says another shape", listOf(value.full)));
  values[to] = std::move(value);
}

MlirValue MlirContext::weightOf(mlir::Value value, Shape full) const {
  MlirValue weight;
  weight.kind = Kind::Weight;
  weight.weight = value;
  weight.full = std::move(full);
  return weight;
}

void MlirContext::checkZero(mlir::Value start) {
  MlirValue value = get(start);
  if (value.kind != Kind::Number || value.number != 0)
    reportUnsupported("adds to what a tensor holds; only zeros are supported");
}

void MlirContext::noteSharedWeight(mlir::Value weight) {
  if (weight && !weight.hasOneUse())
    noteOnce("weights that several operations read are counted for each of them");
}

/// Open extents of a result are the batch's, times what `like` has there.
Shape MlirContext::fullOf(mlir::Value value, const MlirValue &like) const {
  Shape full;
  auto type = llvm::cast<mlir::ShapedType>(value.getType());
  for (int64_t extent : type.getShape())
    full.push_back(!mlir::ShapedType::isDynamic(extent) ? extent
                   : like.batchDim >= 0                 ? like.full[like.batchDim]
                                                        : batch);
  return full;
}

int64_t MlirContext::extent(const MlirValue &value, int dim) const {
  int64_t all = value.full[dim];
  return dim == value.batchDim ? all / batch : all;
}

Shape MlirContext::extentsOf(const MlirValue &value, llvm::ArrayRef<int> dims) const {
  Shape shape;
  for (int dim : dims)
    shape.push_back(extent(value, dim));
  return shape;
}

std::vector<int> MlirContext::natural(const MlirValue &value) const {
  std::vector<int> order;
  bool merged = llvm::is_contained(value.dims, value.batchDim);
  for (int i = 0; i < std::ssize(value.full); ++i)
    if (i != value.batchDim || merged || !value.computed())
      order.push_back(i);
  return order;
}

DnnTextBuilder::Id MlirContext::arranged(const MlirValue &value, const std::vector<int> &order) {
  Shape shape = extentsOf(value, order);
  if (!value.computed()) {
    if (value.kind == Kind::Number)
      reportUnsupported("reads a constant where a tensor has to be computed");
    size_t ones = 0;
    while (ones + 1 < shape.size() && shape[ones] == 1)
      ++ones;
    shape.erase(shape.begin(), shape.begin() + ones);
    noteSharedWeight(value.weight);
    std::string name = weightName(value.weight);
    return textBuilder.parameter(name.empty() ? "w" : name, shape.empty() ? Shape{1} : shape);
  }
  std::vector<int> wanted;
  std::vector<int64_t> permutation;
  for (int dim : order)
    if (extent(value, dim) != 1 && llvm::is_contained(value.dims, dim))
      wanted.push_back(dim);
  auto has = llvm::make_filter_range(value.dims, [&](int dim) { return extent(value, dim) != 1; });
  if (llvm::equal(wanted, has))
    return textBuilder.reshape(value.id, shape);
  if (std::ssize(wanted) != std::distance(has.begin(), has.end()))
    reportUnsupported("moves the batch, which is not supported");
  // Only what is more than one moves; the others are put back by a view.
  std::vector<int> from(has.begin(), has.end());
  if (value.dims.size() == order.size())
    from = value.dims, wanted = order;
  Shape narrow = extentsOf(value, from);
  for (int dim : wanted)
    permutation.push_back(llvm::find(from, dim) - from.begin());
  return textBuilder.reshape(textBuilder.transpose(textBuilder.reshape(value.id, narrow), permutation), shape);
}

/// The view where it only joins or parts dimensions that lie side by side here too: their order is
/// kept, and nothing moves.
std::optional<MlirValue> MlirContext::reshapedInPlace(const MlirValue &value, const Shape &full) {
  MlirValue result = value;
  result.full = full;
  result.dims.clear();
  std::map<int, std::vector<int>> becomes; // the first dimension of a group -> those after it
  std::set<int> inner;                     // the others of a group
  for (size_t i = 0, j = 0; i < value.full.size() || j < full.size();) {
    size_t from = i, to = j;
    int64_t before = i < value.full.size() ? value.full[i++] : 1;
    int64_t after = j < full.size() ? full[j++] : 1;
    while (before != after)
      if (before < after && i < value.full.size())
        before *= value.full[i++];
      else if (after < before && j < full.size())
        after *= full[j++];
      else
        return std::nullopt;
    bool one = i - from == 1 && j - to == 1;
    int first = from, end = i;
    if (first <= value.batchDim && value.batchDim < end) {
      if (!one || llvm::is_contained(value.dims, value.batchDim))
        return std::nullopt;
      result.batchDim = to;
      continue;
    }
    auto place = llvm::find(value.dims, first);
    for (int k = first; k < end; ++k, ++place) {
      if (place == value.dims.end() || *place != k)
        return std::nullopt;
      if (k > first)
        inner.insert(k);
    }
    for (size_t k = to; k < j; ++k)
      becomes[first].push_back(k);
  }
  for (int dim : value.dims)
    if (!inner.count(dim))
      llvm::append_range(result.dims, becomes[dim]);
  result.id = textBuilder.reshape(value.id, extentsOf(result, result.dims));
  return result;
}

MlirValue MlirContext::reshaped(const MlirValue &value, const Shape &full) {
  MlirValue result = value;
  result.full = full;
  if (!value.computed())
    return result;
  if (productOf(value.full) != productOf(full))
    reportUnsupported(
        fmt::format("has another number of elements after it: {} becomes {}", listOf(value.full), listOf(full)));
  if (!llvm::is_sorted(value.dims))
    if (auto inPlace = reshapedInPlace(value, full))
      return *inPlace;
  result.dims.clear();
  result.batchDim = -1;
  size_t first = 0;
  if (value.batchDim >= 0) {
    for (int i = 0; i < value.batchDim && batch > 1; ++i)
      if (value.full[i] != 1)
        reportUnsupported("moves the batch, which is not supported");
    while (batch > 1 && first + 1 < full.size() && full[first] == 1)
      ++first;
    if (full.empty() || full[first] % batch != 0)
      reportUnsupported(fmt::format("moves the batch: {} becomes {}", listOf(value.full), listOf(full)));
    result.batchDim = first;
  }
  bool leads = result.batchDim >= 0 && full[first] == batch && full.size() > 1;
  for (int i = 0; i < std::ssize(full); ++i)
    if (i != result.batchDim || !leads)
      result.dims.push_back(i);
  result.id = textBuilder.reshape(arranged(value, natural(value)), extentsOf(result, result.dims));
  return result;
}

MlirValue MlirContext::permuted(const MlirValue &value, llvm::ArrayRef<int64_t> permutation) {
  MlirValue result = value;
  if (permutation.size() != value.full.size())
    reportUnsupported("has a permutation of another rank");
  std::vector<int> place(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation)) {
    if (from < 0 || from >= std::ssize(place))
      reportUnsupported("has an impossible permutation");
    result.full[to] = value.full[from];
    place[from] = to;
  }
  for (int &dim : result.dims)
    dim = place[dim];
  if (value.batchDim >= 0)
    result.batchDim = batch == 1 ? 0 : place[value.batchDim];
  return result;
}

} // namespace accord::import
