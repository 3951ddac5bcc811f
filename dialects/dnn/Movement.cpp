// Shapes of operations that move, cut, join and reduce.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

LogicalResult ReshapeOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  int64_t batch = batchRank(x);
  ArrayRef<int64_t> from = x.getShape().drop_front(batch), to = *adaptor.getDims();
  if (llvm::any_of(to, [](int64_t extent) { return extent < 1; }) || volume(from, 1) != volume(to, 1))
    return infer.error("to ", shapeText(to), " does not keep the ", volume(from, 1).value_or(0), " elements of ",
                       shapeText(x.getShape()));
  SmallVector<int64_t> shape(x.getShape().take_front(batch));
  llvm::append_range(shape, to);
  return infer.give(shape, x);
}

LogicalResult TransposeOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  int64_t batch = batchRank(x), rank = x.getRank() - batch;
  ArrayRef<int64_t> permutation = *adaptor.getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return infer.error(Code::BadAttribute, "must permute the ", rank, " dimensions of ", shapeText(x.getShape()));
  SmallVector<int64_t> shape(x.getShape().take_front(batch));
  for (int64_t p : permutation)
    shape.push_back(x.getDimSize(p + batch));
  return infer.give(shape, x);
}

LogicalResult ConcatOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  // One sample's worth beside a batch, such as a trained token, is joined to every sample.
  auto typeOf = [](Value x) { return cast<RankedTensorType>(x.getType()); };
  auto batched = llvm::find_if(infer.operands, [&](Value x) { return batchRank(typeOf(x)) > 0; });
  RankedTensorType first = typeOf(batched == infer.operands.end() ? infer.operands.front() : *batched);
  FailureOr<int64_t> axis = infer.dimensionOf(*adaptor.getAxis(), first);
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[*axis] = 0;
  for (Value x : infer.operands) {
    RankedTensorType type = typeOf(x);
    SmallVector<int64_t> other(type.getShape());
    if (batchRank(type) < batchRank(first))
      other.insert(other.begin(), ShapedType::kDynamic);
    int64_t extent = 0;
    if (other.size() == shape.size())
      extent = std::exchange(other[*axis], shape[*axis]);
    if (other != shape)
      return infer.error("cannot join ", shapeText(first.getShape()), " and ", shapeText(type.getShape()),
                         " along axis ", *adaptor.getAxis());
    if (failed(infer.sameElement(first, type)))
      return failure();
    std::optional<int64_t> sum = checkedAdd(shape[*axis], extent);
    if (!sum)
      return infer.error("passes 2^63 along axis ", *adaptor.getAxis());
    shape[*axis] = *sum;
  }
  return infer.give(shape, first);
}

LogicalResult SplitOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  FailureOr<int64_t> axis = infer.dimensionOf(*adaptor.getAxis(), x);
  if (failed(axis))
    return failure();
  int64_t parts = *adaptor.getParts();
  SmallVector<int64_t> shape(x.getShape());
  if (parts < 1 || parts > 65536 || shape[*axis] % parts)
    return infer.error(Code::BadAttribute, "cannot cut ", shape[*axis], " into ", parts, " equal parts");
  shape[*axis] /= parts;
  infer.types.assign(parts, RankedTensorType::get(shape, x.getElementType()));
  return success();
}

LogicalResult SliceOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  FailureOr<int64_t> axis = infer.dimensionOf(*adaptor.getAxis(), x);
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(x.getShape());
  int64_t start = adaptor.getStart(), size = *adaptor.getSize(), extent = shape[*axis];
  if (start < 0 || size < 1 || size > extent || start > extent - size)
    return infer.error(Code::BadAttribute, "of ", size, " from ", start, " leaves the extent ", extent, " of axis ",
                       *adaptor.getAxis());
  shape[*axis] = size;
  return infer.give(shape, x);
}
std::optional<int64_t> SliceOp::getBytesRead(int64_t batch) { return bytesOf(getY().getType(), batch); }

LogicalResult PadOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  ArrayRef<int64_t> before = *adaptor.getBefore(), after = adaptor.getAfter().value_or(before);
  size_t batch = batchRank(x), rank = x.getRank() - batch;
  if (before.size() != rank || after.size() != rank)
    return infer.error(Code::BadAttribute, "takes a number for each of the ", rank, " dimensions of ",
                       shapeText(x.getShape()), ", found ", before.size(), " before and ", after.size(), " after");
  constexpr int64_t kMax = int64_t(1) << 40;
  SmallVector<int64_t> shape(x.getShape());
  for (auto [i, both] : llvm::enumerate(llvm::zip_equal(before, after))) {
    auto [first, last] = both;
    int64_t &extent = shape[batch + i], given = extent;
    if (std::max({first, -first, last, -last, extent}) > kMax)
      return infer.error(Code::BadAttribute, "extents must not pass 2^40, found ", first, " and ", last, " more than ",
                         extent);
    extent += first + last;
    if (extent < 1)
      return infer.error(Code::BadAttribute, "by ", first, " and ", last, " leaves no element of the ", given,
                         " of dimension ", i);
  }
  return infer.give(shape, x);
}
std::optional<int64_t> PadOp::getBytesRead(int64_t batch) {
  SmallVector<int64_t> shape(getY().getType().getShape()); // no more than what is in both
  for (auto [extent, own] : llvm::zip(shape, getX().getType().getShape()))
    extent = std::min(extent, own);
  return bytesOf(RankedTensorType::get(shape, getX().getType().getElementType()), batch);
}

/// x without one of its dimensions.
static RankedTensorType without(RankedTensorType x, int64_t dimension) {
  SmallVector<int64_t> shape(x.getShape());
  shape.erase(shape.begin() + dimension);
  return RankedTensorType::get(shape, x.getElementType());
}

LogicalResult UnstackOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  FailureOr<int64_t> axis = infer.dimensionOf(*adaptor.getAxis(), x);
  if (failed(axis))
    return failure();
  if (x.getDimSize(*axis) < 1)
    return infer.error("finds no slice along axis ", *adaptor.getAxis(), " of ", shapeText(x.getShape()));
  return infer.give(StashType::get(x.getContext(), x.getDimSize(*axis), without(x, *axis)));
}
int64_t UnstackOp::getDimension() { return tensorDimension(*getAxis(), getX().getType()); }

LogicalResult StackOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  auto slices = dyn_cast<StashType>(adaptor.getSlices().getType());
  auto slice = slices ? dyn_cast<RankedTensorType>(slices.getElement()) : RankedTensorType();
  if (!slice)
    return infer.error("needs a stash of tensors, found ", adaptor.getSlices().getType());
  int64_t given = *adaptor.getAxis(), rank = slice.getRank() + 1, batch = batchRank(slice);
  int64_t axis = given < 0 ? given + rank : given + batch;
  if (axis < batch || axis >= rank)
    return infer.error("of ", shapeText(slice.getShape()), " has no axis ", given);
  SmallVector<int64_t> shape(slice.getShape());
  shape.insert(shape.begin() + axis, slices.getCount());
  return infer.give(shape, slice);
}
int64_t StackOp::getDimension() { return tensorDimension(*getAxis(), getY().getType()); }

LogicalResult dnn::inferReduce(ShapeInference &infer, int64_t given) {
  FailureOr<int64_t> axis = infer.dimensionOf(given, infer[0]);
  return failed(axis) ? failure() : infer.give(without(infer[0], *axis));
}

LogicalResult ReduceDimensionsOp::verify() {
  RankedTensorType x = getX().getType();
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < x.getRank(); ++d) {
    if (llvm::is_contained(getKept(), d))
      shape.push_back(1);
    else if (!llvm::is_contained(getDimensions(), d))
      shape.push_back(x.getDimSize(d));
  }
  for (int64_t d : getDimensions())
    if (d < 0 || d >= x.getRank())
      return emitError() << "'reduce_dimensions' has no dimension " << d << " in " << shapeText(x.getShape());
  if (ArrayRef(shape) != getY().getType().getShape())
    return emitError() << "'reduce_dimensions' gives " << shapeText(shape) << ", found "
                       << shapeText(getY().getType().getShape());
  return success();
}
