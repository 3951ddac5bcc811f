// Latency models over parallel degrees against plans of each pair of degrees.
#include "test/support/LatencyCluster.h"
#include "LatencyFixture.h"
#include "lib/latency/build/MachineArguments.h"
#include "lib/latency/model/LatencySweep.h"
#include "gtest/gtest.h"

using namespace accord;

namespace {

std::vector<double> argumentsAt(const LatencyModel &model, int64_t t, int64_t d, int64_t batch, int64_t microbatch,
                                std::optional<int64_t> s = {}) {
  std::vector<double> at = model.initial();
  at[kBatch] = double(batch), at[kMicrobatch] = double(microbatch);
  if (s)
    at[kSequence] = double(*s);
  at[*model.argument("tensor_parallel")] = double(t);
  at[*model.argument("data_parallel")] = double(d);
  return at;
}

} // namespace

TEST(LatencyCluster, IsThePlanAtEveryPairOfDegrees) {
  for (bool sequenceParallel : {false, true}) {
    test::ClusterCase gpt("gpt2.dnn", "gpt2", 24, sequenceParallel);
    auto made = gpt.model({1, 2, 4}, {1, 2, 3, 6, 12}, 2);
    ASSERT_TRUE(made) << made.error().message;
    const auto &model = *made;
    EXPECT_TRUE(model.exact);
    size_t compared = 0;
    for (int64_t t : {1, 2, 4})
      for (int64_t d : {1, 2, 3, 6, 12}) {
        // Sizes that the plans were not made for: other micro-batches, samples and sequences.
        for (auto [microbatch, samples, s] :
             {std::tuple<int64_t, int64_t, std::optional<int64_t>>{2, 2, {}}, {2, 14, {}}, {4, 12, {}}, {2, 6, 512}}) {
          LatencyEvaluation found = evaluate(model, argumentsAt(model, t, d, samples * d, microbatch, s));
          if (t * d > gpt.fabric.devices()) {
            EXPECT_NE(found.status, 0);
            continue;
          }
          auto plan = gpt.planAt(t, d, microbatch, samples, s);
          ASSERT_TRUE(plan && found.status == 0)
              << t << " x " << d << ": "
              << explain(model, found.status, argumentsAt(model, t, d, samples * d, microbatch, s));
          double flops = 0;
          for (OperationId id = 0; id < plan->graph.operations.size(); ++id)
            flops += double(plan->graph.operations[id].flops) * double(plan->graph.executions(id));
          // The order is that of micro-batches of 2 and the longest sequence: elsewhere another one may be shorter or
          // longer.
          double step = plan->schedule.step.seconds().value;
          bool own = microbatch == 2 && !s;
          EXPECT_NEAR(found.result.step, step, (own ? 1e-12 : 0.03) * step) << t << " x " << d << ", " << microbatch;
          EXPECT_NEAR(found.result.flops, flops, 1e-12 * flops) << t << " x " << d;
          if (own)
            EXPECT_EQ(found.result.memory, double(plan->memory.peak)) << t << " x " << d;
          ++compared;
        }
      }
    EXPECT_EQ(compared, 4u * 12);
  }
}

TEST(LatencyCluster, RefusesWhatTheDevicesDoNotAllow) {
  test::ClusterCase gpt("gpt2.dnn", "gpt2", 24);
  auto made = gpt.model({1, 4}, {1, 2, 12}, 2);
  ASSERT_TRUE(made) << made.error().message;
  const auto &model = *made;
  auto refusal = [&](std::vector<double> at) { return explain(model, evaluate(model, at).status, at); };
  EXPECT_EQ(refusal(argumentsAt(model, 4, 2, 24, 2)), "");
  EXPECT_EQ(refusal(argumentsAt(model, 3, 1, 24, 2)), "tensor_parallel = 3 is none of 1, 4");
  EXPECT_EQ(refusal(argumentsAt(model, 4, 12, 24, 2)),
            "tensor_parallel x data_parallel is more than the 12 devices of 'small'");
  EXPECT_EQ(refusal(argumentsAt(model, 1, 12, 25, 1)), "data_parallel does not divide the batch");
  EXPECT_EQ(refusal(argumentsAt(model, 1, 12, 24, 3)), "the micro-batch is larger than the samples of a replica");
}

/// Faster networks never make the same order slower, and numbers that the model does not know of change nothing.
TEST(LatencyCluster, FollowsItsNetworks) {
  test::ClusterCase gpt("gpt2.dnn", "gpt2", 24);
  auto made = gpt.model({1, 2}, {1, 6}, 2);
  ASSERT_TRUE(made) << made.error().message;
  const auto &model = *made;
  auto with = [&](int64_t t, int64_t d, const char *name, double value) {
    std::vector<double> at = argumentsAt(model, t, d, 24, 2);
    at[*model.argument(name)] = value;
    return evaluate(model, at).result.step;
  };
  double alone = evaluate(model, argumentsAt(model, 1, 1, 24, 2)).result.step,
         both = evaluate(model, argumentsAt(model, 2, 6, 24, 2)).result.step;
  EXPECT_EQ(with(1, 1, "ib_bandwidth", 1e9), alone);
  EXPECT_EQ(with(1, 1, "nvlink_latency", 0.1), alone);
  EXPECT_GT(with(2, 6, "ib_bandwidth", 100e9), both);
  EXPECT_LT(with(2, 6, "ib_bandwidth", 400e9), both);
  EXPECT_LT(with(2, 6, "nvlink_latency", 0), both);
  EXPECT_LT(with(2, 6, "ib_latency", 0), both);
}

/// Expressions of exchanges against pricing the collective on networks with the other numbers.
TEST(LatencyCluster, ExchangesAreWhatTheNetworksWouldTake) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  Fabric fabric = test::smallFabric();
  Network ring;
  ring.name = "ring", ring.topology = Topology::Ring, ring.endpoints = 5;
  ring.bandwidth = BytesPerSecond(50e9), ring.latency = Seconds(1e-6);
  fabric.levels.push_back(ring); // rounds that use several levels, groups of odd sizes
  LatencyArgument tensor, data, bytes;
  for (auto [a, name] : {std::pair(&tensor, "tensor_parallel"), {&data, "data_parallel"}})
    a->name = name, a->integer = true, a->min = 1, a->max = 64;
  bytes.name = "bytes", bytes.min = 1, bytes.max = 1e12;
  std::vector<LatencyArgument> all = {bytes, tensor, data};
  MachineArguments arguments(all);
  arguments.networks(fabric);
  Expressions e(all);
  CollectiveTermsCache terms(fabric);
  size_t trees = 0, levels = 0;
  for (int64_t t : {1, 2, 4, 12}) {
    std::vector<CollectiveNodes::Member> members;
    for (int64_t d : {1, 2, 3, 5})
      members.push_back({d, {{"tensor", t}, {"data", d}}});
    for (const char *axis : {"tensor", "data"})
      for (Collective kind :
           {Collective::AllReduce, Collective::AllGather, Collective::AllToAll, Collective::Broadcast}) {
        std::vector<CollectiveNodes::Member> with = members;
        std::erase_if(with, [&](const auto &m) { return std::string(axis) == "data" && m.data == 1; });
        if (std::string(axis) == "tensor" && t == 1)
          continue;
        CollectiveNodes nodes(e, terms, arguments.networkNodes(e), e.argument("data_parallel"), with);
        NodeId seconds = nodes.seconds({name(kind), axis, 2, 1}, e.argument("bytes"));
        ASSERT_NE(seconds, kNoNode);
        for (NodeId id : e.needed({seconds}))
          trees += e[id].kind == NodeKind::SquareRoot, levels += e[id].kind == NodeKind::Maximum;
        for (int i = 0; i < 5; ++i) {
          Fabric changed = fabric;
          std::vector<double> at;
          double payload = std::exp(20 * uniform(random));
          for (const LatencyArgument &a : all)
            at.push_back(a.initial);
          at[0] = payload, at[1] = double(t);
          for (Network &level : changed.levels) {
            double ratio = i ? std::exp(4 * uniform(random) - 2) : 1;
            level.bandwidth = level.bandwidth * ratio;
            for (auto &[peers, bandwidth] : level.bandwidthByPeers)
              bandwidth = bandwidth * ratio;
            if (i)
              level.latency = Seconds(std::exp(8 * uniform(random) - 16));
            for (size_t k = 0; k < all.size(); ++k) {
              if (all[k].name == level.name + "_bandwidth")
                at[k] = level.bandwidth.value;
              if (all[k].name == level.name + "_latency")
                at[k] = level.latency.value;
            }
          }
          for (const auto &member : with) {
            at[2] = double(member.data);
            auto model = CollectiveModel::make(changed, kind, groupsAlong(member.axes, axis));
            double expected = model->cost(Bytes(payload)).time.value;
            EXPECT_NEAR(Evaluation(e, at).real(seconds), expected, 1e-12 * expected)
                << name(kind) << " along " << axis << " of " << t << " x " << member.data;
          }
        }
      }
  }
  EXPECT_GT(trees, 0u); // double trees with their best number of pieces
  EXPECT_GT(levels, 0u);
}
