// Multiply-accumulates: each forward operation by its own loops, the gradient `dnn.contract` by its indexing maps, so
// that finite differences hold the maps against the definitions.
#include "lib/training/interpret/Kernels.h"

namespace accord::interpret {
namespace {

using Pair = std::array<int64_t, 2>;

void linear(dnn::LinearOp, Inputs in, Outputs out) {
  const Array &x = *in[0], &weight = *in[1];
  forEach(out[0].shape, [&](llvm::ArrayRef<int64_t> y) {
    double sum = in.size() > 2 && in[2] ? (*in[2])({y.back()}) : 0;
    Index at(y);
    for (int64_t i = 0; i < weight.shape[1]; ++i) {
      at.back() = i;
      sum += x(at) * weight({y.back(), i});
    }
    out[0](y) = sum;
  });
}

void matmul(dnn::MatmulOp op, Inputs in, Outputs out) {
  const Array &a = *in[0], &b = *in[1];
  int64_t inner = a.shape[a.rank() - (op.getTransposeA() ? 2 : 1)];
  auto matrixAt = [](llvm::ArrayRef<int64_t> y, const Array &m, int64_t row, int64_t column) {
    Index index = broadcastIndex(y.drop_back(2), llvm::ArrayRef<int64_t>(m.shape).drop_back(2));
    index.append({row, column});
    return m(index);
  };
  forEach(out[0].shape, [&](llvm::ArrayRef<int64_t> y) {
    int64_t row = y[y.size() - 2], column = y.back();
    for (int64_t k = 0; k < inner; ++k)
      out[0](y) += (op.getTransposeA() ? matrixAt(y, a, k, row) : matrixAt(y, a, row, k)) *
                   (op.getTransposeB() ? matrixAt(y, b, column, k) : matrixAt(y, b, k, column));
  });
}

/// For each pair of a point of the narrow side (output of a convolution, input of a transposed one) and of the kernel:
/// visit(n, p, q, r, s, row, column) where row and column lie inside the wide side.
template <typename Visit>
void slide(const Array &narrow, const Array &wide, const Array &weight, Pair stride, Pair padding, Pair dilation,
           Visit visit) {
  forEach({narrow.shape[0], narrow.shape[2], narrow.shape[3], weight.shape[2], weight.shape[3]},
          [&](llvm::ArrayRef<int64_t> i) {
            int64_t row = i[1] * stride[0] + i[3] * dilation[0] - padding[0];
            int64_t column = i[2] * stride[1] + i[4] * dilation[1] - padding[1];
            if (row >= 0 && row < wide.shape[2] && column >= 0 && column < wide.shape[3])
              visit(i[0], i[1], i[2], i[3], i[4], row, column);
          });
}

void addBias(Inputs in, Array &y) {
  if (in.size() > 2 && in[2])
    forEach(y.shape, [&](llvm::ArrayRef<int64_t> i) { y(i) += (*in[2])({i[1]}); });
}

template <typename OpTy> void convolution(OpTy op, int64_t groups, Inputs in, Outputs out) {
  const Array &x = *in[0], &weight = *in[1];
  Array &y = out[0];
  int64_t outputs = y.shape[1] / groups, channels = x.shape[1] / groups;
  slide(y, x, weight, dnn::asPair(op.getStride()), dnn::asPair(op.getPadding()), dnn::asPair(op.getDilation()),
        [&](int64_t n, int64_t p, int64_t q, int64_t r, int64_t s, int64_t row, int64_t column) {
          for (int64_t o = 0; o < y.shape[1]; ++o)
            for (int64_t c = 0; c < channels; ++c)
              y({n, o, p, q}) += x({n, o / outputs * channels + c, row, column}) * weight({o, c, r, s});
        });
  addBias(in, y);
}

void transposedConvolution(dnn::ConvTranspose2dOp op, Inputs in, Outputs out) {
  const Array &x = *in[0], &weight = *in[1];
  Array &y = out[0];
  int64_t groups = op.getGroups(), channels = x.shape[1] / groups, outputs = y.shape[1] / groups;
  slide(x, y, weight, dnn::asPair(op.getStride()), dnn::asPair(op.getPadding()), dnn::asPair(op.getDilation()),
        [&](int64_t n, int64_t p, int64_t q, int64_t r, int64_t s, int64_t row, int64_t column) {
          for (int64_t c = 0; c < x.shape[1]; ++c)
            for (int64_t o = 0; o < outputs; ++o)
              y({n, c / channels * outputs + o, row, column}) += x({n, c, p, q}) * weight({c, o, r, s});
        });
  addBias(in, y);
}

/// visit(i, j, pair) for j < i.
template <typename Visit> void forEachPair(int64_t features, Visit visit) {
  int64_t pair = 0;
  for (int64_t i = 1; i < features; ++i)
    for (int64_t j = 0; j < i; ++j)
      visit(i, j, pair++);
}

void interaction(dnn::InteractionOp, Inputs in, Outputs out) {
  const Array &x = *in[0];
  for (int64_t n = 0; n < x.shape[0]; ++n)
    forEachPair(x.shape[1], [&](int64_t i, int64_t j, int64_t pair) {
      for (int64_t d = 0; d < x.shape[2]; ++d)
        out[0]({n, pair}) += x({n, i, d}) * x({n, j, d});
    });
}

void interactionGradient(dnn::InteractionGradOp, Inputs in, Outputs out) {
  const Array &dy = *in[0], &x = *in[1];
  for (int64_t n = 0; n < x.shape[0]; ++n)
    forEachPair(x.shape[1], [&](int64_t i, int64_t j, int64_t pair) {
      for (int64_t d = 0; d < x.shape[2]; ++d) {
        out[0]({n, i, d}) += dy({n, pair}) * x({n, j, d});
        out[0]({n, j, d}) += dy({n, pair}) * x({n, i, d});
      }
    });
}

} // namespace

void addContractions(Kernels &kernels) {
  kernels.add<dnn::LinearOp>(linear);
  kernels.add<dnn::MatmulOp>(matmul);
  kernels.add<dnn::Conv2dOp>(
      [](dnn::Conv2dOp op, Inputs in, Outputs out) { convolution(op, op.getGroups(), in, out); });
  kernels.add<dnn::DepthwiseConv2dOp>(
      [](dnn::DepthwiseConv2dOp op, Inputs in, Outputs out) { convolution(op, in[0]->shape[1], in, out); });
  kernels.add<dnn::ConvTranspose2dOp>(transposedConvolution);
  kernels.add<dnn::InteractionOp>(interaction);
  kernels.add<dnn::InteractionGradOp>(interactionGradient);
}

} // namespace accord::interpret
