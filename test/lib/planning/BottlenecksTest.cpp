// What binds, what improving it gains, and what binds next: against costs computed again on the
// improved machine.
#include "lib/planning/analysis/Bottlenecks.h"
#include "lib/machine/cost/Estimate.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace accord {
namespace {

Machine machine(bool buffered) {
  Machine m;
  m.name = "m";
  m.clock = Hertz(1e9);
  Memory far, near;
  far.name = "hbm", far.kind = "dram", far.bandwidth = BytesPerSecond(1e12);
  near.name = "sram", near.kind = "scratchpad", near.bandwidth = BytesPerSecond(4e12);
  near.doubleBuffered = buffered;
  m.memories = {far, near};
  Core tc;
  tc.name = "tc", tc.kind = CoreKind::Tensor, tc.reads = 1;
  tc.peak = {{"bf16", FlopsPerSecond(100e12)}};
  m.cores = {tc};
  return m;
}

WorkGraph graphOf(int64_t flops, int64_t bytes) {
  WorkGraph g;
  g.regions.resize(2);
  Operation op;
  op.name = "product", op.core = CoreKind::Tensor, op.type = "bf16", op.contraction = true;
  op.flops = flops, op.bytesRead = bytes;
  g.operations = {op};
  g.regions[0].operations = {0};
  return g;
}

Costs costsOf(const WorkGraph &g, const Machine &m) { return *estimate(g, m); }

TEST(Bottlenecks, NamesWhatBindsAndWhatBindsNext) {
  Machine m = machine(true);
  // 2 ms of arithmetic, 1 ms through hbm, 0.25 ms through sram.
  OperationBottleneck bottleneck =
      findBottlenecks(costsOf(graphOf(200'000'000'000, 1'000'000'000), m).operations[0], m);
  EXPECT_EQ(bottleneck.resource, "core tc");
  EXPECT_DOUBLE_EQ(bottleneck.gain, 2);
  EXPECT_EQ(bottleneck.next, "bandwidth hbm");
}

TEST(Bottlenecks, CountsWhatIsWaitedFor) {
  Machine m = machine(false); // 2 ms + 1 ms: without the arithmetic 1 ms + 0.25 ms
  OperationBottleneck bottleneck =
      findBottlenecks(costsOf(graphOf(200'000'000'000, 1'000'000'000), m).operations[0], m);
  EXPECT_EQ(bottleneck.resource, "core tc");
  EXPECT_DOUBLE_EQ(bottleneck.gain, 3 / 1.25);
}

TEST(Bottlenecks, NamesTheKernelFloor) {
  Machine m = machine(true);
  m.host.kernel = Seconds(5e-6);
  OperationCost cost = costsOf(graphOf(100'000'000, 1'000'000), m).operations[0]; // 1 us each
  EXPECT_EQ(cost.bound, "kernel launch overhead");
  EXPECT_DOUBLE_EQ(cost.time.value, 5e-6);
  OperationBottleneck bottleneck = findBottlenecks(cost, m);
  EXPECT_EQ(bottleneck.resource, "kernel launch overhead");
  EXPECT_NEAR(bottleneck.gain, 5, 1e-9);
}

TEST(Bottlenecks, NamesWhatTheCostNames) {
  Machine m = machine(true);
  OperationCost cost;
  cost.bytes.resize(2), cost.transfer.resize(2);
  cost.transfer[0] = Seconds(1e-4), cost.bytes[0] = Bytes(1e8);
  cost.time = Seconds(3e-4), cost.bound = "network nvlink";
  OperationBottleneck bottleneck = findBottlenecks(cost, m);
  EXPECT_EQ(bottleneck.resource, "network nvlink");
  EXPECT_NEAR(bottleneck.gain, 3, 1e-9);
  EXPECT_EQ(bottleneck.next, "bandwidth hbm");
}

/// The machine with one resource so many times as fast.
Machine improved(Machine m, const std::string &resource, double times) {
  for (Memory &memory : m.memories)
    if (resource == "bandwidth " + memory.name)
      memory.bandwidth = memory.bandwidth * times;
  for (Core &core : m.cores)
    if (resource == "core " + core.name)
      for (auto &[type, peak] : core.peak)
        peak = peak * times;
  if (resource == "kernel launch overhead")
    m.host.kernel = m.host.kernel / times;
  return m;
}

TEST(Bottlenecks, EqualsCostsOnTheImprovedMachine) {
  std::mt19937 random(1);
  auto any = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<>(0, 1)(random));
  };
  for (int i = 0; i < 500; ++i) {
    Machine m = machine(i % 2);
    m.cores[0].peak["bf16"] = FlopsPerSecond(any(1e12, 1e15));
    m.memories[0].bandwidth = BytesPerSecond(any(1e10, 1e13));
    m.memories[1].bandwidth = BytesPerSecond(any(1e11, 1e14));
    m.host.kernel = Seconds(any(1e-7, 1e-4));
    WorkGraph g = graphOf(1, 1);
    g.regions[0].operations.clear();
    g.operations.clear();
    for (OperationId id = 0; id < 5; ++id) {
      Operation op = graphOf(static_cast<int64_t>(any(1e6, 1e12)), static_cast<int64_t>(any(1e3, 1e10))).operations[0];
      g.operations.push_back(op);
      g.regions[0].operations.push_back(id);
    }
    auto total = [&](const Machine &on) {
      double sum = 0;
      for (const OperationCost &cost : costsOf(g, on).operations)
        sum += cost.time.value;
      return sum;
    };
    double before = total(m), shares = 0;
    for (const StepBottleneck &bottleneck : findBottlenecks(g, costsOf(g, m), m)) {
      shares += bottleneck.share;
      EXPECT_NEAR(bottleneck.speedupIfTwice, before / total(improved(m, bottleneck.resource, 2)),
                  1e-9 * bottleneck.speedupIfTwice);
      if (std::isfinite(bottleneck.speedupIfUnlimited)) {
        EXPECT_NEAR(bottleneck.speedupIfUnlimited, before / total(improved(m, bottleneck.resource, 1e15)),
                    1e-6 * bottleneck.speedupIfUnlimited);
      }
    }
    EXPECT_NEAR(shares, 1, 1e-9);
  }
}

} // namespace
} // namespace accord
