// Element-wise operations, dropout, rotary positions.
#include "lib/training/interpret/Kernels.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cmath>

namespace accord::interpret {
namespace {

double relu6(double x) { return std::clamp(x, 0.0, 6.0); }

template <typename OpTy> void unary(Kernels &kernels, double (*f)(double)) {
  kernels.add<OpTy>([f](OpTy, Inputs in, Outputs out) {
    for (int64_t i = 0; i < out[0].size(); ++i)
      out[0].data[i] = f(in[0]->data[i]);
  });
}
/// Operands of one shape.
template <typename OpTy> void pairwise(Kernels &kernels, double (*f)(double, double)) {
  kernels.add<OpTy>([f](OpTy, Inputs in, Outputs out) {
    for (int64_t i = 0; i < out[0].size(); ++i)
      out[0].data[i] = f(in[0]->data[i], in[1]->data[i]);
  });
}
template <typename OpTy> void binary(Kernels &kernels, double (*f)(double, double)) {
  kernels.add<OpTy>([f](OpTy, Inputs in, Outputs out) {
    forEach(out[0].shape, [&](IndexRef index) {
      out[0](index) = f((*in[0])(broadcastIndex(index, in[0]->shape)), (*in[1])(broadcastIndex(index, in[1]->shape)));
    });
  });
}

/// Of operands of one shape and a number that the operation states.
template <typename OpTy, typename Number, typename Compute>
void withNumber(Kernels &kernels, Number numberOf, Compute compute) {
  kernels.add<OpTy>([=](OpTy op, Inputs in, Outputs out) {
    const double number = numberOf(op).getValueAsDouble();
    for (int64_t i = 0; i < out[0].size(); ++i)
      if constexpr (std::is_invocable_v<Compute, double, double>)
        out[0].data[i] = compute(number, in[0]->data[i]);
      else
        out[0].data[i] = compute(number, in[0]->data[i], in[1]->data[i]);
  });
}

/// Kept or dropped, the same in every run and on whatever devices: decided by the operation's name and the position in
/// the whole.
void dropout(dnn::DropoutOp op, Inputs in, Outputs out, const Device &device) {
  double rate = op.getRateAttr().getValueAsDouble();
  auto again = op->getAttrOfType<mlir::StringAttr>(dnn::DnnDialect::kAgainAttr);
  llvm::StringRef name = again ? again.getValue() : dnn::nameOf(op);
  llvm::SmallVector<Extent> extents = extentsOf(op, in[0]->shape, device);
  forEach(in[0]->shape, [&](IndexRef index) {
    int64_t position = 0;
    for (auto [i, extent] : llvm::zip(index, extents))
      position = position * extent.whole + extent.offset + i;
    std::string key = (name + "/" + llvm::Twine(position)).str();
    bool kept = (llvm::xxh3_64bits(key) >> 11) * 0x1p-53 >= rate;
    out[1](index) = kept;
    out[0](index) = kept ? (*in[0])(index) / (1 - rate) : 0;
  });
}

/// Neighbours (2i, 2i+1) of the last dimension turn by position * base^(-2i/d); the position is the index in the
/// dimension before.
void rotary(dnn::RotaryOp op, Inputs in, Outputs out, const Device &device) {
  double base = op.getBaseAttr().getValueAsDouble();
  double width = in[0]->shape.back();
  int64_t axis = dimensionOf(op.getAxis(), op.getX());
  int64_t first = axis < 0 ? 0 : extentsOf(op, in[0]->shape, device)[axis].offset;
  forEach(in[0]->shape, [&](IndexRef index) {
    int64_t pair = index.back() / 2;
    double position = axis < 0 ? 0 : first + index[axis];
    double angle = position * std::pow(base, -2.0 * pair / width);
    if (op.getInverse())
      angle = -angle;
    Index other(index);
    other.back() ^= 1;
    double x = (*in[0])(index);
    if (other.back() >= in[0]->shape.back())
      out[0](index) = x; // no partner
    else if (index.back() % 2 == 0)
      out[0](index) = x * std::cos(angle) - (*in[0])(other)*std::sin(angle);
    else
      out[0](index) = (*in[0])(other)*std::sin(angle) + x * std::cos(angle);
  });
}

/// The table of Vaswani et al.: sines at even places, cosines at odd ones.
void sinusoids(dnn::SinusoidsOp op, Inputs in, Outputs out, const Device &device) {
  double width = in[0]->shape.back();
  int64_t first = extentsOf(op, in[0]->shape, device)[in[0]->shape.size() - 2].offset;
  forEach(in[0]->shape, [&](IndexRef index) {
    double position = first + index[index.size() - 2];
    double pair = index.back() - index.back() % 2;
    double angle = position / std::pow(10000, pair / width);
    out[0](index) = (*in[0])(index) + (index.back() % 2 ? std::cos(angle) : std::sin(angle));
  });
}

/// A geometric series for a power of two of heads; the rest take every other term of the next one's.
double slopeOf(int64_t head, int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads)
    power *= 2;
  return head < power ? std::exp2(-8.0 * (head + 1) / power) : std::exp2(-4.0 * (2 * (head - power) + 1) / power);
}
void alibi(dnn::AlibiOp op, Inputs in, Outputs out, const Device &device) {
  llvm::SmallVector<Extent> extents = extentsOf(op, in[0]->shape, device);
  Extent heads = extents[extents.size() - 3], queries = extents[extents.size() - 2];
  forEach(in[0]->shape, [&](IndexRef index) {
    IndexRef last = index.take_back(3);
    out[0](index) =
        (*in[0])(index) + slopeOf(heads.offset + last[0], heads.whole) * (last[2] - queries.offset - last[1]);
  });
}

} // namespace

void addElementwise(Kernels &kernels) {
  unary<dnn::CastOp>(kernels, [](double x) { return x; }); // whatever formats a graph states
  unary<dnn::ReluOp>(kernels, [](double x) { return x > 0 ? x : 0; });
  unary<dnn::Relu6Op>(kernels, relu6);
  unary<dnn::HardSigmoidOp>(kernels, [](double x) { return relu6(x + 3) / 6; });
  unary<dnn::HardSwishOp>(kernels, [](double x) { return x * relu6(x + 3) / 6; });
  unary<dnn::GeluOp>(kernels, [](double x) { return x * cdf(x); });
  unary<dnn::SiluOp>(kernels, [](double x) { return x * sigmoid(x); });
  unary<dnn::SigmoidOp>(kernels, sigmoid);
  unary<dnn::SoftplusOp>(kernels, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); });
  unary<dnn::TanhOp>(kernels, [](double x) { return std::tanh(x); });
  unary<dnn::SqrtOp>(kernels, [](double x) { return std::sqrt(x); });
  unary<dnn::ExpOp>(kernels, [](double x) { return std::exp(x); });
  unary<dnn::NegOp>(kernels, [](double x) { return -x; });
  pairwise<dnn::ReluGradOp>(kernels, [](double dy, double y) { return y > 0 ? dy : 0; });
  pairwise<dnn::Relu6GradOp>(kernels, [](double dy, double y) { return y > 0 && y < 6 ? dy : 0; });
  pairwise<dnn::HardSigmoidGradOp>(kernels, [](double dy, double y) { return y > 0 && y < 1 ? dy / 6 : 0; });
  pairwise<dnn::HardSwishGradOp>(kernels, [](double dy, double x) {
    return x <= -3 ? 0 : x >= 3 ? dy : dy * (2 * x + 3) / 6;
  });
  pairwise<dnn::GeluGradOp>(kernels, [](double dy, double x) { return dy * (cdf(x) + x * pdf(x)); });
  pairwise<dnn::SiluGradOp>(kernels, [](double dy, double x) { return dy * sigmoid(x) * (1 + x * (1 - sigmoid(x))); });
  pairwise<dnn::SigmoidGradOp>(kernels, [](double dy, double y) { return dy * y * (1 - y); });
  pairwise<dnn::SoftplusGradOp>(kernels, [](double dy, double x) { return dy * sigmoid(x); });
  pairwise<dnn::TanhGradOp>(kernels, [](double dy, double y) { return dy * (1 - y * y); });
  pairwise<dnn::SqrtGradOp>(kernels, [](double dy, double y) { return dy / (2 * y); });
  binary<dnn::AddOp>(kernels, [](double a, double b) { return a + b; });
  binary<dnn::SubOp>(kernels, [](double a, double b) { return a - b; });
  binary<dnn::MulOp>(kernels, [](double a, double b) { return a * b; });
  binary<dnn::DivOp>(kernels, [](double a, double b) { return a / b; });
  kernels.add<dnn::ConstantOp>([](dnn::ConstantOp op, Inputs, Outputs out) {
    for (double &x : out[0].data)
      x = op.getValueAttr().getValueAsDouble();
  });
  kernels.add<dnn::DropoutOp>(dropout);
  auto slope = [](auto op) { return op.getSlopeAttr(); };
  auto alpha = [](auto op) { return op.getAlphaAttr(); };
  withNumber<dnn::ScaleOp>(
      kernels, [](auto op) { return op.getFactorAttr(); }, [](double factor, double x) { return factor * x; });
  withNumber<dnn::DropoutGradOp>(
      kernels, [](auto op) { return op.getRateAttr(); },
      [](double rate, double dy, double mask) { return mask != 0 ? dy / (1 - rate) : 0; });
  withNumber<dnn::LeakyReluOp>(kernels, slope, [](double slope, double x) { return x * (x > 0 ? 1 : slope); });
  withNumber<dnn::LeakyReluGradOp>(kernels, slope,
                                   [](double slope, double dy, double x) { return dy * (x > 0 ? 1 : slope); });
  withNumber<dnn::EluOp>(kernels, alpha, [](double alpha, double x) { return x > 0 ? x : alpha * std::expm1(x); });
  withNumber<dnn::EluGradOp>(kernels, alpha,
                             [](double alpha, double dy, double y) { return dy * (y > 0 ? 1 : y + alpha); });
  auto slopeAt = [](const Array &slopes, mlir::Value x, IndexRef i) {
    int64_t channel = batchRankOf(x);
    return Index{slopes.size() == 1 ? 0 : i[channel]};
  };
  kernels.add<dnn::PreluOp>([=](dnn::PreluOp op, Inputs in, Outputs out) {
    const Array &x = *in[0];
    forEach(x.shape, [&](IndexRef i) { out[0](i) = x(i) > 0 ? x(i) : (*in[1])(slopeAt(*in[1], op.getX(), i)) * x(i); });
  });
  kernels.add<dnn::PreluGradOp>([=](dnn::PreluGradOp op, Inputs in, Outputs out) {
    const Array &dy = *in[0], &x = *in[1], &slopes = *in[2];
    forEach(x.shape, [&](IndexRef i) {
      Index at = slopeAt(slopes, op.getX(), i);
      out[0](i) = dy(i) * (x(i) > 0 ? 1 : slopes(at));
      out[1](at) += x(i) > 0 ? 0 : dy(i) * x(i);
    });
  });
  kernels.add<dnn::RotaryOp>(rotary);
  kernels.add<dnn::SinusoidsOp>(sinusoids);
  kernels.add<dnn::AlibiOp>(alibi);
}

} // namespace accord::interpret
