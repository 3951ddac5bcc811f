// Attention row by row, as its definition says it.
#include "lib/training/interpret/Kernels.h"
#include <cmath>

namespace accord::interpret {
namespace {

struct Keys {
  int64_t begin, end;
};

/// Keys that a query sees; queries may be a part of all, from `first` on.
template <typename Op> Keys keysOf(Op op, int64_t first, int64_t query, int64_t keys) {
  if (!op.getCausal())
    return {0, keys};
  int64_t end = first + query + 1, window = op.getWindow();
  return {window > 0 ? std::min(std::max<int64_t>(end - window, 0), keys) : 0, std::min(end, keys)};
}
int64_t firstQuery(mlir::Operation *op, const Array &q, const Device &device) {
  return extentsOf(op, q.shape, device)[q.shape.size() - 4].offset;
}

/// Calls `visit(query, key, row)` for each row of scores: the indices of its first elements but for the last dimension,
/// in q or y, and (without the key) in k or v.
template <typename Visit> void forEachRow(const Array &q, Visit visit) {
  Shape rows(llvm::ArrayRef(q.shape).drop_back());
  forEach(rows, visit);
}

/// Where key j of the row lies in k and v, dimension e.
Index keyAt(IndexRef row, int64_t j, int64_t e) {
  size_t batch = row.size() - 3;
  Index index(row.take_front(batch));
  index.append({j, row[batch + 1], e});
  return index;
}
Index rowAt(IndexRef row, int64_t e) {
  Index index(row);
  index.push_back(e);
  return index;
}

double score(const Array &q, const Array &k, IndexRef row, int64_t j, double scale) {
  double sum = 0;
  for (int64_t e = 0; e < q.shape.back(); ++e)
    sum += q(rowAt(row, e)) * k(keyAt(row, j, e));
  return scale * sum;
}

void attention(dnn::FlashAttentionOp op, Inputs in, Outputs out, const Device &device) {
  const Array &q = *in[0], &k = *in[1], &v = *in[2];
  int64_t first = firstQuery(op, q, device);
  double scale = op.getScaleAttr().getValueAsDouble();
  forEachRow(q, [&](IndexRef row) {
    Keys seen = keysOf(op, first, row[row.size() - 3], k.shape[row.size() - 3]);
    std::vector<double> scores;
    for (int64_t j = seen.begin; j < seen.end; ++j)
      scores.push_back(score(q, k, row, j, scale));
    double largest = *std::max_element(scores.begin(), scores.end()), sum = 0;
    for (double s : scores)
      sum += std::exp(s - largest);
    for (int64_t j = seen.begin; j < seen.end; ++j)
      for (int64_t e = 0; e < v.shape.back(); ++e)
        out[0](rowAt(row, e)) += std::exp(scores[j - seen.begin] - largest) / sum * v(keyAt(row, j, e));
    out[1](row) = largest + std::log(sum);
  });
}

void attentionGradient(dnn::FlashAttentionGradOp op, Inputs in, Outputs out, const Device &device) {
  const Array &dy = *in[0], &q = *in[1], &k = *in[2], &v = *in[3], &y = *in[4], &kept = *in[5];
  int64_t first = firstQuery(op, q, device);
  double scale = op.getScaleAttr().getValueAsDouble();
  forEachRow(q, [&](IndexRef row) {
    Keys seen = keysOf(op, first, row[row.size() - 3], k.shape[row.size() - 3]);
    double mean = 0; // of the gradients of the shares, weighted with them
    for (int64_t e = 0; e < v.shape.back(); ++e)
      mean += dy(rowAt(row, e)) * y(rowAt(row, e));
    for (int64_t j = seen.begin; j < seen.end; ++j) {
      double share = std::exp(score(q, k, row, j, scale) - kept(row)), dshare = 0;
      for (int64_t e = 0; e < v.shape.back(); ++e) {
        dshare += dy(rowAt(row, e)) * v(keyAt(row, j, e));
        out[2](keyAt(row, j, e)) += share * dy(rowAt(row, e));
      }
      double dscore = scale * share * (dshare - mean);
      for (int64_t e = 0; e < q.shape.back(); ++e) {
        out[0](rowAt(row, e)) += dscore * k(keyAt(row, j, e));
        out[1](keyAt(row, j, e)) += dscore * q(rowAt(row, e));
      }
    }
  });
}

} // namespace

void addAttention(Kernels &kernels) {
  kernels.add<dnn::FlashAttentionOp>(attention);
  kernels.add<dnn::FlashAttentionGradOp>(attentionGradient);
}

} // namespace accord::interpret
