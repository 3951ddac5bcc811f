// Operations that move, cut, join and reduce.
#include "lib/training/interpret/Kernels.h"

namespace accord::interpret {
namespace {

void transpose(dnn::TransposeOp op, Inputs in, Outputs out) {
  int64_t batch = batchRankOf(op.getX());
  forEach(out[0].shape, [&](IndexRef y) {
    Index x(y);
    for (auto [i, p] : llvm::enumerate(*op.getPermutation()))
      x[p + batch] = y[i + batch];
    out[0](y) = (*in[0])(x);
  });
}

void concat(dnn::ConcatOp op, Inputs in, Outputs out) {
  int64_t axis = dimensionOf(*op.getAxis(), op.getY()), start = 0;
  for (const Array *x : in) {
    Shape part = out[0].shape;
    size_t missing = part.size() - x->shape.size(); // the batch, for what is joined to every sample
    part[axis] = x->shape[axis - missing];
    forEach(part, [&](IndexRef i) {
      Index y(i);
      y[axis] += start;
      out[0](y) = (*x)(i.drop_front(missing));
    });
    start += part[axis];
  }
}

/// Copies the part of `whole` that begins at `start` along `axis` to or from `part`.
template <typename Copy> void forPart(const Array &part, int64_t axis, int64_t start, const Copy &copy) {
  forEach(part.shape, [&](IndexRef i) {
    Index whole(i);
    whole[axis] += start;
    copy(i, whole);
  });
}

void split(dnn::SplitOp op, Inputs in, Outputs out) {
  int64_t axis = dimensionOf(*op.getAxis(), op.getX()), start = 0;
  for (Array &y : out) {
    forPart(y, axis, start, [&](IndexRef part, IndexRef whole) { y(part) = (*in[0])(whole); });
    start += y.shape[axis];
  }
}

void slice(dnn::SliceOp op, Inputs in, Outputs out) {
  forPart(out[0], dimensionOf(*op.getAxis(), op.getX()), op.getStart(),
          [&](IndexRef part, IndexRef whole) { out[0](part) = (*in[0])(whole); });
}

void padSlice(dnn::PadSliceOp op, Inputs in, Outputs out) {
  forPart(*in[0], dimensionOf(op.getAxis(), op.getY()), op.getStart(),
          [&](IndexRef part, IndexRef whole) { out[0](whole) = (*in[0])(part); });
}

void pad(dnn::PadOp op, Inputs in, Outputs out) {
  const Array &x = *in[0];
  int64_t batch = batchRankOf(op.getX());
  forEach(out[0].shape, [&](IndexRef y) {
    Index at(y);
    bool inside = true;
    for (auto [i, before] : llvm::enumerate(*op.getBefore())) {
      at[batch + i] -= before;
      inside &= at[batch + i] >= 0 && at[batch + i] < x.shape[batch + i];
    }
    out[0](y) = inside ? x(at) : op.getValueAttr().getValueAsDouble();
  });
}

/// visit(point of x, point of y) of a reduction along an axis.
template <typename Visit> void alongAxis(const Array &x, int64_t axis, const Visit &visit) {
  forEach(x.shape, [&](IndexRef i) {
    Index y(i);
    y.erase(y.begin() + axis);
    visit(i, y);
  });
}

/// The first element that none is beyond: the maximum with sign 1, the minimum with -1.
template <typename OpTy> void extreme(OpTy op, double sign, Inputs in, Outputs out) {
  int64_t axis = dimensionOf(*op.getAxis(), op.getX());
  alongAxis(*in[0], axis, [&](IndexRef x, const Index &y) {
    if (x[axis] == 0 || sign * (*in[0])(x) > sign * out[0](y))
      out[0](y) = (*in[0])(x);
  });
}

void extremeGradient(dnn::ReduceMaxGradOp op, Inputs in, Outputs out) {
  const Array &dy = *in[0], &x = *in[1], &y = *in[2];
  Array taken(y.shape);
  alongAxis(x, dimensionOf(op.getAxis(), op.getX()), [&](IndexRef i, const Index &at) {
    if (x(i) == y(at) && taken(at) == 0) {
      out[0](i) = dy(at);
      taken(at) = 1;
    }
  });
}

template <typename OpTy> void reduce(OpTy op, bool mean, Inputs in, Outputs out) {
  int64_t axis = dimensionOf(*op.getAxis(), op.getX());
  double share = mean ? 1.0 / in[0]->shape[axis] : 1;
  alongAxis(*in[0], axis, [&](IndexRef x, const Index &y) { out[0](y) += (*in[0])(x)*share; });
}

void reduceDimensions(dnn::ReduceDimensionsOp op, Inputs in, Outputs out) {
  forEach(in[0]->shape, [&](IndexRef x) {
    Index y;
    for (auto [d, i] : llvm::enumerate(x))
      if (!llvm::is_contained(op.getDimensions(), d))
        y.push_back(i);
      else if (llvm::is_contained(op.getKept(), d))
        y.push_back(0);
    out[0](y) += (*in[0])(x);
  });
}

void repeatAlong(dnn::BroadcastOp op, Inputs in, Outputs out) {
  forEach(out[0].shape, [&](IndexRef y) {
    Index x;
    for (auto [d, i] : llvm::enumerate(y))
      if (!llvm::is_contained(op.getDimensions(), d))
        x.push_back(i);
    out[0](y) = (*in[0])(x);
  });
}

} // namespace

void addMovement(Kernels &kernels) {
  kernels.add<dnn::ReshapeOp>([](dnn::ReshapeOp, Inputs in, Outputs out) { out[0].data = in[0]->data; });
  kernels.add<dnn::TransposeOp>(transpose);
  kernels.add<dnn::ConcatOp>(concat);
  kernels.add<dnn::SplitOp>(split);
  kernels.add<dnn::SliceOp>(slice);
  kernels.add<dnn::PadSliceOp>(padSlice);
  kernels.add<dnn::PadOp>(pad);
  kernels.add<dnn::ReduceMaxOp>([](dnn::ReduceMaxOp op, Inputs in, Outputs out) { extreme(op, 1, in, out); });
  kernels.add<dnn::ReduceMinOp>([](dnn::ReduceMinOp op, Inputs in, Outputs out) { extreme(op, -1, in, out); });
  kernels.add<dnn::ReduceMaxGradOp>(extremeGradient);
  kernels.add<dnn::ReduceSumOp>([](dnn::ReduceSumOp op, Inputs in, Outputs out) { reduce(op, false, in, out); });
  kernels.add<dnn::ReduceMeanOp>([](dnn::ReduceMeanOp op, Inputs in, Outputs out) { reduce(op, true, in, out); });
  kernels.add<dnn::ReduceDimensionsOp>(reduceDimensions);
  kernels.add<dnn::BroadcastOp>(repeatAlong);
}

} // namespace accord::interpret
