// Tensors of the file: where their batch is, and how their dimensions lie here.
#include "lib/import/mlir/Importer.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

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
    return static_cast<double>(one.getValue().getSExtValue());
  if (auto list = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(attribute); list && list.isSplat())
    return splatOf(list.getSplatValue<mlir::Attribute>());
  return std::nullopt;
}
std::optional<double> splatOf(mlir::Value value) { return splatOf(constantOf(value)); }

MlirValue MlirImporter::get(mlir::Value value) {
  auto found = values.find(value);
  if (found == values.end() || found->second.kind == Kind::Missing)
    throw Failed(); // told where it was to be made
  return found->second;
}

MlirValue MlirImporter::plain(mlir::Value value) {
  MlirValue x = get(value);
  if (!x.low.empty())
    reportUnsupported("reads what is padded, and padding is supported only in convolutions and pools");
  return x;
}

void MlirImporter::setResult(mlir::Operation *op, MlirValue value) {
  mlir::Value to = op->getResult(0);
  if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(to.getType()))
    for (auto [i, extent] : llvm::enumerate(type.getShape()))
      if (value.kind == Kind::Computed && !mlir::ShapedType::isDynamic(extent) &&
          (type.getRank() != static_cast<int64_t>(value.full.size()) || value.full[i] != extent))
        reportUnsupported(fmt::format("gives {} by its operands, and its type says another shape", listOf(value.full)));
  values[to] = std::move(value);
}

MlirValue MlirImporter::weightOf(mlir::Value value, Shape full) const {
  MlirValue weight;
  weight.kind = Kind::Weight;
  weight.weight = value;
  weight.full = std::move(full);
  return weight;
}

/// Open extents of a result are the batch's, times what `like` has there.
Shape MlirImporter::fullOf(mlir::Value value, const MlirValue &like) const {
  Shape full;
  auto type = llvm::cast<mlir::ShapedType>(value.getType());
  for (int64_t extent : type.getShape())
    full.push_back(!mlir::ShapedType::isDynamic(extent) ? extent
                   : like.batchDim >= 0                 ? like.full[like.batchDim]
                                                        : batch);
  return full;
}

int64_t MlirImporter::extent(const MlirValue &value, int dim) const {
  int64_t all = value.full[dim];
  return dim == value.batchDim ? all / batch : all;
}

std::vector<int> MlirImporter::natural(const MlirValue &value) const {
  std::vector<int> order;
  bool merged = llvm::is_contained(value.dims, value.batchDim);
  for (int i = 0; i < static_cast<int>(value.full.size()); ++i)
    if (i != value.batchDim || merged || !value.computed())
      order.push_back(i);
  return order;
}

DnnTextBuilder::Id MlirImporter::arranged(const MlirValue &value, const std::vector<int> &order) {
  Shape shape;
  for (int dim : order)
    shape.push_back(extent(value, dim));
  if (!value.computed()) {
    if (value.kind == Kind::Number)
      reportUnsupported("reads a constant where a tensor has to be computed");
    size_t ones = 0;
    while (ones + 1 < shape.size() && shape[ones] == 1)
      ++ones;
    shape.erase(shape.begin(), shape.begin() + static_cast<long>(ones));
    if (value.weight && !value.weight.hasOneUse())
      noteOnce("weights that several operations read are counted for each of them");
    return textBuilder.parameter("w", shape.empty() ? Shape{1} : shape);
  }
  std::vector<int> wanted;
  std::vector<int64_t> permutation;
  for (int dim : order)
    if (extent(value, dim) != 1 && llvm::is_contained(value.dims, dim))
      wanted.push_back(dim);
  auto has = llvm::make_filter_range(value.dims, [&](int dim) { return extent(value, dim) != 1; });
  if (llvm::equal(wanted, has))
    return textBuilder.reshape(value.id, shape);
  if (wanted.size() != static_cast<size_t>(std::distance(has.begin(), has.end())))
    reportUnsupported("moves the batch, which is not supported");
  // Only what is more than one moves; the others are put back by a view.
  Shape narrow;
  std::vector<int> from(has.begin(), has.end());
  for (int dim : from)
    narrow.push_back(extent(value, dim));
  bool same = value.dims.size() == order.size();
  if (same)
    from = value.dims, wanted = order, narrow = textBuilder.shape(value.id);
  for (int dim : wanted)
    permutation.push_back(llvm::find(from, dim) - from.begin());
  return textBuilder.reshape(textBuilder.transpose(textBuilder.reshape(value.id, narrow), permutation), shape);
}

/// The view where it only joins or parts dimensions that lie side by side here too: their order is
/// kept, and nothing moves.
std::optional<MlirValue> MlirImporter::reshapedInPlace(const MlirValue &value, const Shape &full) {
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
    auto first = static_cast<int>(from);
    if (first <= value.batchDim && value.batchDim < static_cast<int>(i)) {
      if (!one || llvm::is_contained(value.dims, value.batchDim))
        return std::nullopt;
      result.batchDim = to;
      continue;
    }
    auto place = llvm::find(value.dims, first);
    for (size_t k = from; k < i; ++k, ++place) {
      if (place == value.dims.end() || *place != static_cast<int>(k))
        return std::nullopt;
      if (k > from)
        inner.insert(*place);
    }
    for (size_t k = to; k < j; ++k)
      becomes[first].push_back(k);
  }
  Shape shape;
  for (int dim : value.dims)
    if (!inner.count(dim))
      llvm::append_range(result.dims, becomes[dim]);
  for (int dim : result.dims)
    shape.push_back(extent(result, dim));
  result.id = textBuilder.reshape(value.id, shape);
  return result;
}

MlirValue MlirImporter::reshaped(const MlirValue &value, const Shape &full) {
  MlirValue result = value;
  result.full = full;
  if (!value.computed())
    return result;
  int64_t before = 1, after = 1;
  for (int64_t extent : value.full)
    before *= extent;
  for (int64_t extent : full)
    after *= extent;
  if (before != after)
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
      if (value.full[static_cast<size_t>(i)] != 1)
        reportUnsupported("moves the batch, which is not supported");
    while (batch > 1 && first + 1 < full.size() && full[first] == 1)
      ++first;
    if (full.empty() || full[first] % batch != 0)
      reportUnsupported(fmt::format("moves the batch: {} becomes {}", listOf(value.full), listOf(full)));
    result.batchDim = first;
  }
  bool leads = result.batchDim >= 0 && full[first] == batch && full.size() > 1;
  Shape shape;
  for (int i = 0; i < static_cast<int>(full.size()); ++i)
    if (i != result.batchDim || !leads) {
      result.dims.push_back(i);
      shape.push_back(extent(result, i));
    }
  result.id = textBuilder.reshape(arranged(value, natural(value)), shape);
  return result;
}

MlirValue MlirImporter::permuted(const MlirValue &value, llvm::ArrayRef<int64_t> permutation) {
  MlirValue result = value;
  if (permutation.size() != value.full.size())
    reportUnsupported("has a permutation of another rank");
  std::vector<int> place(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation)) {
    if (from < 0 || from >= static_cast<int64_t>(place.size()))
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

std::string MlirImporter::nameOf(mlir::Operation *op) const {
  auto named = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  return named ? named.getName().str() : "";
}

} // namespace accord::import
