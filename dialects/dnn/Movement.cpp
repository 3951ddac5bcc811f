// Shapes of operations that move, cut, join and reduce.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

static RankedTensorType withShape(RankedTensorType type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
}

ACCORD_INFER(ReshapeOp) {
  if (failed(requireTensors(adaptor.getOperands(), {0}, location, "reshape")) ||
      failed(require(adaptor.getDims(), location, "reshape", "dims")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  int64_t batch = batchRank(x);
  ArrayRef<int64_t> from = x.getShape().drop_front(batch), to = *adaptor.getDims();
  if (llvm::any_of(to, [](int64_t extent) { return extent < 1; }) || volume(from, 1) != volume(to, 1))
    return emitOptionalError(location, "'reshape' to ", shapeText(to), " does not keep the ",
                             volume(from, 1).value_or(0), " elements of ", shapeText(x.getShape()));
  SmallVector<int64_t> shape(x.getShape().take_front(batch));
  llvm::append_range(shape, to);
  types.push_back(withShape(x, shape));
  return success();
}

ACCORD_INFER(TransposeOp) {
  if (failed(requireTensors(adaptor.getOperands(), {0}, location, "transpose")) ||
      failed(require(adaptor.getPermutation(), location, "transpose", "permutation")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  int64_t batch = batchRank(x), rank = x.getRank() - batch;
  ArrayRef<int64_t> permutation = *adaptor.getPermutation();
  SmallVector<bool> seen(rank, false);
  SmallVector<int64_t> shape(x.getShape().take_front(batch));
  bool valid = static_cast<int64_t>(permutation.size()) == rank;
  for (int64_t p : permutation) {
    if (!valid || p < 0 || p >= rank || seen[p]) {
      valid = false;
      break;
    }
    seen[p] = true;
    shape.push_back(x.getDimSize(p + batch));
  }
  if (!valid)
    return emitOptionalError(location, Code::BadAttribute, "'transpose' must permute the ", rank, " dimensions of ",
                             shapeText(x.getShape()));
  types.push_back(withShape(x, shape));
  return success();
}

ACCORD_INFER(ConcatOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1}, location, "concat")) ||
      failed(require(adaptor.getAxis(), location, "concat", "axis")))
    return failure();
  // One sample's worth beside a batch, such as a trained token, is joined to every sample.
  auto batched = llvm::find_if(adaptor.getXs(), [](Value x) { return batchRank(tensor(x)) > 0; });
  RankedTensorType first = tensor(batched == adaptor.getXs().end() ? adaptor.getXs().front() : *batched);
  FailureOr<int64_t> axis = dimensionOf(*adaptor.getAxis(), first, location, "concat");
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[*axis] = 0;
  for (Value x : adaptor.getXs()) {
    RankedTensorType type = tensor(x);
    SmallVector<int64_t> other(type.getShape());
    if (batchRank(type) < batchRank(first))
      other.insert(other.begin(), ShapedType::kDynamic);
    int64_t extent = 0;
    if (other.size() == shape.size())
      extent = std::exchange(other[*axis], shape[*axis]);
    if (other != shape)
      return emitOptionalError(location, "'concat' cannot join ", shapeText(first.getShape()), " and ",
                               shapeText(type.getShape()), " along axis ", *adaptor.getAxis());
    if (failed(sameElement(first, type, location, "concat")))
      return failure();
    std::optional<int64_t> sum = checkedAdd(shape[*axis], extent);
    if (!sum)
      return emitOptionalError(location, "'concat' passes 2^63 along axis ", *adaptor.getAxis());
    shape[*axis] = *sum;
  }
  types.push_back(withShape(first, shape));
  return success();
}

ACCORD_INFER(SplitOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1}, location, "split")) ||
      failed(require(adaptor.getAxis(), location, "split", "axis")) ||
      failed(require(adaptor.getParts(), location, "split", "parts")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  FailureOr<int64_t> axis = dimensionOf(*adaptor.getAxis(), x, location, "split");
  if (failed(axis))
    return failure();
  int64_t parts = *adaptor.getParts();
  SmallVector<int64_t> shape(x.getShape());
  if (parts < 1 || parts > 65536 || shape[*axis] % parts)
    return emitOptionalError(location, Code::BadAttribute, "'split' cannot cut ", shape[*axis], " into ", parts,
                             " equal parts");
  shape[*axis] /= parts;
  types.assign(parts, withShape(x, shape));
  return success();
}

ACCORD_INFER(SliceOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1}, location, "slice")) ||
      failed(require(adaptor.getAxis(), location, "slice", "axis")) ||
      failed(require(adaptor.getSize(), location, "slice", "size")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  FailureOr<int64_t> axis = dimensionOf(*adaptor.getAxis(), x, location, "slice");
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(x.getShape());
  int64_t start = adaptor.getStart(), size = *adaptor.getSize(), extent = shape[*axis];
  if (start < 0 || size < 1 || size > extent || start > extent - size)
    return emitOptionalError(location, Code::BadAttribute, "'slice' of ", size, " from ", start, " leaves the extent ",
                             extent, " of axis ", *adaptor.getAxis());
  shape[*axis] = size;
  types.push_back(withShape(x, shape));
  return success();
}
std::optional<int64_t> SliceOp::getBytesRead(int64_t batch) { return bytesOf(getY().getType(), batch); }

ACCORD_INFER(UnstackOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1}, location, "unstack")) ||
      failed(require(adaptor.getAxis(), location, "unstack", "axis")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  FailureOr<int64_t> axis = dimensionOf(*adaptor.getAxis(), x, location, "unstack");
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(x.getShape());
  shape.erase(shape.begin() + *axis);
  if (x.getDimSize(*axis) < 1)
    return emitOptionalError(location, "'unstack' finds no slice along axis ", *adaptor.getAxis(), " of ",
                             shapeText(x.getShape()));
  types.push_back(StashType::get(x.getContext(), x.getDimSize(*axis), withShape(x, shape)));
  return success();
}
int64_t UnstackOp::getDimension() {
  RankedTensorType x = getX().getType();
  return *getAxis() < 0 ? *getAxis() + x.getRank() : *getAxis() + batchRank(x);
}

ACCORD_INFER(StackOp) {
  if (failed(require(adaptor.getAxis(), location, "stack", "axis")))
    return failure();
  auto slices = dyn_cast<StashType>(adaptor.getSlices().getType());
  auto slice = slices ? dyn_cast<RankedTensorType>(slices.getElement()) : RankedTensorType();
  if (!slice)
    return emitOptionalError(location, "'stack' needs a stash of tensors, found ", adaptor.getSlices().getType());
  int64_t given = *adaptor.getAxis(), rank = slice.getRank() + 1, batch = batchRank(slice);
  int64_t axis = given < 0 ? given + rank : given + batch;
  if (axis < batch || axis >= rank)
    return emitOptionalError(location, "'stack' of ", shapeText(slice.getShape()), " has no axis ", given);
  SmallVector<int64_t> shape(slice.getShape());
  shape.insert(shape.begin() + axis, slices.getCount());
  types.push_back(withShape(slice, shape));
  return success();
}
int64_t StackOp::getDimension() {
  RankedTensorType y = getY().getType();
  return *getAxis() < 0 ? *getAxis() + y.getRank() : *getAxis() + batchRank(y);
}

template <typename Adaptor>
static LogicalResult inferReduce(Adaptor adaptor, std::optional<Location> location, SmallVectorImpl<Type> &types,
                                 StringRef op) {
  if (failed(requireTensors(adaptor.getOperands(), {1}, location, op)) ||
      failed(require(adaptor.getAxis(), location, op, "axis")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  FailureOr<int64_t> axis = dimensionOf(*adaptor.getAxis(), x, location, op);
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(x.getShape());
  shape.erase(shape.begin() + *axis);
  types.push_back(withShape(x, shape));
  return success();
}
ACCORD_INFER(ReduceSumOp) { return inferReduce(adaptor, location, types, "reduce_sum"); }
ACCORD_INFER(ReduceMeanOp) { return inferReduce(adaptor, location, types, "reduce_mean"); }

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
