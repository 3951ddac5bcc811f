// Shapes and touched bytes of operations whose access depends on data, and of the composite ones.
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

/// The batch of the result: that of the first operand that has one.
static SmallVector<int64_t> batchOf(std::initializer_list<RankedTensorType> types) {
  for (RankedTensorType type : types)
    if (batchRank(type))
      return {ShapedType::kDynamic};
  return {};
}
static ArrayRef<int64_t> sampleShape(RankedTensorType type) { return type.getShape().drop_front(batchRank(type)); }

static LogicalResult inferLookup(ShapeInference &infer, bool bag) {
  RankedTensorType ids = infer[0], table = infer[1];
  if (failed(infer.integers(ids)))
    return failure();
  if (table.getRank() != 2)
    return infer.error("table must be [rows, dim], found ", shapeText(table.getShape()));
  if (bag && ids.getRank() - batchRank(ids) < 1)
    return infer.error("sums over the last dimension of the ids, found ", shapeText(ids.getShape()));
  SmallVector<int64_t> shape(bag ? ids.getShape().drop_back() : ids.getShape());
  shape.push_back(table.getDimSize(1));
  return infer.give(shape, table);
}
/// A sparse gradient has rows for each sample, and its table may have an optimizer of its own.
template <typename Adaptor> static LogicalResult requireSparse(Adaptor adaptor, const ShapeInference &infer) {
  StringAttr optimizer = adaptor.getOptimizerAttr();
  if (optimizer && !adaptor.getSparse())
    return infer.error("optimizer '", optimizer.getValue(),
                       "' is one of the rows that were looked up: state sparse = true as well");
  auto kind = optimizer ? symbolizeOptimizerKind(optimizer.getValue()) : std::nullopt;
  if (optimizer && (!kind || *kind == OptimizerKind::None))
    return infer.error("optimizer must be sgd, momentum, adam, adamw or rowwise_adagrad, found '", optimizer.getValue(),
                       "'");
  RankedTensorType ids = infer[0];
  if (!adaptor.getSparse() || (batchRank(ids) && !llvm::is_contained(sampleShape(ids), 0)))
    return success();
  return infer.error("with a sparse gradient needs ids of each sample, found ", shapeText(ids.getShape()));
}
LogicalResult EmbeddingOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  return failure(failed(inferLookup(infer, false)) || failed(requireSparse(adaptor, infer)));
}
LogicalResult EmbeddingBagOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  if (adaptor.getMode() != "sum" && adaptor.getMode() != "mean")
    return infer.error("mode must be 'sum' or 'mean', found '", adaptor.getMode(), "'");
  return failure(failed(inferLookup(infer, true)) || failed(requireSparse(adaptor, infer)));
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

/// `ids` in the place of a sample's dimension `axis`, of what comes before.
static void appendAround(SmallVectorImpl<int64_t> &shape, ArrayRef<int64_t> sample, int64_t axis,
                         RankedTensorType ids) {
  llvm::append_range(shape, sample.take_front(axis));
  llvm::append_range(shape, sampleShape(ids));
  llvm::append_range(shape, sample.drop_front(axis + 1));
}
LogicalResult GatherOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0], ids = infer[1];
  FailureOr<int64_t> axis = infer.dimensionOf(adaptor.getAxis(), x);
  if (failed(axis) || failed(infer.integers(ids)))
    return failure();
  SmallVector<int64_t> shape = batchOf({x, ids});
  appendAround(shape, sampleShape(x), *axis - batchRank(x), ids);
  return infer.give(shape, x);
}

LogicalResult ScatterOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0], ids = infer[1], updates = infer[2];
  FailureOr<int64_t> axis = infer.dimensionOf(adaptor.getAxis(), x);
  if (failed(axis) || failed(infer.integers(ids)) || failed(infer.sameElement(x, updates)))
    return failure();
  SmallVector<int64_t> expected;
  appendAround(expected, sampleShape(x), *axis - batchRank(x), ids);
  if (sampleShape(updates) != ArrayRef(expected))
    return infer.error("updates must be ", shapeText(expected), " per sample, found ", shapeText(sampleShape(updates)));
  return infer.give(x);
}

/// One id per row.
static LogicalResult requireRows(const ShapeInference &infer, int64_t segments) {
  RankedTensorType x = infer[0], ids = infer[1];
  if (failed(infer.integers(ids)))
    return failure();
  if (segments >= 1 && !sampleShape(x).empty() && sampleShape(ids) == sampleShape(x).take_front(1))
    return success();
  return infer.error("needs one id per row and at least one segment, found ", shapeText(ids.getShape()), " ids for ",
                     shapeText(x.getShape()));
}
LogicalResult SegmentSumOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  if (failed(requireRows(infer, *adaptor.getSegments())))
    return failure();
  SmallVector<int64_t> shape(infer[0].getShape());
  shape[batchRank(infer[0])] = *adaptor.getSegments();
  return infer.give(shape, infer[0]);
}
LogicalResult SegmentSoftmaxOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  return failed(requireRows(infer, *adaptor.getSegments())) ? failure() : infer.give(infer[0]);
}

LogicalResult RelativeBiasOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType table = infer[0];
  // A direction's buckets: half of them exact, and at least one.
  int64_t buckets = table.getDimSize(0), exact = buckets / (adaptor.getBidirectional() ? 4 : 2);
  if (table.getRank() != 2 || batchRank(table) || exact < 1)
    return infer.error("table must be [buckets, heads] with at least ", adaptor.getBidirectional() ? 4 : 2,
                       " buckets, found ", shapeText(table.getShape()));
  int64_t queries = *adaptor.getQueries(), keys = *adaptor.getKeys();
  if (queries < 1 || keys < 1 || adaptor.getMaxDistance() <= exact)
    return infer.error("needs queries and keys, and a max_distance above the ", exact,
                       " distances with a bucket of their own, found ", queries, ", ", keys, " and ",
                       adaptor.getMaxDistance());
  return infer.give({table.getDimSize(1), queries, keys}, table);
}

LogicalResult SpmmOp::inferTypes(Adaptor, ShapeInference &infer) {
  RankedTensorType rows = infer[0], columns = infer[1], values = infer[2], dense = infer[3];
  if (failed(infer.integers(rows)) || failed(infer.integers(columns)) || failed(infer.sameElement(values, dense)))
    return failure();
  if (sampleShape(rows).size() != 1 || sampleShape(rows)[0] < 2 || columns.getShape() != values.getShape() ||
      sampleShape(values).size() != 1 || sampleShape(dense).size() != 2)
    return infer.error("takes row offsets [rows+1], columns and values [non-zeros], dense [k, d]; found ",
                       shapeText(rows.getShape()), ", ", shapeText(columns.getShape()), ", ",
                       shapeText(values.getShape()), ", ", shapeText(dense.getShape()));
  SmallVector<int64_t> shape = batchOf({rows, values, dense});
  shape.append({sampleShape(rows)[0] - 1, sampleShape(dense)[1]});
  return infer.give(shape, dense);
}

LogicalResult TopkOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  RankedTensorType x = infer[0];
  SmallVector<int64_t> shape(x.getShape());
  if (sampleShape(x).empty() || *adaptor.getK() < 1 || *adaptor.getK() > shape.back())
    return infer.error(Code::BadAttribute, "k = ", *adaptor.getK(), " must be 1 to the last extent of ",
                       shapeText(x.getShape()));
  shape.back() = *adaptor.getK();
  infer.types.append({RankedTensorType::get(shape, x.getElementType()),
                      RankedTensorType::get(shape, IntegerType::get(x.getContext(), 32))});
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
/// Of a dense gradient the rows that it touches, which are read and written; a sparse one is stored as its rows.
template <typename OpTy> static std::optional<int64_t> touched(OpTy op, int64_t batch, FloatAttr skew = {}) {
  RankedTensorType table = op.getDtable().getType();
  return rowsOf(table) ? bytesOf(table, batch) : touchedBytes(op.getIds().getType(), table, batch, skew);
}
template <typename OpTy> static std::optional<int64_t> readWith(OpTy op, int64_t batch, FloatAttr skew = {}) {
  return sum({bytesOf(op->getOperandTypes(), batch), rowsOf(op.getDtable().getType()) ? 0 : touched(op, batch, skew)});
}
std::optional<int64_t> EmbeddingGradOp::getBytesRead(int64_t batch) { return readWith(*this, batch); }
std::optional<int64_t> EmbeddingGradOp::getBytesWritten(int64_t batch) { return touched(*this, batch); }
std::optional<int64_t> EmbeddingBagGradOp::getBytesRead(int64_t batch) { return readWith(*this, batch, getSkewAttr()); }
std::optional<int64_t> EmbeddingBagGradOp::getBytesWritten(int64_t batch) {
  return touched(*this, batch, getSkewAttr());
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

LogicalResult dnn::inferRecurrent(ShapeInference &infer, bool bidirectional, int64_t gates, int64_t saved) {
  RankedTensorType x = infer[0], wIh = infer[1], wHh = infer[2], bias = infer[3];
  if (sampleShape(x).size() != 2)
    return infer.error("takes x[seq, in] per sample, found ", shapeText(x.getShape()));
  if (sampleShape(x).front() < 1)
    return infer.error("takes a sequence of at least one step, found ", shapeText(x.getShape()));
  int64_t hidden = wHh.getShape().back(), in = x.getShape().back();
  // Both directions have weights of their own: a leading dimension of 2.
  auto shaped = [&](std::initializer_list<int64_t> one) {
    SmallVector<int64_t> shape(bidirectional ? 1 : 0, 2);
    shape.append(one);
    return shape;
  };
  if (wIh.getShape().back() != in)
    return infer.error("weight takes ", wIh.getShape().back(), " inputs but the operand has ", in);
  SmallVector<int64_t> ih = shaped({gates * hidden, in}), hh = shaped({gates * hidden, hidden});
  if (wIh.getShape() != ArrayRef(ih) || wHh.getShape() != ArrayRef(hh))
    return infer.error("with ", hidden, " hidden units needs weights ", shapeText(ih), " and ", shapeText(hh),
                       ", found ", shapeText(wIh.getShape()), " and ", shapeText(wHh.getShape()));
  if (SmallVector<int64_t> both = shaped({2, gates * hidden}); bias && bias.getShape() != ArrayRef(both))
    return infer.error("bias must be ", shapeText(both), ", found ", shapeText(bias.getShape()));
  if (failed(infer.sameElement(x, wIh)) || failed(infer.sameElement(x, wHh)))
    return failure();
  SmallVector<int64_t> shape(x.getShape());
  for (int64_t width : {int64_t(1), saved}) {
    shape.back() = (bidirectional ? 2 : 1) * hidden * width;
    infer.types.push_back(RankedTensorType::get(shape, x.getElementType()));
  }
  return success();
}
