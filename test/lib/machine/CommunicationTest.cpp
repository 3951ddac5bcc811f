// Exchanges of data in a step: what they cost on a cluster, and when they run.

#include "NetworkFixture.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/model/RingExchange.h"
#include "lib/planning/solve/ScheduleStep.h"
#include "lib/planning/solve/SingleDevice.h"
#include "lib/planning/verify/Verify.h"

using namespace accord;
using namespace accord::testing;

namespace {

Machine device() {
  Machine m;
  m.name = "gpu";
  m.memories.resize(1);
  m.memories[0].name = "hbm";
  m.memories[0].capacity = Bytes(1e12);
  m.memories[0].bandwidth = BytesPerSecond(2e12);
  m.memories[0].energy = JoulesPerByte(3e-12);
  m.cores.resize(1);
  m.cores[0].name = "tc";
  m.cores[0].peak = {{"fp32", FlopsPerSecond(1e14)}};
  return m;
}

/// Eight devices in each of four servers, 300 GB/s inside and 200 GB/s out of a server.
Fabric servers() {
  Fabric fabric{{network(Topology::Switch, 8), network(Topology::Switch, 4)}};
  fabric.levels[0].name = "nvlink";
  fabric.levels[0].bandwidth = BytesPerSecond(300e9);
  fabric.levels[0].energy = JoulesPerByte(1e-11);
  fabric.levels[1].name = "ib";
  fabric.levels[1].bandwidth = BytesPerSecond(200e9);
  for (Network &level : fabric.levels)
    level.latency = Seconds(0);
  return fabric;
}

Operation communication(const std::string &name, const std::string &axis, int64_t devices, int64_t payload) {
  Operation op;
  op.name = name;
  op.kind = "all_reduce";
  op.phase = Phase::Communication;
  op.core = CoreKind::Network;
  op.bytesRead = op.bytesWritten = payload;
  op.communication = Communication{"all_reduce", axis, devices, payload};
  return op;
}

WorkGraph graphOf(std::vector<Operation> operations) {
  WorkGraph g;
  g.regions.resize(2);
  for (OperationId id = 0; id < operations.size(); ++id)
    g.regions[0].operations.push_back(id);
  g.operations = std::move(operations);
  return g;
}

Result<Costs, Errors> price(const WorkGraph &g, const Fabric *fabric, std::vector<Axis> axes = {}) {
  EstimateOptions options;
  options.fabric = fabric;
  options.axes = std::move(axes);
  return estimate(g, device(), options);
}

std::string codeOf(const Result<Costs, Errors> &result) {
  auto *errors = result.getError();
  return errors && !errors->empty() ? numberOf(errors->front().code) : "";
}

} // namespace

TEST(Communication, TensorAxisIsInsideTheServerAndDataAcross) {
  Fabric fabric = servers();
  WorkGraph g = graphOf({communication("t", "tensor", 8, 800000000), communication("d", "data", 4, 800000000)});
  auto priced = price(g, &fabric);
  ASSERT_TRUE(priced) << codeOf(priced);
  const auto &ops = priced->operations;
  EXPECT_NEAR(ops[0].time.value, 2 * 7.0 / 8 * 0.8e9 / 300e9, 1e-12);
  // The eight replicas of a server share what leaves it.
  EXPECT_NEAR(ops[1].time.value, 2 * 3.0 / 4 * 0.8e9 / (200e9 / 8), 1e-12);
  EXPECT_EQ(ops[0].bound, "network nvlink");
  EXPECT_EQ(ops[1].bound, "network ib");
  EXPECT_EQ(ops[0].core, -1);
  EXPECT_EQ(ops[0].model, "network nvlink");
  // Into the switch and out of it, and once in and out of device memory.
  EXPECT_NEAR(ops[0].energy.value, 2 * 1.75 * 0.8e9 * 1e-11 + 1.6e9 * 3e-12, 1e-9);
  EXPECT_EQ(ops[0].bytes[0].value, 1.6e9);
}

TEST(Communication, TheOrderOfAxesSaysWhoIsANeighbour) {
  Fabric fabric = servers();
  WorkGraph g = graphOf({communication("t", "tensor", 4, 800000000)});
  auto inside = price(g, &fabric), outside = price(g, &fabric, {{"data", 8}, {"tensor", 4}});
  EXPECT_EQ(inside->operations[0].bound, "network nvlink");
  EXPECT_EQ(outside->operations[0].bound, "network ib");
}

TEST(Communication, DeviceMemoryBindsOnVeryFastLinks) {
  Fabric fabric = servers();
  fabric.levels[0].bandwidth = BytesPerSecond(1e15);
  auto priced = price(graphOf({communication("t", "tensor", 8, 800000000)}), &fabric);
  EXPECT_EQ(priced->operations[0].bound, "bandwidth hbm");
  EXPECT_NEAR(priced->operations[0].time.value, 1.6e9 / 2e12, 1e-12);
}

TEST(Communication, WhatCannotBePricedIsSaid) {
  Fabric fabric = servers();
  auto one = price(graphOf({communication("t", "tensor", 8, 8)}), nullptr);
  ASSERT_EQ(codeOf(one), "A0409");
  EXPECT_NE(one.error()[0].message.find("a cluster would suffice"), std::string::npos);
  EXPECT_EQ(codeOf(price(graphOf({communication("t", "tensor", 64, 8)}), &fabric)), "A0455");
  EXPECT_EQ(codeOf(price(graphOf({communication("t", "tensor", 8, 8), communication("u", "tensor", 4, 8)}), &fabric)),
            "A0455");
  EXPECT_EQ(codeOf(price(graphOf({communication("t", "tensor", 8, 8)}), &fabric, {{"tensor", 4}})), "A0455");
  Operation silent = communication("t", "tensor", 8, 8);
  silent.communication.reset();
  EXPECT_EQ(codeOf(price(graphOf({silent}), &fabric)), "A0451");
  Operation odd = communication("t", "tensor", 8, 8);
  odd.communication->kind = "gossip";
  EXPECT_EQ(codeOf(price(graphOf({odd}), &fabric)), "A0451");
  fabric.levels[0].bandwidth = BytesPerSecond(1e-3);
  EXPECT_EQ(codeOf(price(graphOf({communication("t", "tensor", 8, INT64_MAX)}), &fabric)), "A0452");
}

/// Independent exchanges: on one network one after the other, on two at the same time.
TEST(Communication, TheLinksOfANetworkCarryOneExchangeAtATime) {
  Fabric fabric = servers();
  for (bool same : {true, false}) {
    WorkGraph g = graphOf({communication("a", "tensor", 8, 800000000), same ? communication("b", "tensor", 8, 800000000)
                                                                            : communication("b", "data", 4, 80000000)});
    auto priced = price(g, &fabric);
    Costs &costs = *priced;
    auto schedule = scheduleStep(g, device(), costs);
    ASSERT_TRUE(schedule);
    const Schedule &s = *schedule;
    double a = costs.operations[0].time.value, b = costs.operations[1].time.value;
    double expected = same ? a + b : std::max(a, b);
    EXPECT_NEAR(s.step.seconds().value, expected, 1e-11);
    EXPECT_NEAR(s.bound.seconds().value, expected, 1e-11);
    EXPECT_EQ(s.regions[0].slots[0].core, -1);
    if (same)
      EXPECT_EQ(s.proof, "network nvlink");
  }
}

/// Arithmetic hides an exchange that does not depend on it.
TEST(Communication, OverlapsWithArithmetic) {
  Fabric fabric = servers();
  Operation product;
  product.name = "p";
  product.kind = "linear";
  product.core = CoreKind::Tensor;
  product.flops = 1000000000000;
  WorkGraph g = graphOf({product, communication("a", "tensor", 8, 800000000)});
  auto priced = price(g, &fabric);
  auto schedule = scheduleStep(g, device(), *priced);
  EXPECT_NEAR(schedule->step.seconds().value, 0.01, 1e-11);
}

/// A repeat that exchanges in each iteration, another exchange beside it: planned, then proved

/// anew.
TEST(Communication, APlanOfASharedStepVerifies) {
  Fabric fabric = servers();
  WorkGraph g = graphOf(
      {communication("before", "tensor", 8, 800000000), Operation(), communication("inside", "tensor", 8, 8000000)});
  g.regions.resize(3);
  g.operations[1].name = g.operations[1].kind = "repeat";
  g.operations[1].body = 2;
  g.operations[2].region = 2;
  g.regions[0].operations = {0, 1};
  g.regions[2].name = "block";
  g.regions[2].count = 5;
  g.regions[2].parent = 0;
  g.regions[2].owner = 1;
  g.regions[2].operations = {2};
  SingleDeviceRequest request;
  request.fabric = &fabric;
  auto made = planFor(g, device(), request);
  ASSERT_TRUE(made) << made.error()[0].message;
  Plan plan = *made;
  double one = plan.costs.operations[2].time.value, other = plan.costs.operations[0].time.value;
  EXPECT_NEAR(plan.schedule.step.seconds().value, other + 5 * one, 1e-10);
  for (const Error &finding : verify(plan).findings)
    ADD_FAILURE() << finding.code << " " << finding.message;
  auto codes = [](const Plan &p) {
    std::set<std::string> all;
    for (const Error &finding : verify(p).findings)
      all.insert(numberOf(finding.code));
    return all;
  };
  Plan together = plan;
  for (Slot &slot : together.schedule.regions[0].slots)
    slot.start = {0};
  RegionSchedule &region = together.schedule.regions[0];
  region.length = std::max(region.slots[0].duration, region.slots[1].duration);
  together.schedule.step = region.length;
  EXPECT_TRUE(codes(together).count("A0903"));
  EXPECT_TRUE(std::ranges::any_of(verify(together).findings, [](const Error &one) {
    return one.message.starts_with("'inside' starts at 0 ps on network") &&
           one.message.find("on which 'before' runs until") != std::string::npos;
  }));
  Plan faster = plan;
  faster.costs.operations[0].time = Seconds(1e-9);
  EXPECT_TRUE(codes(faster).count("A0910"));
  Plan bound = plan;
  bound.schedule.bound = {bound.schedule.bound.value + 1000000};
  EXPECT_TRUE(codes(bound).count("A0906"));
}

/// What it moves in device memory takes its time, unless it goes round a ring beside a product.
TEST(Communication, NoExchangeIsFasterThanItsDataInMemory) {
  Fabric fabric = servers();
  Operation product;
  product.name = "p", product.kind = "linear", product.core = CoreKind::Tensor, product.contraction = true;
  product.flops = 1000000000000;
  SingleDeviceRequest request;
  request.fabric = &fabric;
  auto made = planFor(graphOf({product, communication("a", "tensor", 8, 800000000)}), device(), request);
  ASSERT_TRUE(made) << made.error()[0].message;
  EXPECT_TRUE(verify(*made).holds());
  double data = made->costs.operations[1].transfer[0].value, beside = made->costs.operations[0].time.value;
  ASSERT_GT(data, 0);
  ASSERT_LT(data, beside);
  for (bool ring : {false, true})
    for (double share : {1 + 1e-6, 0.999, 0.0}) {
      Plan other = *made;
      other.graph.operations[1].communication->ring = ring;
      other.costs.operations[1].time = Seconds(data * share);
      Errors findings = verify(other).findings;
      bool found = std::ranges::any_of(
          findings, [](const Error &one) { return one.message.find("its data takes") != std::string::npos; });
      EXPECT_EQ(found, !ring && share < 1) << ring << " " << share;
    }
}

namespace {

/// Keys and values that `rings` collectives bring to one attention on `devices` devices.
WorkGraph attentionOf(int64_t devices, int rings) {
  WorkGraph graph;
  graph.regions.resize(2);
  auto value = [&] {
    graph.values.emplace_back();
    graph.values.back().region = kMicrobatchRegion;
    return static_cast<ValueId>(graph.values.size() - 1);
  };
  auto add = [&](Operation op) {
    graph.regions[kMicrobatchRegion].operations.push_back(static_cast<OperationId>(graph.operations.size()));
    graph.operations.push_back(std::move(op));
  };
  Operation attention;
  attention.name = attention.kind = "flash_attention", attention.core = CoreKind::Tensor, attention.contraction = true;
  for (int i = 0; i < rings; ++i) {
    Operation gather;
    gather.name = gather.kind = "all_gather", gather.core = CoreKind::Network;
    gather.communication = Communication{"all_gather", "context", devices, 100, true};
    gather.results = {value()};
    attention.operands.push_back(gather.results[0]);
    add(gather);
  }
  attention.results = {value()};
  add(attention);
  return graph;
}

} // namespace

/// Attention to a device's own piece and the pieces that come; the next piece comes meanwhile. All of it takes as long
/// as attention and what is exposed.
TEST(RingExchange, EqualsAClock) {
  for (int64_t devices : {2, 4, 8})
    for (double each : {0.0, 1.0, 5.0, 20.0, 90.0})
      for (int rings : {1, 2}) {
        constexpr double kAttention = 24;
        std::vector<double> times(rings, each);
        times.push_back(kAttention);
        std::vector<double> exposed = exposedTimes(attentionOf(devices, rings), times);
        double step = rings * each / static_cast<double>(devices - 1),
               piece = kAttention / static_cast<double>(devices);
        double there = 0, done = 0;
        for (int64_t i = 0; i < devices; ++i) {
          done = std::max(done, there) + piece;
          there = done - piece + step; // sent on when its attention begins
        }
        double sum = 0;
        for (double time : exposed)
          sum += time;
        EXPECT_NEAR(sum, done, 1e-9) << devices << " devices, " << rings << " rings of " << each;
        EXPECT_EQ(exposed.back(), kAttention);
      }
}

TEST(RingExchange, WhatIsNoRingStays) {
  WorkGraph graph = attentionOf(4, 2);
  graph.operations[0].communication->ring = false;
  EXPECT_EQ(exposedTimes(graph, {10, 10, 24}), (std::vector<double>{10, 0, 24}));
}
