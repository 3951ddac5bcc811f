// Shapes and touched bytes of operations whose access depends on data, and of the composite ones.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

static LogicalResult requireIds(RankedTensorType ids, std::optional<Location> location, StringRef op) {
  if (isa<IntegerType>(ids.getElementType()))
    return success();
  return emitOptionalError(location, Code::WrongElementType, "'", op, "' ids must be integers, found ",
                           ids.getElementType());
}
/// The batch of the result: that of the first operand that has one.
static SmallVector<int64_t> batchOf(std::initializer_list<RankedTensorType> types) {
  for (RankedTensorType type : types)
    if (batchRank(type))
      return {ShapedType::kDynamic};
  return {};
}
static ArrayRef<int64_t> sampleShape(RankedTensorType type) { return type.getShape().drop_front(batchRank(type)); }

static LogicalResult inferLookup(ValueRange operands, bool bag, std::optional<Location> location,
                                 SmallVectorImpl<Type> &types, StringRef op) {
  if (failed(requireTensors(operands, {0, 2}, location, op)))
    return failure();
  RankedTensorType ids = tensor(operands[0]), table = tensor(operands[1]);
  if (failed(requireIds(ids, location, op)))
    return failure();
  if (table.getRank() != 2)
    return emitOptionalError(location, "'", op, "' table must be [rows, dim], found ", shapeText(table.getShape()));
  if (bag && ids.getRank() - batchRank(ids) < 1)
    return emitOptionalError(location, "'", op, "' sums over the last dimension of the ids, found ",
                             shapeText(ids.getShape()));
  SmallVector<int64_t> shape(bag ? ids.getShape().drop_back() : ids.getShape());
  shape.push_back(table.getDimSize(1));
  types.push_back(RankedTensorType::get(shape, table.getElementType()));
  return success();
}
/// A sparse gradient has rows for each sample, and its table may have an optimizer of its own.
template <typename Adaptor>
static LogicalResult requireSparse(Adaptor adaptor, std::optional<Location> location, StringRef op) {
  StringAttr optimizer = adaptor.getOptimizerAttr();
  if (optimizer && !adaptor.getSparse())
    return emitOptionalError(location, "'", op, "' optimizer '", optimizer.getValue(),
                             "' is one of the rows that were looked up: state sparse = true as well");
  if (optimizer && !symbolizeOptimizerKind(optimizer.getValue()))
    return emitOptionalError(location, "'", op,
                             "' optimizer must be sgd, momentum, adam, adamw or rowwise_adagrad, found '",
                             optimizer.getValue(), "'");
  RankedTensorType ids = tensor(adaptor.getIds());
  if (!adaptor.getSparse() || (batchRank(ids) && llvm::none_of(sampleShape(ids), [](int64_t d) { return d == 0; })))
    return success();
  return emitOptionalError(location, "'", op, "' with a sparse gradient needs ids of each sample, found ",
                           shapeText(ids.getShape()));
}
ACCORD_INFER(EmbeddingOp) {
  return failure(failed(inferLookup(adaptor.getOperands(), false, location, types, "embedding")) ||
                 failed(requireSparse(adaptor, location, "embedding")));
}
ACCORD_INFER(EmbeddingBagOp) {
  if (adaptor.getMode() != "sum" && adaptor.getMode() != "mean")
    return emitOptionalError(location, "'embedding_bag' mode must be 'sum' or 'mean', found '", adaptor.getMode(), "'");
  return failure(failed(inferLookup(adaptor.getOperands(), true, location, types, "embedding_bag")) ||
                 failed(requireSparse(adaptor, location, "embedding_bag")));
}

/// The rows of a sparse gradient are those of the ids.
template <typename OpTy> static LogicalResult verifyRows(OpTy op) {
  RowsAttr rows = rowsOf(op.getDtable().getType());
  RankedTensorType ids = op.getIds().getType();
  if (!rows ||
      (batchRank(ids) && volume(sampleShape(ids), 1) == rows.getLookups() && rows.getIndex() == ids.getElementType()))
    return success();
  return op.emitOpError() << "gives " << rows << " for ids " << ids;
}
LogicalResult EmbeddingGradOp::verify() { return verifyRows(*this); }
LogicalResult EmbeddingBagGradOp::verify() { return verifyRows(*this); }
LogicalResult JoinRowsOp::verify() {
  RowsAttr a = rowsOf(getA().getType()), b = rowsOf(getB().getType()), y = rowsOf(getY().getType());
  auto plain = [](RankedTensorType type) { return RankedTensorType::get(type.getShape(), type.getElementType()); };
  if (a && b && y && a.getIndex() == b.getIndex() && a.getIndex() == y.getIndex() &&
      checkedAdd(a.getLookups(), b.getLookups()) == y.getLookups() &&
      plain(getA().getType()) == plain(getB().getType()) && plain(getA().getType()) == plain(getY().getType()))
    return success();
  return emitOpError() << "joins the rows of two sparse gradients of one table, found " << getA().getType() << " and "
                       << getB().getType() << " to " << getY().getType();
}

ACCORD_INFER(GatherOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1, 0}, location, "gather")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), ids = tensor(adaptor.getIds());
  FailureOr<int64_t> axis = dimensionOf(adaptor.getAxis(), x, location, "gather");
  if (failed(axis) || failed(requireIds(ids, location, "gather")))
    return failure();
  SmallVector<int64_t> shape = batchOf({x, ids});
  llvm::append_range(shape, x.getShape().slice(batchRank(x), *axis - batchRank(x)));
  llvm::append_range(shape, sampleShape(ids));
  llvm::append_range(shape, x.getShape().drop_front(*axis + 1));
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

ACCORD_INFER(ScatterOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1, 1, 1}, location, "scatter")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), ids = tensor(adaptor.getIds()), updates = tensor(adaptor.getUpdates());
  FailureOr<int64_t> axis = dimensionOf(adaptor.getAxis(), x, location, "scatter");
  if (failed(axis) || failed(requireIds(ids, location, "scatter")) ||
      failed(sameElement(x, updates, location, "scatter")))
    return failure();
  int64_t sampleAxis = *axis - batchRank(x);
  SmallVector<int64_t> expected(sampleShape(x).take_front(sampleAxis));
  llvm::append_range(expected, sampleShape(ids));
  llvm::append_range(expected, sampleShape(x).drop_front(sampleAxis + 1));
  if (sampleShape(updates) != ArrayRef(expected))
    return emitOptionalError(location, "'scatter' updates must be ", shapeText(expected), " per sample, found ",
                             shapeText(sampleShape(updates)));
  types.push_back(x);
  return success();
}

static LogicalResult requireRows(RankedTensorType x, RankedTensorType ids, int64_t segments,
                                 std::optional<Location> location, StringRef op) {
  if (segments >= 1 && !sampleShape(x).empty() && sampleShape(ids) == sampleShape(x).take_front(1))
    return success();
  return emitOptionalError(location, "'", op, "' needs one id per row and at least one segment, found ",
                           shapeText(ids.getShape()), " ids for ", shapeText(x.getShape()));
}
ACCORD_INFER(SegmentSumOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1, 1}, location, "segment_sum")) ||
      failed(require(adaptor.getSegments(), location, "segment_sum", "segments")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), ids = tensor(adaptor.getIds());
  if (failed(requireIds(ids, location, "segment_sum")))
    return failure();
  if (failed(requireRows(x, ids, *adaptor.getSegments(), location, "segment_sum")))
    return failure();
  SmallVector<int64_t> shape(x.getShape());
  shape[batchRank(x)] = *adaptor.getSegments();
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

ACCORD_INFER(SegmentSoftmaxOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1, 1}, location, "segment_softmax")) ||
      failed(require(adaptor.getSegments(), location, "segment_softmax", "segments")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), ids = tensor(adaptor.getIds());
  if (failed(requireIds(ids, location, "segment_softmax")) ||
      failed(requireRows(x, ids, *adaptor.getSegments(), location, "segment_softmax")))
    return failure();
  types.push_back(x);
  return success();
}

ACCORD_INFER(RelativeBiasOp) {
  if (failed(requireTensors(adaptor.getOperands(), {2}, location, "relative_bias")) ||
      failed(require(adaptor.getQueries(), location, "relative_bias", "queries")) ||
      failed(require(adaptor.getKeys(), location, "relative_bias", "keys")))
    return failure();
  RankedTensorType table = tensor(adaptor.getTable());
  // A direction's buckets: half of them exact, and at least one.
  int64_t buckets = table.getDimSize(0), exact = buckets / (adaptor.getBidirectional() ? 4 : 2);
  if (table.getRank() != 2 || batchRank(table) || exact < 1)
    return emitOptionalError(location, "'relative_bias' table must be [buckets, heads] with at least ",
                             adaptor.getBidirectional() ? 4 : 2, " buckets, found ", shapeText(table.getShape()));
  if (*adaptor.getQueries() < 1 || *adaptor.getKeys() < 1 || adaptor.getMaxDistance() <= exact)
    return emitOptionalError(location, "'relative_bias' needs queries and keys, and a max_distance above the ", exact,
                             " distances with a bucket of their own, found ", *adaptor.getQueries(), ", ",
                             *adaptor.getKeys(), " and ", adaptor.getMaxDistance());
  types.push_back(
      RankedTensorType::get({table.getDimSize(1), *adaptor.getQueries(), *adaptor.getKeys()}, table.getElementType()));
  return success();
}

ACCORD_INFER(SpmmOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1, 1, 1, 2}, location, "spmm")))
    return failure();
  RankedTensorType rows = tensor(adaptor.getRowOffsets()), columns = tensor(adaptor.getColumns());
  RankedTensorType values = tensor(adaptor.getValues()), dense = tensor(adaptor.getDense());
  if (failed(requireIds(rows, location, "spmm")) || failed(requireIds(columns, location, "spmm")) ||
      failed(sameElement(values, dense, location, "spmm")))
    return failure();
  if (sampleShape(rows).size() != 1 || sampleShape(rows)[0] < 2 || columns.getShape() != values.getShape() ||
      sampleShape(values).size() != 1 || sampleShape(dense).size() != 2)
    return emitOptionalError(location,
                             "'spmm' takes row offsets [rows+1], columns and values [non-zeros], dense [k, d]; found ",
                             shapeText(rows.getShape()), ", ", shapeText(columns.getShape()), ", ",
                             shapeText(values.getShape()), ", ", shapeText(dense.getShape()));
  SmallVector<int64_t> shape = batchOf({rows, values, dense});
  shape.append({sampleShape(rows)[0] - 1, sampleShape(dense)[1]});
  types.push_back(RankedTensorType::get(shape, dense.getElementType()));
  return success();
}

ACCORD_INFER(TopkOp) {
  if (failed(requireTensors(adaptor.getOperands(), {1}, location, "topk")) ||
      failed(require(adaptor.getK(), location, "topk", "k")))
    return failure();
  RankedTensorType x = tensor(adaptor.getX());
  SmallVector<int64_t> shape(x.getShape());
  if (sampleShape(x).empty() || *adaptor.getK() < 1 || *adaptor.getK() > shape.back())
    return emitOptionalError(location, Code::BadAttribute, "'topk' k = ", *adaptor.getK(),
                             " must be 1 to the last extent of ", shapeText(x.getShape()));
  shape.back() = *adaptor.getK();
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(x.getContext(), 32)));
  return success();
}

// ---- bytes touched

static std::optional<int64_t> sum(std::initializer_list<std::optional<int64_t>> terms) {
  std::optional<int64_t> total = 0;
  for (std::optional<int64_t> term : terms)
    total = checkedAdd(total, term);
  return total;
}
std::optional<int64_t> EmbeddingOp::getBytesRead(int64_t batch) {
  return sum({bytesOf(getIds().getType(), batch), touchedBytes(getIds().getType(), getTable().getType(), batch)});
}
std::optional<int64_t> EmbeddingBagOp::getBytesRead(int64_t batch) {
  return sum({bytesOf(getIds().getType(), batch),
              touchedBytes(getIds().getType(), getTable().getType(), batch, getSkewAttr())});
}
template <typename OpTy> static std::optional<int64_t> touched(OpTy op, int64_t batch, FloatAttr skew = {}) {
  return touchedBytes(op.getIds().getType(), op.getDtable().getType(), batch, skew);
}
std::optional<int64_t> EmbeddingGradOp::getBytesRead(int64_t batch) {
  if (rowsOf(getDtable().getType()))
    return bytesOf((*this)->getOperandTypes(), batch);
  return sum({bytesOf((*this)->getOperandTypes(), batch), touched(*this, batch)});
}
std::optional<int64_t> EmbeddingGradOp::getBytesWritten(int64_t batch) {
  return rowsOf(getDtable().getType()) ? bytesOf(getDtable().getType(), batch) : touched(*this, batch);
}
std::optional<int64_t> EmbeddingBagGradOp::getBytesRead(int64_t batch) {
  if (rowsOf(getDtable().getType()))
    return bytesOf((*this)->getOperandTypes(), batch);
  return sum({bytesOf((*this)->getOperandTypes(), batch), touched(*this, batch, getSkewAttr())});
}
std::optional<int64_t> EmbeddingBagGradOp::getBytesWritten(int64_t batch) {
  return rowsOf(getDtable().getType()) ? bytesOf(getDtable().getType(), batch) : touched(*this, batch, getSkewAttr());
}
std::optional<int64_t> GatherOp::getBytesRead(int64_t batch) {
  return sum({bytesOf(getIds().getType(), batch), bytesOf(getY().getType(), batch)});
}
std::optional<int64_t> GatherGradOp::getBytesRead(int64_t batch) {
  std::optional<int64_t> dy = bytesOf(getDy().getType(), batch);
  return sum({dy, dy, bytesOf(getIds().getType(), batch)});
}
std::optional<int64_t> GatherGradOp::getBytesWritten(int64_t batch) {
  return sum({bytesOf(getDx().getType(), batch), bytesOf(getDy().getType(), batch)});
}

// ---- recurrent

template <typename Adaptor>
static LogicalResult inferRecurrent(Adaptor adaptor, int64_t gates, int64_t savedPerHidden,
                                    std::optional<Location> location, SmallVectorImpl<Type> &types, StringRef op) {
  if (failed(requireTensors(adaptor.getOperands(), {2, 2, 2}, location, op)))
    return failure();
  RankedTensorType x = tensor(adaptor.getX()), wIh = tensor(adaptor.getWIh()), wHh = tensor(adaptor.getWHh());
  int64_t directions = adaptor.getBidirectional() ? 2 : 1;
  if (sampleShape(x).size() != 2)
    return emitOptionalError(location, "'", op, "' takes x[seq, in] per sample, found ", shapeText(x.getShape()));
  int64_t hidden = wHh.getShape().back(), in = x.getShape().back();
  // Both directions have weights of their own: a leading dimension of 2.
  auto shaped = [&](std::initializer_list<int64_t> one) {
    SmallVector<int64_t> shape;
    if (directions == 2)
      shape.push_back(2);
    shape.append(one);
    return shape;
  };
  if (wIh.getShape().back() != in)
    return emitOptionalError(location, "'", op, "' weight takes ", wIh.getShape().back(),
                             " inputs but the operand has ", in);
  SmallVector<int64_t> ih = shaped({gates * hidden, in}), hh = shaped({gates * hidden, hidden});
  if (wIh.getShape() != ArrayRef(ih) || wHh.getShape() != ArrayRef(hh))
    return emitOptionalError(location, "'", op, "' with ", hidden, " hidden units needs weights ", shapeText(ih),
                             " and ", shapeText(hh), ", found ", shapeText(wIh.getShape()), " and ",
                             shapeText(wHh.getShape()));
  if (RankedTensorType bias = tensor(adaptor.getBias()))
    if (SmallVector<int64_t> both = shaped({2, gates * hidden}); bias.getShape() != ArrayRef(both))
      return emitOptionalError(location, "'", op, "' bias must be ", shapeText(both), ", found ",
                               shapeText(bias.getShape()));
  if (failed(sameElement(x, wIh, location, op)) || failed(sameElement(x, wHh, location, op)))
    return failure();
  SmallVector<int64_t> shape(x.getShape());
  for (int64_t width : {int64_t(1), savedPerHidden}) {
    shape.back() = directions * hidden * width;
    types.push_back(RankedTensorType::get(shape, x.getElementType()));
  }
  return success();
}
ACCORD_INFER(LstmOp) { return inferRecurrent(adaptor, 4, 5, location, types, "lstm"); }
ACCORD_INFER(GruOp) { return inferRecurrent(adaptor, 3, 4, location, types, "gru"); }
