// What a layer costs in a form, by hand.
#include "lib/placement/builder/ParallelConfigCosts.h"
#include <gtest/gtest.h>
#include <set>

using namespace accord;

namespace {

/// 100 ps forward, 150 + 50 backward, 40 bytes of weights, 20 of gradients, 120 of states; two
/// policies.
std::vector<LayerUse> layer() {
  LayerUse use;
  use.forward = 100, use.backward = 150, use.weight = 50, use.update = 30;
  use.weights = 40, use.gradients = 20, use.states = 120;
  use.activations = 60, use.workspace = 7;
  LayerUse recomputeTime = use;
  recomputeTime.recomputeTime = 90, recomputeTime.activations = 10;
  return {use, recomputeTime};
}

struct Case {
  PlacementProblem::ParallelConfig parallelConfig;
  std::vector<LayerUse> uses = layer();
  bool activations = false;
  double perByte = 2;
  double gradientRatio = 1, reductionRatio = 1, lossRatio = 0;
  bool masterWeightsAlone = false;

  PlacementProblem::Cost cost(const LayerUse *whole = nullptr) const {
    ParallelConfigCosts of;
    of.parallelConfig = &parallelConfig, of.batch = 8, of.recomputePolicies = {"none", "full"};
    of.recomputeChoices = {{0, false}, {1, false}}, of.hostPerByte = perByte;
    if (activations)
      of.recomputeChoices.insert(of.recomputeChoices.end(), {{0, true}, {1, true}});
    of.gradientRatio = gradientRatio, of.reductionRatio = reductionRatio, of.lossRatio = lossRatio;
    of.masterWeightsAlone = masterWeightsAlone;
    return costOf(of, uses, whole);
  }
};

} // namespace

TEST(ParallelConfigCosts, NothingOffloaded) {
  PlacementProblem::Cost cost = Case().cost();
  EXPECT_EQ(cost.forward, 100);
  EXPECT_EQ(cost.backward, 150);
  EXPECT_EQ(cost.weight, 50);
  EXPECT_EQ(cost.update, 30);
  EXPECT_EQ(cost.staticMemory, 40 + 20 + 120);
  EXPECT_EQ(cost.hostStaticMemory, 0);
  ASSERT_EQ(cost.recomputeChoices.size(), 2u);
  EXPECT_EQ(cost.recomputeChoices[1].recomputeTime, 90);
  EXPECT_EQ(cost.recomputeChoices[1].activations, 10);
}

/// Copies of 8 bits, as they are and transposed, of weights of 16 bits: beside them, or instead of them where the
/// optimizer is divided. Nobody gathers them; a layer that is gathered is quantized where it runs.
TEST(ParallelConfigCosts, CopiesForProductsOfEightBits) {
  Case one;
  for (LayerUse &use : one.uses)
    use.quantized = 40;
  EXPECT_EQ(one.cost().weightMemory, 40 + 40);
  EXPECT_EQ(one.cost().staticMemory, 40 + 40 + 20 + 120);
  EXPECT_EQ(one.cost().weights, 40);
  one.parallelConfig.data = 4;
  one.parallelConfig.zero = 1;
  EXPECT_EQ(one.cost().weightMemory, 40);
  EXPECT_EQ(one.cost().weights, 40);
  one.parallelConfig.zero = 3;
  EXPECT_EQ(one.cost().weightMemory, 40 / 4);
  EXPECT_EQ(one.cost().weights, 40);
  EXPECT_EQ(one.cost().recomputeChoices[0].workspace, 7 + 20 + 40 + 40);
}

/// fp32 gradients of Megatron-LM: twice the bytes of the graph's, exchanged so, too; replicas divide what is twice as
/// much.
TEST(ParallelConfigCosts, GradientsInFp32) {
  Case one;
  one.gradientRatio = one.reductionRatio = 2;
  PlacementProblem::Cost cost = one.cost();
  EXPECT_EQ(cost.gradientMemory, 2 * 20);
  EXPECT_EQ(cost.staticMemory, 40 + 40 + 120);
  EXPECT_EQ(cost.gradients, 2 * 20);
  one.reductionRatio = 1;
  one.parallelConfig.zero = 2, one.parallelConfig.data = 4;
  cost = one.cost();
  EXPECT_EQ(cost.gradientMemory, 2 * 20 / 4);
  EXPECT_EQ(cost.gradients, 20);
}

/// Where the master weights alone stay, the copy in the type of products is there while its layer runs.
TEST(ParallelConfigCosts, MasterWeightsAlone) {
  Case one;
  one.masterWeightsAlone = true;
  PlacementProblem::Cost cost = one.cost();
  EXPECT_EQ(cost.weightMemory, 0);
  EXPECT_EQ(cost.staticMemory, 20 + 120);
  EXPECT_EQ(cost.recomputeChoices[0].workspace, 7 + 40);
}

/// The graph has logits and their gradient; a loss with seven times the logits has five more of them, one that writes
/// the gradient in their place has one less.
TEST(ParallelConfigCosts, TheLossHoldsCopiesOfTheLogits) {
  Case one;
  for (LayerUse &use : one.uses)
    use.logits = 100, use.workspace = 107;
  EXPECT_EQ(one.cost().recomputeChoices[0].workspace, 107); // no framework
  one.lossRatio = 2;
  EXPECT_EQ(one.cost().recomputeChoices[0].workspace, 107);
  one.lossRatio = 7;
  EXPECT_EQ(one.cost().recomputeChoices[0].workspace, 107 + 500);
  one.lossRatio = 1;
  EXPECT_EQ(one.cost().recomputeChoices[0].workspace, 7);
  for (LayerUse &use : one.uses)
    use.workspace = 60; // there is no gradient as large
  EXPECT_EQ(one.cost().recomputeChoices[0].workspace, 0);
}

/// States go there and back at once: 120 bytes at 2 ps; with ZeRO 1 over 4 replicas, 30 of them.
TEST(ParallelConfigCosts, OptimizerOnTheHost) {
  Case one;
  one.parallelConfig.hostStates = true;
  PlacementProblem::Cost cost = one.cost();
  EXPECT_EQ(cost.staticMemory, 40 + 20);
  EXPECT_EQ(cost.hostStaticMemory, 120);
  EXPECT_EQ(cost.update, 240);
  EXPECT_EQ(cost.forward, 100);
  one.parallelConfig.zero = 1, one.parallelConfig.data = 4;
  cost = one.cost();
  EXPECT_EQ(cost.hostStaticMemory, 30);
  EXPECT_EQ(cost.update, 60);
  one.perByte = 0.1; // the computation takes longer: 30 / 4, rounded up
  EXPECT_EQ(one.cost().update, 8);
}

/// 40 bytes at 2 ps are hidden by a pass of 100 ps, at 4 ps not.
TEST(ParallelConfigCosts, WeightsOnTheHost) {
  Case one;
  one.parallelConfig.hostWeights = true;
  PlacementProblem::Cost cost = one.cost();
  EXPECT_EQ(cost.forward, 100);
  EXPECT_EQ(cost.backward + cost.weight, 200);
  EXPECT_EQ(cost.staticMemory, 20 + 120);
  EXPECT_EQ(cost.weightMemory, 0);
  EXPECT_EQ(cost.hostStaticMemory, 40);
  EXPECT_EQ(cost.recomputeChoices[0].workspace, 7 + 2 * 40);
  one.perByte = 4;
  EXPECT_EQ(one.cost().forward, 160);
  EXPECT_EQ(one.cost().backward + one.cost().weight, 200);
  one.perByte = 6; // 240 ps hide 40 of the 90 ps of what is computed again
  EXPECT_EQ(one.cost().backward + one.cost().weight, 240);
  EXPECT_EQ(one.cost().recomputeChoices[1].recomputeTime, 50);
}

/// 60 bytes at 2 ps: 120 ps out, beside 100 ps of the forward pass, and in, beside 200.
TEST(ParallelConfigCosts, ActivationsOnTheHost) {
  Case one;
  one.activations = true;
  PlacementProblem::Cost cost = one.cost();
  ASSERT_EQ(cost.recomputeChoices.size(), 4u);
  EXPECT_EQ(cost.recomputeChoices[2].policy, "offload");
  EXPECT_EQ(cost.recomputeChoices[2].recomputeTime, 20);
  EXPECT_EQ(cost.recomputeChoices[2].activations, 0);
  EXPECT_EQ(cost.recomputeChoices[2].hostActivations, 60);
  EXPECT_EQ(cost.recomputeChoices[2].workspace, 7 + 2 * 60);
  EXPECT_EQ(cost.recomputeChoices[3].policy, "full+offload");
  EXPECT_EQ(cost.recomputeChoices[3].recomputeTime, 90);
  EXPECT_EQ(cost.recomputeChoices[3].hostActivations, 10);
  // In the backward pass weights and activations come over one link: (40 + 60) * 3 - 200.
  one.parallelConfig.hostWeights = true, one.perByte = 3;
  cost = one.cost();
  EXPECT_EQ(cost.forward, 120);
  EXPECT_EQ(cost.recomputeChoices[2].recomputeTime, (180 - 120) + (300 - 200));
}

/// Pieces of collectives that products hide: 30 of the forward pass, 45 of the rest.
TEST(ParallelConfigCosts, RingOverlap) {
  Case one;
  one.parallelConfig.tensor = 4, one.parallelConfig.ringOverlap = true;
  for (LayerUse &use : one.uses)
    use.ringForward = 30, use.ringBackward = 45;
  PlacementProblem::Cost cost = one.cost();
  EXPECT_EQ(cost.forward, 70);
  EXPECT_EQ(cost.backward, 105);
  EXPECT_EQ(cost.weight, 50);
  EXPECT_EQ(cost.recomputeChoices[1].recomputeTime, 90);
}

/// Each micro-batch runs on all devices of its context: twice the energy, and the gradients of four replicas.
TEST(ParallelConfigCosts, ContextsRunEachMicrobatchTogether) {
  Case one;
  for (LayerUse &use : one.uses)
    use.joules = 3;
  one.parallelConfig.data = 4;
  double alone = one.cost().joules;
  one.parallelConfig.context = 2;
  PlacementProblem::Cost shared = one.cost();
  EXPECT_DOUBLE_EQ(shared.joules - alone, 3 * 8.0);
}

/// Of 40 bytes of weights, 32 are experts', which 4 replicas divide: each has 8 and 8. ZeRO 3
/// divides the others again, and nothing of the experts is exchanged.
TEST(ParallelConfigCosts, ExpertsThatReplicasDivide) {
  Case one;
  LayerUse whole = one.uses.front();
  for (LayerUse &use : one.uses)
    use.weights = 8 + 8, use.gradients = 4 + 4, use.states = 24 + 24;
  one.parallelConfig.data = 4, one.parallelConfig.expert = 4;
  PlacementProblem::Cost cost = one.cost(&whole);
  EXPECT_EQ(cost.staticMemory, 16 + 8 + 48);
  EXPECT_EQ(cost.gradients, 4);
  EXPECT_EQ(cost.weights, 8);
  one.parallelConfig.zero = 3;
  cost = one.cost(&whole);
  EXPECT_EQ(cost.weightMemory, 8 + 2);
  EXPECT_EQ(cost.gradientMemory, 4 + 1);
  EXPECT_EQ(cost.staticMemory, 10 + 5 + 24 + 6);
  EXPECT_EQ(cost.update, 15 + 4); // half of 30 is the experts', the rest is divided
}

/// The same experts on pairs of 8 replicas: each has 16 bytes of the 32 of their weights, which 4
/// have, and 8 that all have. Those 4 exchange their gradients, and ZeRO 1 divides their states.
TEST(ParallelConfigCosts, ExpertsThatSomeReplicasDivide) {
  Case one;
  LayerUse whole = one.uses.front();
  for (LayerUse &use : one.uses)
    use.weights = 8 + 16, use.gradients = 4 + 8, use.states = 24 + 48;
  one.parallelConfig.data = 8, one.parallelConfig.expert = 2;
  PlacementProblem::Cost cost = one.cost(&whole);
  EXPECT_EQ(cost.staticMemory, 24 + 12 + 72);
  EXPECT_EQ(cost.gradients, 4);
  EXPECT_EQ(cost.expertGradients, 8);
  one.parallelConfig.zero = 1;
  cost = one.cost(&whole);
  EXPECT_EQ(cost.staticMemory, 24 + 12 + 24 / 8 + 48 / 4);
  EXPECT_EQ(cost.update, 20 / 4 + 2); // of 30 two thirds are the experts'
  EXPECT_EQ(cost.expertGradients, 8);
}

/// By trying all numbers of replicas: an expert degree is that many of them, or that many times the tensor degree where
/// all experts are whole then (Megatron-LM's expert tensor parallel size of 1), and never another number.
TEST(ReplicaShardings, ExpertDegreesMaySpanTheTensorDegree) {
  for (int64_t tensor : {1, 2, 4, 8})
    for (int64_t data : {1, 2, 8, 12, 16})
      for (int64_t degree : {2, 3, 8, 32, 64})
        for (int64_t experts : {8, 96, 128}) {
          PlacementSpace space;
          space.experts = {degree}, space.numExperts = experts;
          std::set<int64_t> expected, found;
          for (int64_t among = 1; among <= data; ++among)
            if (data % among == 0 && (among == degree || (data % degree != 0 && among * tensor == degree &&
                                                          experts / degree * degree == experts)))
              expected.insert(among);
          for (const auto &one : space.replicaShardings(data, tensor))
            found.insert(one.experts);
          EXPECT_EQ(found, expected) << tensor << " " << data << " " << degree << " " << experts;
        }
  PlacementSpace space; // Qwen3 235B on 256 devices: 16 replicas of 2, 8 stages, 32 groups of 4 of 128 experts
  space.experts = {32}, space.numExperts = 128;
  ASSERT_EQ(space.replicaShardings(16, 2).size(), 1U);
  EXPECT_EQ(space.replicaShardings(16, 2).front().experts, 16);
  PlacementProblem::ParallelConfig config;
  config.tensor = 2, config.data = 16, config.expert = 16;
  EXPECT_EQ(config.expertDegree(), 32);
  config.expertTensor = 2;
  EXPECT_EQ(config.expertDegree(), 16);
}

/// A product of 80 ps, then an all-reduce of 40 ps among 4 devices, then one of 100 ps: 30 of 40 ps
/// go. What the schedule has run beside them before does not go again.
TEST(RingOverlap, ProductsHideOneCollectiveEach) {
  WorkGraph graph;
  graph.regions.resize(2);
  graph.regions[0].count = 1, graph.regions[1].count = 1;
  graph.values.resize(4);
  for (int i = 0; i < 3; ++i) {
    Operation op;
    op.name = "op" + std::to_string(i), op.core = i == 1 ? CoreKind::Network : CoreKind::Tensor;
    op.contraction = i != 1;
    if (i == 1)
      op.communication = Communication{"all_reduce", "tensor", 4, 1000};
    op.operands = {static_cast<ValueId>(i)}, op.results = {static_cast<ValueId>(i + 1)};
    graph.operations.push_back(op);
    graph.regions[0].operations.push_back(static_cast<OperationId>(i));
  }
  Schedule schedule;
  schedule.regions.resize(2);
  int64_t at = 0;
  for (auto [id, takes] : {std::pair{0u, 80}, {1u, 40}, {2u, 100}}) {
    Slot slot;
    slot.operation = id, slot.start = Picoseconds(at), slot.duration = Picoseconds(takes);
    schedule.regions[0].slots.push_back(slot);
    at += takes;
  }
  schedule.regions[0].length = Picoseconds(at);
  Dependences deps = Dependences::of(graph);
  EXPECT_EQ(ringOverlapTime(graph, deps, schedule, 0), 30);
  schedule.regions[0].length = Picoseconds(at - 25);
  EXPECT_EQ(ringOverlapTime(graph, deps, schedule, 0), 15);
  graph.operations[1].communication->axis = "data";
  schedule.regions[0].length = Picoseconds(at);
  EXPECT_EQ(ringOverlapTime(graph, deps, schedule, 0), 0);
}
