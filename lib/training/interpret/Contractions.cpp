// Multiply-accumulates and windows: each forward operation by its own loops, the gradient `dnn.contract` by its
// indexing maps, so that finite differences hold the maps against the definitions.
#include "dialects/dnn/Scalar.h"
#include "lib/training/interpret/Kernels.h"
#include <limits>
#include <optional>

namespace accord::interpret {
namespace {

using Pair = std::array<int64_t, 2>;

void linear(dnn::LinearOp, Inputs in, Outputs out) {
  const Array &x = *in[0], &weight = *in[1];
  forEach(out[0].shape, [&](IndexRef y) {
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
  auto matrixAt = [](IndexRef y, const Array &m, int64_t row, int64_t column) {
    Index index = broadcastIndex(y.drop_back(2), llvm::ArrayRef<int64_t>(m.shape).drop_back(2));
    index.append({row, column});
    return m(index);
  };
  forEach(out[0].shape, [&](IndexRef y) {
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
  forEach({narrow.shape[0], narrow.shape[2], narrow.shape[3], weight.shape[2], weight.shape[3]}, [&](IndexRef i) {
    int64_t row = i[1] * stride[0] + i[3] * dilation[0] - padding[0];
    int64_t column = i[2] * stride[1] + i[4] * dilation[1] - padding[1];
    if (row >= 0 && row < wide.shape[2] && column >= 0 && column < wide.shape[3])
      visit(i[0], i[1], i[2], i[3], i[4], row, column);
  });
}

void addBias(Inputs in, Array &y) {
  if (in.size() > 2 && in[2])
    forEach(y.shape, [&](IndexRef i) { y(i) += (*in[2])({i[1]}); });
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

// ---- operations that are defined by their indexing maps

using Maps = llvm::SmallVector<mlir::AffineMap>;

Maps mapsOf(mlir::ArrayAttr attribute) {
  Maps maps;
  for (auto map : attribute.getAsRange<mlir::AffineMapAttr>())
    maps.push_back(map.getValue());
  return maps;
}

/// The extents of the domain; the batch is that of whatever tensor walks it.
Shape domainOf(llvm::ArrayRef<int64_t> extents, const Maps &maps, Inputs in, const Array &result) {
  Shape domain(extents);
  llvm::SmallVector<const Array *> tensors(in);
  tensors.push_back(&result);
  for (auto [i, extent] : llvm::enumerate(domain))
    if (mlir::ShapedType::isDynamic(extent))
      for (auto [tensor, map] : llvm::zip(tensors, maps))
        for (auto [expr, of] : llvm::zip(map.getResults(), tensor->shape))
          if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr); dim && dim.getPosition() == i)
            extent = of;
  return domain;
}

void contract(dnn::ContractOp op, Inputs in, Outputs out) {
  Maps maps = mapsOf(op.getMaps());
  auto inside = [](IndexRef index, const Array &array) {
    for (auto [i, extent] : llvm::zip(index, array.shape))
      if (i < 0 || i >= extent)
        return false;
    return true;
  };
  forEach(domainOf(op.getDomain(), maps, in, out[0]), [&](IndexRef point) {
    auto a = maps[0].compose(point), b = maps[1].compose(point), y = maps[2].compose(point);
    if (inside(a, *in[0]) && inside(b, *in[1]) && inside(y, out[0]))
      out[0](y) += (*in[0])(a) * (*in[1])(b);
  });
}

void custom(dnn::CustomOp op, Inputs in, Outputs out) {
  Maps maps = mapsOf(op.getMaps());
  dnn::ScalarProgram body(op.getBody());
  dnn::Combine combine = op.getCombine();
  double infinity = std::numeric_limits<double>::infinity();
  if (combine != dnn::Combine::Sum)
    llvm::fill(out[0].data, combine == dnn::Combine::Max ? -infinity : infinity);
  llvm::SmallVector<double> elements(in.size());
  forEach(domainOf(op.getDomain(), maps, in, out[0]), [&](IndexRef point) {
    for (auto [element, map, array] : llvm::zip(elements, maps, in))
      element = (*array)(map.compose(point));
    double &result = out[0](maps.back().compose(point)), value = body(elements, point);
    result = combine == dnn::Combine::Sum   ? result + value
             : combine == dnn::Combine::Max ? std::max(result, value)
                                            : std::min(result, value);
  });
}

// ---- pooling and resampling of x[n, c, h, w]

struct Window {
  Pair kernel, stride, padding;
};
template <typename OpTy> Window windowOf(OpTy op) {
  return {dnn::asPair(*op.getKernel()), dnn::asPair(op.getStride().value_or(*op.getKernel())),
          dnn::asPair(op.getPadding())};
}
template <typename GradOp> Window windowOfGradient(GradOp op) {
  return {dnn::asPair(op.getKernel()), dnn::asPair(op.getStride()), dnn::asPair(op.getPadding())};
}

/// The points of x in the window of y's point, padding left out.
template <typename Visit> void inWindow(const Window &w, const Array &x, IndexRef y, Visit visit) {
  for (int64_t r = 0; r < w.kernel[0]; ++r)
    for (int64_t s = 0; s < w.kernel[1]; ++s) {
      int64_t row = y[2] * w.stride[0] + r - w.padding[0];
      int64_t column = y[3] * w.stride[1] + s - w.padding[1];
      if (row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3])
        visit(Index{y[0], y[1], row, column});
    }
}

/// The first of the largest; none if the window lies in the padding.
std::optional<Index> largest(const Window &w, const Array &x, IndexRef y) {
  std::optional<Index> best;
  inWindow(w, x, y, [&](const Index &i) {
    if (!best || x(i) > x(*best))
      best = i;
  });
  return best;
}

double sizeOf(const Window &w) { return w.kernel[0] * w.kernel[1]; }

void upsample(dnn::UpsampleOp op, Inputs in, Outputs out) {
  Pair scale = dnn::asPair(*op.getScale());
  forEach(out[0].shape, [&](IndexRef y) { out[0](y) = (*in[0])({y[0], y[1], y[2] / scale[0], y[3] / scale[1]}); });
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
  kernels.add<dnn::ContractOp>(contract);
  kernels.add<dnn::CustomOp>(custom);
}

void addWindows(Kernels &kernels) {
  kernels.add<dnn::MaxPoolOp>([](dnn::MaxPoolOp op, Inputs in, Outputs out) {
    forEach(out[0].shape, [&](IndexRef y) {
      if (auto at = largest(windowOf(op), *in[0], y))
        out[0](y) = (*in[0])(*at);
    });
  });
  kernels.add<dnn::MaxPoolGradOp>([](dnn::MaxPoolGradOp op, Inputs in, Outputs out) {
    forEach(in[0]->shape, [&](IndexRef y) {
      if (auto at = largest(windowOfGradient(op), *in[1], y))
        out[0](*at) += (*in[0])(y);
    });
  });
  // The padding counts: every window is divided by the kernel's size.
  kernels.add<dnn::AvgPoolOp>([](dnn::AvgPoolOp op, Inputs in, Outputs out) {
    Window w = windowOf(op);
    forEach(out[0].shape,
            [&](IndexRef y) { inWindow(w, *in[0], y, [&](const Index &i) { out[0](y) += (*in[0])(i) / sizeOf(w); }); });
  });
  kernels.add<dnn::AvgPoolGradOp>([](dnn::AvgPoolGradOp op, Inputs in, Outputs out) {
    Window w = windowOfGradient(op);
    forEach(in[0]->shape,
            [&](IndexRef y) { inWindow(w, out[0], y, [&](const Index &i) { out[0](i) += (*in[0])(y) / sizeOf(w); }); });
  });
  kernels.add<dnn::GlobalAvgPoolOp>([](dnn::GlobalAvgPoolOp, Inputs in, Outputs out) {
    double count = in[0]->shape[2] * in[0]->shape[3];
    forEach(in[0]->shape, [&](IndexRef i) { out[0]({i[0], i[1]}) += (*in[0])(i) / count; });
  });
  kernels.add<dnn::UpsampleOp>(upsample);
  kernels.add<dnn::UpsampleGradOp>([](dnn::UpsampleGradOp op, Inputs in, Outputs out) {
    Pair scale = dnn::asPair(op.getScale());
    forEach(in[0]->shape, [&](IndexRef y) { out[0]({y[0], y[1], y[2] / scale[0], y[3] / scale[1]}) += (*in[0])(y); });
  });
}

} // namespace accord::interpret
