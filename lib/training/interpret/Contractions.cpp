// Multiply-accumulates and windows: each forward operation by its own loops, the gradient `dnn.contract` by its
// indexing maps, so that finite differences hold the maps against the definitions.
#include "dialects/dnn/Scalar.h"
#include "lib/training/interpret/Kernels.h"
#include <algorithm>
#include <limits>
#include <optional>

namespace accord::interpret {
namespace {

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

/// Where a window over the spatial dimensions of `wide` lies: the point `at` of the result plus the point `in` of the
/// kernel, after sample and channel.
template <typename OpTy> class Slide {
public:
  Slide(OpTy op, size_t dims)
      : stride(dnn::asExtents(op.getStride(), dims)), dilation(dnn::asExtents(op.getDilation(), dims)),
        before(dnn::asPadding(op.getPadding(), dims).before) {}
  /// The position in a tensor, of which sample and channel are given; nothing in the padding.
  std::optional<Index> operator()(int64_t n, int64_t c, IndexRef at, IndexRef in, const Array &wide) const {
    Index index{n, c};
    for (size_t d = 0; d < stride.size(); ++d) {
      index.push_back(at[d] * stride[d] + in[d] * dilation[d] - before[d]);
      if (index.back() < 0 || index.back() >= wide.shape[d + 2])
        return std::nullopt;
    }
    return index;
  }

private:
  dnn::Extents stride, dilation, before;
};

Index joined(std::initializer_list<int64_t> first, IndexRef rest) {
  Index index(first);
  index.append(rest.begin(), rest.end());
  return index;
}
/// Extents after sample and channel.
IndexRef spatial(const Array &array) { return IndexRef(array.shape).drop_front(2); }

void addBias(Inputs in, Array &y) {
  if (in.size() > 2 && in[2])
    forEach(y.shape, [&](IndexRef i) { y(i) += (*in[2])({i[1]}); });
}

template <typename OpTy> void convolution(OpTy op, int64_t groups, Inputs in, Outputs out) {
  const Array &x = *in[0], &weight = *in[1];
  Array &y = out[0];
  int64_t outputs = y.shape[1] / groups, channels = x.shape[1] / groups;
  Slide<OpTy> slide(op, spatial(x).size());
  forEach(y.shape, [&](IndexRef i) {
    int64_t n = i[0], o = i[1];
    forEach(spatial(weight), [&](IndexRef k) {
      for (int64_t c = 0; c < channels; ++c)
        if (auto at = slide(n, o / outputs * channels + c, i.drop_front(2), k, x))
          y(i) += x(*at) * weight(joined({o, c}, k));
    });
  });
  addBias(in, y);
}

template <typename OpTy> void transposedConvolution(OpTy op, Inputs in, Outputs out) {
  const Array &x = *in[0], &weight = *in[1];
  Array &y = out[0];
  int64_t groups = op.getGroups(), channels = x.shape[1] / groups, outputs = y.shape[1] / groups;
  Slide<OpTy> slide(op, spatial(x).size());
  forEach(x.shape, [&](IndexRef i) {
    int64_t n = i[0], c = i[1];
    forEach(spatial(weight), [&](IndexRef k) {
      for (int64_t o = 0; o < outputs; ++o)
        if (auto at = slide(n, c / channels * outputs + o, i.drop_front(2), k, y))
          y(*at) += x(i) * weight(joined({c, o}, k));
    });
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

// ---- pooling and resampling of x[n, c, ..]

struct Window {
  dnn::Extents kernel, stride, before;
};
Window windowFrom(size_t dims, mlir::Attribute kernel, mlir::Attribute stride, mlir::Attribute padding) {
  return {dnn::asExtents(kernel, dims), dnn::asExtents(stride, dims), dnn::asPadding(padding, dims).before};
}
template <typename OpTy> Window windowOf(OpTy op, const Array &x) {
  return windowFrom(x.rank() - 2, *op.getKernel(), op.getStride().value_or(*op.getKernel()), op.getPadding());
}
template <typename GradOp> Window windowOfGradient(GradOp op, const Array &dy) {
  return windowFrom(dy.rank() - 2, op.getKernel(), op.getStride(), op.getPadding());
}

/// The points of x in the window of y's point, padding left out.
template <typename Visit> void inWindow(const Window &w, const Array &x, IndexRef y, Visit visit) {
  forEach(w.kernel, [&](IndexRef k) {
    Index at{y[0], y[1]};
    for (size_t d = 0; d < k.size(); ++d) {
      at.push_back(y[d + 2] * w.stride[d] + k[d] - w.before[d]);
      if (at.back() < 0 || at.back() >= x.shape[d + 2])
        return;
    }
    visit(at);
  });
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

double sizeOf(const Window &w) { return volumeOf(w.kernel); }

/// visit(point of x, share) for each point of x that an element of the resampled tensor is made of.
template <typename OpTy, typename Visit>
void resampled(OpTy op, mlir::Attribute scaleOf, const Array &x, IndexRef y, Visit visit) {
  size_t dims = x.rank() - 2;
  dnn::Extents scale = dnn::asExtents(scaleOf, dims);
  if (op.getMode() == "nearest") {
    Index at(y);
    for (size_t d = 0; d < dims; ++d)
      at[d + 2] /= scale[d];
    return visit(at, 1.0);
  }
  forEach(Shape(dims, 2), [&](IndexRef corner) {
    Index at(y);
    double share = 1;
    for (size_t d = 0; d < dims; ++d) {
      double last = x.shape[d + 2] - 1, place = std::clamp((y[d + 2] + 0.5) / scale[d] - 0.5, 0.0, last);
      double lower = std::floor(place), weight = place - lower;
      at[d + 2] = static_cast<int64_t>(corner[d] ? std::min(lower + 1, last) : lower);
      share *= corner[d] ? weight : 1 - weight;
    }
    visit(at, share);
  });
}

} // namespace

void addContractions(Kernels &kernels) {
  kernels.add<dnn::LinearOp>(linear);
  kernels.add<dnn::MatmulOp>(matmul);
  auto grouped = [](auto op, Inputs in, Outputs out) { convolution(op, op.getGroups(), in, out); };
  auto transposed = [](auto op, Inputs in, Outputs out) { transposedConvolution(op, in, out); };
  kernels.add<dnn::Conv1dOp>(grouped);
  kernels.add<dnn::Conv2dOp>(grouped);
  kernels.add<dnn::Conv3dOp>(grouped);
  kernels.add<dnn::DepthwiseConv2dOp>(
      [](dnn::DepthwiseConv2dOp op, Inputs in, Outputs out) { convolution(op, in[0]->shape[1], in, out); });
  kernels.add<dnn::ConvTranspose1dOp>(transposed);
  kernels.add<dnn::ConvTranspose2dOp>(transposed);
  kernels.add<dnn::ConvTranspose3dOp>(transposed);
  kernels.add<dnn::InteractionOp>(interaction);
  kernels.add<dnn::InteractionGradOp>(interactionGradient);
  kernels.add<dnn::ContractOp>(contract);
  kernels.add<dnn::CustomOp>(custom);
}

void addWindows(Kernels &kernels) {
  kernels.add<dnn::MaxPoolOp>([](dnn::MaxPoolOp op, Inputs in, Outputs out) {
    Window w = windowOf(op, *in[0]);
    forEach(out[0].shape, [&](IndexRef y) {
      if (auto at = largest(w, *in[0], y))
        out[0](y) = (*in[0])(*at);
    });
  });
  kernels.add<dnn::MaxPoolGradOp>([](dnn::MaxPoolGradOp op, Inputs in, Outputs out) {
    Window w = windowOfGradient(op, *in[0]);
    forEach(in[0]->shape, [&](IndexRef y) {
      if (auto at = largest(w, *in[1], y))
        out[0](*at) += (*in[0])(y);
    });
  });
  // The padding counts: every window is divided by the kernel's size.
  kernels.add<dnn::AvgPoolOp>([](dnn::AvgPoolOp op, Inputs in, Outputs out) {
    Window w = windowOf(op, *in[0]);
    forEach(out[0].shape,
            [&](IndexRef y) { inWindow(w, *in[0], y, [&](const Index &i) { out[0](y) += (*in[0])(i) / sizeOf(w); }); });
  });
  kernels.add<dnn::AvgPoolGradOp>([](dnn::AvgPoolGradOp op, Inputs in, Outputs out) {
    Window w = windowOfGradient(op, *in[0]);
    forEach(in[0]->shape,
            [&](IndexRef y) { inWindow(w, out[0], y, [&](const Index &i) { out[0](i) += (*in[0])(y) / sizeOf(w); }); });
  });
  kernels.add<dnn::GlobalAvgPoolOp>([](dnn::GlobalAvgPoolOp, Inputs in, Outputs out) {
    double count = volumeOf(spatial(*in[0]));
    forEach(in[0]->shape, [&](IndexRef i) { out[0]({i[0], i[1]}) += (*in[0])(i) / count; });
  });
  kernels.add<dnn::UpsampleOp>([](dnn::UpsampleOp op, Inputs in, Outputs out) {
    forEach(out[0].shape, [&](IndexRef y) {
      resampled(op, *op.getScale(), *in[0], y, [&](const Index &x, double share) { out[0](y) += (*in[0])(x)*share; });
    });
  });
  kernels.add<dnn::UpsampleGradOp>([](dnn::UpsampleGradOp op, Inputs in, Outputs out) {
    forEach(in[0]->shape, [&](IndexRef y) {
      resampled(op, op.getScale(), out[0], y, [&](const Index &x, double share) { out[0](x) += (*in[0])(y)*share; });
    });
  });
}

} // namespace accord::interpret
