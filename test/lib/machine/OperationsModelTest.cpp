// Prices by fitted single operations: which operations they are, and what is left to the peak.
#include "lib/machine/cost/OperationsModel.h"
#include "gtest/gtest.h"

namespace accord {
namespace {

/// `batch` products of m x k by k x n, with the tensors that a contraction has.
Operation product(int64_t batch, int64_t m, int64_t n, int64_t k) {
  Operation op;
  op.kind = "matmul", op.core = CoreKind::Vector, op.contraction = true, op.flops = 2 * batch * m * n * k;
  op.bytesRead = 4 * batch * (m * k + k * n), op.bytesWritten = 4 * batch * m * n;
  op.domain = {{batch}, {m}, {n}, {k, IteratorKind::Reduction}};
  auto tensor = [](std::vector<unsigned> loops, bool written) {
    LoopTensor made;
    for (unsigned loop : loops)
      made.dimensions.push_back({{loop, 1}});
    made.written = written;
    return made;
  };
  op.tensors = {tensor({0, 1, 3}, false), tensor({0, 3, 2}, false), tensor({0, 1, 2}, true)};
  return op;
}

Operation rows(const std::string &kind, int64_t count, int64_t width, IteratorKind last) {
  Operation op;
  op.kind = kind, op.core = CoreKind::Vector, op.flops = 5 * count * width;
  op.bytesRead = op.bytesWritten = 4 * count * width;
  op.domain = {{count}, {width, last}};
  return op;
}

TEST(OperationsModel, SaysWhatATableWouldSay) {
  auto bmm = measurableOperation(product(8, 64, 96, 32), "fp32");
  ASSERT_TRUE(bmm.has_value());
  EXPECT_EQ(bmm->kind, operations::Kind::BatchedGemm);
  EXPECT_EQ(std::tuple(bmm->batch, bmm->m, bmm->n, bmm->k), std::tuple(8.0, 64.0, 96.0, 32.0));
  auto linear = measurableOperation(product(1, 64, 96, 32), "fp32");
  ASSERT_TRUE(linear.has_value());
  EXPECT_EQ(linear->kind, operations::Kind::Gemm);
  auto softmax = measurableOperation(rows("softmax", 40, 1000, IteratorKind::Reduction), "fp32");
  ASSERT_TRUE(softmax.has_value());
  EXPECT_EQ(std::tuple(softmax->batch, softmax->width), std::tuple(40.0, 1000.0));
  Operation gelu = rows("gelu", 40, 1000, IteratorKind::Parallel);
  gelu.bytesRead *= 2; // of a second operand
  auto elements = measurableOperation(gelu, "fp32");
  ASSERT_TRUE(elements.has_value());
  EXPECT_EQ(operations::bytesOf(*elements), static_cast<double>(gelu.bytesRead + gelu.bytesWritten));
  EXPECT_FALSE(measurableOperation(product(1, 64, 96, 32), "bf16").has_value());
  EXPECT_FALSE(measurableOperation(rows("sum", 40, 1000, IteratorKind::Reduction), "fp32").has_value());
}

TEST(OperationsModel, PricesByTheFitAndLeavesTheRestToThePeak) {
  operations::Fit fit;
  operations::Device device{"Card A", 10e12, 500e9, 50, 4e6, 128e3, 2048, 250};
  fit.device["Card A"] = operations::priorMedians();
  Machine machine;
  machine.cores.resize(1);
  machine.cores[0].name = "sm", machine.cores[0].kind = CoreKind::Vector;
  machine.cores[0].peak["fp32"] = FlopsPerSecond(10e12);
  std::string name = registerOperationsModel(fit, device, "gpus.operations");
  EXPECT_EQ(registerOperationsModel(fit, device, "gpus.operations"), name);
  auto model = makeCostModel(name);
  ASSERT_TRUE(model);
  Assumptions assumptions;
  Operation bmm = product(8, 256, 320, 128), sum = rows("sum", 4096, 4096, IteratorKind::Reduction);
  auto priced = model->cost({bmm, machine, 0, "fp32"}, assumptions);
  ASSERT_TRUE(bool(priced)) << priced.error().message;
  EXPECT_DOUBLE_EQ(priced->time.value, operations::predict(fit, *measurableOperation(bmm, "fp32"), device));
  auto peak = makeCostModel("peak")->cost({sum, machine, 0, "fp32"}, assumptions);
  priced = model->cost({sum, machine, 0, "fp32"}, assumptions);
  ASSERT_TRUE(bool(priced) && bool(peak));
  EXPECT_EQ(priced->time, peak->time);
  EXPECT_TRUE(assumptions.count("'gpus.operations' has no time of sum operations: they are priced at the peak"));
}

} // namespace
} // namespace accord
