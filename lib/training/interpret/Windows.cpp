// Pooling and resampling of x[n, c, h, w].
#include "lib/training/interpret/Kernels.h"
#include <optional>

namespace accord::interpret {
namespace {

using Pair = std::array<int64_t, 2>;

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
template <typename Visit> void inWindow(const Window &w, const Array &x, llvm::ArrayRef<int64_t> y, Visit visit) {
  for (int64_t r = 0; r < w.kernel[0]; ++r)
    for (int64_t s = 0; s < w.kernel[1]; ++s) {
      int64_t row = y[2] * w.stride[0] + r - w.padding[0];
      int64_t column = y[3] * w.stride[1] + s - w.padding[1];
      if (row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3])
        visit(Index{y[0], y[1], row, column});
    }
}

/// The first of the largest; none if the window lies in the padding.
std::optional<Index> largest(const Window &w, const Array &x, llvm::ArrayRef<int64_t> y) {
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
  forEach(out[0].shape,
          [&](llvm::ArrayRef<int64_t> y) { out[0](y) = (*in[0])({y[0], y[1], y[2] / scale[0], y[3] / scale[1]}); });
}

} // namespace

void addWindows(Kernels &kernels) {
  kernels.add<dnn::MaxPoolOp>([](dnn::MaxPoolOp op, Inputs in, Outputs out) {
    forEach(out[0].shape, [&](llvm::ArrayRef<int64_t> y) {
      if (auto at = largest(windowOf(op), *in[0], y))
        out[0](y) = (*in[0])(*at);
    });
  });
  kernels.add<dnn::MaxPoolGradOp>([](dnn::MaxPoolGradOp op, Inputs in, Outputs out) {
    forEach(in[0]->shape, [&](llvm::ArrayRef<int64_t> y) {
      if (auto at = largest(windowOfGradient(op), *in[1], y))
        out[0](*at) += (*in[0])(y);
    });
  });
  // The padding counts: every window is divided by the kernel's size.
  kernels.add<dnn::AvgPoolOp>([](dnn::AvgPoolOp op, Inputs in, Outputs out) {
    Window w = windowOf(op);
    forEach(out[0].shape, [&](llvm::ArrayRef<int64_t> y) {
      inWindow(w, *in[0], y, [&](const Index &i) { out[0](y) += (*in[0])(i) / sizeOf(w); });
    });
  });
  kernels.add<dnn::AvgPoolGradOp>([](dnn::AvgPoolGradOp op, Inputs in, Outputs out) {
    Window w = windowOfGradient(op);
    forEach(in[0]->shape, [&](llvm::ArrayRef<int64_t> y) {
      inWindow(w, out[0], y, [&](const Index &i) { out[0](i) += (*in[0])(y) / sizeOf(w); });
    });
  });
  kernels.add<dnn::GlobalAvgPoolOp>([](dnn::GlobalAvgPoolOp, Inputs in, Outputs out) {
    auto count = static_cast<double>(in[0]->shape[2] * in[0]->shape[3]);
    forEach(in[0]->shape, [&](llvm::ArrayRef<int64_t> i) { out[0]({i[0], i[1]}) += (*in[0])(i) / count; });
  });
  kernels.add<dnn::UpsampleOp>(upsample);
  kernels.add<dnn::UpsampleGradOp>([](dnn::UpsampleGradOp op, Inputs in, Outputs out) {
    Pair scale = dnn::asPair(op.getScale());
    forEach(in[0]->shape,
            [&](llvm::ArrayRef<int64_t> y) { out[0]({y[0], y[1], y[2] / scale[0], y[3] / scale[1]}) += (*in[0])(y); });
  });
}

} // namespace accord::interpret
