#include "lib/machine/cost/Estimate.h"
#include "lib/planning/analysis/Totals.h"
#include "test/support/RandomGraph.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

/// NVIDIA A100 SXM 80 GB data sheet: 312 TFLOP/s dense bf16, 19.5 TFLOP/s fp32, 2039 GB/s.
Machine a100() {
  Machine m;
  m.name = "a100";
  m.memories.push_back({});
  m.memories[0].name = "hbm";
  m.memories[0].capacity = Bytes(80 * 1024.0 * 1024 * 1024);
  m.memories[0].bandwidth = BytesPerSecond(2039e9);
  m.cores.resize(2);
  m.cores[0].name = "tc";
  m.cores[0].peak = {{"bf16", FlopsPerSecond(312e12)}, {"tf32", FlopsPerSecond(156e12)}};
  m.cores[1].name = "sm";
  m.cores[1].kind = CoreKind::Vector;
  m.cores[1].peak = {{"fp32", FlopsPerSecond(19.5e12)}};
  return m;
}

OperationCost priceOne(Operation op, const Machine &m, const std::string &model = "") {
  WorkGraph g;
  g.regions.resize(2);
  g.operations = {op};
  g.regions[0].operations = {0};
  auto costs = estimate(g, m, {model, 1});
  if (!costs) {
    ADD_FAILURE() << costs.error().front().message;
    return {};
  }
  return costs->operations[0];
}

Operation gemm(int64_t m, int64_t n, int64_t k, const std::string &type) {
  Operation op;
  op.name = "gemm";
  op.core = CoreKind::Tensor;
  op.contraction = true;
  op.type = type;
  op.flops = 2 * m * n * k;
  op.bytesRead = 2 * (m * k + k * n);
  op.bytesWritten = 2 * m * n;
  op.domain = {{m, IteratorKind::Parallel}, {n, IteratorKind::Parallel}, {k, IteratorKind::Reduction}};
  return op;
}

TEST(Estimate, RooflineOfPublishedMachine) {
  // 8192^3: 1.0995e12 FLOP at 312e12 FLOP/s = 3.5240 ms; 402.7 MB at 2039 GB/s = 0.1975 ms.
  OperationCost big = priceOne(gemm(8192, 8192, 8192, "bf16"), a100());
  EXPECT_NEAR(big.time.value, 3.5240e-3, 1e-7);
  EXPECT_NEAR(big.transfer[0].value, 0.19750e-3, 1e-7);
  EXPECT_EQ(big.bound, "compute");
  EXPECT_EQ(big.model, "peak");
  // One row: 134 MFLOP = 0.43 us of compute, 134 MB = 65.84 us of traffic.
  OperationCost thin = priceOne(gemm(1, 8192, 8192, "bf16"), a100());
  EXPECT_EQ(thin.bound, "bandwidth hbm");
  EXPECT_NEAR(thin.time.value, 65.84e-6, 0.03e-6);
}

TEST(Estimate, TypesFallBackUpwardInWidth) {
  auto choice = [](const Operation &op, const Machine &m) {
    auto c = chooseCores(op, m);
    return c.empty() ? std::string("none") : m.cores[c[0].core].name + " " + c[0].type;
  };
  Machine m = a100();
  EXPECT_EQ(choice(gemm(1, 1, 1, "bf16"), m), "tc bf16");
  EXPECT_EQ(choice(gemm(1, 1, 1, "fp16"), m), "tc bf16");
  EXPECT_EQ(choice(gemm(1, 1, 1, "fp32"), m), "sm fp32"); // not tf32: narrower
  EXPECT_EQ(choice(gemm(1, 1, 1, "fp64"), m), "none");
  Operation add = gemm(1, 1, 1, "bf16");
  add.core = CoreKind::Vector;
  add.contraction = false;
  EXPECT_EQ(choice(add, m), "sm fp32");
  m.cores.erase(m.cores.begin() + 1);
  EXPECT_EQ(choice(add, m), "none"); // never on a tensor core
}

TEST(Estimate, ArrayIsQuantizedToFolds) {
  // TPU v1 (Jouppi et al., ISCA 2017): 256 x 256 array at 700 MHz = 92 TOP/s, which is reached but
  // for the cycles in which the array fills before the first fold and drains after the last one.
  Machine m = a100();
  m.clock = Hertz(700e6);
  m.cores[0].rows = m.cores[0].cols = 256;
  m.cores[0].peak = {};
  m.cores[0].dataflow = "weight_stationary";
  m.cores[0].overlapFill = m.cores[0].overlapDrain = true;
  OperationCost overlapped = priceOne(gemm(100000, 512, 512, "int8"), m);
  EXPECT_NEAR(overlapped.compute.value * 700e6, 4 * 100000 + 256 + 256 + 256 - 2, 1e-6);
  EXPECT_NEAR(2.0 * 100000 * 512 * 512 / overlapped.compute.value, 91.75e12, 0.2e12);
  // Without overlap each of the four folds pays for it: SCALE-Sim's 2 R + C + M - 2.
  m.cores[0].overlapFill = m.cores[0].overlapDrain = false;
  OperationCost full = priceOne(gemm(100000, 512, 512, "int8"), m);
  EXPECT_NEAR(full.compute.value * 700e6, 4 * (2 * 256 + 256 + 100000 - 2), 1e-6);
  EXPECT_EQ(full.model, "array");
  // K = 257 needs two rows of folds: most of the array idles in one of them.
  OperationCost partial = priceOne(gemm(100000, 512, 257, "int8"), m);
  EXPECT_NEAR(partial.compute.value, full.compute.value, 1e-12);
  // Two arrays share the folds, unless each operation runs on one of them.
  m.cores[0].count = 2;
  EXPECT_NEAR(priceOne(gemm(100000, 512, 512, "int8"), m).compute.value, full.compute.value / 2, 1e-12);
  m.cores[0].perInstanceMapping = true;
  EXPECT_NEAR(priceOne(gemm(100000, 512, 512, "int8"), m).compute.value, full.compute.value, 1e-12);
  m.cores[0].count = 1;
  m.cores[0].perInstanceMapping = false;
  // The rate of another arithmetic, and a machine that states its peak alone.
  m.cores[0].peak = {{"int8", FlopsPerSecond(2 * 2 * 256 * 256 * 700e6)}};
  EXPECT_NEAR(priceOne(gemm(100000, 512, 512, "int8"), m).compute.value, full.compute.value / 2, 1e-12);
  Hertz clock = m.clock;
  m.clock = Hertz(0);
  EXPECT_NEAR(priceOne(gemm(100000, 512, 512, "int8"), m).compute.value, full.compute.value / 2, 1e-12);
  m.clock = clock;
  m.cores[0].peak = {};
  // Output stationary maps M instead of K.
  m.cores[0].dataflow = "output_stationary";
  EXPECT_NEAR(priceOne(gemm(257, 256, 1000, "int8"), m).compute.value,
              2 * priceOne(gemm(256, 256, 1000, "int8"), m).compute.value, 1e-15);
}

TEST(Estimate, EitherIsPricedBothWays) {
  Machine m = a100();
  m.cores[0].count = 4;
  WorkGraph large;
  large.regions.resize(2);
  large.operations = {gemm(4096, 4096, 4096, "bf16")};
  large.regions[0].operations = {0};
  auto times = [&](bool perInstanceMapping) {
    m.cores[0].anyMapping = false, m.cores[0].perInstanceMapping = perInstanceMapping;
    return estimate(large, m)->operations[0];
  };
  OperationCost split = times(false), one = times(true);
  EXPECT_EQ(split.instances, 4);
  EXPECT_EQ(one.instances, 1);
  m.cores[0].anyMapping = true;
  Costs both = *estimate(large, m);
  EXPECT_EQ(both.operations[0].time, split.time); // the faster one stands
  ASSERT_EQ(both.alternatives[0].size(), 1u);
  EXPECT_EQ(both.alternatives[0][0].time, one.time);
  EXPECT_EQ(both.alternatives[0][0].instances, 1);
  // What no core speeds up leaves the others to other work.
  m.memories[0].bandwidth = BytesPerSecond(1e9);
  both = *estimate(large, m);
  EXPECT_EQ(both.operations[0].instances, 1);
  EXPECT_EQ(both.alternatives[0][0].time, both.operations[0].time);
}

TEST(Estimate, LanesAreQuantized) {
  Machine m = a100();
  m.clock = Hertz(1e9);
  m.cores[1].peak = {};
  m.cores[1].lanes = 128;
  Operation op;
  op.name = "add";
  op.core = CoreKind::Vector;
  op.flops = 129;
  op.domain = {{129, IteratorKind::Parallel}};
  EXPECT_NEAR(priceOne(op, m).time.value, 2e-9, 1e-18); // two passes
  op.kind = "tanh";
  m.cores[1].cyclesOf["tanh"] = 27;
  EXPECT_NEAR(priceOne(op, m).time.value, 54e-9, 1e-18);
  // One row across all lanes: 8 rounds of 5 FLOP, and 7 steps to combine maximum and sum each.
  op.kind = "softmax";
  op.domain = {{1024, IteratorKind::Reduction}};
  op.flops = 5 * 1024;
  EXPECT_NEAR(priceOne(op, m).compute.value, (8 * 5 + 2 * 7) * 1e-9, 1e-18);
}

TEST(Estimate, SaysWhatIsMissing) {
  WorkGraph g;
  g.regions.resize(2);
  g.operations = {gemm(1, 1, 1, "fp64")};
  g.operations[0].location = {"model.dnn", 7, 3};
  g.regions[0].operations = {0};
  auto costs = estimate(g, a100());
  auto &error = costs.error().at(0);
  EXPECT_EQ(error.code, Code::UnsupportedType);
  EXPECT_EQ(error.message, "'gemm' () needs a tensor core for fp64, 'a100' has tensor core 'tc' "
                           "(bf16, tf32), vector core 'sm' (fp32)");
  EXPECT_EQ(error.location.line, 7u);
  auto unknown = estimate(g, a100(), {"peek", 1});
  EXPECT_EQ(unknown.error().at(0).code, Code::UnknownCostModel);
  Machine dumb = a100();
  dumb.memories[0].bandwidth = BytesPerSecond(0);
  g.operations[0].type = "bf16";
  auto noBandwidth = estimate(g, dumb);
  EXPECT_EQ(noBandwidth.error().at(0).code, Code::MissingRate);
}

TEST(Estimate, SaysEachCauseOnce) {
  WorkGraph g;
  g.regions.resize(2);
  for (unsigned i = 0; i < 600; ++i) {
    Operation op = gemm(1, 1, 1, i % 3 ? "fp64" : "bf16");
    op.name = fmt::format("gemm{}", i);
    op.location = {"model.dnn", i + 1, 1};
    g.operations.push_back(op);
    g.regions[0].operations.push_back(i);
  }
  for (unsigned threads : {1u, 2u}) {
    auto errors = (estimate(g, a100(), {"", threads})).error();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].location.line, 2u);
    ASSERT_EQ(errors[0].notes.size(), 2u);
    EXPECT_EQ(errors[0].notes[0].first.line, 3u);
    EXPECT_EQ(errors[0].notes[0].second, "the same holds for 399 more operations: 'gemm2', "
                                         "'gemm4', 'gemm5' and 396 more");
  }
  // The slowest stands for those that one core makes too slow; another core is another cause.
  Machine slow = a100();
  slow.cores[0].peak = {{"bf16", FlopsPerSecond(1e-9)}, {"fp64", FlopsPerSecond(1e-8)}};
  auto errors = estimate(g, slow).error();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, Code::TimeOutOfRange);
  EXPECT_EQ(errors[0].location.line, 1u);
  for (Operation &op : g.operations)
    if (op.type == "fp64")
      op.core = CoreKind::Vector;
  slow.cores[1].peak = {{"fp64", FlopsPerSecond(1e-9)}};
  EXPECT_EQ(estimate(g, slow).error().size(), 2u);
}

struct Constant : CostModel {
  Result<ComputeTime> compute(const CostQuery &, Assumptions &assumptions) const override {
    assumptions.insert("everything takes a second");
    return ComputeTime{Seconds(1), "1 s"};
  }
};

TEST(Estimate, PluginsRegisterModels) {
  EXPECT_TRUE(registerCostModel("constant", [] { return std::make_unique<Constant>(); }));
  EXPECT_FALSE(registerCostModel("peak", [] { return std::make_unique<Constant>(); }));
  Machine m = a100();
  m.costModel = "constant";
  OperationCost cost = priceOne(gemm(64, 64, 64, "bf16"), m);
  EXPECT_EQ(cost.time.value, 1);
  EXPECT_EQ(cost.model, "constant");
}

TEST(Estimate, SameWhateverTheThreads) {
  RandomGraph g(1, {});
  while (g.graph.operations.size() < 3000)
    g.operation(0, {0}, {g.value(0, 8)}, g.pick(0, 1) ? CoreKind::Tensor : CoreKind::Vector, g.pick(1, 1000),
                g.pick(1, 1000));
  Machine m = smallMachine();
  auto one = *(estimate(g.graph, m, {"", 1})), four = *(estimate(g.graph, m, {"", 4}));
  EXPECT_EQ(one.assumptions, four.assumptions);
  for (size_t i = 0; i < one.operations.size(); ++i)
    EXPECT_EQ(one.operations[i].formula, four.operations[i].formula);
}

TEST(Totals, UtilizationIsModelFlopsOverPeak) {
  GraphBuilder b;
  ValueId x = b.value(0, 8, Category::Inputs);
  b.operation(0, {x}, {b.value(0, 8)}, CoreKind::Tensor, 312000000);
  b.operation(0, {x}, {b.value(0, 8)}, CoreKind::Vector, 999);
  b.graph.operations[0].type = "bf16";
  b.graph.microbatches = 10;
  Costs costs = *estimate(b.graph, a100());
  StepTotals totals = stepTotals(b.graph, costs);
  EXPECT_EQ(totals.all.flops, Count(3120009990));
  EXPECT_EQ(totals.all.contractionFlops, Count(3120000000));
  // 3.12e9 FLOP at 312e12 FLOP/s are 10 us: half of 20 us.
  EXPECT_NEAR(modelFlopsUtilization(totals, a100(), Seconds(20e-6)), 0.5, 1e-12);
  Machine m = a100();
  m.idle = Watts(100);
  EXPECT_NEAR(stepEnergy(totals, m, Seconds(2)).value, 200, 1e-9);
}

} // namespace
