// What a placement is worth, by hand and by published numbers.
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {

/// Both computations have to say the same.
PlanMetrics metricsOf(const PlacementProblem &p, const Placement &plan) {
  EXPECT_TRUE(findViolations(p, plan).empty());
  EXPECT_TRUE(placementViolations(p, plan).empty());
  PlanMetrics metrics = evaluate(p, plan);
  auto reevaluated = reevaluate(p, plan);
  EXPECT_TRUE(reevaluated && reevaluated->step == metrics.step && reevaluated->memory == metrics.memory &&
              reevaluated->host == metrics.host);
  return metrics;
}

/// `layers` transformer layers of width h, sequence s, a heads on tensor parallel groups of t, as
/// Megatron-LM trains them: 12 h^2 parameters and s b h (34 + 5 a s / h) / t bytes with sequence
/// parallelism, 34 s b h / t if attention is computed again (Korthikanti et al., 2022, table 2), 2
/// s b h / t if all is.
PlacementProblem megatron(int64_t layers, int64_t devices, int64_t t, int64_t data, int64_t stateBytes) {
  constexpr int64_t h = 12288, s = 2048, a = 96, b = 1;
  PlacementProblem p;
  p.batch = 8 * data;
  p.deviceTypes = {{"a100", devices, 8, int64_t(80) << 30, 0, 400, 2, {}}};
  p.links = {{{1e6, 3}, {1e7, 40}}};
  PlacementProblem::ParallelConfig parallelConfig;
  parallelConfig.tensor = t, parallelConfig.data = data, parallelConfig.sequence = true, parallelConfig.microbatch = b;
  p.parallelConfigs = {parallelConfig};
  PlacementProblem::Cost cost;
  cost.forward = 10'000'000, cost.backward = 12'000'000, cost.weight = 8'000'000;
  cost.staticMemory = 12 * h * h / t * stateBytes;
  cost.recomputeChoices = {{"none", 0, s * b * h * (34 + 5 * a * s / h) / t, 0},
                           {"selective", 700'000, 34 * s * b * h / t, 0},
                           {"full", 10'000'000, 2 * s * b * h / t, s * b * h * (34 + 5 * a * s / h) / t}};
  p.classes = {{"layer", {cost}}};
  p.layers.resize(static_cast<size_t>(layers));
  for (uint32_t l = 1; l < layers; ++l)
    p.edges.push_back({l - 1, l, 2 * s * h});
  return p;
}

Placement inStages(const PlacementProblem &p, size_t groups, uint32_t recomputeChoice,
                   PipelineSchedule schedule = PipelineSchedule::OneFOneB, size_t virtualStages = 1) {
  size_t n = p.layers.size(), stages = groups * virtualStages;
  Placement plan{schedule, static_cast<int64_t>(virtualStages),
                 p.batch / (p.parallelConfigs[0].data * p.parallelConfigs[0].microbatch),
                 std::vector<PlacedStage>(stages)};
  for (uint32_t l = 0; l < n; ++l) {
    plan.stages[l * stages / n].layers.push_back(l);
    plan.stages[l * stages / n].recomputeChoices.push_back(recomputeChoice);
  }
  return plan;
}

/// Korthikanti et al., section 4.2: the first stage of 1F1B holds p micro-batches of L / p layers:
/// L layers' activations, here s b h L (34 + 5 a s / h) / t; the last stage one micro-batch.
TEST(PlanEvaluator, MegatronTwoStages) {
  PlacementProblem p = megatron(8, 16, 8, 1, 18);
  PlanMetrics metrics = metricsOf(p, inStages(p, 2, 0));
  int64_t layer = 2048 * 12288 * int64_t(34 + 80) / 8; // 5 * 96 * 2048 / 12288 = 80
  int64_t state = 12 * 12288 * int64_t(12288) / 8 * 18;
  EXPECT_EQ(metrics.inFlight, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(metrics.memory, (std::vector<int64_t>{4 * state + 8 * layer, 4 * state + 4 * layer}));
  EXPECT_EQ(metrics.devices, 16);
  metrics = metricsOf(p, inStages(p, 2, 1));
  EXPECT_EQ(metrics.memory[0], 4 * state + 8 * int64_t(34) * 2048 * 12288 / 8);
  // Everything again: 2 s b h / t of each layer, and one layer's activations while it runs.
  metrics = metricsOf(p, inStages(p, 2, 2));
  EXPECT_EQ(metrics.memory[0], 4 * state + 8 * int64_t(2) * 2048 * 12288 / 8 + layer);
}

/// m (forward + backward), and of the stage before it what one micro-batch takes there and back;
/// blocking transfers of 2 s h bytes over 8 links of 3 ps per byte and 1 us.
TEST(PlanEvaluator, MegatronStepByHand) {
  PlacementProblem p = megatron(8, 16, 8, 1, 18);
  p.hostOverheadPerStep = 77;
  int64_t interNode = 10'000'000 + 2 * 2048 * 12288 / 8 * int64_t(40); // two servers of eight
  PlanMetrics metrics = metricsOf(p, inStages(p, 2, 0));
  EXPECT_EQ(metrics.times[0].forward, 40'000'000);
  EXPECT_EQ(metrics.times[0].backward, 48'000'000 + interNode);
  EXPECT_EQ(metrics.times[1].forward, 40'000'000 + interNode);
  EXPECT_EQ(metrics.times[1].backward, 48'000'000);
  EXPECT_EQ(metrics.step, 9 * (int64_t(120'000'000) + interNode) + 77); // (m + p - 1) (tF + tB)
  // One server holds both stages of four devices.
  p = megatron(8, 8, 4, 1, 18);
  int64_t intraNode = 1'000'000 + 2 * 2048 * 12288 / 4 * int64_t(3);
  EXPECT_EQ(metricsOf(p, inStages(p, 2, 0)).step, 9 * (int64_t(120'000'000) + intraNode));
}

/// An edge of no bytes orders stages all the same.
TEST(PlanEvaluator, EmptyTensorsAreDependences) {
  PlacementProblem p = megatron(8, 16, 8, 1, 18);
  for (auto &edge : p.edges)
    edge.bytes = 0;
  EXPECT_EQ(metricsOf(p, inStages(p, 2, 0)).step, int64_t(9) * 120'000'000);
}

/// Rajbhandari et al., SC 2020, figure 1: 7.5 B parameters, mixed precision with Adam (K = 12), 64
/// replicas: 120, 31.4, 16.6 and 1.88 GB of model states.
TEST(PlanEvaluator, ZeroOfSixtyFourReplicas) {
  constexpr int64_t kParameters = 7'500'000'000;
  const double published[] = {120, 31.4, 16.6, 1.88};
  for (int zero = 0; zero < 4; ++zero) {
    PlacementProblem p;
    p.batch = 64;
    p.deviceTypes = {{"v100", 64, 16, int64_t(32'000'000'000), 0, 300, 1, {}}};
    p.links = {{}};
    PlacementProblem::ParallelConfig parallelConfig;
    parallelConfig.data = 64, parallelConfig.zero = zero;
    p.parallelConfigs = {parallelConfig};
    PlacementProblem::Cost cost;
    int64_t share = kParameters / 64;
    cost.weightMemory = 2 * (zero >= 3 ? share : kParameters);
    cost.gradientMemory = 2 * (zero >= 2 ? share : kParameters);
    cost.staticMemory = cost.weightMemory + cost.gradientMemory + 12 * (zero >= 1 ? share : kParameters);
    cost.recomputeChoices = {{}};
    p.classes = {{"all", {cost}}};
    p.layers.resize(1);
    PlanMetrics metrics = metricsOf(p, inStages(p, 1, 0));
    EXPECT_NEAR(static_cast<double>(metrics.memory[0]) * 1e-9, published[zero], 0.05) << zero;
    EXPECT_EQ(metrics.fits, zero >= 1);
  }
}

/// Interleaved: activations of L (1 + (p - 1) / (p v)) layers (section 4.2.1).
TEST(PlanEvaluator, InterleavedPeak) {
  PlacementProblem p = megatron(16, 32, 8, 1, 0);
  p.schedules = {PipelineSchedule::Interleaved};
  PlanMetrics metrics = metricsOf(p, inStages(p, 4, 0, PipelineSchedule::Interleaved, 2));
  int64_t layer = p.classes[0].costs[0]->recomputeChoices[0].activations;
  EXPECT_EQ(metrics.memory[0], 16 * layer * 11 / 8); // 1 + 3 / 8
  EXPECT_EQ(metrics.inFlight[0] + metrics.inFlight[4], 11);
}

/// Gradients behind a share of the last backward time; the rest shows.
TEST(PlanEvaluator, ExchangeOfGradients) {
  PlacementProblem p = megatron(2, 8, 1, 8, 0);
  p.classes[0].costs[0]->gradients = 1000;
  p.classes[0].costs[0]->update = 5;
  p.parallelConfigs[0].gradientSyncs = {{4, {{0, 1e6}}}, {8, {{100, 1e5}, {0, 2e5}}}};
  int64_t work = 8 * 60'000'000; // 8 micro-batches of two layers
  EXPECT_EQ(metricsOf(p, inStages(p, 1, 0)).step, work + 200'000'100 + 10);
  p.overlapFraction = 0.5; // of 2 * 20 us
  EXPECT_EQ(metricsOf(p, inStages(p, 1, 0)).step, work + 180'000'100 + 10);
  p.maxOverlap = 0.05; // 10.000005 us of it can hide
  EXPECT_EQ(metricsOf(p, inStages(p, 1, 0)).step, work + 190'000'095 + 10);
  p.maxOverlap = 1;
  p.deviceTypes[0].devicesPerNode = 4; // four replicas together
  EXPECT_EQ(metricsOf(p, inStages(p, 1, 0)).step, work + 1'980'000'000 + 10);
}

/// Price, energy and TDP of a step by hand.
TEST(PlanEvaluator, Objectives) {
  PlacementProblem p = megatron(8, 16, 8, 1, 0);
  p.classes[0].costs[0]->joules = 3;
  p.classes[0].costs[0]->recomputeJoules = 1e-6;
  p.deviceTypes[0].idleWatts = 50;
  Placement plan = inStages(p, 2, 1);
  double seconds = static_cast<double>(metricsOf(p, plan).step) * 1e-12;
  EXPECT_DOUBLE_EQ(metricsOf(p, plan).value, seconds * 1e12);
  p.objective = PlacementObjective::Price;
  EXPECT_DOUBLE_EQ(metricsOf(p, plan).value, 16 * 2 / 3600.0 * seconds);
  p.objective = PlacementObjective::Energy;
  EXPECT_DOUBLE_EQ(metricsOf(p, plan).value, 8 * (3 + 0.7) + 16 * 50 * seconds);
  p.objective = PlacementObjective::TdpTime;
  EXPECT_DOUBLE_EQ(metricsOf(p, plan).value, 16 * 400 * seconds);
  p.objective = PlacementObjective::Carbon;
  p.costPerJoule = 400 / 3.6e6; // 400 g/kWh
  EXPECT_DOUBLE_EQ(metricsOf(p, plan).value, (8 * (3 + 0.7) + 16 * 50 * seconds) / 9000);
}

} // namespace

namespace {

/// Two layers of 10 + 20 ps, 2 groups of 2 replicas on servers of two devices.
PlacementProblem pairOfLayers() {
  PlacementProblem p;
  p.batch = 4;
  p.deviceTypes = {{"device", 4, 2, 1000, 0, 0, 0, {}}};
  p.links = {{{3, 0}, {50, 0}}};
  PlacementProblem::ParallelConfig parallelConfig;
  parallelConfig.data = 2;
  parallelConfig.gradientSyncs = {{1, {{400, 0}}}, {2, {{7, 0}}}};
  p.parallelConfigs = {parallelConfig};
  PlacementProblem::Cost cost;
  cost.forward = 10, cost.backward = 20, cost.gradients = 1, cost.staticMemory = 5;
  cost.recomputeChoices = {{"none", 0, 8, 2}};
  p.classes = {{"layer", {cost}}};
  p.layers.resize(2);
  p.edges = {{0, 1, 1}};
  return p;
}

} // namespace

/// Stage after stage, replicas share a server and stages do not; replica after replica it is the
/// other way round.
TEST(PlanEvaluator, OrderOfRanks) {
  PlacementProblem p = pairOfLayers();
  Placement plan = inStages(p, 2, 0);
  PlanMetrics metrics = metricsOf(p, plan);
  EXPECT_EQ(metrics.times[1].forward, 10 + 50);
  EXPECT_EQ(metrics.times[0].stepTail, 7);
  p.parallelConfigs[0].order = PlacementProblem::RankOrder::TensorPipelineData;
  metrics = metricsOf(p, plan);
  EXPECT_EQ(metrics.times[1].forward, 10 + 3);
  EXPECT_EQ(metrics.times[0].backward, 20 + 3);
  EXPECT_EQ(metrics.times[0].stepTail, 400);
  // Servers of three: the first replica is in one, the second in two.
  p.deviceTypes[0].devicesPerNode = 3;
  EXPECT_EQ(metricsOf(p, plan).times[1].forward, 10 + 50);
}

/// Both groups of a tie exchange its gradient, the larger of both, on the link between them.
TEST(PlanEvaluator, TiedParameters) {
  PlacementProblem p = pairOfLayers();
  p.links[0].interNode = {50, 2};
  p.edges[0].bytes = 0;
  Placement two = inStages(p, 2, 0), one = inStages(p, 1, 0);
  int64_t apart = metricsOf(p, two).step, alone = metricsOf(p, one).step;
  p.ties = {{0, 1}};
  p.classes[0].costs[0]->tied = 30;
  PlanMetrics metrics = metricsOf(p, two);
  EXPECT_EQ(metrics.times[0].stepTail, 7 + 50 + 60);
  EXPECT_EQ(metrics.times[1].stepTail, 7 + 50 + 60);
  EXPECT_EQ(metrics.step, apart + 110);
  EXPECT_EQ(metricsOf(p, one).step, alone);
}

TEST(PlanEvaluator, HostMemoryByMicrobatchesInFlight) {
  PlacementProblem p = pairOfLayers();
  p.deviceTypes[0].hostMemory = 36;
  auto &cost = *p.classes[0].costs[0];
  cost.hostStaticMemory = 20;
  cost.recomputeChoices[0] = {"offload", 0, 0, 2, 8};
  // 1F1B: two micro-batches in flight in the first stage, one in the last.
  PlanMetrics metrics = metricsOf(p, inStages(p, 2, 0));
  EXPECT_EQ(metrics.host, (std::vector<int64_t>{20 + 2 * 8, 20 + 8}));
  EXPECT_EQ(metrics.memory, (std::vector<int64_t>{5 + 2, 5 + 2}));
  EXPECT_TRUE(metrics.fits);
  p.deviceTypes[0].hostMemory = 35;
  EXPECT_FALSE(metricsOf(p, inStages(p, 2, 0)).fits);
}

TEST(PlanEvaluator, InputComesNoFaster) {
  PlacementProblem p = pairOfLayers();
  p.hostOverheadPerStep = 5;
  Placement plan = inStages(p, 1, 0);
  int64_t step = metricsOf(p, plan).step;
  p.minStep = step - 1;
  EXPECT_EQ(metricsOf(p, plan).step, step);
  p.minStep = step + 100;
  EXPECT_EQ(metricsOf(p, plan).step, step + 100);
}
