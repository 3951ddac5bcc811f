// Work of dnn operations against published counts, brute force and the adjoint property of gradients.
#include "test/support/DnnFixture.h"

using namespace mlir;
using namespace accord;

namespace {

class DnnWork : public test::DnnFixture {};

constexpr int64_t kBatch = 2;

/// A dense tensor of small integers.
struct Dense {
  SmallVector<int64_t> shape;
  std::vector<int64_t> data;
  explicit Dense(Type type) {
    int64_t size = 1;
    for (int64_t extent : cast<RankedTensorType>(type).getShape())
      size *= shape.emplace_back(ShapedType::isDynamic(extent) ? kBatch : extent);
    data.assign(size, 0);
  }
  /// Null outside of the tensor: padding.
  int64_t *at(ArrayRef<int64_t> index) {
    int64_t offset = 0;
    for (auto [i, extent] : llvm::zip(index, shape)) {
      if (i < 0 || i >= extent)
        return nullptr;
      offset = offset * extent + i;
    }
    return &data[offset];
  }
  void fill(unsigned seed) {
    for (int64_t &value : data)
      value = static_cast<int64_t>((seed = seed * 1103515245u + 12345u) >> 16) % 7 - 3;
  }
};

int64_t dot(const Dense &a, const Dense &b) {
  int64_t sum = 0;
  for (auto [x, y] : llvm::zip_equal(a.data, b.data))
    sum += x * y;
  return sum;
}

/// What the maps of a contraction say: result[map_r(p)] += a[map_a(p)] * b[map_b(p)].
void contract(const Work &work, AffineMap mapA, AffineMap mapB, AffineMap mapR, Dense &a, Dense &b, Dense &r) {
  SmallVector<int64_t> extents, point(work.domain.size(), 0);
  for (int64_t extent : work.domain)
    extents.push_back(ShapedType::isDynamic(extent) ? kBatch : extent);
  for (bool more = true; more;) {
    int64_t *x = a.at(mapA.compose(point)), *y = b.at(mapB.compose(point)), *z = r.at(mapR.compose(point));
    if (x && y && z)
      *z += *x * *y;
    more = false;
    for (size_t d = 0; d < point.size() && !more; ++d)
      if (++point[d] < extents[d])
        more = true;
      else
        point[d] = 0;
  }
}

} // namespace

// Vaswani et al. / Narayanan et al.: a linear layer is 2*b*s*in*out FLOP.
TEST_F(DnnWork, LinearIsTwiceItsProducts) {
  Operation *op = make("dnn.linear", {tensor({-1, 1024, 1600}), tensor({6400, 1600}), tensor({6400})});
  EXPECT_EQ(flopsOf(op, 4), 2LL * 4 * 1024 * 1600 * 6400);
  auto work = cast<WorkOpInterface>(op);
  EXPECT_EQ(work.getCoreKind(), WorkCore::Tensor);
  EXPECT_EQ(*work.getBytesRead(4), 4 * (4LL * 1024 * 1600 + 6400 * 1600 + 6400));
  EXPECT_EQ(*work.getBytesWritten(4), 4 * 4LL * 1024 * 6400);
}

// The first layer of ResNet-50 has 118,013,952 multiply-accumulates per image (He et al. 2016, table 1: 7x7, 64, stride
// 2 on 224x224).
TEST_F(DnnWork, FirstConvolutionOfResNet) {
  Operation *op = make("dnn.conv2d", {tensor({-1, 3, 224, 224}), tensor({64, 3, 7, 7})},
                       {integer("padding", 3), integer("stride", 2)});
  EXPECT_EQ(flopsOf(op, 1), 2 * 118013952LL);
}

// The first convolution of Whisper's encoder (Radford et al., 2022: 80 mel channels, 3000 frames, width 384 in the tiny
// model) and the first of R3D-18 (Tran et al., 2018: 64 kernels of 3x7x7, stride 1x2x2, on 16x112x112).
TEST_F(DnnWork, ConvolutionsOfOneAndThreeDimensions) {
  Operation *audio = make("dnn.conv1d", {tensor({-1, 80, 3000}), tensor({384, 80, 3})}, integer("padding", 1));
  EXPECT_EQ(flopsOf(audio, 1), 2LL * 3000 * 384 * 80 * 3);
  auto array = [&](StringRef name, ArrayRef<int64_t> values) {
    return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
  };
  Operation *video = make("dnn.conv3d", {tensor({-1, 3, 16, 112, 112}), tensor({64, 3, 3, 7, 7})},
                          {array("stride", {1, 2, 2}), array("padding", {1, 3, 3})});
  EXPECT_EQ(flopsOf(video, 1), 2LL * 16 * 56 * 56 * 64 * 3 * 3 * 7 * 7);
}

TEST_F(DnnWork, OverflowIsReportedNotWrapped) {
  Operation *op = make("dnn.linear", {tensor({-1, 1 << 20, 1 << 20}), tensor({1 << 20, 1 << 20})});
  EXPECT_FALSE(cast<WorkOpInterface>(op).getFlops(1024).has_value());
  EXPECT_EQ(flopsOf(op, 1), 1LL << 61);
}

// A lookup reads the rows it needs, not the table.
TEST_F(DnnWork, EmbeddingReadsTheRowsItNeeds) {
  Operation *op = make("dnn.embedding", {tensor({-1, 8}, builder.getI32Type()), tensor({1000000, 64})});
  auto work = cast<WorkOpInterface>(op);
  EXPECT_EQ(*work.getBytesRead(2), 2 * 8 * 4 + 2 * 8 * 64 * 4);
  EXPECT_EQ(*work.getFlops(2), 0);
}

TEST_F(DnnWork, ConvolutionMapsSayWhatAConvolutionIs) {
  const int64_t c = 4, o = 6, h = 5, w = 7, k = 3, stride = 2, padding = 1, dilation = 2, groups = 2;
  Value x = tensor({-1, c, h, w}), weight = tensor({o, c / groups, k, k});
  Operation *op = make("dnn.conv2d", {x, weight},
                       {integer("stride", stride), integer("padding", padding), integer("dilation", dilation),
                        integer("groups", groups)});
  ASSERT_TRUE(op);
  Dense dx(x.getType()), dw(weight.getType()), y(op->getResult(0).getType()), expected(op->getResult(0).getType());
  dx.fill(1);
  dw.fill(2);
  Work work = cast<WorkOpInterface>(op).getWork();
  contract(work, work.maps[0], work.maps[1], work.maps[2], dx, dw, y);
  for (int64_t n = 0; n < kBatch; ++n)
    for (int64_t f = 0; f < o; ++f)
      for (int64_t p = 0; p < y.shape[2]; ++p)
        for (int64_t q = 0; q < y.shape[3]; ++q)
          for (int64_t i = 0; i < c / groups; ++i)
            for (int64_t r = 0; r < k; ++r)
              for (int64_t s = 0; s < k; ++s)
                if (int64_t *in = dx.at({n, f / (o / groups) * (c / groups) + i, p * stride + r * dilation - padding,
                                         q * stride + s * dilation - padding}))
                  *expected.at({n, f, p, q}) += *in * *dw.at({f, i, r, s});
  EXPECT_EQ(y.data, expected.data);
}

// <dy, f(a, b)> is linear in each factor, so <da, a> = <db, b> = <dy, f(a, b)>; and each gradient costs what the
// forward costs.
TEST_F(DnnWork, GradientsOfContractionsAreAdjointsOfTheSameCost) {
  SmallVector<Operation *> cases = {
      make("dnn.linear", {tensor({-1, 3, 4}), tensor({5, 4})}),
      make("dnn.matmul", {tensor({-1, 2, 3, 4}), tensor({-1, 2, 4, 5})}),
      make("dnn.matmul", {tensor({-1, 2, 4, 3}), tensor({5, 4})},
           {builder.getNamedAttr("transpose_a", builder.getBoolAttr(true)),
            builder.getNamedAttr("transpose_b", builder.getBoolAttr(true))}),
      make("dnn.matmul", {tensor({-1, 1, 3, 4}), tensor({2, 4, 5})}),
      make("dnn.conv2d", {tensor({-1, 4, 6, 5}), tensor({6, 2, 3, 2})},
           {integer("groups", 2), integer("stride", 2), integer("padding", 1)}),
      make("dnn.conv2d", {tensor({-1, 3, 8, 8}), tensor({2, 3, 2, 2})}, {integer("dilation", 3)}),
      make("dnn.conv1d", {tensor({-1, 4, 9}), tensor({6, 2, 3})}, {integer("groups", 2), integer("stride", 2)}),
      make("dnn.conv3d", {tensor({-1, 2, 3, 4, 4}), tensor({3, 2, 2, 3, 3})}, {integer("padding", 1)}),
      make("dnn.conv_transpose3d", {tensor({-1, 2, 2, 3, 3}), tensor({2, 3, 2, 2, 2})}, {integer("stride", 2)}),
      make("dnn.depthwise_conv2d", {tensor({-1, 3, 6, 6}), tensor({3, 1, 3, 3})}, {integer("padding", 1)}),
      make("dnn.conv_transpose2d", {tensor({-1, 4, 3, 3}), tensor({4, 3, 3, 3})},
           {integer("stride", 2), integer("padding", 1), integer("output_padding", 1), integer("groups", 2)}),
  };
  for (Operation *op : cases) {
    ASSERT_TRUE(op);
    SCOPED_TRACE(op->getName().getStringRef().str());
    Dense a(op->getOperand(0).getType()), b(op->getOperand(1).getType());
    Dense y(op->getResult(0).getType()), dy(op->getResult(0).getType());
    a.fill(3);
    b.fill(4);
    dy.fill(5);
    Work work = cast<WorkOpInterface>(op).getWork();
    contract(work, work.maps[0], work.maps[1], work.maps[2], a, b, y);
    SmallVector<Value> results = gradients(op, op->getResult(0));
    Dense *factors[] = {&a, &b};
    for (unsigned i = 0; i < 2; ++i) {
      Operation *gradient = results[i].getDefiningOp();
      EXPECT_EQ(results[i].getType(), op->getOperand(i).getType());
      EXPECT_EQ(flopsOf(gradient, 8), flopsOf(op, 8));
      Work w = cast<WorkOpInterface>(gradient).getWork();
      Dense d(results[i].getType());
      contract(w, w.maps[0], w.maps[1], w.maps[2], dy, *factors[1 - i], d);
      EXPECT_NE(dot(dy, y), 0);
      EXPECT_EQ(dot(d, *factors[i]), dot(dy, y));
    }
  }
}

// A patch embedding (stride = kernel) reaches every input once: its data gradient has no reduction over positions.
TEST_F(DnnWork, IteratorsAreParallelWhenPointsReachDifferentResults) {
  using utils::IteratorType;
  AffineExpr p, r;
  bindDims(&context, p, r);
  auto kinds = [&](AffineExpr expr, ArrayRef<int64_t> domain) {
    return dnn::kindsOf(AffineMap::get(2, 0, expr), domain);
  };
  EXPECT_EQ(kinds(p * 3 + r, {5, 3}), SmallVector<IteratorType>(2, IteratorType::parallel));
  EXPECT_EQ(kinds(p * 2 + r, {5, 3}), SmallVector<IteratorType>(2, IteratorType::reduction));
  EXPECT_EQ(kinds(p, {5, 3}), (SmallVector<IteratorType>{IteratorType::parallel, IteratorType::reduction}));
}

// ZeRO (Rajbhandari et al. 2020), section 3.1: mixed precision with Adam takes 2 + 2 + 12 bytes per parameter.
TEST_F(DnnWork, ResidentBytesPerParameter) {
  using dnn::OptimizerKind;
  Type bf16 = builder.getBF16Type(), fp32 = builder.getF32Type();
  auto total = [&](OptimizerKind optimizer, dnn::PrecisionAttr precision) {
    return dnn::staticBytesPerScalar(optimizer, precision).total();
  };
  auto mixed = dnn::PrecisionAttr::get(&context, true, bf16);
  EXPECT_EQ(total(OptimizerKind::Adam, mixed), 16);
  EXPECT_EQ(total(OptimizerKind::Adam, dnn::PrecisionAttr::get(&context, true, bf16, fp32)), 18);
  EXPECT_EQ(total(OptimizerKind::Adam, dnn::PrecisionAttr::get(&context, false, fp32)), 16);
  EXPECT_EQ(total(OptimizerKind::Sgd, dnn::PrecisionAttr::get(&context, false, fp32)), 8);
  EXPECT_EQ(dnn::staticBytesPerScalar(OptimizerKind::Adam, mixed).optimizerStates, 12);
}
