// Latency models of calibrated machines against arithmetic by hand and against plans.
#include "lib/latency/build/CalibratedFit.h"
#include "lib/latency/build/LatencyModelFit.h"
#include "lib/latency/build/MachineArguments.h"
#include "lib/latency/forms/Jit.h"
#include "lib/machine/calibration/OperationTimes.h"
#include "lib/planning/solve/SingleDevice.h"
#include "test/support/CalibratedGraph.h"
#include "test/support/LatencyCatalogue.h"
#include "gtest/gtest.h"

namespace accord {
namespace {

using testing::calibratedGraph;
using testing::calibratedMachine;
using testing::calibratedStep;

constexpr int64_t kSequence64 = 64;

Plan planned(int64_t microbatch, int64_t microbatches, int64_t sequence) {
  SingleDeviceRequest request;
  request.job = "calibrated", request.batch = microbatch * microbatches;
  auto made = planFor(calibratedGraph(microbatch, microbatches, sequence), calibratedMachine(), request);
  EXPECT_TRUE(made) << made.error().front().message;
  return std::move(*made);
}

Result<LatencyModel> modelOf(const Plan &plan) {
  return latencyModelOf(plan, kSequence64,
                        [](int64_t b, int64_t of, std::optional<int64_t> s) -> std::optional<SampledWork> {
                          WorkGraph graph = calibratedGraph(b, of, s.value_or(kSequence64));
                          Costs costs = *estimate(graph, calibratedMachine());
                          return SampledWork{std::move(graph), std::move(costs)};
                        });
}

// Micro-batches at which the host is the slower one, and at which the device is; a batch of one product and of many; a
// table of which all rows, and of which few, are reached.
TEST(CalibratedLatency, IsTheArithmeticByHand) {
  Plan plan = planned(4, 3, kSequence64);
  EXPECT_EQ(plan.schedule.step.value, calibratedStep(4, 3, kSequence64));
  auto made = modelOf(plan);
  ASSERT_TRUE(made) << made.error().message;
  const LatencyModel &model = *made;
  EXPECT_TRUE(model.exact);
  for (const char *name : {"microbatch", "sequence", "hbm_bandwidth", "tc_bf16_rate", "sm_fp32_rate"}) {
    ASSERT_TRUE(model.argument(name)) << name;
    EXPECT_EQ(model.arguments()[*model.argument(name)].fixedReason, "") << name;
  }
  auto jit = LatencyJit::compile(model, {});
  ASSERT_TRUE(jit) << jit.error().message;
  for (int64_t b : {1, 2, 5, 17, 300, 5000})
    for (int64_t s : {16, 17, 40, 64})
      for (auto [bandwidth, rate] : {std::pair(1.0, 1.0), {3.0, 1.0}, {1.0, 0.125}, {0.5, 2.0}}) {
        // Both arguments move the 16-bit rate against the others; what fills slower arithmetic stays.
        std::vector<double> at = model.initial();
        at[kBatch] = static_cast<double>(b * 3), at[kMicrobatch] = static_cast<double>(b);
        at[accord::kSequence] = static_cast<double>(s);
        at[*model.argument("hbm_bandwidth")] *= bandwidth, at[*model.argument("tc_bf16_rate")] *= rate;
        LatencyEvaluation found = evaluate(model, at);
        ASSERT_EQ(found.status, 0) << explain(model, found.status, at);
        double expected = static_cast<double>(calibratedStep(b, 3, s, bandwidth, rate)) * 1e-12;
        EXPECT_NEAR(found.result.step, expected, 1e-9 * expected)
            << b << " x " << s << ", " << bandwidth << ", " << rate;
        EXPECT_EQ((*jit)->evaluate(at).result.step, found.result.step);
        if (bandwidth == 1 && rate == 1)
          EXPECT_EQ(found.result.step, planned(b, 3, s).schedule.step.seconds().value) << b << " x " << s;
      }
}

TEST(CalibratedLatency, SaysWhatItHolds) {
  auto made = modelOf(planned(4, 3, kSequence64));
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_FALSE(made->notes.empty());
  EXPECT_NE(made->notes.front().find("the parameters of the calibration 'measured by hand' are held"),
            std::string::npos);
}

// A collective of a tensor's parts has a latency from 100 kB on; what replicas exchange goes with their number, and
// over the network where they are more than a server has.
TEST(CalibratedLatency, ExchangesHoldUpTheDevice) {
  auto graphAt = [](int64_t microbatch, int64_t replicas) {
    WorkGraph graph = calibratedGraph(microbatch, 3, kSequence64);
    for (auto [name, axis] : {std::pair("gelu", "tensor"), {"loss", "data"}})
      for (Operation &op : graph.operations)
        if (op.name == name) {
          op.kind = "all_reduce", op.core = CoreKind::Network, op.flops = 0;
          op.communication =
              Communication{"all_reduce", axis, axis == std::string("data") ? replicas : 2, 40'000 * microbatch};
        }
    return graph;
  };
  auto costsOf = [](const WorkGraph &graph) {
    Costs costs;
    for (const Operation &op : graph.operations)
      costs.operations.emplace_back().model =
          op.body == kNone && op.core != CoreKind::Network ? kCalibratedModel : "network";
    return costs;
  };
  Plan plan;
  plan.machine = calibratedMachine();
  plan.graph = graphAt(4, 4), plan.costs = costsOf(plan.graph);
  std::vector<WorkGraph> graphs;
  std::vector<LatencySample> samples;
  for (int64_t b : {1, 2, 3})
    graphs.push_back(graphAt(b, 4));
  for (const WorkGraph &graph : graphs)
    samples.push_back({graph.microbatch, kSequence64, &graph, &plan.costs});
  std::vector<LatencyArgument> all(3);
  for (auto [i, name] : {std::pair(0, "batch"), {1, "microbatch"}, {2, "sequence"}})
    all[i].name = name, all[i].integer = true, all[i].max = 1e6;
  LatencyArgument &replicas = all.emplace_back(all.front());
  replicas.name = "data_parallel";
  MachineArguments arguments(all);
  arguments.memories(plan.machine);
  arguments.rates(plan);
  Expressions e(all);
  MachineNodes machine = arguments.nodes(e);
  machine.devices = [&](const Communication &of) {
    return of.axis == "data" ? e.argument("data_parallel") : e.integer(of.devices);
  };
  PolynomialFit points({{1, kSequence64}, {2, kSequence64}, {3, kSequence64}});
  CalibratedFit fit(plan, samples, points, e, machine);
  auto times = fit.run();
  ASSERT_TRUE(times) << times.error().message;
  auto parameters = *calibrate::calibratedParametersOf(plan.machine);
  double slowest = 1;
  for (int64_t b : {1, 2, 3, 40, 4000})
    for (int64_t d : {1, 2, 8, 9, 64}) {
      std::vector<double> at;
      for (const LatencyArgument &argument : e.arguments())
        at.push_back(argument.initial);
      at[kMicrobatch] = static_cast<double>(b), at[accord::kSequence] = kSequence64, at[3] = static_cast<double>(d);
      Evaluation values(e, at);
      WorkGraph graph = graphAt(b, d);
      auto expected = calibrate::operationTimes(graph, plan.machine, parameters, calibrate::Layout());
      ASSERT_TRUE(expected);
      slowest = std::max(slowest, values.real(fit.hostFactor()));
      for (OperationId id = 0; id < graph.operations.size(); ++id)
        if ((*times)[id] == kNoNode)
          EXPECT_TRUE(graph.operations[id].body != kNone || graph.operations[id].core == CoreKind::Network);
        else
          EXPECT_EQ(values.real((*times)[id]), (*expected)[id]) << graph.operations[id].name << " " << b << " " << d;
    }
  EXPECT_GT(slowest, 1);
}

} // namespace
} // namespace accord
