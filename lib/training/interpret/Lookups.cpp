// Operations whose access depends on data. Ids and tables with a batch of their own are read sample by sample; without
// one they are shared by all samples.
#include "lib/training/interpret/Kernels.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace accord::interpret {
namespace {

Index joined(IndexRef a, IndexRef b = {}, IndexRef c = {}) {
  Index all(a);
  all.append(b.begin(), b.end());
  all.append(c.begin(), c.end());
  return all;
}

/// visit(index in ids, row of the table, index in y before the row's dimension).
template <typename Visit> void forEachId(const Array &ids, bool bag, Visit visit) {
  forEach(ids.shape, [&](IndexRef i) { visit(i, ids.integer(i), bag ? i.drop_back() : i); });
}

/// `first` is the id of the table's first row; rows that are on other devices count as zeros.
void lookUp(const Array &ids, const Array &table, int64_t first, bool bag, double share, Array &y) {
  forEachId(ids, bag, [&](IndexRef, int64_t id, IndexRef at) {
    if (int64_t row = id - first; row >= 0 && row < table.shape[0])
      for (int64_t d = 0; d < table.shape[1]; ++d)
        y(joined(at, {d})) += share * table({row, d});
  });
}
void addRows(const Array &dy, const Array &ids, int64_t first, bool bag, double share, Array &table) {
  forEachId(ids, bag, [&](IndexRef, int64_t id, IndexRef at) {
    if (int64_t row = id - first; row >= 0 && row < table.shape[0])
      for (int64_t d = 0; d < table.shape[1]; ++d)
        table({row, d}) += share * dy(joined(at, {d}));
  });
}
int64_t firstRow(mlir::Operation *op, const Array &table, const Device &device) {
  return extentsOf(op, table.shape, device)[0].offset;
}
double shareOf(llvm::StringRef mode, const Array &ids) { return mode == "mean" ? 1.0 / ids.shape.back() : 1; }

/// Indices of the three arrays of a gather: y[batch, before, ids.., after] = x[batch, before, ids[batch, ids..],
/// after].
struct Gather {
  const Array &x, &ids, &y;
  int64_t axis; ///< per sample
  bool xBatch, idsBatch, yBatch;

  template <typename Visit> void run(Visit visit) const {
    int64_t idsRank = ids.rank() - idsBatch;
    forEach(y.shape, [&](IndexRef at) {
      IndexRef batch = at.take_front(yBatch), sample = at.drop_front(yBatch);
      IndexRef before = sample.take_front(axis), inIds = sample.slice(axis, idsRank);
      IndexRef after = sample.drop_front(axis + idsRank);
      int64_t id = ids.integer(joined(idsBatch ? batch : IndexRef(), inIds));
      visit(joined(xBatch ? batch : IndexRef(), before, joined({id}, after)), at);
    });
  }
};
/// `wide` is the value that `x` is of, `narrow` that of `y`.
template <typename OpTy>
Gather gatherOf(OpTy op, mlir::Value wide, mlir::Value narrow, const Array &x, const Array &ids, const Array &y) {
  int64_t batch = batchRankOf(wide);
  return {x,
          ids,
          y,
          dimensionOf(op.getAxis(), wide) - batch,
          batch != 0,
          batchRankOf(op.getIds()) != 0,
          batchRankOf(narrow) != 0};
}

template <typename Visit>
void forEachSegment(const Array &x, const Array &ids, mlir::Value xValue, mlir::Value idsValue, Visit visit) {
  bool xBatch = batchRankOf(xValue) != 0, idsBatch = batchRankOf(idsValue) != 0;
  forEach(x.shape, [&](IndexRef i) {
    IndexRef batch = i.take_front(xBatch), sample = i.drop_front(xBatch);
    int64_t segment = ids.integer(joined(idsBatch ? batch : IndexRef(), {sample[0]}));
    visit(i, joined(batch, {segment}, sample.drop_front()));
  });
}

void segmentSoftmax(dnn::SegmentSoftmaxOp op, Inputs in, Outputs out) {
  const Array &x = *in[0];
  std::map<Index, double> max, sum;
  auto each = [&](auto visit) { forEachSegment(x, *in[1], op.getX(), op.getIds(), visit); };
  each([&](IndexRef i, const Index &s) {
    auto [it, fresh] = max.try_emplace(s, x(i));
    it->second = std::max(it->second, x(i));
  });
  each([&](IndexRef i, const Index &s) { sum[s] += out[0](i) = std::exp(x(i) - max[s]); });
  each([&](IndexRef i, const Index &s) { out[0](i) /= sum[s]; });
}
void segmentSoftmaxGradient(dnn::SegmentSoftmaxGradOp op, Inputs in, Outputs out) {
  const Array &dy = *in[0], &y = *in[1];
  std::map<Index, double> sum;
  auto each = [&](auto visit) { forEachSegment(y, *in[2], op.getY(), op.getIds(), visit); };
  each([&](IndexRef i, const Index &s) { sum[s] += dy(i) * y(i); });
  each([&](IndexRef i, const Index &s) { out[0](i) = (dy(i) - sum[s]) * y(i); });
}

/// The row of the table for a key at `distance` after the query.
int64_t bucketOf(int64_t distance, int64_t rows, int64_t farthest, bool bidirectional) {
  int64_t buckets = bidirectional ? rows / 2 : rows, exact = buckets / 2;
  int64_t first = bidirectional && distance > 0 ? buckets : 0;
  int64_t d = bidirectional ? std::abs(distance) : std::max<int64_t>(-distance, 0);
  if (d < exact)
    return first + d;
  double share = std::log(1.0 * d / exact) / std::log(1.0 * farthest / exact);
  int64_t further = share * (buckets - exact);
  return first + std::min(exact + further, buckets - 1);
}
/// visit(index in the biases, index in the table).
template <typename OpTy, typename Visit>
void forEachBias(OpTy op, const Array &biases, const Array &table, Visit visit) {
  forEach(biases.shape, [&](IndexRef i) {
    visit(i, Index{bucketOf(i[2] - i[1], table.shape[0], op.getMaxDistance(), op.getBidirectional()), i[0]});
  });
}

/// visit(index in values, index in dense, index in y) of every non-zero and column of dense.
template <typename OpTy, typename Visit>
void forEachNonZero(OpTy op, const Array &rowOffsets, const Array &columns, mlir::Value denseValue, const Array &dense,
                    mlir::Value yValue, const Array &y, Visit visit) {
  bool inRows = batchRankOf(op.getRowOffsets()), inColumns = batchRankOf(op.getColumns());
  bool inDense = batchRankOf(denseValue), inY = batchRankOf(yValue);
  for (int64_t n = 0; n < (inY ? y.shape[0] : 1); ++n) {
    auto at = [&](bool has, const Index &rest) { return has ? joined({n}, rest) : rest; };
    for (int64_t r = 0; r + 1 < rowOffsets.shape.back(); ++r)
      for (int64_t e = rowOffsets.integer(at(inRows, {r})); e < rowOffsets.integer(at(inRows, {r + 1})); ++e)
        for (int64_t d = 0; d < dense.shape.back(); ++d)
          visit(at(inColumns, {e}), at(inDense, {columns.integer(at(inColumns, {e})), d}), at(inY, {r, d}));
  }
}

void topk(dnn::TopkOp, Inputs in, Outputs out) {
  const Array &x = *in[0];
  int64_t k = out[0].shape.back();
  forEach(IndexRef(x.shape).drop_back(), [&](IndexRef at) {
    std::vector<int64_t> order(x.shape.back());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      double xa = x(joined(at, {a})), xb = x(joined(at, {b}));
      return xa != xb ? xa > xb : a < b;
    });
    for (int64_t i = 0; i < k; ++i) {
      out[0](joined(at, {i})) = x(joined(at, {order[i]}));
      out[1](joined(at, {i})) = order[i];
    }
  });
}

void spmm(dnn::SpmmOp op, Inputs in, Outputs out) {
  forEachNonZero(
      op, *in[0], *in[1], op.getDense(), *in[3], op.getY(), out[0],
      [&](const Index &e, const Index &dense, const Index &y) { out[0](y) += (*in[2])(e) * (*in[3])(dense); });
}
void spmmValuesGradient(dnn::SpmmValuesGradOp op, Inputs in, Outputs out) {
  forEachNonZero(
      op, *in[1], *in[2], op.getDense(), *in[3], op.getDy(), *in[0],
      [&](const Index &e, const Index &dense, const Index &y) { out[0](e) += (*in[0])(y) * (*in[3])(dense); });
}
void spmmDenseGradient(dnn::SpmmDenseGradOp op, Inputs in, Outputs out) {
  forEachNonZero(
      op, *in[1], *in[2], op.getDdense(), out[0], op.getDy(), *in[0],
      [&](const Index &e, const Index &dense, const Index &y) { out[0](dense) += (*in[3])(e) * (*in[0])(y); });
}

} // namespace

void addLookups(Kernels &kernels) {
  kernels.add<dnn::EmbeddingOp>([](dnn::EmbeddingOp op, Inputs in, Outputs out, const Device &device) {
    lookUp(*in[0], *in[1], firstRow(op, *in[1], device), false, 1, out[0]);
  });
  kernels.add<dnn::EmbeddingGradOp>([](dnn::EmbeddingGradOp op, Inputs in, Outputs out, const Device &device) {
    addRows(*in[0], *in[1], firstRow(op, out[0], device), false, 1, out[0]);
  });
  kernels.add<dnn::EmbeddingBagOp>([](dnn::EmbeddingBagOp op, Inputs in, Outputs out, const Device &device) {
    double share = shareOf(op.getMode(), *in[0]);
    lookUp(*in[0], *in[1], firstRow(op, *in[1], device), true, share, out[0]);
  });
  kernels.add<dnn::EmbeddingBagGradOp>([](dnn::EmbeddingBagGradOp op, Inputs in, Outputs out, const Device &device) {
    double share = shareOf(op.getMode(), *in[1]);
    addRows(*in[0], *in[1], firstRow(op, out[0], device), true, share, out[0]);
  });
  kernels.add<dnn::JoinRowsOp>([](dnn::JoinRowsOp, Inputs in, Outputs out) {
    for (size_t i = 0; i < out[0].data.size(); ++i)
      out[0].data[i] = in[0]->data[i] + in[1]->data[i];
  });
  kernels.add<dnn::GatherOp>([](dnn::GatherOp op, Inputs in, Outputs out) {
    gatherOf(op, op.getX(), op.getY(), *in[0], *in[1], out[0]).run([&](const Index &x, IndexRef y) {
      out[0](y) = (*in[0])(x);
    });
  });
  kernels.add<dnn::GatherGradOp>([](dnn::GatherGradOp op, Inputs in, Outputs out) {
    gatherOf(op, op.getDx(), op.getDy(), out[0], *in[1], *in[0]).run([&](const Index &x, IndexRef y) {
      out[0](x) += (*in[0])(y);
    });
  });
  kernels.add<dnn::ScatterOp>([](dnn::ScatterOp op, Inputs in, Outputs out) {
    out[0] = *in[0];
    gatherOf(op, op.getX(), op.getUpdates(), out[0], *in[1], *in[2]).run([&](const Index &y, IndexRef update) {
      out[0](y) += (*in[2])(update);
    });
  });
  kernels.add<dnn::SegmentSumOp>([](dnn::SegmentSumOp op, Inputs in, Outputs out) {
    forEachSegment(*in[0], *in[1], op.getX(), op.getIds(),
                   [&](IndexRef x, const Index &y) { out[0](y) += (*in[0])(x); });
  });
  kernels.add<dnn::SegmentSoftmaxOp>(segmentSoftmax);
  kernels.add<dnn::SegmentSoftmaxGradOp>(segmentSoftmaxGradient);
  kernels.add<dnn::RelativeBiasOp>([](dnn::RelativeBiasOp op, Inputs in, Outputs out) {
    forEachBias(op, out[0], *in[0], [&](IndexRef i, const Index &row) { out[0](i) = (*in[0])(row); });
  });
  kernels.add<dnn::RelativeBiasGradOp>([](dnn::RelativeBiasGradOp op, Inputs in, Outputs out) {
    forEachBias(op, *in[0], out[0], [&](IndexRef i, const Index &row) { out[0](row) += (*in[0])(i); });
  });
  kernels.add<dnn::SpmmOp>(spmm);
  kernels.add<dnn::SpmmValuesGradOp>(spmmValuesGradient);
  kernels.add<dnn::SpmmDenseGradOp>(spmmDenseGradient);
  kernels.add<dnn::TopkOp>(topk);
  kernels.add<dnn::TopkGradOp>([](dnn::TopkGradOp, Inputs in, Outputs out) {
    forEach(in[0]->shape, [&](IndexRef i) { out[0](joined(i.drop_back(), {in[1]->integer(i)})) += (*in[0])(i); });
  });
}

} // namespace accord::interpret
